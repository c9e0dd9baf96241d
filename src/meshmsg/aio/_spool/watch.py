"""How a loop waits for a spool: one descriptor a loop, which its spool rings when more is kept.

Not here: what is put (spool.py). Law: a future is done when the spool has said so, in the order of
the numbers; nobody else sees one, so a cancelled task leaves nothing but a place in the queue.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import ClosedError, ForkedError, UsageError
from meshmsg._spool.held import Held
from meshmsg.aio._loop import call_when_readable

WRITTEN, DURABLE = 0, 1
"""What is waited for: the system has it; it is on the disk."""
_NEVER = 2**64 - 1
_Waiters = list[tuple[int, int, "asyncio.Future[None]"]]


class LoopWatch:
    """Completes what tasks of one loop wait for, of one spool."""

    def __init__(self, spool: Held, loop: asyncio.AbstractEventLoop) -> None:
        self._spool = weakref.ref(spool)
        self._fd, self._watch = -1, ffi.NULL
        out, bell = ffi.new("mm_spool_watch **"), ffi.new("int *")
        with spool._in_use() as pointer:
            spool._raise_for(int(lib.mm_spool_watch_open(pointer, out, bell)), "watching it")
            spool._watches.append(out[0])
            # A copy: the spool's own goes as it is closed, which another thread may do.
            self._fd = os.dup(bell[0])
        self._watch = out[0]
        self._loop = weakref.ref(loop)
        self._kept = ffi.new("mm_spool_kept *")
        self._heaps: tuple[_Waiters, _Waiters] = ([], [])
        self._armed = [_NEVER, _NEVER]
        self._numbers = count()
        self._is_put = False
        try:
            call_when_readable(loop, self._fd, self._look)
        except UsageError:
            os.close(self._fd)
            self._fd = -1
            raise

    def until(self, which: int, seq: int) -> asyncio.Future[None]:
        """Return what is done once all up to that number is so; perhaps it is already.

        It ends by SpoolFailedError if the disk failed, and by ClosedError.
        """
        loop = self._loop()
        assert loop is not None, "a task of it calls"
        future: asyncio.Future[None] = loop.create_future()
        heappush(self._heaps[which], (seq, next(self._numbers), future))
        if seq < self._armed[which]:
            self._look()
        return future

    def write_soon(self) -> None:
        """Have what was put written, when the tasks whose turn it is have put theirs.

        So they share a sync: the spool's thread would begin with the first of them.
        """
        loop = self._loop()
        if not self._is_put and loop is not None:
            self._is_put = True
            loop.call_soon(self._write)

    def _write(self) -> None:
        self._is_put = False
        spool = self._spool()
        try:
            if spool is not None:
                with spool._in_use() as pointer:
                    lib.mm_spool_write_soon(pointer)
        except (ClosedError, ForkedError):
            pass  # closing wrote it; a child writes nothing

    def last(self) -> int:
        """Return the last number that was given."""
        self._look()
        return int(self._kept.last)

    def _look(self) -> None:
        """Complete what is so, and be rung for what is next."""
        spool, kept = self._spool(), self._kept
        try:
            if spool is None:
                return
            more = True
            while more:
                self._armed = [heap[0][0] if heap else _NEVER for heap in self._heaps]
                with spool._in_use():
                    lib.mm_spool_watch_set(self._watch, *self._armed, kept)
                more = self._complete(WRITTEN, kept.written)
                more = self._complete(DURABLE, kept.durable) or more
        except (ClosedError, ForkedError):
            self.end()
            return
        if kept.failed:
            self._fail(lambda: spool._error(lib.MM_EIO, "waiting for the disk"))

    def _complete(self, which: int, seq: int) -> bool:
        """Complete those up to a number; whether there were some."""
        heap, some = self._heaps[which], False
        while heap and (heap[0][0] <= seq or heap[0][2].done()):
            future = heappop(heap)[2]
            some = True
            if not future.done():
                future.set_result(None)
        return some

    def _fail(self, make: Callable[[], BaseException]) -> None:
        self._armed = [_NEVER, _NEVER]  # who comes now is to look, and be told
        for heap in self._heaps:
            while heap:
                future = heap.pop()[2]
                if not future.done():
                    future.set_exception(make())

    def end(self) -> None:
        """Nobody waits any more: the spool is closed. On the loop's thread, or when it is gone."""
        loop = self._loop()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            if loop is not None and not loop.is_closed():
                loop.remove_reader(fd)
            os.close(fd)
        if loop is not None and not loop.is_closed():
            self._fail(lambda: ClosedError("the spool was closed", code=lib.MM_ECLOSED))

    def __del__(self) -> None:
        """Its loop is gone, or its spool."""
        if self._fd >= 0:
            os.close(self._fd)
        if (spool := self._spool()) is not None:
            spool._close_watches(self._watch)

    def end_from_anywhere(self) -> None:
        """End it on its loop's thread, soon."""
        loop = self._loop()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self.end)
        except RuntimeError:  # the loop is closed
            self.end()
