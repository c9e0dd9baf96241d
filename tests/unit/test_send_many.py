"""send_many: what crosses at once, and what becomes of messages when something goes wrong on the
way."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import native
from meshmsg._roles.unsent import CHUNK_BYTES, CHUNK_MESSAGES, Taken
from meshmsg._sync import sending as _sync_sending
from meshmsg.aio import _sending as _aio_sending
from tests.support.pairs import WAIT_S, joined


def counted(pull: mm.Pull, count: int) -> list[bytes]:
    """Receive so many."""
    found: list[bytes] = []
    while len(found) < count:
        found += pull.recv_many(timeout=WAIT_S)
    return found


SIZES = st.lists(
    st.sampled_from([0, 1, 100, 5_000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1]), max_size=40
)


@given(SIZES, st.booleans())
def test_chunks_are_the_messages_in_order_and_within_limits(sizes: list[int], stream: bool) -> None:
    """A list is one chunk; of a stream each ends with the message that fills it. None is empty."""
    bodies = [bytes(size) for size in sizes]
    taken = Taken(iter(bodies) if stream else bodies)
    chunks: list[list[bytes]] = []
    while taken.fill():
        chunks.append(list(taken.chunk))
    assert [body for chunk in chunks for body in chunk] == bodies
    assert all(chunks)
    assert stream or len(chunks) <= 1
    for chunk in chunks if stream else []:
        assert len(chunk) <= CHUNK_MESSAGES
        assert sum(map(len, chunk[:-1])) < CHUNK_BYTES


@pytest.mark.parametrize(
    "count", [0, 1, CHUNK_MESSAGES - 1, CHUNK_MESSAGES, CHUNK_MESSAGES + 1, 5000]
)
@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_all_are_sent_and_counted(count: int, kind: type) -> None:
    """Whatever the iterable is, around the size of a chunk."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        bodies = [b"%d" % i for i in range(count)]
        sending = threading.Thread(target=lambda: sent.append(push.send_many(kind(bodies))))
        sent: list[int] = []
        sending.start()
        assert counted(pull, count) == bodies
        sending.join(WAIT_S)
        assert sent == [count]


def test_what_a_generator_gave_before_it_failed_is_sent() -> None:
    """As a loop with send would have done; then its error comes through."""

    def source() -> Iterator[bytes]:
        yield b"a"
        yield b"b"
        raise RuntimeError("the disk is gone")

    with joined(mm.Push, mm.Pull) as (push, pull):
        with pytest.raises(RuntimeError, match="the disk is gone"):
            push.send_many(source())
        assert counted(pull, 2) == [b"a", b"b"]


ENDINGS = [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]
"""What a generator may fail with."""


def then_raising(error: BaseException, bodies: list[bytes]) -> Iterator[bytes]:
    """Give these, and then fail."""
    yield from bodies
    raise error


async def awaited(bodies: Iterable[Any], **options: Any) -> mm.Stats:
    """Send them in a loop; the sender's counters, which the error has when there is one."""
    async with aio.Push(bind="tcp://127.0.0.1:0", **options) as push:
        try:
            await push.send_many(bodies, timeout=0.05)
        except BaseException as error:
            vars(error)["stats"] = push.stats()
            raise
        return push.stats()


def at_once(bodies: Iterable[Any], **options: Any) -> mm.Stats:
    """The same of a thread."""
    with mm.Push(bind="tcp://127.0.0.1:0", **options) as push:
        try:
            push.send_many(bodies, timeout=0.05)
        except BaseException as error:
            vars(error)["stats"] = push.stats()
            raise
        return push.stats()


def in_a_loop(bodies: Iterable[Any], **options: Any) -> mm.Stats:
    """The same, awaited."""
    return asyncio.run(awaited(bodies, **options))


@pytest.mark.parametrize("count", [0, 1, 3, CHUNK_MESSAGES + 3])
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda kind: kind.__name__)
def test_whatever_a_generator_raises_says_what_was_sent_and_what_was_not(
    ending: type[BaseException], count: int
) -> None:
    """An error is raised once what came before it was sent; what ends the program, at once."""
    bodies = [b"%d" % i for i in range(count)]
    with joined(mm.Push, mm.Pull, send_queue_messages=count + 1) as (push, pull):
        with pytest.raises(ending) as raised:
            push.send_many(then_raising(ending(), bodies))
        told = vars(raised.value)
        assert told["sent"] == push.stats().sent_messages
        assert bodies[told["sent"] :] == told["unsent"]
        # What ends the program sends nothing more. A slow machine may have sent parts of chunks.
        assert told["sent"] == count or not issubclass(ending, Exception)
        assert counted(pull, told["sent"]) == bodies[: told["sent"]]


