"""Putting what has no room at this moment: calls that wait, one after another, in a thread.

The thread lives while there are such calls. Not here: putting at once (spool.py). Law: they are
made in the order of their tasks; one that was given up before its turn puts nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from meshmsg._binding.core import EINTR, SLICE_MS, ends_of, left_of, lib, native, to_ms
from meshmsg._binding.data import size_of
from meshmsg._spool.spool import Spool


class Job:
    """One call: the bodies of a run, from one of them on. `check` raises when it is to end.

    Attributes:
        at: How many were taken.
        first, last: The numbers of the first and the last that was put; 0: of none.
        done: When it is over, with an error or without.
    """

    def __init__(
        self,
        run: list[bytes],
        at: int,
        meta: bytes,
        timeout: float | None,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.at = at
        self._check = check
        self.first = self.last = 0
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._run, self._meta = run, meta
        self._deadline = ends_of(timeout)
        self._given_up = self._begun = False
        self._over: asyncio.Future[None] = self._loop.create_future()

    async def give_up(self) -> None:
        """Nobody waits for it: what was not put yet is not. Then `at` is what it is."""
        self._given_up = True
        if self._begun:
            await whatever_comes(self._over)

    def work(self, spool: Spool) -> None:
        """Put them; on the thread."""
        error: BaseException | None = None
        self._begun = True
        try:
            while not self._given_up and not self._loop.is_closed() and not self._step(spool):
                pass
        except BaseException as raised:
            error = raised
        try:
            self._loop.call_soon_threadsafe(self._end, error)
        except RuntimeError:
            pass  # the loop is closed, and nobody waits

    def _step(self, spool: Spool) -> bool:
        left = left_of(self._deadline)
        if self._check is not None:
            self._check()
        with spool._in_use():
            rc, self.at, first, last = native.spool_append(
                spool._address, self._run, self.at, self._meta, False, to_ms(left), SLICE_MS
            )
        self.first, self.last = self.first or first, last or self.last
        if rc == EINTR:
            return False
        if rc == lib.MM_EMSGSIZE:
            raise spool._too_large(size_of(self._run[self.at]))
        spool._raise_for(rc, "appending")
        return True

    def _end(self, error: BaseException | None) -> None:
        self._over.set_result(None)
        if self.done.done():
            return
        if error is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(None)


async def whatever_comes(future: asyncio.Future[Any]) -> None:
    """Wait for what ends soon, also when the task is cancelled again meanwhile."""
    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([future])


class Later:
    """The calls of one spool that wait."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        self.busy = False
        """Whether there are some: what is put now is to come behind them."""

    def put(self, job: Job) -> None:
        """Make a call when its turn has come."""
        with self._lock:
            self._jobs.append(job)
            if self.busy:
                return
            self.busy = True
        # It may wait for room for ever, and is not to keep the program from ending.
        threading.Thread(target=self._run, name="meshmsg spool", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self.busy = False
                    return
                job = self._jobs.popleft()
            job.work(self._spool)
