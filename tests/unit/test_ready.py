"""What an iteration has received and not given out: a queue whose end may still be a batch."""

from __future__ import annotations

import gc
import sys
import threading
from types import SimpleNamespace

import pytest

import meshmsg as mm
from meshmsg._binding.core import fast
from meshmsg._binding.message import message_class
from tests.support.pairs import WAIT_S, joined
from tests.support.unlike import called


def test_what_is_put_back_comes_before_all_others() -> None:
    """In its order."""
    ready = fast.ready(message_class)
    ready.put_back([b"4"])
    ready.put_back([b"2", b"3"])
    ready.put_back([b"0", b"1"])
    assert len(ready) == 5
    assert ready.known() == (0, 0, [b"0", b"1", b"2", b"3", b"4"])
    assert [ready.pop() for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
    assert ready.pop() is None


def test_what_was_cleared_is_gone_and_released() -> None:
    """And what was taken belongs to who took it."""
    body = b"body of its own" * 3
    before = sys.getrefcount(body)
    ready = fast.ready(message_class)
    for _ in range(200):
        ready.put_back([body])
    taken = ready.pop()
    ready.clear()
    assert len(ready) == 0
    assert not ready
    del taken
    assert sys.getrefcount(body) == before


def test_a_queue_in_a_cycle_is_collected() -> None:
    """The garbage collector sees what is in it."""
    gc.collect()
    ready = fast.ready(message_class)
    ready.put_back([[ready]])
    del ready
    assert gc.collect() > 0


def test_no_list_is_refused() -> None:
    """Nothing is changed."""
    ready = fast.ready(message_class)
    with pytest.raises(TypeError):
        ready.put_back((b"1",))
    with pytest.raises(TypeError):
        fast.stream([], len)
    with pytest.raises(TypeError):
        fast.stream(ready, len)
    with pytest.raises(TypeError):
        ready.recv(1)
    assert len(ready) == 0


def test_messages_of_a_batch_are_made_as_they_are_taken() -> None:
    """Counted, listed and given out as if they were there already."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        bodies = [b"%d" % i for i in range(100)]
        push.send_many(bodies, timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        first = next(iter(pull))
        assert first == b"0"
        assert first.peer == pull.peers()[0].id
        left = pull._ready
        assert 0 < len(left) < len(bodies)
        assert left.known() == (len(left), sum(map(len, bodies[1 : len(left) + 1])), [])
        assert pull.stats().received_messages == 1
        found = pull.recv_many(10)
        assert found == bodies[1 : len(found) + 1]
        rest = bodies[len(found) + 1 :]
        assert [next(iter(pull)) for _ in rest] == rest


def test_messages_are_no_work_for_the_garbage_collector() -> None:
    """They cannot be in a cycle."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2"], timeout=WAIT_S)
        stream = iter(pull)
        for _ in range(2):
            assert not gc.is_tracked(next(stream))


def test_what_is_being_received_is_nobody_elses() -> None:
    """Whatever runs while the messages are made: a signal's function, or another thread."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2", b"3"], timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        seen: list[list[bytes]] = []

        def classes(peer: int) -> type[mm.Message]:
            seen.append(ready.take(9))
            return message_class(peer)

        ready = fast.ready(classes)
        found = ready.recv(pull, pull._handle, 100, 1000, 0, 0)
        assert [found, *ready.take(9)] == [b"1", b"2", b"3"]
        assert seen == [[]]


def test_a_queue_that_is_cleared_while_a_message_is_made_is_empty() -> None:
    """The first is given out all the same; the batch lives as long as it is read."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"x" * 1000] * 50, timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()

        def classes(peer: int) -> type[mm.Message]:
            ready.clear()
            return message_class(peer)

        ready = fast.ready(classes)
        assert ready.recv(pull, pull._handle, 100, 1_000_000, 0, 0) == b"x" * 1000
        assert len(ready) == 0


def test_a_finalizer_may_take_while_the_last_message_is_made() -> None:
    """Making one may collect garbage, and what is collected may receive."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"0", b"1", b"2"], timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        taken: list[bytes] = []

        class Cycle:
            def __init__(self) -> None:
                self.me = self

            def __del__(self) -> None:
                taken.extend(pull._take_many(9))
                pull.stats()

        stream = iter(pull)
        taken += [next(stream), next(stream)]
        thresholds = gc.get_threshold()
        gc.disable()
        for _ in range(100):
            Cycle()
        gc.set_threshold(1)
        gc.enable()
        try:
            taken += [message for message in [pull._take_ready()] if message is not None]
        finally:
            gc.set_threshold(*thresholds)
        assert taken == [b"0", b"1", b"2"]


def test_who_takes_while_a_message_is_called_gets_others() -> None:
    """Where messages cannot be made in place, calling their class may run anything."""
    ready = fast.ready(lambda peer: Taking)
    taken: list[bytes] = []

    class Taking(mm.Message):
        __slots__ = ()

        def __new__(cls, body: bytes) -> Taking:
            taken.extend(ready.take(1))
            return bytes.__new__(cls, body)

    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"%d" % i for i in range(9)], timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        with called():
            taken.append(ready.recv(pull, pull._handle, 100, 1000, 0, 0))
            while ready:
                taken.append(ready.pop())
        assert sorted(taken) == [b"%d" % i for i in range(9)]


def test_an_error_while_a_message_is_made_takes_nothing() -> None:
    """The next call finds it."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2"], timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        failing = True

        def classes(peer: int) -> type[mm.Message]:
            if failing:
                raise KeyError(peer)
            return message_class(peer)

        ready = fast.ready(classes)
        with pytest.raises(KeyError):
            ready.recv(pull, pull._handle, 100, 1000, 0, 0)
        failing = False
        assert len(ready) == 2
        assert ready.take(5) == [b"1", b"2"]


def test_the_quick_way_ends_after_so_many_until_there_was_a_rest() -> None:
    """And where there is nothing, or a descriptor is watched."""
    ready = fast.ready(message_class)
    ready.put_back([b"1", b"2", b"3"])
    assert [ready.quick(2) for _ in range(3)] == [b"1", b"2", None]
    assert ready.rested() == 2
    assert ready.rested() == 0
    ready.hold()
    assert ready.quick(2) is None
    assert ready.take(2) == [b"3"]
    assert fast.ready(message_class).quick(2) is None
    with pytest.raises(TypeError):
        ready.quick("2")


def test_what_is_held_goes_by_way_of_the_refill() -> None:
    """For sockets whose descriptor somebody watches."""
    ready = fast.ready(message_class)
    ready.put_back([b"1"])
    owner = SimpleNamespace(_inbox_lock=threading.RLock())
    stream = fast.stream(ready, lambda: b"refilled", owner, 0, 1, 1, -1, 0)
    ready.hold()
    assert next(stream) == b"refilled"
    assert iter(stream) is stream
    assert len(ready) == 1
