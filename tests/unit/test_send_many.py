"""send_many: what crosses at once, and what becomes of messages when something goes wrong on the
way."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg._send import CHUNK_BYTES, CHUNK_MESSAGES, chunks_of
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
    chunks = list(chunks_of(iter(bodies) if stream else bodies))
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


def test_of_a_list_nothing_is_sent_when_one_of_it_is_no_message() -> None:
    """The caller still has the list; half of it sent would be a riddle."""
    with joined(mm.Push, mm.Pull) as (push, _):
        bodies: list[object] = [b"a", bytearray(b"b"), "c"]
        with pytest.raises(TypeError, match="encode"):
            push.send_many(bodies)  # type: ignore[arg-type]
        assert push.stats().sent_messages == 0


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

        with pytest.raises(
            mm.TimedOutError, match=r"no room for more than 0 messages within 0\.05 s"
        ) as late:
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
