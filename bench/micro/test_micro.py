"""Micro-benchmarks: queues, subscriptions, crossings into C.

`python -m bench micro` runs them and compares with the stored line; by hand, with all that
pytest-benchmark can: `pytest bench/micro --benchmark-autosave`, later `--benchmark-compare`. Not
here: the codec (test_codec.py), and processes and sockets (`python -m bench`). Law: no
assertion about time; each bench checks that what it timed did what it should.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg
from meshmsg._mm import ffi, lib

BATCH = 1000
SIZES = (64, 1024, 16384)
TOPICS = (1, 1000)
"""Subscriptions a topic is looked up among."""


@pytest.fixture
def pair() -> Iterator[tuple[meshmsg.Push, meshmsg.Pull]]:
    """A sender and a receiver of one process, with room for a batch."""
    with (
        meshmsg.Pull(bind="inproc://micro", recv_queue_messages=4 * BATCH) as pull,
        meshmsg.Push(connect="inproc://micro", send_queue_messages=4 * BATCH) as push,
    ):
        push.wait_for_peers()
        yield push, pull


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.benchmark(group="queues")
def test_a_batch_goes_through_the_queues(
    benchmark: Any, pair: tuple[meshmsg.Push, meshmsg.Pull], size: int
) -> None:
    """1,000 messages in one call, and out in as few as it takes."""
    push, pull = pair
    batch = [b"x" * size] * BATCH

    def through() -> int:
        push.send_many(batch)
        count = 0
        while count < BATCH:
            count += len(pull.recv_many(BATCH, timeout=10))
        return count

    assert benchmark(through) == BATCH


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.benchmark(group="queues")
def test_a_message_goes_through_the_queues(
    benchmark: Any, pair: tuple[meshmsg.Push, meshmsg.Pull], size: int
) -> None:
    """One call in, one call out."""
    push, pull = pair
    body = b"x" * size

    def through() -> bytes:
        push.send(body)
        return pull.recv(timeout=10)

    assert benchmark(through) == body


@pytest.mark.parametrize("topics", TOPICS)
@pytest.mark.benchmark(group="subscriptions")
def test_a_topic_is_matched_with_the_subscriptions(benchmark: Any, topics: int) -> None:
    """How many a message would reach, asked of a publisher: one of so many topics is a prefix."""
    names = [f"news.{i}." for i in range(topics)]
    with (
        meshmsg.Pub(bind="inproc://topics") as pub,
        meshmsg.Sub(connect="inproc://topics", topics=names),
    ):
        for name in names:
            pub.wait_for_subscribers(topic=name, timeout=10)
        topic = f"news.{topics - 1}.today".encode()
        count = ffi.new("uint32_t *")

        def matched() -> int:
            rc: int = lib.mm_subscriber_count(pub._handle, topic, len(topic), count)
            return rc or count[0]

        assert benchmark(matched) == 1


@pytest.mark.benchmark(group="crossings")
def test_a_call_without_arguments(benchmark: Any) -> None:
    """The least a crossing costs."""
    assert benchmark(lib.mm_live_handles) >= 0


@pytest.mark.benchmark(group="crossings")
def test_a_call_with_bytes_that_does_nothing(benchmark: Any) -> None:
    """Handle, bytes and size: a send to a handle that is none."""
    assert benchmark(lib.mm_send, 0, b"x" * 64, 64, 0, 0) < 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.benchmark(group="crossings")
def test_a_send_that_is_refused(benchmark: Any, kind: Any) -> None:
    """The whole Python path of `send`, up to the core and back: there is no peer."""
    body = kind(b"x" * 64)
    with meshmsg.Push(connect="inproc://nobody") as push:

        def refused() -> bool:
            try:
                push.send(body, timeout=0)
            except meshmsg.WouldBlockError:
                return True
            return False

        assert benchmark(refused)


@pytest.mark.benchmark(group="crossings")
def test_looking_for_a_message_that_is_not_there(benchmark: Any) -> None:
    """The whole Python path of `recv`."""
    with meshmsg.Pull(bind="inproc://nothing") as pull:

        def looked() -> bool:
            try:
                pull.recv(timeout=0)
            except meshmsg.WouldBlockError:
                return True
            return False

        assert benchmark(looked)
