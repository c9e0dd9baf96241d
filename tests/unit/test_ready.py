"""What an iteration has received and not given out: a queue whose end may still be a batch."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable

import pytest

import meshmsg as mm
from meshmsg._binding.core import native
from meshmsg._binding.message import REQUESTS, WHOLE, FullMessage, message_class
from tests.support.pairs import WAIT_S, joined
from tests.support.signals import handled
from tests.support.unlike import called


def test_what_is_put_back_comes_before_all_others() -> None:
    """In its order."""
    ready = native.ready(WHOLE)
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
    ready = native.ready(WHOLE)
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
    ready = native.ready(WHOLE)
    ready.put_back([[ready]])
    del ready
    assert gc.collect() > 0


def test_no_list_is_refused() -> None:
    """Nothing is changed."""
    ready = native.ready(WHOLE)
    with pytest.raises(TypeError):
        ready.put_back((b"1",))
    with pytest.raises(TypeError):
        native.stream([], len)
    with pytest.raises(TypeError):
        native.stream(ready, len)
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

        ready = native.ready(native.form(classes, FullMessage, "frame"))
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

        ready = native.ready(native.form(classes, FullMessage, "frame"))
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
                taken.extend(pull._ready.take(9))
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
            taken += [message for message in [pull._ready.pop()] if message is not None]
        finally:
            gc.set_threshold(*thresholds)
        assert taken == [b"0", b"1", b"2"]


def test_who_takes_while_a_message_is_called_gets_others() -> None:
    """Where messages cannot be made in place, calling their class may run anything."""
    ready = native.ready(native.form(lambda peer: Taking, FullMessage, "frame"))
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

        ready = native.ready(native.form(classes, FullMessage, "frame"))
        with pytest.raises(KeyError):
            ready.recv(pull, pull._handle, 100, 1000, 0, 0)
        failing = False
        assert len(ready) == 2
        assert ready.take(5) == [b"1", b"2"]


def test_the_quick_way_ends_once_others_are_due_a_turn() -> None:
    """And where there is nothing, or somebody watches."""
    ready = native.ready(WHOLE)
    ready.put_back([b"1", b"2", b"3"])
    native.async_turn()
    assert not native.async_calls(native.ASYNC_MAX - 3)
    assert [ready.quick() for _ in range(3)] == [b"1", b"2", None]
    assert native.async_calls(1)
    native.async_turn()
    assert not native.async_calls(0)
    ready.watch()
    assert ready.quick() is None
    assert ready.take(2) == [b"3"]
    assert native.ready(WHOLE).quick() is None


def test_the_calls_of_a_thread_are_counted_once_whatever_made_them() -> None:
    """And those of another thread are none of them; a count that is none is refused."""
    native.async_turn()
    assert native.async_calls(2**32)
    told: list[bool] = []
    other = threading.Thread(target=lambda: told.append(native.async_calls(1)))
    other.start()
    other.join(WAIT_S)
    assert told == [False]
    native.async_turn()
    for wrong in ("1", -1, None):
        with pytest.raises((TypeError, OverflowError)):
            native.async_calls(wrong)


GOES_ON = {"send": len, "publish": len, "recv": len, "next": len}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "None is no table of send, publish, recv and next"),
        ({}, "no table of"),
        ({"send": len, "recv": len, "next": len}, "no table of"),
        ({**GOES_ON, "more": len}, "no table of"),
        ({**GOES_ON, "next": None}, "no function for next"),
        ({"send": len, "publish": len, "recv": len, "step": len}, "no function for next"),
    ],
)
def test_what_goes_on_with_an_awaited_call_is_refused_when_it_is_given(
    wrong: object, words: str
) -> None:
    """Not by the first call that would need it; what was given before stays."""
    with pytest.raises(TypeError, match=words):
        native.async_rests(wrong)


def test_what_is_watched_goes_by_way_of_the_refill() -> None:
    """For sockets whose descriptor somebody watches."""
    ready = native.ready(WHOLE)
    ready.put_back([b"1"])
    stream = native.stream(ready, lambda: b"refilled", None, 0, 1, 1, -1, 0)
    ready.watch()
    assert next(stream) == b"refilled"
    assert iter(stream) is stream
    assert len(ready) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((), "expected"),
        ((message_class, FullMessage), "expected"),
        ((None, FullMessage, "frame"), "classes are None; they are a function of the peer"),
        ((message_class, FullMessage, "way"), "they are None, for requests"),
        ((message_class, None, "peer"), "class is None; it is one of bytes"),
        ((message_class, str, "topic"), "it is one of bytes"),
        (
            (message_class, FullMessage, "body"),
            "'frame', 'topic', 'peer', 'way', 'lease' or 'numbered'",
        ),
        ((message_class, FullMessage, 0), "'frame', 'topic', 'peer', 'way', 'lease' or 'numbered'"),
    ],
)
def test_what_messages_are_made_of_is_refused_when_it_is_given(
    wrong: tuple[object, ...], words: str
) -> None:
    """Not by the first message that would need it."""
    with pytest.raises(TypeError, match=words):
        native.form(*wrong)


def test_a_class_that_is_none_of_messages_takes_nothing() -> None:
    """What is called for it is looked at."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_frames([b"1", b"2"], timeout=WAIT_S)
        push.send(b"3", timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        ready = native.ready(native.form(lambda _: str, FullMessage, "frame"))
        full = ready.recv(pull, pull._handle, 100, 1000, 0, 0)
        assert (full, full.frames, full.peer) == (b"2", (b"1", b"2"), pull.peers()[0].id)
        with pytest.raises(TypeError, match="a class of bytes"):
            ready.pop()
        assert ready.known() == (1, 1, [])


def test_requests_and_what_is_no_batch_are_not_unpacked() -> None:
    """A request belongs to a socket; an address of nothing is none."""
    for form, wrong in ((REQUESTS, 1), (WHOLE, 0), (WHOLE, "1")):
        with pytest.raises(TypeError):
            form.unpack(wrong)


def test_a_thread_that_prefetches_keeps_others_out_and_not_itself() -> None:
    """Taken again by the thread that has it, as a signal's function that receives does."""
    ready = native.ready(WHOLE)
    got: list[str] = []

    def take() -> None:
        with ready:
            got.append("other")

    other = threading.Thread(target=take)
    with ready as own, own:
        other.start()
        got.append("first")
        own.put_back([b"1"])
        got.append("still")
    other.join(WAIT_S)
    assert got == ["first", "still", "other"]


def test_who_lets_go_of_what_it_does_not_have_changes_nothing() -> None:
    """As what a fork interrupted does in the child, whose lock is new."""
    ready = native.ready(WHOLE)
    other = threading.Thread(target=ready.__exit__, args=(None, None, None))
    ready.__exit__(None, None, None)
    with ready:
        other.start()
        other.join(WAIT_S)
        stream = native.stream(ready, lambda: b"refilled", None, 0, 1, 1, -1, 0)
        found: list[bytes] = []
        looking = threading.Thread(target=lambda: found.append(next(stream)))
        looking.start()
        looking.join(WAIT_S)
    assert found == [b"refilled"]  # as the lock was held all the while


def test_a_forked_child_has_a_lock_that_nobody_holds() -> None:
    """Who held it is a thread of the parent."""
    ready = native.ready(WHOLE)
    ready.put_back([b"the parent's"])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ready:
            held.set()
            done.wait(WAIT_S)

    holding = threading.Thread(target=hold)
    holding.start()
    assert held.wait(WAIT_S)
    child = os.fork()
    if child == 0:
        ready.forget()
        with ready:
            os._exit(len(ready))
    done.set()
    holding.join(WAIT_S)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ready.pop() == b"the parent's"


def test_who_waits_for_a_thread_that_prefetches_hears_signals() -> None:
    """The function runs while it waits, may take the lock of another socket, and may raise."""
    ready, other = native.ready(WHOLE), native.ready(WHOLE)
    held, done = threading.Event(), threading.Event()

    def hold(raise_signal: Callable[[], None]) -> None:
        with ready:
            held.set()
            raise_signal()
            done.wait(WAIT_S)

    def stop() -> None:
        with other:
            raise KeyError

    with handled(stop) as raise_signal:
        holding = threading.Thread(target=hold, args=(raise_signal,))
        with pytest.raises(KeyError):
            holding.start()
            assert held.wait(WAIT_S)
            with ready:
                pytest.fail("another thread has it")
        done.set()
        holding.join(WAIT_S)
    with ready, other:
        pass
