"""All nodes are killed by SIGKILL at once, again and again: each spool is right by its own files,
and what any of them had kept takes effect once.

Six rounds here; `make crash` has 333, of six programs each. Not here: one of them that is killed
(test_push_spool_kill.py), machines that stop (tests/c/test_spool_crash.c).
"""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import meshmsg as mm
from tests.crash.booker import connect
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.crash.producer import EACH
from tests.support.forks import Forked, Forks
from tests.support.pairs import WAIT_S, free_endpoints
from tests.support.programs import lines_of
from tests.support.windows import make_effects

NODES = 3
ALL_ROUNDS = max(PLAIN_ROUNDS // 3, 1)
LIMIT = 100_000
"""Messages of the window: more than are ever on their way."""
LINES_MAX = 10
"""Of what a producer says, after which all are killed."""


class Nodes:
    """Producers, each with a spool of its own, and as many workers, which take from all of them."""

    def __init__(self, forks: Forks, folder: Path, level: str) -> None:
        self._forks, self._folder, self._level = forks, folder, level
        self._endpoints = free_endpoints(NODES)
        self.database = str(folder / "file")
        with closing(connect(self.database)) as connection:
            make_effects(connection)
        self.kept = [0] * NODES
        """Of each, how many it had said are kept."""

    def worker(self, stack: ExitStack) -> Forked:
        """Start one; it is gone with the stack."""
        asked = (",".join(self._endpoints), self.database, LIMIT, "never", 0)
        return stack.enter_context(self._forks.running("tests.crash.booker", *asked, said=False))

    def producer(self, stack: ExitStack, node: int) -> Forked:
        """Likewise; it sends as workers are done, so that not much is left in the end."""
        asked = (self._spool(node), self._level, "receipts", self._endpoints[node], 1, node)
        return stack.enter_context(self._forks.running("tests.crash.producer", *asked, said=True))

    def round(self, dice: random.Random) -> None:
        """Have all at work, and kill all at once; what was said by then counts."""
        with ExitStack() as stack:
            workers = [self.worker(stack) for _ in range(NODES)]
            producers = [self.producer(stack, node) for node in range(NODES)]
            said = [lines_of(one) for one in producers]
            for node, lines in enumerate(said):
                for _ in range(2 + dice.randrange(LINES_MAX)):
                    self.kept[node] = int(next(lines))
            everybody = [*workers, *producers]
            dice.shuffle(everybody)
            for one in everybody:
                os.kill(one.pid, signal.SIGKILL)
            for one in everybody:
                assert one.wait(WAIT_S) == -signal.SIGKILL
            for node, lines in enumerate(said):
                whole = [int(line) for line in lines if line.endswith(b"\n")]
                self.kept[node] = max([self.kept[node], *whole])

    def booked(self) -> Counter[int]:
        """How often each number took effect, once all of all spools is done; none is missing."""
        lasts: list[int] = []
        with ExitStack() as stack:
            self.worker(stack)
            for node, endpoint in enumerate(self._endpoints):
                spool = stack.enter_context(mm.Spool(self._spool(node)))
                assert spool.recovery.lost is None
                push = stack.enter_context(mm.Push(bind=endpoint, spool=spool))
                push.drain(timeout=WAIT_S * 3).raise_for_loss()
                lasts.append(spool.info().last_seq)
        with closing(connect(self.database)) as connection:
            rows = connection.cursor().execute("SELECT number FROM effects").fetchall()
        found = Counter(row[0] for row in rows)
        assert set(found) == {
            EACH * node + number for node, last in enumerate(lasts) for number in range(last)
        }
        assert all(last >= kept > 0 for last, kept in zip(lasts, self.kept, strict=True))
        return found

    def _spool(self, node: int) -> Path:
        return self._folder / f"spool{node}"


@pytest.mark.parametrize("level", ["os", "disk"])
def test_all_are_killed_at_once_and_nothing_is_lost(
    forks: Forks, tmp_path: Path, level: str
) -> None:
    """Producers and workers; each number whose send returned takes effect, once."""
    dice = random.Random(f"{SEED} {level} all")
    nodes = Nodes(forks, tmp_path, level)
    for _ in range(ALL_ROUNDS):
        nodes.round(dice)
    assert set(nodes.booked().values()) == {1}
