"""Row F16 of the table of faults (matrix.py) on real files: the n-th call of the system that fails,
in a process that keeps messages in a spool, for one n after another.

Three of each kind here; MESHMSG_CRASH_ROUNDS says how many. Not here: the same on the simulated
disk (tests/c/test_spool_crash.c), disks that are full (test_faults_disk.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.fault.failing import UP
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT, lines_of
from tests.support.spooled import SEGMENT, body

CC = os.environ.get("CC") or shutil.which("cc") or ""
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]
EACH = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "3"))
"""Numbers of a call that are tried, of each kind: from the first to the last that there is."""
SYNCS = ("fdatasync", "fsync")
WORDS = ("the disk", "failed", "full")
"""One of them is in what every error says."""
PROGRAM = "tests.fault.failing"

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="what is loaded in front is of Linux"),
    pytest.mark.skipif(not CC, reason="no C compiler on this machine"),
    pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="beside a sanitizer"),
]


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Programs that have calls of the system fail."""
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    source = ROOT / "tests" / "fault" / "failing.c"
    built = subprocess.run(
        [CC, *FLAGS, source, "-o", library, "-ldl", "-pthread"],
        capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    made = Forks(PROGRAM, env={"LD_PRELOAD": str(library)})
    yield made
    made.close()


@dataclass
class Seen:
    """What a run said, and what its calls came to."""

    kept: int = 0
    saved: int = 0
    given: set[int] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)
    """Each: its name, the number of the file, the name of that, how it ended."""

    def hear(self, line: str) -> None:
        """Note what it said."""
        what, _, more = line.strip().partition(" ")
        if what == "e":
            self.errors.append(more)
        elif what == "k":
            self.kept = int(more)
        elif what == "c":
            self.saved = int(more)
        elif what == "d":
            self.given.add(int(more))
        else:
            self.ends.append(what)

    def failed(self) -> int | None:
        """Which of its calls failed; None: none did."""
        return next((at for at, call in enumerate(self.calls) if call[3] != "ok"), None)


@dataclass(frozen=True)
class Disk:
    """A program, how it keeps messages, and which call fails how."""

    forks: Forks
    folder: Path
    what: str
    level: str
    call: str
    how: str

    def run(self, nth: int) -> Seen:
        """Have the n-th one fail; 0: none."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        asked = {"UNDER": str(self.folder.resolve()), "CALL": self.call, "NTH": str(nth)}
        asked |= {"HOW": self.how, "LOG": f"{self.folder}.log"}
        env = {f"MESHMSG_FAIL_{name}": value for name, value in asked.items()}
        log, seen = Path(asked["LOG"]), Seen()
        log.write_bytes(b"")
        with self.forks.running(
            PROGRAM, self.what, self.folder / "s", self.level, env=env, said=True
        ) as process:
            for line in lines_of(process):
                seen.hear(line.decode())
            assert process.wait(WAIT_S) == 0, seen
        seen.calls = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
        return seen

    def numbers(self) -> list[int]:
        """Which ones are tried: the first, the last, and some between."""
        seen = self.run(0)
        assert (seen.errors, seen.ends, seen.failed()) == ([], ["o", "end"], None)
        last = sum(call[0] == self.call for call in seen.calls)
        assert last > 0
        return sorted({1 + at * (last - 1) // max(EACH - 1, 1) for at in range(EACH)})

    def check(self, seen: Seen) -> None:
        """What was said to be kept is there, once the disk works again."""
        level: Any = self.level
        options: dict[str, Any] = {"segment_bytes": SEGMENT, "durability": level}
        with mm.Spool(self.folder / "s", **options) as spool:
            assert spool.recovery.lost is None
            last = spool.info().last_seq
            if self.level == "disk" or self.call not in SYNCS:
                assert last >= seen.kept
            if self.what == "spool":
                with spool.reader() as reader:
                    assert list(reader) == [body(seq) for seq in range(1, last + 1)]
                assert all((one.floor or 0) >= seen.saved for one in spool.cursors())
                assert spool.cursors() or not seen.saved
            else:
                given = seen.given | set(received(spool))
                assert given >= set(range(1, last + 1))


def received(spool: mm.Spool) -> Iterator[int]:
    """The numbers of what it still sends."""
    with (
        mm.Push(bind=UP, spool=spool) as push,
        mm.Pull(connect=push.endpoint, ack="manual") as pull,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        push.finish()
        for message in pull:
            assert message.seq is not None
            assert message == body(message.seq[1])
            assert message.ack()
            yield message.seq[1]


def harmless(call: list[str]) -> bool:
    """Whether it may fail and nobody is told.

    A write goes on where it stopped. Room is taken ahead, so another attempt is made in time. LOCK
    has words for others. What a Push is done with and cannot save as it closes comes again. A file
    that went and cannot be the spare is removed.
    """
    name, _, file, how = call
    spare = name == "renameat" and file in ("again.seg", "spare.seg")
    return how == "short" or name == "fallocate" or file in ("LOCK", "push") or spare


@pytest.mark.parametrize("level", ["disk", "os"])
@pytest.mark.parametrize("what", ["spool", "push"])
@pytest.mark.parametrize(
    ("call", "how"),
    [
        ("fdatasync", "eio"),
        ("fsync", "eio"),
        ("pwritev", "eio"),
        ("pwritev", "enospc"),
        ("pwritev", "short"),
        ("fallocate", "enospc"),
        ("renameat", "eio"),
    ],
)
def test_f16_whichever_call_fails_what_was_kept_is_there(
    forks: Forks, tmp_path: Path, what: str, level: str, call: str, how: str
) -> None:
    """It is told in words, nothing hangs, no file is synced again, and others go on."""
    disk = Disk(forks, tmp_path / "d", what, level, call, how)
    met = 0
    for nth in disk.numbers():
        seen = disk.run(nth)
        assert seen.ends == ["o", "end"], (nth, seen)
        for error in seen.errors:
            assert error.startswith("Spool"), (nth, error)
            assert any(word in error for word in WORDS), (nth, error)
        at = seen.failed()
        if at is not None:
            met += 1
            assert seen.errors or harmless(seen.calls[at]), (nth, seen.calls[at])
            behind = [(name, file) for name, file, _, _ in seen.calls[at + 1 :]]
            if call in SYNCS:
                assert not {(sync, seen.calls[at][1]) for sync in SYNCS} & set(behind), nth
        disk.check(seen)
    assert met
