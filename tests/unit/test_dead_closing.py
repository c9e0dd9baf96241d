"""A Push with a spool that is closed while workers give back all that they get: it ends.

Not here: a function that closes its own Push (test_dead_closed.py), letters that are refused
(test_dead_refused.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._delivery import undertaker
from tests.support.pairs import WAIT_S, wait_until
from tests.unit.test_dead_letters import UP
from tests.unit.test_dead_refused import lag_of

MANY = 30


class Dying:
    """A Push whose thread of letters is in its function for the first one, until it is closed."""

    def __init__(self, jobs: mm.Spool) -> None:
        self.got: list[bytes] = []
        self.then: Callable[[], object] = lambda: None
        """What the function does with each behind the first."""
        self.push = mm.Push(bind=UP, spool=jobs, max_attempts=1, dead_letter=self._take)
        self._worker = mm.Pull(connect=self.push.endpoint, ack="manual", prefetch=1)
        self.push.send_many([b"%d" % i for i in range(MANY)])
        self._made = 0
        self.make()
        wait_until(lambda: len(self.got) == 1)

    def _take(self, letter: mm.DeadLetter) -> None:
        self.got.append(bytes(letter))
        if len(self.got) == 1:
            wait_until(lambda: self.keeper._closing)
        else:
            self.then()

    @property
    def keeper(self) -> undertaker.Undertaker:
        """What gives them."""
        keeper = self.push._outlet.on_dead
        assert isinstance(keeper, undertaker.Undertaker)
        return keeper

    def make(self) -> None:
        """The worker gives one back; wait until it is a letter."""
        assert self._worker.recv(timeout=WAIT_S).nack()
        self._made += 1
        wait_until(lambda: self.push.stats().dead_messages == self._made)

    def close(self) -> None:
        """Close all of it."""
        self.push.close()
        self._worker.close()


def come_again(jobs: mm.Spool, given: int) -> None:
    """All but those come again, in order."""
    assert lag_of(jobs) == MANY - given
    with mm.Push(bind=UP, spool=jobs) as push, mm.Pull(connect=push.endpoint) as pull:
        for number in range(given, MANY):
            assert pull.recv(timeout=WAIT_S) == b"%d" % number


def test_what_dies_as_it_is_closed_comes_again(tmp_path: Path) -> None:
    """Each that is given makes another one: only those are given that were there as it began."""
    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        one = Dying(jobs)
        one.make()
        one.then = one.make
        one.close()
        assert one.got == [b"0", b"1"]
        come_again(jobs, 2)


def test_those_that_take_too_long_come_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And are told of."""
    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        one = Dying(jobs)
        for _ in range(4):
            one.make()

        def late() -> None:
            one.keeper._ends = -math.inf

        one.then = late
        one.close()
        assert one.got == [b"0", b"1"]
        come_again(jobs, 2)
        said = "3 dead letters of a Push were not given, and come again from the spool"
        wait_until(lambda: said in caplog.text)
