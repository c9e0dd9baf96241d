"""delivery=, prefetch= and ack=: what they take, what a message that is acknowledged by hand says,
and what is told of peers that cannot.

Not here: worlds in which receivers are lost (tests/sim/test_delivery_worlds.py).
"""

from __future__ import annotations

import gc
import itertools
import select
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio

WAIT_S = 20.0


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Where sockets are closed at the end."""
    with ExitStack() as stack:
        yield stack


def pair(stack: ExitStack, **options: Any) -> tuple[mm.Push, mm.Pull]:
    """A Push whose messages are acknowledged, and a Pull with these options."""
    push = stack.enter_context(mm.Push(bind="inproc://*", delivery="at_least_once"))
    pull = stack.enter_context(mm.Pull(connect=push.endpoint, **options))
    push.wait_for_peers(timeout=WAIT_S)
    return push, pull


def acked(push: mm.Push, count: int) -> None:
    """Wait until so many are acknowledged."""
    report = push.drain(timeout=WAIT_S)
    assert (report.unconfirmed, push.stats().acked_messages) == (0, count)


@pytest.mark.parametrize(
    ("role", "options", "words"),
    [
        ("Push", {"delivery": "twice"}, "delivery is 'twice'"),
        ("Pull", {"ack": "never"}, "ack is 'never'"),
        ("Pull", {"prefetch": 0}, "prefetch is 0"),
        ("Pull", {"prefetch": 65537}, "from 1 to 65,536"),
        ("Pull", {"prefetch": True}, "prefetch is True"),
    ],
)
def test_what_they_cannot_be_is_refused(role: str, options: dict[str, Any], words: str) -> None:
    """With the option and its value."""
    with pytest.raises(mm.UsageError, match=words):
        getattr(mm, role)(**options)


def test_what_was_received_is_done_when_the_next_is_asked_for(opened: ExitStack) -> None:
    """Until then it is its receiver's."""
    push, pull = pair(opened)
    push.send(b"one", timeout=WAIT_S)
    assert pull.recv(timeout=WAIT_S) == b"one"
    assert push.stats().unacked_messages == 1
    with pytest.raises(mm.WouldBlockError):
        pull.recv(timeout=0)
    acked(push, 1)


def test_a_message_says_itself_that_it_is_done(opened: ExitStack) -> None:
    """By any order, once."""
    push, pull = pair(opened, ack="manual")
    push.send_many([b"a", b"b", b"c"], timeout=WAIT_S)
    found: list[Any] = [pull.recv(timeout=WAIT_S) for _ in range(3)]
    assert [type(one).__name__ for one in found] == ["LeasedMessage"] * 3
    assert [one.attempt for one in found] == [1, 1, 1]
    assert len({one.seq for one in found}) == 3
    assert [one.ack() for one in (found[2], found[0], found[2])] == [True, True, False]
    assert found[1].frames == (b"b",)
    assert found[1].ack()
    acked(push, 3)


def test_what_is_given_back_comes_again(opened: ExitStack) -> None:
    """With the same number, and its attempt counted up."""
    push, pull = pair(opened, ack="manual")
    push.send(b"again", timeout=WAIT_S)
    first: Any = pull.recv(timeout=WAIT_S)
    assert first.nack()
    assert not first.ack()
    second: Any = pull.recv(timeout=WAIT_S)
    assert (bytes(second), second.attempt, second.seq) == (b"again", 2, first.seq)
    assert second.ack()
    acked(push, 1 - 1 + 1)


def test_a_with_block_settles_it(opened: ExitStack) -> None:
    """Done at its end, given back by an error."""
    push, pull = pair(opened, ack="manual")
    push.send(b"work", timeout=WAIT_S)
    first: Any = pull.recv(timeout=WAIT_S)
    with pytest.raises(ZeroDivisionError), first:
        raise ZeroDivisionError
    second: Any = pull.recv(timeout=WAIT_S)
    with second as message:
        assert message.attempt == 2
    acked(push, 1)


def test_a_receiver_that_closes_gives_back_what_it_had(opened: ExitStack) -> None:
    """Without counting as an attempt."""
    push, pull = pair(opened, ack="manual")
    push.send(b"a", timeout=WAIT_S)
    first: Any = pull.recv(timeout=WAIT_S)
    pull.close()
    other = opened.enter_context(mm.Pull(connect=push.endpoint, ack="manual"))
    second: Any = other.recv(timeout=WAIT_S)
    assert (bytes(second), second.attempt, second.seq) == (b"a", 1, first.seq)
    with pytest.raises(mm.ClosedError):
        first.ack()


