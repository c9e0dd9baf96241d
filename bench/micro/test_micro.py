"""Micro-benchmarks: codec, queues, crossings into C. Run by hand: `pytest bench/micro`.

Not here: processes and sockets; `python -m meshmsg.bench` has them. Law: no assertion about time;
each bench checks that what it timed did what it should.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg
from meshmsg._mm import ffi, lib

BATCH = 1000
SIZES = (64, 1024, 16384)
SIZE_MAX = 1 << 20
FRAMES_MAX = 1024
COMMAND_MAX = 70_000


def framed(size: int, count: int) -> bytes:
    """So many single-frame messages as they stand on the wire."""
    head = bytes((0, size)) if size < 256 else b"\x02" + size.to_bytes(8, "big")
    return (head + b"x" * size) * count


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
@pytest.mark.benchmark(group="codec")
def test_the_reader_parses_a_chunk_of_messages(benchmark: Any, size: int) -> None:
    """1,000 messages, each made and freed."""
    chunk = framed(size, BATCH)
    where = ffi.from_buffer("uint8_t[]", chunk)
    used, part = ffi.new("size_t *"), ffi.new("size_t *")
    msg, kind, data = ffi.new("mm_msg **"), ffi.new("int *"), ffi.new("uint8_t const **")

    def parse() -> int:
        reader = lib.mm_codec_reader_new(SIZE_MAX, FRAMES_MAX, COMMAND_MAX)
        at = count = 0
        try:
            while at < len(chunk):
                left = len(chunk) - at
                rc = lib.mm_codec_reader_next(reader, where + at, left, used, msg, kind, data, part)
                assert rc >= 0
                at += used[0]
                if msg[0] != ffi.NULL:
                    lib.mm_msg_free(msg[0])
                    count += 1
        finally:
            lib.mm_codec_reader_free(reader)
        return count

    assert benchmark(parse) == BATCH


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
