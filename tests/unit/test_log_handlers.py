"""Handlers of the log that are slow, hold locks, raise, or send: nobody but the log waits for them.

Not here: what is logged (test_eventlog), and when (test_telling).
"""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.pairs import WAIT_S, of_its_own, told_all, wait_until

UP = "tcp://127.0.0.1:0"
GONE = of_its_own().replace(":0", ":9")
SOON_S = 10.0
"""Seconds for what needs none; only a broken build needs them."""


class Handler(logging.Handler):
    """Does this with each record of ours, under its own lock as any handler."""

    def __init__(self, handle: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._do = handle

    def emit(self, record: logging.LogRecord) -> None:
        """Do it."""
        self._do(record)


@contextmanager
def handled(do: Callable[[logging.LogRecord], object], level: int = logging.DEBUG) -> Iterator[Any]:
    """Have all records of ours handled so."""
    log = logging.getLogger("meshmsg")
    before, handler = log.level, Handler(do)
    log.addHandler(handler)
    log.setLevel(level)
    try:
        yield handler
    finally:
        log.setLevel(before)
        log.removeHandler(handler)


def returns(call: Callable[[], object]) -> bool:
    """Whether a call comes back although a handler does not."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(SOON_S)
    return not thread.is_alive()


def test_a_handler_that_does_not_return_holds_up_neither_close_nor_what_others_are_told() -> None:
    """Closing while it is in there, and the function of another socket of the engine."""
    inside, go = threading.Event(), threading.Event()

    def stay(_: logging.LogRecord) -> None:
        inside.set()
        go.wait()

    heard: queue.Queue[mm.Event] = queue.Queue()
    with handled(stay):
        try:
            pull = mm.Pull(bind=UP)
            assert inside.wait(SOON_S)
            with mm.Pull(bind=UP, on_event=heard.put):
                assert heard.get(timeout=SOON_S).kind is mm.EventKind.LISTENING
                pull.bind(UP)
                assert returns(pull.close)
        finally:
            go.set()


def test_a_lock_of_a_handler_may_be_held_by_who_waits_in_a_call() -> None:
    """A handler that sends, called by the program; its lock is no RLock."""
    lock = threading.Lock()

    def with_lock(_: logging.LogRecord) -> None:
        with lock:
            pass

    def send() -> None:
        with lock, pytest.raises(mm.TimedOutError):
            push.send(b"x", timeout=0.3)

    with handled(with_lock), mm.Push(connect=GONE) as push:
        wait_until(push.events)
        assert returns(send)


def test_a_handler_may_send_on_the_socket_it_is_told_of_and_on_another() -> None:
    """What it logs arrives, and what its own sending leads to is logged as well."""
    with mm.Pull(bind=UP) as pull, mm.Engine() as engine:
        other = mm.Push(connect=pull.endpoint, engine=engine)
        other.wait_for_peers(timeout=WAIT_S)
        with mm.Push() as push:

            def publish(record: logging.LogRecord) -> None:
                words = record.getMessage().encode()
                with suppress(mm.ClosedError):  # the last records come after the end
                    other.send(words, timeout=WAIT_S)
                    push.send(words, timeout=WAIT_S)

            with handled(publish):
                push.connect(pull.endpoint)
                for _ in range(2):
                    assert pull.recv(timeout=WAIT_S).startswith(b"Pu")
                for each in (push, pull, other):
                    each.close()
                told_all()


def test_what_a_slow_handler_has_no_time_for_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told where they would have been."""
    monkeypatch.setattr("meshmsg._events.log_records.WAITING_MAX", 4)
    inside, go = threading.Event(), threading.Event()
    told: list[str] = []

    def slow(record: logging.LogRecord) -> None:
        told.append(record.getMessage())
        inside.set()
        go.wait(WAIT_S)

    with handled(slow), mm.Pull(bind=UP) as pull:
        try:
            assert inside.wait(WAIT_S)
            for _ in range(9):
                pull.bind(UP)
            wait_until(lambda: pull._outlet._log_seq == 11)
            wait_until(lambda: _records()._left_out == 5)
        finally:
            go.set()
        wait_until(lambda: len(told) == 6)
        assert all("LISTENING" in words for words in told[:5])
        assert told[5].startswith("5 records were left out here")


def _records() -> Any:
    from meshmsg._events.log_records import records

    return records


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["handler", "filter"])
def test_a_handler_or_filter_that_raises_stops_no_telling(
    error: type[BaseException], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told by the hook for errors that nobody can be given; the next record is made."""
    told: list[Any] = []
    tried: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))

    def bad(record: logging.LogRecord) -> None:
        tried.append(record.getMessage())
        raise error

    heard: queue.Queue[mm.Event] = queue.Queue()
    with handled(bad) as handler:
        if where == "filter":
            handler.addFilter(bad)
        with mm.Pull(bind=UP, on_event=heard.put) as pull:
            heard.get(timeout=WAIT_S)
            pull.bind(UP)
            heard.get(timeout=WAIT_S)
            wait_until(lambda: len(tried) == 2 and told == [error] * 2)
        assert pull.closed


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_handler_that_raises_leaves_no_socket_open(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no thread tells, close() logs: after it has closed."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    def bad(_: logging.LogRecord) -> None:
        raise error

    with SimWorld(seed=1) as world:
        pull = mm.Pull(bind="tcp://10.0.0.1:1", engine=world.engine(), insecure=True)
        with handled(bad):
            try:
                pull.close()
            except KeyboardInterrupt:
                assert error is KeyboardInterrupt
            assert pull.closed


def test_an_error_that_nobody_can_have_is_told_by_pythons_own_hook() -> None:
    """On standard error, with its type and its line, as of any program."""
    code = """
from meshmsg._events.log_records import tell_of_error
try:
    1 / 0
except ZeroDivisionError:
    tell_of_error("somebody's function failed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "somebody's function failed" in done.stderr
    assert "ZeroDivisionError" in done.stderr
