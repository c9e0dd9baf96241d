"""Writers of a spool are killed beside a view of it: what the view showed is there afterwards.

Five rounds here; `make crash` has 1,000 of each. Not here: what a writer said
(test_spool_kill.py).
"""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import FEW_ROUNDS, SEED, SPOOL_ROUNDS
from tests.crash.keeper import body_of
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S
from tests.support.spooled import small

READS_MAX = 40
"""Of the view, after which the writer is killed."""


def follow(reader: mm.SpoolReader, last: int, reads: int) -> int:
    """Read so often; each message is the next one, and right. Return the last number."""
    for _ in range(reads):
        read = reader.read(timeout=WAIT_S)
        assert read, "the view shows nothing more"
        for one in read:
            assert isinstance(one, mm.SpoolMessage)
            last += 1
            assert (one.seq, one) == (last, body_of(last))
    return last


def lives_beside_a_view(
    forks: Forks, dice: random.Random, path: Path, level: Any, count: int, rounds: int
) -> None:
    """Have so many writers of a new spool killed, and one view of it read over all their lives."""
    last = 0
    with small(path, durability=level):
        pass
    with mm.SpoolView(path) as view, view.reader() as reader:
        for _ in range(rounds):
            with forks.running("tests.crash.keeper", path, level, count, said=False) as process:
                last = follow(reader, last, 1 + dice.randrange(READS_MAX))
                process.send_signal(signal.SIGKILL)
                assert process.wait(WAIT_S) == -signal.SIGKILL
            shown = view.info().last_seq
            with small(path, durability=level) as spool:
                assert spool.recovery.lost is None
                assert spool.info().last_seq >= shown >= last
            if dice.randrange(2):  # else it meets all of the next life at once
                end = view.info().last_seq
                while last < end:
                    last = follow(reader, last, 1)
    with small(path) as spool, spool.reader() as again:
        assert [one.seq for one in again if isinstance(one, mm.SpoolMessage)] == list(
            range(1, spool.info().last_seq + 1)
        )


@pytest.mark.parametrize("count", [1, 40, 5_000])
@pytest.mark.parametrize("level", ["os", "disk"])
def test_what_a_view_showed_is_kept(forks: Forks, tmp_path: Path, level: Any, count: int) -> None:
    """In each life, under its number; the view goes on over all of them."""
    dice = random.Random(f"{SEED} view {level} {count}")
    for begun in range(0, FEW_ROUNDS, SPOOL_ROUNDS):
        rounds = min(SPOOL_ROUNDS, FEW_ROUNDS - begun)
        lives_beside_a_view(forks, dice, tmp_path / "s", level, count, rounds)
        shutil.rmtree(tmp_path / "s")
