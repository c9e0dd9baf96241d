"""Processes that keep messages in a spool are killed by SIGKILL: what they said is kept is there.

Twenty rounds here; `make crash` has 1,000 of each. Not here: crashes of the machine, which a
simulated disk has (tests/c/test_spool_crash.c).
"""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.crash.keeper import body_of
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of
from tests.support.spooled import small

LINES_MAX = 60
"""Of what it says, after which it is killed: at a moment that it does not know."""


def run_until_killed(
    forks: Forks, path: Path, level: str, count: int, lines: int
) -> tuple[int, int]:
    """Return up to which number it had said that all is kept, and what it had read."""
    said = {"k": 0, "r": 0}
    with forks.running("tests.crash.keeper", path, level, count, said=True) as process:
        for number, line in enumerate(lines_of(process)):
            if number == lines:
                process.send_signal(signal.SIGKILL)
            if line.endswith(b"\n"):  # what was on its way as it died counts, too
                what, seq = line.split()
                said[what.decode()] = int(seq)
        assert process.wait(WAIT_S) == -signal.SIGKILL
    return said["k"], said["r"]


@pytest.mark.parametrize("count", [1, 40, 5_000])
@pytest.mark.parametrize("level", ["os", "disk"])
def test_what_was_kept_is_there(forks: Forks, tmp_path: Path, level: Any, count: int) -> None:
    """All of it, unharmed, in order; what a reader had read is there, too, under its number."""
    dice = random.Random(f"{SEED} {level} {count}")
    path, last, unclean = tmp_path / "s", 0, 0
    for _ in range(PLAIN_ROUNDS):
        kept, read = run_until_killed(forks, path, level, count, dice.randrange(LINES_MAX))
        with small(path, durability=level) as spool:
            unclean += spool.recovery.unclean
            assert spool.recovery.lost is None
            info = spool.info()
            assert info.last_seq >= max(kept, read, last)
            with spool.reader(last + 1) as reader:  # what was there before was looked at then
                for seq, one in enumerate(reader, last + 1):
                    assert isinstance(one, mm.SpoolMessage)
                    assert (one.seq, one) == (seq, body_of(seq))
                assert reader.seq == info.last_seq + 1
            last = info.last_seq
    assert unclean == PLAIN_ROUNDS  # it was killed each time, and not between two lives
    with small(path) as spool, spool.reader() as reader:
        assert [one.seq for one in reader if isinstance(one, mm.SpoolMessage)] == list(
            range(1, last + 1)
        )