class Unwilling:
    """An iterable that is interrupted before it has given anything."""

    def __iter__(self) -> Iterator[bytes]:
        raise KeyboardInterrupt


def interrupted(*_: object) -> None:
    """As if a signal came there."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("send", [at_once, in_a_loop])
def test_what_is_interrupted_before_anything_is_taken_says_so_too(
    send: Callable[..., mm.Stats], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list was taken with the call, an iterator was not; wrong times and values say it, too."""
    with pytest.raises(KeyboardInterrupt) as early:
        send(Unwilling())
    assert (vars(early.value)["sent"], vars(early.value)["unsent"]) == (0, [])
    with pytest.raises(TypeError) as wrong:
        send("text")
    assert (vars(wrong.value)["sent"], vars(wrong.value)["unsent"]) == (0, [])
    for module in (_sync_sending, _aio_sending):
        monkeypatch.setattr(module, "to_ms", interrupted)
    for bodies, unsent in (([b"1", b"2"], [b"1", b"2"]), (iter([b"1"]), [])):
        with pytest.raises(KeyboardInterrupt) as first:
            send(bodies)
        assert (vars(first.value)["sent"], vars(first.value)["unsent"]) == (0, unsent)


@pytest.mark.parametrize("count", [0, 1, 3, CHUNK_MESSAGES + 3])
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda kind: kind.__name__)
def test_in_a_loop_whatever_a_generator_raises_says_so_too(
    ending: type[BaseException], count: int
) -> None:
    """By the same attributes."""
    bodies = [b"%d" % i for i in range(count)]

    async def run() -> None:
        async with (
            aio.Push(bind="tcp://127.0.0.1:0", send_queue_messages=count + 1) as push,
            aio.Pull(connect=push.endpoint) as pull,
        ):
            await push.wait_for_peers(timeout=WAIT_S)
            with pytest.raises(ending) as raised:
                await push.send_many(then_raising(ending(), bodies))
            told = vars(raised.value)
            assert told["sent"] == push.stats().sent_messages
            assert bodies[told["sent"] :] == told["unsent"]
            for body in bodies[: told["sent"]]:
                assert await pull.recv(timeout=WAIT_S) == body

    asyncio.run(run())


@pytest.mark.parametrize("send", [at_once, in_a_loop])
@pytest.mark.parametrize("kind", [list, tuple, iter])
@pytest.mark.parametrize("before", [[], [b"1"], [b"1", bytearray(b"2")]], ids=len)
@pytest.mark.parametrize(
    ("wrong", "error"), [("3", TypeError), (5, TypeError), (bytes(101), mm.TooLargeError)], ids=type
)
def test_what_is_refused_is_given_back_first_and_what_stands_before_it_is_sent(
    send: Callable[..., mm.Stats],
    kind: Callable[[list[Any]], Any],
    before: list[Any],
    wrong: Any,
    error: type[BaseException],
) -> None:
    """Of a list or tuple with all behind it; of an iterator with what was taken of it."""
    bodies: list[Any] = [*before, wrong, b"4"]
    with pytest.raises(error) as refused:
        send(kind(bodies), overflow="drop_newest", message_size_max=100)
    told = vars(refused.value)
    assert told["sent"] == told["stats"].sent_messages == len(before)
    taken = error is mm.TooLargeError or kind is not iter
    assert told["unsent"] == ([wrong, b"4"] if taken else [wrong])


@pytest.mark.parametrize("send", [at_once, in_a_loop])
@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_what_is_no_message_is_told_of_with_what_kept_those_before_it_from_being_sent(
    send: Callable[..., mm.Stats], kind: Callable[[list[Any]], Any]
) -> None:
    """Both errors are there, and each message is."""
    with pytest.raises(mm.TimedOutError, match="no peer for a message within") as late:
        send(kind([b"1", "2"]))
    assert isinstance(late.value.__context__, TypeError)
    assert (late.value.sent, late.value.unsent) == (0, [b"1", "2"])


