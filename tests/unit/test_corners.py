"""Sync sockets and the simulated world in their corners: what other tests pass by."""

from __future__ import annotations

import logging
import signal
import threading
from array import array
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, joined, wait_until

UP = "tcp://127.0.0.1:0"


@pytest.mark.parametrize("bad", [b"x", "x", bytearray(b"x"), memoryview(b"x")])
def test_a_single_frame_is_no_sequence_of_frames(bad: Any) -> None:
    """bytes are a sequence of ints: refused, with what to use instead."""
    with mm.Push() as push, pytest.raises(TypeError, match="for a single one use send"):
        push.send_frames(bad)


@pytest.mark.parametrize("data", [array("d", [1.0, 2.0]), memoryview(array("i", range(9)))])
def test_what_has_a_buffer_is_sent_as_its_bytes(data: Any) -> None:
    """Whatever its items are; a memoryview with a stride is refused, not copied in secret."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(data)
        push.send_frames([data, bytearray(b"x")])
        assert pull.recv(timeout=WAIT_S) == bytes(data)
        assert pull.recv_frames(timeout=WAIT_S) == [bytes(data), b"x"]
        with pytest.raises(TypeError, match="one piece"):
            push.send(memoryview(b"abcdef")[::2])


@pytest.mark.parametrize("frames", [[], [b"name"]])
def test_a_router_s_message_has_a_name_and_a_frame(frames: list[bytes]) -> None:
    """UsageError, before anything is looked up."""
    with mm.Router() as router, pytest.raises(mm.UsageError, match="at least one frame"):
        router.send_frames(frames)


def test_a_router_s_name_is_bytes() -> None:
    """Not str, whichever way it is given."""
    with mm.Router() as router:
        for call in (
            lambda: router.send(b"x", to="name"),  # type: ignore[arg-type]
            lambda: router.send_frames(["name", b"x"]),  # type: ignore[list-item]
        ):
            with pytest.raises(TypeError, match="encode"):
                call()


def test_a_message_of_no_frames_is_refused() -> None:
    """There would be nothing to receive."""
    with joined(mm.Dealer, mm.Dealer) as (a, b):
        with pytest.raises(mm.UsageError):
            a.send_frames([])
        a.send(b"")
        assert b.recv_frames(timeout=WAIT_S) == [b""]


@pytest.mark.parametrize("topics", ["one", b"one", ["one"], ("one",), {"one": 1}, iter(["one"])])
def test_topics_are_one_or_several(topics: Any) -> None:
    """str and bytes are one topic, anything else is several."""
    with (
        mm.Pub(bind="inproc://one-or-several") as pub,
        mm.Sub(connect="inproc://one-or-several", topics=topics),
    ):
        pub.wait_for_subscribers("one", timeout=WAIT_S)
        assert pub.subscribers("on") == 0


def test_iterating_and_receiving_take_turns_without_losing_the_order() -> None:
    """What an iteration prefetched is what recv, recv_many, recv_frames give next."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"%d" % number for number in range(300)])
        push.drain(timeout=WAIT_S).raise_for_loss()
        found: list[int] = []
        messages = iter(pull)
        while len(found) < 300:
            found.append(int(next(messages)))
            if len(found) < 297:
                found.append(int(pull.recv(timeout=0)))
                found.append(int(pull.recv_frames(timeout=0)[0]))
                found += map(int, pull.recv_many(2, timeout=0))
        assert found == list(range(300))


def test_a_descriptor_asked_for_in_the_middle_knows_what_is_prefetched() -> None:
    """Readable at once: an iteration had taken the messages out of the core already."""
    import select

    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2", b"3"])
        push.drain(timeout=WAIT_S).raise_for_loss()
        messages = iter(pull)
        assert next(messages) == b"1"
        fd = pull.fileno()
        for wanted in (b"2", b"3"):
            assert select.select([fd], [], [], 0)[0] == [fd]
            assert next(messages) == wanted
        assert select.select([fd], [], [], 0)[0] == []


def test_closing_says_how_much_was_received_and_not_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only what an iteration had prefetched: the rest is in the core's counters."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"x"] * 10)
        push.drain(timeout=WAIT_S).raise_for_loss()
        next(iter(pull))
        with caplog.at_level(logging.INFO, logger="meshmsg"):
            pull.close()
            wait_until(lambda: "Pull closed with 9 messages received and not taken" in caplog.text)