def test_a_message_outlives_its_socket(opened: ExitStack) -> None:
    """It keeps its body, and says that nobody can be told any more."""
    push, pull = pair(opened, ack="manual")
    push.send(b"a", timeout=WAIT_S)
    first: Any = pull.recv(timeout=WAIT_S)
    opened.pop_all().close()
    del pull
    gc.collect()
    assert first == b"a"
    with pytest.raises(mm.ClosedError):
        first.ack()
    with pytest.raises(mm.ClosedError), first:
        pass


def test_peers_and_counters_tell_of_it(opened: ExitStack) -> None:
    """On both sides."""
    push, pull = pair(opened, ack="manual", prefetch=2)
    push.send_many([b"a", b"b", b"c"], timeout=WAIT_S)
    pull.recv(timeout=WAIT_S)
    [theirs], [ours] = push.peers(), pull.peers()
    assert (theirs.acks, ours.acks) == (True, True)
    assert (theirs.unacked_messages, ours.unacked_messages) == (2, 2)
    assert push.stats().queued_out_messages == 1


@pytest.mark.parametrize("ack", ["auto", "manual"])
def test_a_push_that_does_not_ask_for_it_is_served_as_ever(opened: ExitStack, ack: Any) -> None:
    """There is nothing to acknowledge, and that is no error."""
    push = opened.enter_context(mm.Push(bind="inproc://*"))
    pull = opened.enter_context(mm.Pull(connect=push.endpoint, ack=ack, prefetch=1))
    push.send_many([b"%d" % i for i in range(50)], timeout=WAIT_S)
    found: list[Any] = [pull.recv(timeout=WAIT_S) for _ in range(50)]
    assert [int(one) for one in found] == list(range(50))
    if ack == "manual":
        assert (found[0].attempt, found[0].seq, found[0].ack(), found[0].nack()) == (1, None, 0, 0)
    assert not push.peers()[0].acks


@pytest.mark.parametrize("count", [1, 3, 200])
def test_large_and_small_frames_are_acknowledged_alike(opened: ExitStack, count: int) -> None:
    """Bodies over every limit of a path, of one frame and of several."""
    push, pull = pair(opened, ack="manual", prefetch=5)
    bodies = [[b"head", bytes([i % 256]) * size] for i in range(count) for size in (0, 40_000)]
    bodies += [[bytes(300_000)]]
    got = []
    for frames in bodies:
        push.send_frames(frames, timeout=WAIT_S)
        message: Any = pull.recv(timeout=WAIT_S)
        got.append(list(message.frames))
        assert message.ack()
    assert got == bodies
    acked(push, len(bodies))


@pytest.mark.parametrize("size", [10, 3000])
def test_a_message_may_be_done_before_its_writer_has_noted_it(opened: ExitStack, size: int) -> None:
    """Both ends run without waiting for each other, so an ACK may overtake the write's return."""
    options: dict[str, Any] = {"engine": opened.enter_context(mm.Engine())}
    count = 20_000
    pull = opened.enter_context(mm.Pull(bind="tcp://127.0.0.1:0", prefetch=20, **options))
    push = opened.enter_context(mm.Push(connect=pull.endpoint, delivery="at_least_once"))
    body = bytes(size)
    sender = threading.Thread(target=lambda: push.send_many([body] * count, timeout=WAIT_S))
    sender.start()
    for _ in itertools.islice(pull, count):
        pass
    sender.join()
    with pytest.raises(mm.WouldBlockError):
        pull.recv(timeout=0)
    acked(push, count)
    assert (push.stats().disconnects, push.stats().redelivered_messages) == (0, 0)


@pytest.mark.parametrize("how", ["poller", "descriptor"])
@pytest.mark.parametrize("prefetch", [1, 3])
def test_who_is_told_that_there_is_something_gets_the_next_one(
    opened: ExitStack, how: str, prefetch: int
) -> None:
    """It asks for a message only when there is one, so what it has is not done by asking."""
    push, pull = pair(opened, prefetch=prefetch)
    poller = opened.enter_context(mm.Poller())
    if how == "poller":
        poller.add(pull)
    descriptor = pull.fileno() if how == "descriptor" else -1
    push.send_many([b"%d" % i for i in range(10)], timeout=WAIT_S)
    got = []
    while len(got) < 10:
        if how == "poller":
            assert poller.poll(WAIT_S)
        else:
            assert select.select([descriptor], [], [], WAIT_S)[0]
        got += [int(one) for one in pull.recv_many(timeout=0)]
    assert got == list(range(10))


@pytest.mark.parametrize("names", [mm, aio], ids=["threads", "asyncio"])
def test_help_says_what_draining_means_here(names: Any) -> None:
    """And a question that its deadline stays here."""
    assert "acknowledged" in names.Push.drain.__doc__
    assert "acknowledged" in (mm.DrainReport.__doc__ or "")
    for name in ("`ttl`", "message.expires"):
        assert name in names.Req.request.__doc__
