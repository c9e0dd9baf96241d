"""A function of dead letters that closes things: what it had is done in the spool, and comes once.

Not here: letters that are refused, or wait as somebody else closes (test_dead_refused.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._delivery import undertaker
from tests.support.pairs import WAIT_S, wait_until
from tests.unit.test_dead_letters import UP
from tests.unit.test_dead_refused import given_back, lag_of

BODIES = [b"%d" % i for i in range(6)]


class Closer:
    """A Push whose function of letters closes something each time, once all letters are there."""

    def __init__(self, jobs: mm.Spool) -> None:
        self.got: list[bytes] = []
        self.go = threading.Event()
        self.closes: Callable[[], object] = lambda: None
        self.engine = mm.Engine()
        self.push = mm.Push(
            bind=UP, spool=jobs, max_attempts=1, dead_letter=self._take, engine=self.engine
        )

    def _take(self, letter: mm.DeadLetter) -> None:
        assert self.go.wait(WAIT_S)
        self.got.append(bytes(letter))
        self.closes()

    def run(self) -> None:
        """Have all of them given; and close it once more."""
        given_back(self.push, BODIES)
        wait_until(lambda: self.push.stats().dead_messages == len(BODIES))
        self.go.set()
        wait_until(lambda: len(self.got) == len(BODIES))
        self.push.close()
        self.engine.close()


def _push(one: Closer) -> None:
    one.push.close()


def _engine(one: Closer) -> None:
    one.engine.close()


def _both(one: Closer) -> None:
    one.push.close()
    one.engine.close()


def _first_the_engine(one: Closer) -> None:
    one.engine.close()
    one.push.close()


def _finished(one: Closer) -> None:
    if not one.push.closed:
        one.push.finish()
    one.push.close()


@pytest.mark.parametrize("closes", [_push, _engine, _both, _first_the_engine, _finished])
def test_what_a_function_had_is_done_whatever_it_closes_each_time(
    closes: Callable[[Closer], None], tmp_path: Path
) -> None:
    """Each comes once, in order, and none is left for the next life."""
    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        one = Closer(jobs)
        one.closes = lambda: closes(one)
        one.run()
        assert one.got == BODIES
        assert lag_of(jobs) == 0
        with mm.Push(bind=UP, spool=jobs):
            pass  # and the spool is free


def test_two_whose_functions_close_each_other_are_both_done(tmp_path: Path) -> None:
    """Each is closed in the other's function, and in that of its own that is called there. Where
    both wait for each other, one gives up, and what it has not given is still in its spool."""
    with mm.Spool(str(tmp_path / "a")) as a, mm.Spool(str(tmp_path / "b")) as b:
        one, other = Closer(a), Closer(b)
        given_back(other.push, BODIES)
        wait_until(lambda: other.push.stats().dead_messages == len(BODIES))
        one.closes, other.closes = other.push.close, one.push.close
        given_back(one.push, BODIES)
        wait_until(lambda: one.push.stats().dead_messages == len(BODIES))
        other.go.set()
        one.go.set()
        wait_until(lambda: one.got and other.got)
        for closer in (one, other):
            closer.push.close()
            closer.engine.close()
        for closer, jobs in ((one, a), (other, b)):
            assert len(closer.got) == len(set(closer.got))
            assert len(closer.got) + lag_of(jobs) >= len(BODIES)


def test_a_function_that_closes_while_others_close_comes_once(tmp_path: Path) -> None:
    """They wait for it, as it gives what is left."""
    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        one = Closer(jobs)
        one.closes = one.push.close
        closers = [threading.Thread(target=one.push.close) for _ in range(3)]

        def run_closers() -> None:
            for closer in closers:
                closer.start()

        given_back(one.push, BODIES)
        wait_until(lambda: one.push.stats().dead_messages == len(BODIES))
        run_closers()
        one.go.set()
        for closer in closers:
            closer.join(WAIT_S)
        one.engine.close()
        assert one.got == BODIES
        assert lag_of(jobs) == 0


@pytest.mark.parametrize("closes", [_push, _engine])
def test_a_function_that_waits_for_a_thread_that_closes_it_goes_on(
    closes: Callable[[Closer], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That thread waits for the function, and not for ever; what was not given comes again."""
    monkeypatch.setattr(undertaker, "CLOSE_WAIT_S", 0.05)
    ended: list[bool] = []
    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        one = Closer(jobs)

        def close_apart() -> None:
            thread = threading.Thread(target=closes, args=[one])
            thread.start()
            thread.join(WAIT_S)
            ended.append(not thread.is_alive())

        one.closes = close_apart
        given_back(one.push, BODIES)
        wait_until(lambda: one.push.stats().dead_messages == len(BODIES))
        one.go.set()
        wait_until(lambda: ended)
        one.push.close()
        one.engine.close()
        assert all(ended)
        with mm.Push(bind=UP, spool=jobs) as push, mm.Pull(connect=push.endpoint) as pull:
            again = {bytes(pull.recv(timeout=WAIT_S)) for _ in range(lag_of(jobs))}
        assert again | set(one.got) == set(BODIES)
