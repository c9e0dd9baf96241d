"""What a message or a batch that somebody keeps holds of the core's memory (docs/semantics.md)."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import pytest

import meshmsg as mm
from tests.support.mm import ffi, live_bytes
from tests.support.room import UP, Room, pipeline, room
from tests.support.stalled import PATIENCE_S

READ_SIZE = 256 * 1024
SLACK = 4096
COUNT = 20_000
SIZE = 100
ROUNDS = 10
KEPT_MAX = 12 * 1024
"""Bytes of a kept batch of up to 32 messages: the bodies, half as much again, and its arrays."""


def deep(r: Room, queue: int) -> tuple[Any, Any]:
    """A pipeline whose receiver has a queue of so many messages."""
    push = r.open("Push", engine=r.hub, bind=UP, send_queue_messages=COUNT)
    pull = r.open("Pull", connect=push.endpoint, recv_queue_messages=queue)
    push.wait_for_peers(timeout=PATIENCE_S)
    pull.wait_for_peers(timeout=PATIENCE_S)
    return push, pull


def taken(pull: Any, count: int) -> list[mm.MessageBatch]:
    """So many messages, in as few batches as they come in."""
    found: list[mm.MessageBatch] = []
    while count > 0:
        found.append(pull.recv_batch(count, timeout=PATIENCE_S))
        count -= len(found[-1])
    return found


def test_a_kept_message_holds_nothing_and_a_kept_slice_its_batch() -> None:
    """Two megabytes came; of them one message and a slice of a batch are kept, then neither."""
    with room() as r:
        push, pull = pipeline(r, send_queue_messages=COUNT)
        for _ in range(2):  # the first time fills what the core keeps for the next
            kept: list[mm.Message | mm.MessageBatch] = []
            got = 0
            push.send_many([bytes(SIZE)] * COUNT, timeout=PATIENCE_S)
            while got < COUNT - 5_000:
                found = pull.recv_many(500, timeout=PATIENCE_S)
                kept[:] = found[:1]
                got += len(found)
            del found
            sized = [live_bytes()]
            while got < COUNT:
                batch = pull.recv_batch(timeout=PATIENCE_S)
                got += len(batch)
                kept[1:] = [batch[-1:]]
            del batch
            gc.collect()
            r.world.run(1.0)
            sized.append(live_bytes())
            kept.pop()
            gc.collect()
            sized.append(live_bytes())
        offsets = 4 * READ_SIZE // SIZE
        assert 0 < sized[1] - sized[2] <= READ_SIZE + offsets + SLACK
        with_message = sized[2]
        kept.clear()
        gc.collect()
        assert live_bytes() == with_message


@pytest.mark.parametrize("queue", [1_000, COUNT])
def test_kept_small_batches_hold_little_more_than_they_are(queue: int) -> None:
    """One of 32 messages is kept of every thousand: each of another read, none of which it pins."""
    small, rest = 32, 968
    with room() as r:
        push, pull = deep(r, queue)
        kept: list[mm.MessageBatch] = []
        held = 0
        for _ in range(2):  # the first time fills what the core keeps for the next
            kept.clear()
            before = live_bytes()
            for _ in range(ROUNDS):
                push.send_many([bytes(SIZE)] * COUNT, timeout=PATIENCE_S)
                for _ in range(COUNT // (small + rest)):
                    kept += taken(pull, small)
                    taken(pull, rest)
            held = live_bytes() - before
        assert sum(map(len, kept)) == ROUNDS * COUNT // (small + rest) * small
        assert held <= len(kept) * KEPT_MAX


def test_a_kept_batch_of_some_size_is_where_it_was_read() -> None:
    """It is not copied: parts of one read, taken one after the other, lie end to end."""
    with room() as r:
        push, pull = deep(r, 1_000)
        push.send_many([bytes(1024)] * 1_000, timeout=PATIENCE_S)
        batches: list[mm.MessageBatch] = []
        left = 1_000
        while left > 0:
            batches.append(pull.recv_batch(64, timeout=PATIENCE_S))
            left -= len(batches[-1])
        spans = [(int(ffi.cast("uintptr_t", ffi.from_buffer(b.data))), b.nbytes) for b in batches]
        joined = [b[0] == a[0] + a[1] for a, b in itertools.pairwise(spans) if a[1] == 64 * 1024]
        assert len(joined) > 5
        assert sum(joined) > len(joined) // 2
