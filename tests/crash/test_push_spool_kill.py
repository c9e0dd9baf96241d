"""Producers with a spool that are killed by SIGKILL, again and again: what they sent arrives, and
takes effect once.

Twenty rounds here; `make crash` has 1,000 of each. Not here: what a spool keeps when its process is
killed (test_spool_kill.py), workers that die alone (test_effects.py).
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import meshmsg as mm
from tests.crash.booker import connect
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.support.forks import Forked, Forks
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.programs import lines_of
from tests.support.windows import make_effects

LIMIT = 100_000
"""Messages of the window: more than are ever on their way."""
LINES_MAX = 20
"""Of what a producer says, after which it is killed: at a moment that it does not know."""


class Scene:
    """A spool that producers use one after another, workers, and the database of those."""

    def __init__(self, stack: ExitStack, forks: Forks, folder: Path, limit: int = LIMIT) -> None:
        self._stack, self._forks, self._limit = stack, forks, limit
        self._spool, self.database = str(folder / "spool"), str(folder / "file")
        self._repeats = folder / "repeats"
        self._endpoint = of_its_own(f"tcp://127.0.0.1:{_port()}")
        with closing(connect(self.database)) as connection:
            make_effects(connection)
        self.sent = 0
        """Numbers whose send returned, that somebody was told of."""
        self.workers: list[Forked] = []

    def worker(self) -> Forked:
        """Start one; at the end of the test it is gone."""
        arguments = (self._endpoint, self.database, self._limit, "never", 0, self._repeats)
        process = self._start("booker", *arguments)
        self.workers.append(process)
        return process

    def produce(self, level: str, how: str, lines: int) -> None:
        """Have a producer send until it has said so many lines, and kill it.

        If there are workers, it is done with one of its messages at least by then.
        """
        there = sum(worker.poll() is None for worker in self.workers)
        done = self.done()
        arguments = (self._spool, level, how, self._endpoint, there)
        with self._forks.running("tests.crash.producer", *arguments, said=True) as process:
            for number, line in enumerate(lines_of(process)):
                if number >= lines and (not there or self.done() > done):
                    process.send_signal(signal.SIGKILL)
                if line.endswith(b"\n"):  # what was on its way as it died counts, too
                    assert int(line) >= self.sent
                    self.sent = int(line)
            assert process.wait(WAIT_S) == -signal.SIGKILL

    def produce_for_ever(self, level: str) -> Forked:
        """Have a producer send as workers are done, and say nothing."""
        return self._start("producer", self._spool, level, "receipts", self._endpoint, 0)

    def done(self) -> int:
        """How many effects there are."""
        with closing(connect(self.database)) as connection:
            rows = connection.cursor().execute("SELECT coalesce(max(rowid), 0) FROM effects")
            return int(rows.fetchone()[0])

    def booked(self) -> Counter[int]:
        """How often each number took effect, once all of the spool is done."""
        with mm.Spool(self._spool) as spool, mm.Push(bind=self._endpoint, spool=spool) as push:
            assert spool.recovery.lost is None
            last = spool.info().last_seq
            assert last >= self.sent
            left = last + 1
            while (report := push.drain(timeout=WAIT_S)).queued + report.unconfirmed > 0:
                assert report.queued + report.unconfirmed < left, "nobody works any more"
                left = report.queued + report.unconfirmed
            assert push.stats().dropped == 0
        found = Counter(self.order())
        assert sorted(found) == list(range(last))  # lost: none; and nothing that was never sent
        return found

    def repeats(self) -> int:
        """How many messages came that had been done before."""
        return len(self._repeats.read_bytes().split())

    def order(self) -> list[int]:
        """The effects, as they were committed."""
        with closing(connect(self.database)) as connection:
            rows = connection.cursor().execute("SELECT number FROM effects ORDER BY rowid")
            return [row[0] for row in rows.fetchall()]

    def _start(self, module: str, *arguments: object) -> Forked:
        one = self._forks.running(f"tests.crash.{module}", *arguments, said=False)
        return self._stack.enter_context(one)


def _port() -> int:
    """A port that is free on the address that nobody else uses."""
    with mm.Pull(bind=of_its_own()) as pull:
        return int(pull.endpoint.rpartition(":")[2])


@pytest.mark.parametrize("how", ["one", "many", "receipts"])
@pytest.mark.parametrize("level", ["os", "disk"])
def test_a_producer_that_is_killed_loses_nothing(
    forks: Forks, tmp_path: Path, level: str, how: str
) -> None:
    """Whatever it was about: each number whose send returned takes effect, once."""
    dice = random.Random(f"{SEED} {level} {how}")
    with ExitStack() as stack:
        scene = Scene(stack, forks, tmp_path)
        scene.worker()
        for _ in range(PLAIN_ROUNDS):
            scene.produce(level, how, dice.randrange(LINES_MAX))
        assert set(scene.booked().values()) == {1}
        if how == "many":  # of those it had sent so many that some were done, and it did not know
            assert scene.repeats() > 0


@pytest.mark.parametrize("level", ["os", "disk"])
def test_a_worker_that_is_killed_loses_nothing(forks: Forks, tmp_path: Path, level: str) -> None:
    """While its producer lives: another worker does what it had."""
    with ExitStack() as stack:
        scene = Scene(stack, forks, tmp_path)
        producer = scene.produce_for_ever(level)
        for _ in range(PLAIN_ROUNDS):
            done, worker = scene.done(), scene.worker()
            wait_until(lambda done=done: scene.done() > done)
            worker.send_signal(signal.SIGKILL)
            worker.wait(WAIT_S)
        producer.send_signal(signal.SIGKILL)
        producer.wait(WAIT_S)
        scene.worker()
        assert set(scene.booked().values()) == {1}


@pytest.mark.parametrize("level", ["os", "disk"])
def test_producer_and_worker_are_killed_in_pairs(forks: Forks, tmp_path: Path, level: str) -> None:
    """One behind the other, in any order; another worker goes on, or there is none for a while."""
    dice = random.Random(f"{SEED} {level} pairs")
    with ExitStack() as stack:
        scene = Scene(stack, forks, tmp_path)
        for _ in range(PLAIN_ROUNDS):
            scene.worker()
            if dice.randrange(2):
                scene.worker()
            scene.produce(level, dice.choice(["one", "many"]), dice.randrange(LINES_MAX))
            for worker in scene.workers:
                if dice.randrange(3):
                    worker.send_signal(signal.SIGKILL)
                    worker.wait(WAIT_S)
        scene.worker()
        assert set(scene.booked().values()) == {1}
        assert scene.repeats() > 0


def test_without_a_window_they_would_do_things_twice(forks: Forks, tmp_path: Path) -> None:
    """The same producers, the same kills: so the tests above do show something."""
    with ExitStack() as stack:
        scene = Scene(stack, forks, tmp_path, limit=0)
        scene.worker()
        for _ in range(PLAIN_ROUNDS):
            scene.produce("os", "many", LINES_MAX)
        booked = scene.booked()
        assert booked.total() > len(booked)


def test_order_holds_while_nobody_dies(forks: Forks, tmp_path: Path) -> None:
    """One producer, one worker: what was put last is done last; each once."""
    with ExitStack() as stack:
        scene = Scene(stack, forks, tmp_path)
        scene.produce("os", "many", LINES_MAX)  # nobody took anything before it died
        scene.worker()
        booked = scene.booked()
        assert scene.order() == sorted(booked)
