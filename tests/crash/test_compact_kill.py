"""Processes whose spool compacts itself are killed by SIGKILL: each key's last message is there.

Twenty rounds here; `make crash` has 1,000 of each. Not here: crashes of the machine, at each step
(tests/c/test_spool_compact_crash.c).
"""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.compactor import what_is
from tests.crash.crew import PLAIN_ROUNDS, SEED, SPOOL_ROUNDS
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of
from tests.support.spooled import small

LINES_MAX = 60
"""Of what it says, after which it is killed: at a moment that it does not know."""


def kept_until_killed(forks: Forks, path: Path, durability: str, lines: int) -> int:
    """Return up to which number it had said that all is kept."""
    said = 0
    with forks.running("tests.crash.compactor", path, durability, said=True) as process:
        for number, line in enumerate(lines_of(process)):
            if number == lines:
                process.send_signal(signal.SIGKILL)
            if line.endswith(b"\n"):
                said = int(line)
        assert process.wait(WAIT_S) == -signal.SIGKILL
    return said


def check(spool: Any) -> int:
    """Each message is what it was, and no key has an older one for its last; how many went."""
    last = spool.info().last_seq
    with spool.reader(1) as reader:
        read = list(reader)
    assert all(isinstance(one, mm.SpoolMessage) for one in read)
    numbers = [one.seq for one in read]
    assert numbers == sorted(set(numbers))
    there: dict[bytes | None, int] = {}
    for one in read:
        assert (one.key, bytes(one)) == what_is(one.seq)
        there[one.key] = one.seq
    keyless = {n for n in range(1, last + 1) if what_is(n)[0] is None}
    assert keyless <= set(numbers)
    wanted = {what_is(n)[0]: n for n in range(1, last + 1)}
    for key, seq in wanted.items():
        if what_is(seq)[1]:
            assert there[key] == seq
        else:  # it was deleted: nothing of it is there, or the last is a tombstone
            assert key not in there or what_is(there[key])[1] == b""
    return int(last) - len(numbers)


@pytest.mark.parametrize("durability", ["os", "disk"])
def test_of_each_key_the_last_message_is_there(
    forks: Forks, tmp_path: Path, durability: Any
) -> None:
    """Whatever a compaction was at when it was killed; and the next one goes on."""
    dice = random.Random(f"{SEED} {durability}")
    went = 0
    for done in range(PLAIN_ROUNDS):
        path = tmp_path / str(done // SPOOL_ROUNDS)
        kept = kept_until_killed(forks, path, durability, dice.randrange(LINES_MAX))
        with small(path, durability=durability) as spool:
            assert spool.recovery.lost is None
            assert spool.info().last_seq >= kept
            went = check(spool)
        assert not (path / "compact.seg").exists()
    assert went > 0
    with small(path, tombstone_age=0) as spool:
        spool.compact()
        check(spool)