def test_a_request_that_is_interrupted_is_given_up() -> None:
    """An exception out of a signal's function: the answer that then comes is counted as late."""

    def interrupt(*_: object) -> None:
        raise RuntimeError("told to stop")

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with joined(mm.Rep, mm.Req) as (rep, req):
            waiting: list[mm.Request] = []

            def serve() -> None:
                waiting.append(rep.recv(timeout=WAIT_S))
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

            serving = threading.Thread(target=serve)
            serving.start()
            with pytest.raises(RuntimeError, match="told to stop"):
                req.request(b"q", timeout=WAIT_S)
            serving.join(WAIT_S)
            assert waiting[0].reply(b"late")
            while req.stats().dropped_late == 0:
                req.drain(timeout=0.01)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_signal_s_function_may_use_the_socket_it_interrupts() -> None:
    """It looks in, sends and closes, in the middle of a blocked receive: no lock is in its way."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        seen: list[object] = []

        def look(*_: object) -> None:
            seen.append(pull.stats())
            seen.append(pull.events())
            push.send(b"from the signal")

        before = signal.signal(signal.SIGUSR1, look)
        try:
            main = threading.main_thread().ident or 0
            alarm = threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGUSR1))
            alarm.start()
            assert pull.recv(timeout=WAIT_S) == b"from the signal"
            alarm.join(WAIT_S)
            assert len(seen) == 2
        finally:
            signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("countdown", range(1, 12))
def test_memory_that_runs_out_while_sending_is_an_error_and_loses_nothing_else(
    countdown: int,
) -> None:
    """The n-th allocation fails: ResourceError or nothing; the sockets go on working."""
    with SimWorld(1) as world:
        push = mm.Push(bind=UP, engine=world.engine())
        pull = mm.Pull(connect=push.endpoint, engine=world.engine(), reconnect_max=0.1)
        pull.wait_for_peers(timeout=WAIT_S)
        push.wait_for_peers(timeout=WAIT_S)
        lib.mm_test_alloc_fail(countdown)
        went = 0
        for number in range(3):
            try:
                push.send_frames([b"%d" % number, b"x" * 20_000], timeout=5)
                went += 1
            except mm.ResourceError:
                continue
        lib.mm_test_alloc_fail(0)
        push.send_frames([b"9", b"end"], timeout=60)
        found = []
        while found[-1:] != [9]:
            found.append(int(pull.recv_frames(timeout=60)[0]))
        assert found == sorted(found)
        stats = push.stats()
        assert went + 1 - len(found) <= stats.in_doubt_messages + stats.dropped
        push.close()
        pull.close()


def test_a_simulated_world_tells_its_story() -> None:
    """trace(): the last lines, oldest first; now and trace_hash move on; close is idempotent."""
    world = SimWorld(5, faults=SimFaults(split=0.5))
    push = mm.Push(bind=UP, engine=world.engine())
    pull = mm.Pull(connect=push.endpoint, engine=world.engine())
    push.send(b"hello", timeout=5)
    assert pull.recv(timeout=5) == b"hello"
    lines = world.trace(1000)
    assert world.trace(3) == lines[-3:]
    assert any("write" in line for line in lines)
    assert any("read" in line for line in lines)
    before, at = world.trace_hash, world.now
    world.run(10)
    assert world.now == pytest.approx(at + 10)
    assert world.trace_hash != before
    assert world.open_streams == 3  # a listener and two ends
    push.close()
    pull.close()
    world.close()
    world.close()


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_a_simulated_world_is_sealed_off(transport: str) -> None:
    """Its names and ports are its own: two worlds use the same ones side by side."""
    url = {"tcp": "tcp://127.0.0.1:7777", "ipc": "ipc:///nowhere", "inproc": "inproc://same"}
    with SimWorld(1) as one, SimWorld(2) as two:
        for world in (one, two):
            engine = world.engine()
            push = mm.Push(bind=url[transport], engine=engine)
            pull = mm.Pull(connect=url[transport], engine=engine)
            push.send(b"%d" % world.seed, timeout=5)
            assert pull.recv(timeout=5) == b"%d" % world.seed
            push.close()
            pull.close()


def test_what_was_never_subscribed_to_is_said_plainly() -> None:
    """Which topic, and of which socket."""
    with mm.Sub(connect="inproc://plain") as sub:
        with pytest.raises(mm.UsageError, match=r"^'zz' is not subscribed to \(Sub connected.*\)$"):
            sub.unsubscribe("zz")
    with pytest.raises(mm.ClosedError):
        sub.unsubscribe("zz")


def test_the_help_of_opening_a_socket_is_of_ours() -> None:
    """Not that of `object`."""
    assert (mm.Push.__init__.__doc__ or "").startswith("Open the socket")
