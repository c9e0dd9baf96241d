"""What a spool's awaited calls, its reader and its tables share: waiting, and who waits.

Not here: the calls (spool.py, reader.py, batches.py). Law: a call that is closed, late or cancelled
while it waits has put what it had put, and says how much that is.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from meshmsg._binding.core import EAGAIN, ends_of, left_of, lib
from meshmsg._binding.errors import ClosedError
from meshmsg._hints.unshared import Unshared
from meshmsg._spool import spool as threads
from meshmsg._spool.held import Putting
from meshmsg.aio._spool.later import Job, Later
from meshmsg.aio._spool.watch import DURABLE, WRITTEN, LoopWatch
from meshmsg.aio._turns import is_due, share

_FoundT = TypeVar("_FoundT")


def read_when(durability: str) -> int:
    """Return what it takes until a message can be read."""
    return DURABLE if durability == "disk" else WRITTEN


class Waits(Unshared):
    """A spool, and the loops whose tasks wait for it."""

    _spool: threads.Spool
    path: str
    _kept_when: int | None
    """What is waited for until a message is kept; None: nothing."""
    _seen_when: int
    """Likewise, until it can be read."""
    _watches: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopWatch]
    _later: Later
    """Who waits for room."""
    _closing: asyncio.Future[None] | None = None

    def _check_open(self) -> None:
        if self._closing is not None and os.getpid() == self._spool._pid:
            raise ClosedError(f"the spool {self.path} was closed", code=lib.MM_ECLOSED)

    def _watch(self) -> LoopWatch:
        """Return what tells the running loop."""
        self._check_open()
        loop = asyncio.get_running_loop()
        watch = self._watches.get(loop)
        if watch is None:
            for of in [of for of in self._watches if of.is_closed()]:
                self._watches.pop(of).end()
            watch = self._watches[loop] = LoopWatch(self._spool, loop)
        return watch

    @staticmethod
    def _deadline(timeout: float | None) -> float | None:
        """Return when it is too late, by the loop's clock."""
        return ends_of(timeout, asyncio.get_running_loop().time)

    async def _in_thread(self, call: Callable[[], _FoundT]) -> _FoundT:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(None, call)

    @staticmethod
    def _left(deadline: float | None) -> float | None:
        return left_of(deadline, asyncio.get_running_loop().time)

    async def _kept(self, seq: int, deadline: float | None, sent: int) -> None:
        """Wait until all up to that number is kept, `sent` messages having been put."""
        if self._kept_when is None:
            if is_due():
                await self._share(sent)
            return
        try:
            await self._wait(self._kept_when, seq, deadline, "appending")
        except BaseException as error:
            vars(error)["sent"] = sent
            raise

    @staticmethod
    async def _share(sent: int) -> None:
        """Others are due a turn: let them run, `sent` messages having been put."""
        try:
            await share()
        except BaseException as error:
            vars(error)["sent"] = sent
            raise

    async def _wait(self, when: int, seq: int, deadline: float | None, doing: str) -> None:
        with self._watching(when, seq, deadline, doing) as future:
            await future

    @contextmanager
    def _watching(
        self, when: int, seq: int, deadline: float | None, doing: str
    ) -> Iterator[asyncio.Future[None]]:
        """Have what is done once all up to that number is so; it ends by an error when it is too
        late."""
        future = self._watch().until(when, seq)
        if deadline == 0 and not future.done():
            future.set_exception(self._spool._error(EAGAIN, doing))
        timer = self._timer(future, deadline, doing)
        try:
            yield future
        finally:
            if timer is not None:
                timer.cancel()

    def _timer(
        self, future: asyncio.Future[None], deadline: float | None, doing: str
    ) -> asyncio.TimerHandle | None:
        """End a future that nobody else has by TimedOutError, when it is too late."""

        def expire() -> None:
            if not future.done():
                future.set_exception(self._spool._error(lib.MM_ETIMEDOUT, doing))

        return future.get_loop().call_at(deadline, expire) if deadline else None

    async def _put_later(self, put: Putting, deadline: float | None) -> None:
        """Put it when those that wait for room were put, and there is room; all of it, or what ends
        it says how much."""
        self._watch()  # it is open, and of this process
        if deadline == 0 and self._later.busy:
            raise self._spool._error(EAGAIN, put.doing)
        job = Job(put, self._left(deadline))
        timer = self._timer(job.done, deadline, put.doing)
        self._later.add(job)
        try:
            await job.done
        except BaseException:
            await job.give_up()
            raise
        finally:
            if timer is not None:
                timer.cancel()
