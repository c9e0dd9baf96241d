"""Signals while a batch is gathered: looked at meanwhile, and nothing is lost by what they do."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, joined, wait_until
from tests.support.signals import handled

GATHERED_S = 0.25
"""More than two of the slices after which a main thread looks at signals."""


class Stop(Exception):
    """What a signal's function raises here."""


@contextmanager
def due_once_gathering(pull: mm.Pull, function: Callable[[], None]) -> Iterator[None]:
    """Have a signal's function due when the main thread has taken its first message, and waits."""

    def due() -> None:
        wait_until(lambda: pull.stats().received_messages == 1)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # wakes nobody

    with handled(function):
        raising = threading.Thread(target=due)
        raising.start()
        yield
        raising.join()


def test_a_signal_that_raises_ends_the_gathering_and_loses_nothing() -> None:
    """Long before max_wait is over, and the message that was gathered is the next one."""
    seen = threading.Event()

    def stop() -> None:
        seen.set()
        raise Stop

    with joined(mm.Push, mm.Pull) as (push, pull):
        in_time: list[bool] = []

        def fill() -> None:
            in_time.append(seen.wait(WAIT_S))
            push.send(b"2")

        filling = threading.Thread(target=fill)
        push.send(b"1")
        with due_once_gathering(pull, stop), pytest.raises(Stop):
            filling.start()
            pull.recv_batch(2, max_wait=WAIT_S * 10, timeout=WAIT_S)
        filling.join()
        assert in_time == [True]
        assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"1", b"2"]
        assert pull.stats().received_messages == 2


def test_a_gathering_goes_on_after_a_signal() -> None:
    """Its function sends what the batch still lacks."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"1")
        with due_once_gathering(pull, lambda: push.send(b"2")):
            found = pull.recv_batch(2, max_wait=WAIT_S, timeout=WAIT_S)
        assert found == [b"1", b"2"]
        assert pull.stats().received_messages == 2


def test_a_batch_is_what_was_gathered_when_a_signals_function_closes_the_socket() -> None:
    """As when any other thread closes it."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"1")
        with due_once_gathering(pull, pull.close):
            found = pull.recv_batch(2, max_wait=WAIT_S * 10, timeout=WAIT_S)
        assert found == [b"1"]


def test_a_gathering_ends_in_time_however_often_signals_are_looked_at() -> None:
    """The time is that of the whole; were it begun again each time, it would never end."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"1")
        found = pull.recv_batch(2, max_wait=GATHERED_S, timeout=WAIT_S)
        assert found == [b"1"]
