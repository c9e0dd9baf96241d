"""Producers that number what they put are killed by SIGKILL at any moment, and put again what they
were not told of: nothing is there twice, and nothing is lost.

Not here: crashes of the machine (tests/c/test_spool_origins_crash.c).
"""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.crash.numberer import NAME, body_of
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of
from tests.support.spooled import small

CALLS_MAX = 40
"""Of a life, after which it dies."""


def run_until_dead(
    forks: Forks, arguments: tuple[object, ...], lines: int, itself: bool
) -> tuple[int, int, int]:
    """Return the number that the next life goes on with, below which number all is kept, and how
    often something was not new.

    What it says once somebody has begun to kill it comes too late for the next life.
    """
    told = kept = int(str(arguments[-1]))
    repeated, dies = 0, lines + 1 if itself else 0
    with forks.running("tests.crash.numberer", *arguments, dies, said=True) as process:
        for number, line in enumerate(lines_of(process)):
            if number == lines and not itself:
                process.send_signal(signal.SIGKILL)
            if line.endswith(b"\n"):
                kept, repeated = map(int, line.split())
                told = kept if number < lines else told
        assert process.wait(WAIT_S) == -signal.SIGKILL
    return told, kept, repeated


def numbers_in(spool: mm.Spool) -> list[int]:
    """Return the number of each message that is there, each with the body of that number."""
    numbers = []
    with spool.reader() as reader:
        for one in reader:
            assert isinstance(one, mm.SpoolMessage)
            numbers.append(int(one.partition(b" ")[0]))
            assert one == body_of(numbers[-1])
    return numbers


@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("each", [1, 20])
@pytest.mark.parametrize("level", ["os", "disk"])
def test_nothing_is_there_twice_and_nothing_is_lost(
    forks: Forks, tmp_path: Path, level: Any, each: int, itself: bool
) -> None:
    """Each life goes on with what the one before it was not told of."""
    dice = random.Random(f"{SEED} {level} {each} {itself}")
    path, number, repeated, first = tmp_path / "s", 1, 0, 1
    for _ in range(PLAIN_ROUNDS):
        life = (path, level, each, number)
        number, kept, again = run_until_dead(forks, life, 1 + dice.randrange(CALLS_MAX), itself)
        repeated += again
        with small(path, durability=level) as spool:
            there = numbers_in(spool)
            last = spool.last_origin(NAME) or 0
            assert there == list(range(first, last + 1))
            assert last >= kept - 1
            repeated_now = spool.append(b"", origin=(NAME, last)) if last else None
            assert last == 0 or isinstance(repeated_now, mm.SpoolRepeat)
            spool.trim(spool.info().last_seq - dice.randrange(2 * each))
            first = spool.info().first_seq  # nothing is left out or doubled, so they are the same
    assert repeated >= (PLAIN_ROUNDS - 1 if itself else 1)
