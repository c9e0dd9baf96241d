"""What an iteration has received and not given out: a queue whose end may still be a batch."""

from __future__ import annotations

import gc
import sys

import pytest

import meshmsg as mm
from meshmsg._core import EAGAIN, fast
from meshmsg._message import message_class
from tests.support.pairs import WAIT_S, joined


def test_what_is_put_back_comes_before_all_others() -> None:
    """In its order."""
    ready = fast.ready(message_class)
    ready.put_back([b"4"])
    ready.put_back([b"2", b"3"])
    ready.put_back([b"0", b"1"])
    assert len(ready) == 5
    assert ready.items() == [b"0", b"1", b"2", b"3", b"4"]
    assert [ready.popleft() for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
    with pytest.raises(IndexError):
        ready.popleft()


def test_what_was_cleared_is_gone_and_released() -> None:
    """And what was taken belongs to who took it."""
    body = b"body of its own" * 3
    before = sys.getrefcount(body)
    ready = fast.ready(message_class)
    for _ in range(200):
        ready.put_back([body])
    taken = ready.popleft()
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
        assert left.items() == bodies[1 : len(left) + 1]
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


def test_classes_may_receive_from_the_same_queue_while_a_message_is_made() -> None:
    """As a signal's function may: what it takes is not given out again."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2", b"3"], timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        taken: list[bytes] = []

        def classes(peer: int) -> type[mm.Message]:
            if not taken:
                taken.append(b"")
                taken.append(ready.popleft())
            return message_class(peer)

        ready = fast.ready(classes)
        found = ready.recv(pull, pull._handle, 100, 1000, 0, 0)
        while len(ready):
            taken.append(ready.popleft())
        assert sorted([found, *taken[1:]]) == [b"1", b"2", b"3"]


def test_a_queue_that_is_cleared_while_a_message_is_made_loses_no_memory() -> None:
    """The batch lives as long as it is read; nothing is left, which is no error."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"x" * 1000] * 50, timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()

        def classes(peer: int) -> type[mm.Message]:
            ready.clear()
            return message_class(peer)

        ready = fast.ready(classes)
        found = ready.recv(pull, pull._handle, 100, 1_000_000, 0, 0)
        assert found == EAGAIN
        assert len(ready) == 0


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
        assert ready.items() == [b"1", b"2"]


def test_what_is_held_goes_by_way_of_the_refill() -> None:
    """For sockets whose descriptor somebody watches."""
    ready = fast.ready(message_class)
    ready.put_back([b"1"])
    stream = fast.stream(ready, lambda: b"refilled")
    ready.hold()
    assert next(stream) == b"refilled"
    assert iter(stream) is stream
    assert len(ready) == 1
