"""Batches, with allocations of the interpreter failing from the n-th on, for every n there is.

Not here: receives of objects (test_ready_no_memory.py), the core's (tests/sim/test_no_memory.py).
Law: what was received for a batch is there for the next call, in order, whatever failed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import lib
from meshmsg._socket.inbox import Inbox
from tests.support.pairs import WAIT_S, joined

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The interpreter is one: a thread that tells of events may meet an allocation that fails, and says
so (test_telling_no_memory.py)."""

BODIES = [b"%d" % number for number in range(5)]
POINTS = 90
"""More than such a call allocates."""
LASTS = 20
"""Allocations that fail: more than it would take to make objects of all messages."""


class Out:
    """A block without memory: it fails, or does not come to it."""

    def __init__(self, memory: Any, point: int) -> None:
        self.memory = memory
        self.point = point

    def __enter__(self) -> None:
        self.memory.set_nomemory(self.point, self.point + LASTS)

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> bool:
        self.memory.remove_mem_hooks()
        return kind is not None and issubclass(kind, MemoryError)


@pytest.mark.parametrize("frames", [1, 2])
def test_a_batch_for_which_there_is_no_memory_has_taken_nothing(frames: int) -> None:
    """Nor have those who tidy up after it."""
    memory = pytest.importorskip("_testcapi")
    with joined(mm.Push, mm.Pull) as (push, pull):
        for point in range(POINTS):
            for body in BODIES:
                push.send_frames([b"frame"] * (frames - 1) + [body])
            push.drain(timeout=WAIT_S)
            got: list[bytes] = []
            batch: mm.MessageBatch | None = None
            with Out(memory, point):
                batch = pull.recv_batch(timeout=0)
            while True:
                if batch is not None:
                    got += batch.to_list()
                try:
                    batch = pull.recv_batch(timeout=0)
                except mm.WouldBlockError:
                    break
            assert got == BODIES, point
        assert pull.stats().dropped == 0


def test_an_awaited_batch_for_which_there_is_no_memory_has_taken_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same of asyncio; nor are objects made of it all, for which there would be none either."""

    def fails(*_: object) -> None:
        raise MemoryError

    async def main() -> None:
        async with aio.Push(bind="tcp://127.0.0.1:0") as push, aio.Pull() as pull:
            pull.connect(push.endpoint)
            await push.wait_for_peers(timeout=WAIT_S)
            await push.send_many(BODIES)
            await push.drain(timeout=WAIT_S)
            with monkeypatch.context() as context:
                context.setattr("meshmsg.aio._batches.MessageBatch", fails)
                context.setattr(Inbox, "_unpack", fails)
                with pytest.raises(MemoryError):
                    await pull.recv_batch(timeout=WAIT_S)
            batch = await pull.recv_batch(timeout=0)
            assert batch.to_list() == BODIES

    asyncio.run(main())


def test_a_batch_of_what_was_prefetched_says_that_there_is_no_memory() -> None:
    """And nothing of a limit that was kept."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many(BODIES)
        push.drain(timeout=WAIT_S)
        assert next(iter(pull)) == BODIES[0]
        for point in range(1, POINTS):
            lib.mm_test_alloc_fail(point)
            try:
                with suppress(MemoryError):
                    batch = pull.recv_batch(timeout=0)
            finally:
                left = lib.mm_test_alloc_fail(0)
            if left > 0:
                break
            assert len(pull._ready) == len(BODIES) - 1
        assert point > 2
        assert batch == BODIES[1:]
