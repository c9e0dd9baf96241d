"""Processes that mark messages of a spool are killed by SIGKILL: what was said to be saved is,
nothing is done that was not, and what goes by itself was done.

Twenty rounds here; `make crash` has 1,000. Not here: crashes of the machine, which a simulated disk
has (tests/c/test_cursor_crash.c).
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

import meshmsg as mm
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of
from tests.support.spooled import small

LINES_MAX = 400


def run_until_killed(forks: Forks, path: Path, seed: str, lines: int) -> tuple[set[int], int]:
    """Return which messages it had begun to mark, and up to where it said that all is saved."""
    begun, last = set(), 0
    with forks.running("tests.crash.marker", path, seed, said=True) as process:
        for number, line in enumerate(lines_of(process)):
            if number == lines:
                process.send_signal(signal.SIGKILL)
            if line.endswith(b"\n"):
                what, seq = line.split()
                if what == b"b":
                    begun.add(int(seq))
                else:
                    last = int(seq)
        assert process.wait(WAIT_S) == -signal.SIGKILL
    return begun, last


def test_what_is_done_after_a_kill_was_done_before(forks: Forks, tmp_path: Path) -> None:
    """And no less than was said to be saved; all else is read again."""
    dice = random.Random(f"{SEED} cursors")
    path, begun, last = tmp_path / "s", set[int](), 0
    for _ in range(PLAIN_ROUNDS):
        more, saved = run_until_killed(forks, path, str(dice.random()), dice.randrange(LINES_MAX))
        begun |= more
        last = max(last, saved)
        with small(path) as spool, spool.cursor("work") as cursor:
            info = spool.info()
            assert cursor.missed == 0
            assert last <= cursor.floor <= max(begun, default=0)
            numbers = range(1, info.last_seq + 1)
            done = {seq for seq in numbers if cursor.is_done(seq)}
            assert done <= begun
            assert info.first_seq <= cursor.floor + 1
            read = [one.seq for one in cursor.reader() if isinstance(one, mm.SpoolMessage)]
            assert read == [seq for seq in numbers if seq not in done]
