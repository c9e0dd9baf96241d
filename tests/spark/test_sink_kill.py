"""A query that writes to a receiver, while its driver and its Python workers are killed by SIGKILL:
what a receiver with a dedupe window has booked lacks no row, and has none twice.

Each round kills at a row that has come and is not acknowledged. Not here: a batch that is written
again without a kill (test_sink.py), what is killed while it reads (test_kill.py).
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from random import Random

import pytest

import meshmsg as mm
from tests.crash.crew import SEED
from tests.spark.campaign import Child
from tests.spark.killing import children_of, jvms_of, kill, workers_of, writing_in
from tests.spark.receiving import Receiver
from tests.support.pairs import of_its_own
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

KINDS = ("driver that wrote", "worker", "driver")
"""Who is killed in a round: the workers of the sink, or the driver with all that it started; of the
first, once the receiver is done with the batch, and Spark does not know it yet."""
ROUNDS = int(os.environ.get("MESHMSG_SPARK_ROUNDS", "2"))
PUTS = 300
"""Rows of a round."""
LIMIT = 200
"""Rows of a batch, by two tasks."""


class Writing:
    """A spool, a query that reads it, and the receiver that the query writes to."""

    def __init__(self, stack: ExitStack, folder: Path, dice: Random) -> None:
        self._folder, self._dice = folder, dice
        self.killed: Counter[str] = Counter()
        """By who it was: how many processes were killed."""
        self.count = 0
        """Rows that were put."""
        self.receiver = Receiver(folder)
        stack.callback(self.receiver.close)
        self._spool = stack.enter_context(mm.Spool(str(folder / "spool")))
        server = stack.enter_context(mm.SpoolServer(self._spool, bind=of_its_own()))
        where = (server.endpoint, self.receiver.pull.endpoint)
        self._driver = Child("sinking", folder, *where, LIMIT)
        stack.callback(self._driver.close)

    @property
    def _root(self) -> int:
        assert self._driver.process is not None
        return self._driver.process.pid

    def round(self, who: str) -> range:
        """Put rows and kill while they are written; return them, once all are done with."""
        rows = range(self.count + 1, self.count + PUTS + 1)
        last = who == "driver that wrote"
        self.receiver.at(PUTS if last else self._dice.randint(1, PUTS), lambda: self._hit(who))
        self._spool.append_many(b"%d" % row for row in rows)
        self.count += PUTS
        self.receiver.until(lambda: self.receiver.hit)
        if last:
            self.receiver.until(lambda: self.receiver.has(rows))
            self._kill_driver(who)
        if who != "worker":
            self._driver.begin()
        self.receiver.until(lambda: self.receiver.came[self.receiver.hit] > 1)
        self.receiver.until(lambda: self.receiver.has(rows))
        self._driver.until(self._is_told)
        return rows

    def _hit(self, who: str) -> None:
        """Do it, in the thread of the receiver."""
        if who == "driver that wrote":  # it hears no more that its tasks have ended
            assert kill(jvms_of(self._root), signal.SIGSTOP) == 1
        elif who == "driver":
            self._kill_driver(who)
        else:
            self.killed[who] += kill(writing_in(self._folder / "rows", workers_of(self._root)))
            assert self.killed[who]

    def _kill_driver(self, who: str) -> None:
        self.killed[who] += kill(children_of(self._root)) + self._driver.kill()

    def _is_told(self) -> bool:
        """Whether Spark has all rows in its log of commits."""
        said = self._driver.said("at")
        ends = [place["next"] for place in json.loads(said[-1])["p"].values()] if said else []
        return ends == [self.count + 1]

    def end(self) -> None:
        """End the query."""
        assert self._driver.process is not None
        assert self._driver.process.stdin is not None
        self._driver.process.stdin.close()
        self._driver.process.wait()


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[Writing]:
    """One that is closed in the end."""
    with ExitStack() as stack:
        yield Writing(stack, tmp_path, Random(f"{SEED} sink"))


def test_a_receiver_with_a_window_has_each_row_once_whoever_is_killed(writing: Writing) -> None:
    """And without it some are there twice, so rows were sent again, and not left for the window."""
    receiver = writing.receiver
    plain = writing.round("worker")
    receiver.window = mm.DedupeWindow("rows")
    for who in islice(cycle(KINDS), ROUNDS):
        writing.round(who)
    writing.end()
    booked = receiver.booked()
    assert booked.keys() == set(range(1, writing.count + 1))
    assert [row for row in plain if booked[row] > 1]
    assert [row for row in booked if row not in plain and booked[row] > 1] == []
    again = sum(receiver.came[row] - 1 for row in booked if row not in plain)
    assert again >= ROUNDS
    print(f"{ROUNDS} rounds, {dict(writing.killed)} killed, {again} rows again")