@pytest.mark.parametrize("send", [at_once, in_a_loop])
def test_a_dict_is_no_messages(send: Callable[..., mm.Stats]) -> None:
    """Its keys would be sent."""
    with pytest.raises(TypeError, match=r"keys; say which: x\.keys\(\) or x\.values\(\)"):
        send({b"a": 1})


@pytest.mark.parametrize("send", [at_once, in_a_loop])
def test_an_asynchronous_iterable_is_to_be_sent_one_by_one(send: Callable[..., mm.Stats]) -> None:
    """In a loop it is what one has at hand."""

    async def source() -> AsyncIterator[bytes]:
        yield b"1"

    with pytest.raises(TypeError, match=r"`async for message in x: .* make a list first"):
        send(source())  # type: ignore[arg-type]


@pytest.mark.parametrize("send", [at_once, in_a_loop])
def test_an_error_of_the_iterable_is_the_context_of_what_kept_its_messages_from_being_sent(
    send: Callable[..., mm.Stats],
) -> None:
    """Both are told of."""
    failed = RuntimeError("the disk is gone")
    with pytest.raises(mm.TimedOutError) as late:
        send(then_raising(failed, [b"1", b"2"]))
    assert late.value.__context__ is failed
    assert (late.value.sent, late.value.unsent) == (0, [b"1", b"2"])


@pytest.mark.parametrize("send", [at_once, in_a_loop])
@pytest.mark.parametrize("one", [b"abc", bytearray(b"abc"), memoryview(b"abc"), "abc"])
def test_one_message_is_not_many(send: Callable[..., mm.Stats], one: Any) -> None:
    """Its items are no messages, and nobody means them."""
    with pytest.raises(TypeError, match=r"for one message use send$"):
        send(one)


def test_a_slow_generator_does_not_hold_its_messages_back() -> None:
    """The first is received before the generator gives the second."""
    with joined(mm.Push, mm.Pull) as (push, pull):

        def source() -> Iterator[bytes]:
            for i in range(3):
                waiting = threading.Event()
                waiting.wait(0.002)  # what makes it slow
                yield b"%d" % i
                if i:
                    assert received.acquire(timeout=WAIT_S)

        received = threading.Semaphore(0)
        sending = threading.Thread(target=push.send_many, args=(source(),))
        sending.start()
        for i in range(3):
            assert pull.recv(timeout=WAIT_S) == b"%d" % i
            received.release()
        sending.join(WAIT_S)


def test_bytes_likes_of_all_kinds_are_sent() -> None:
    """Messages received are messages to send, too."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"first")
        received = pull.recv(timeout=WAIT_S)
        push.send_many([received, bytearray(b"2"), memoryview(b"x3x")[1:2], b""])
        assert counted(pull, 4) == [b"first", b"2", b"3", b""]


def test_time_that_is_up_leaves_sent_and_unsent() -> None:
    """With nobody there nothing is sent; the list of what was taken is complete and in order."""
    with mm.Push(bind="tcp://127.0.0.1:0", send_queue_messages=5) as push:
        taken: list[bytes] = []

        def source() -> Iterator[bytes]:
            for i in range(10_000):
                taken.append(b"%d" % i)
                yield taken[-1]

        with pytest.raises(mm.TimedOutError, match=r"no peer for a message within 0\.05 s") as late:
            push.send_many(source(), timeout=0.05)
        assert late.value.sent == 0
        assert late.value.unsent == taken
        with pytest.raises(mm.WouldBlockError) as now:
            push.send_many([b"x"], timeout=0)
        assert (vars(now.value)["sent"], vars(now.value)["unsent"]) == (0, [b"x"])


def test_closing_in_between_says_what_was_not_sent() -> None:
    """ClosedError has the two attributes as well."""
    with mm.Push(bind="tcp://127.0.0.1:0") as push:
        failed: list[mm.ClosedError] = []

        def send() -> None:
            try:
                push.send_many([b"a", b"b"])
            except mm.ClosedError as error:
                failed.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        push.close()
        sending.join(WAIT_S)
        assert vars(failed[0])["unsent"] == [b"a", b"b"]


def test_what_is_made_of_a_message_and_is_no_bytes_is_let_go() -> None:
    """The call fails, and holds nothing afterwards."""

    class Odd:
        """No bytes."""

    odd = Odd()
    before = sys.getrefcount(odd)
    with pytest.raises(TypeError):
        native.gather(iter([1]), [], 10, 10, 1.0, time.monotonic, lambda _: odd)
    assert sys.getrefcount(odd) == before
