"""What a message or a batch that somebody keeps holds of the core's memory (docs/semantics.md)."""

from __future__ import annotations

import gc

import meshmsg as mm
from tests.support.mm import live_bytes
from tests.support.room import pipeline, room
from tests.support.stalled import PATIENCE_S

READ_SIZE = 256 * 1024
SLACK = 4096
COUNT = 20_000
SIZE = 100


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
