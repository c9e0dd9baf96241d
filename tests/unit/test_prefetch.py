"""Prefetched messages: in order, lost by nobody, and never held back from a thread that waits for
one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

import meshmsg as mm
from tests.support.forked import in_child
from tests.support.pairs import WAIT_S, joined, wait_until

Pair = tuple[mm.Push, mm.Pull]


@pytest.fixture
def linked() -> Iterator[Pair]:
    """A Push and a Pull that see each other."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        yield push, pull


def deliver(push: mm.Push, bodies: list[bytes]) -> None:
    """Send, and return once the peer's engine has them."""
    push.send_many(bodies, timeout=WAIT_S)
    push.drain(timeout=WAIT_S).raise_for_loss()


def test_a_thread_that_is_busy_with_a_message_holds_back_no_other(linked: Pair) -> None:
    """Two threads, two messages: the one that iterates must not keep both, whoever comes first."""
    push, pull = linked
    for _ in range(100):
        both = threading.Barrier(3, timeout=WAIT_S)
        got: list[bytes] = []

        def iterate(both: threading.Barrier = both, got: list[bytes] = got) -> None:
            got.append(next(iter(pull)))
            both.wait()  # busy until the other one has a message as well

        def receive(both: threading.Barrier = both, got: list[bytes] = got) -> None:
            got.append(pull.recv(timeout=WAIT_S))
            both.wait()

        threads = [threading.Thread(target=iterate), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        push.send_many([b"one", b"two"])
        both.wait()
        for thread in threads:
            thread.join(WAIT_S)
        assert sorted(got) == [b"one", b"two"]


def test_nothing_is_prefetched_while_a_thread_sleeps_in_a_receive(linked: Pair) -> None:
    """What comes then is for the sleeper, too."""
    push, pull = linked
    deliver(push, [b"0"])
    assert next(iter(pull)) == b"0"
    got: list[bytes] = []
    asleep = threading.Thread(target=lambda: got.append(pull.recv(timeout=WAIT_S)))
    asleep.start()
    while pull._ready.sleeps(0) == 0:
        pass
    with pull._ready:
        assert pull._ready.sleeps(0) == 1
    push.send_many([b"1", b"2", b"3"])
    asleep.join(WAIT_S)
    mine = [next(iter(pull)) for _ in range(2)]
    assert sorted([*got, *mine]) == [b"1", b"2", b"3"]
    assert mine == sorted(mine)
    assert pull._ready.sleeps(0) == 0


def test_threads_that_iterate_and_threads_that_receive_each_see_order() -> None:
    """Every message once, and to each thread in the order its sender sent them, while others
    look."""
    count, senders = 10_000, 2
    with (
        mm.Pull(bind="tcp://127.0.0.1:0") as pull,
        mm.Push(connect=pull.endpoint) as push,
        mm.Push(connect=pull.endpoint) as other,
    ):
        seen: list[list[tuple[int, int]]] = [[] for _ in range(8)]
        left = threading.Semaphore(0)

        def note(mine: list[tuple[int, int]], message: bytes) -> None:
            sender, number = message.split()
            mine.append((int(sender), int(number)))
            left.release()

        def iterate(mine: list[tuple[int, int]]) -> None:
            for message in pull:
                note(mine, message)

        def receive(mine: list[tuple[int, int]]) -> None:
            with suppress(mm.ClosedError):
                while True:
                    note(mine, pull.recv())

        def receive_many(mine: list[tuple[int, int]]) -> None:
            with suppress(mm.ClosedError):
                while True:
                    for message in pull.recv_many(3):
                        note(mine, message)

        def receive_batch(mine: list[tuple[int, int]]) -> None:
            with suppress(mm.ClosedError):
                while True:
                    for message in pull.recv_batch(3):
                        note(mine, message)

        def look(_: list[tuple[int, int]]) -> None:
            with suppress(mm.ClosedError):
                while True:
                    pull.stats()

        ways = (iterate, receive, receive_many, receive_batch)
        threads = [threading.Thread(target=way, args=(seen[i],)) for i, way in enumerate(ways * 2)]
        threads.append(threading.Thread(target=look, args=([],)))
        for sender, socket in enumerate((push, other)):
            bodies = [b"%d %d" % (sender, i) for i in range(count)]
            threads.append(threading.Thread(target=socket.send_many, args=(bodies,)))
        for thread in threads:
            thread.start()
        for _ in range(count * senders):
            assert left.acquire(timeout=WAIT_S)
        pull.close()
        for thread in threads:
            thread.join(WAIT_S)
        all_of_it = [(sender, i) for sender in range(senders) for i in range(count)]
        assert sorted(n for mine in seen for n in mine) == all_of_it
        for mine in seen:
            for sender in range(senders):
                numbers = [number for who, number in mine if who == sender]
                assert numbers == sorted(numbers)


WAYS: list[Callable[[Any], list[bytes]]] = [
    lambda pull: [pull.recv(timeout=WAIT_S)],
    lambda pull: list(pull.recv_many(timeout=WAIT_S)),
    lambda pull: list(pull.recv_batch(timeout=WAIT_S).to_list()),
    lambda pull: [next(iter(pull))],
]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_failed_call_left_goes_to_a_thread_that_waits(
    way: Callable[[Any], list[bytes]],
) -> None:
    """However it waits: it does so in the core, where nothing will come."""
    with joined(mm.Push, mm.Pull) as (_, pull):
        assert not pull._ready
        pull._prefetched = True
        found: list[bytes] = []
        waits = threading.Thread(target=lambda: found.extend(way(pull)))
        waits.start()
        wait_until(lambda: pull._ready.sleeps(0))
        pull._ready.keep([mm.Message(b"left")])
        waits.join(WAIT_S)
        assert found == [b"left"]


def test_receives_take_what_an_iteration_left_before_what_came_later(linked: Pair) -> None:
    """recv, recv_many, recv_frames and another iteration, one after the other."""
    push, pull = linked
    deliver(push, [b"%d" % i for i in range(10)])
    assert next(iter(pull)) == b"0"
    deliver(push, [b"10"])
    assert pull.recv(timeout=0) == b"1"
    assert pull.recv_many(3, timeout=0) == [b"2", b"3", b"4"]
    assert pull.recv_frames(timeout=0) == [b"5"]
    assert next(iter(pull)) == b"6"
    assert pull.recv_many(timeout=0) == [b"7", b"8", b"9"]
    assert pull.recv(timeout=0) == b"10"
    with pytest.raises(mm.WouldBlockError):
        pull.recv(timeout=0)


def test_closing_from_a_signal_ends_an_iteration(linked: Pair) -> None:
    """As a program does that is told to end; whatever the loop was doing, nothing hangs."""
    push, pull = linked
    before = signal.signal(signal.SIGUSR1, lambda *_: pull.close())
    try:
        push.send_many([b"%d" % i for i in range(100)])
        got = []
        for message in pull:
            got.append(int(message))
            if len(got) == 50:
                signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert got == list(range(50))
    assert pull.closed


def test_closing_tells_how_many_received_messages_nobody_took(
    linked: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log; a message is not dropped without a word."""
    push, pull = linked
    deliver(push, [b"%d" % i for i in range(5)])
    assert next(iter(pull)) == b"0"
    with caplog.at_level("INFO", logger="meshmsg"):
        pull.close()
        wait_until(lambda: "4 messages received and not taken" in caplog.text)


def test_a_forked_child_does_not_receive_what_its_parent_prefetched(linked: Pair) -> None:
    """The messages are the parent's; the child is told that the socket is."""
    push, pull = linked
    deliver(push, [b"0", b"1", b"2"])
    assert next(iter(pull)) == b"0"

    def work() -> bool:
        with pytest.raises(mm.ForkedError, match=f"process {os.getppid()}"):
            pull.recv(timeout=0)
        return True

    assert in_child(work)
    assert pull.recv_many(timeout=0) == [b"1", b"2"]


@pytest.mark.parametrize("size", [256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3_000_000])
def test_large_messages_come_whole_and_in_order(linked: Pair, size: int) -> None:
    """Over 256 KiB a frame is handed over by reference; nobody notices."""
    push, pull = linked
    large = os.urandom(size)
    sent = [b"a", large, b"b", large[::-1], b"c"]
    feeder = threading.Thread(target=push.send_many, args=(sent,))
    feeder.start()
    it = iter(pull)
    assert [next(it) for _ in range(5)] == sent
    feeder.join(WAIT_S)


def test_a_large_frame_among_small_ones_keeps_its_place(linked: Pair) -> None:
    """Message by message: frames, body, and the counters of stats."""
    push, pull = linked
    frames = [b"head", b"x" * 300_000, b"", b"tail"]
    push.send_frames(frames)
    message = pull.recv(timeout=WAIT_S)
    assert message.frames == tuple(frames)
    assert message == b"tail"
    assert pull.stats().received_bytes == sum(map(len, frames))


def test_stats_count_prefetched_messages_as_queued_not_as_received(linked: Pair) -> None:
    """parsed = received + dropped + queued, whatever Python holds."""
    push, pull = linked
    deliver(push, [b"x" * 10] * 9)
    next(iter(pull))
    stats = pull.stats()
    assert (stats.received_messages, stats.received_bytes) == (1, 10)
    assert (stats.queued_in_messages, stats.queued_in_bytes) == (8, 80)
    assert stats.parsed_messages == 9
    assert "8 in" in repr(pull)


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, 2**32])
def test_a_batch_has_a_sensible_size(linked: Pair, bad: int) -> None:
    """The error names the argument and its limits."""
    _, pull = linked
    with pytest.raises(mm.UsageError, match=r"max_messages is .*from 1 to"):
        pull.recv_many(bad)
