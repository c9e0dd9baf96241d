"""Putting what has no room at this moment: calls that wait, one after another, in a thread.

The thread lives while there are such calls. Not here: putting at once (spool.py). Law: whatever
they put, they are made in the order of their tasks; one that was given up before its turn puts
nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from typing import Any

from meshmsg._binding.core import EINTR, ends_of, left_of, to_ms
from meshmsg._spool.held import Putting
from meshmsg._spool.spool import Spool


class Job:
    """One call: what is put by it.

    Attributes:
        done: When it is over, with an error or without.
    """

    def __init__(self, put: Putting, timeout: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._put = put
        self._deadline = ends_of(timeout)
        self._given_up = self._begun = False
        self._over: asyncio.Future[None] = self._loop.create_future()

    async def give_up(self) -> None:
        """Nobody waits for it: what was not put yet is not. Then what was put is known."""
        self._given_up = True
        if self._begun:
            await whatever_comes(self._over)

    def work(self, spool: Spool) -> None:
        """Put it; on the thread."""
        error: BaseException | None = None
        rc = EINTR
        self._begun = True
        spool._room.behind.discard(self)
        try:
            while rc == EINTR and not self._given_up and not self._loop.is_closed():
                with spool._in_use() as pointer:
                    rc = self._put(pointer, to_ms(left_of(self._deadline)))
                if rc == EINTR:
                    if (lost := spool._unplaced(self._put.doing)) is not None:
                        raise lost
                    spool._look(self._put)
            if rc != EINTR:
                spool._raise_for(rc, self._put.doing)
        except BaseException as raised:
            error = raised
        finally:
            spool._room.leave(self._put)
        try:
            self._loop.call_soon_threadsafe(self._end, error)
        except RuntimeError:
            pass  # the loop is closed, and nobody waits

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

    def add(self, job: Job) -> None:
        """Make a call when its turn has come."""
        with self._lock:
            self._jobs.append(job)
            self._spool._room.behind.add(job)
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
