"""Reading a spool in an event loop, from a number on, while it is written.

Not here: what a read is (_spool/reader.py). Law: files are read in a thread, a run of messages at a
time; what a cancelled call had read is the next one's.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ClosedError, TimedOutError, WouldBlockError
from meshmsg._hints.unshared import Unshared
from meshmsg._spool import reader as threads
from meshmsg._spool.arguments import whole
from meshmsg._spool.batch import BATCH_MAX_BYTES, BATCH_MAX_MESSAGES, SpoolBatch, check_batch
from meshmsg._spool.message import SpoolGap, SpoolMessage, seq_of
from meshmsg.aio._spool.waits import Waits

if TYPE_CHECKING:
    from typing_extensions import Self

_Read = list[SpoolMessage | SpoolGap]


class SpoolReader(Unshared):
    """Reads the messages of a spool in their order; made by `Spool.reader`.

    `async for` gives what there is, and ends where that ends. For one task at a time.
    """

    def __init__(self, spool: Waits, seq: int) -> None:
        self._spool = spool
        self._reader = self._opened(seq)
        """What its threads read with."""
        self._read: deque[SpoolMessage | SpoolGap] = deque()
        """What was read and not given out: of a call that was cancelled, or of a larger run."""
        self._reading: asyncio.Future[Any] | None = None
        self._begun = 0
        """With which number that begins."""
        self._waiting: asyncio.Future[None] | None = None
        self._seek_to: int | None = None
        """Where the next read is to go on."""
        self._closed = False

    def _opened(self, seq: int) -> threads.SpoolReader:
        return threads.SpoolReader(self._spool._spool, seq)

    @property
    def seq(self) -> int:
        """The number that is read next."""
        if self._seek_to is not None:
            return self._seek_to
        if self._read:
            return seq_of(self._read[0])
        if self._reading is not None:
            return self._begun
        return self._reader.seq

    def seek(self, seq: int) -> None:
        """Go on with another number, forth or back.

        Thread-safe: no.

        Args:
            seq: The number that is read next, from 1 on.

        Raises:
            ClosedError: It was closed.
        """
        whole("seq", seq, 1)
        self._check_open()
        self._read.clear()
        self._seek_to = seq

    async def read(self, max_messages: int = 1000, *, timeout: float | None = 0) -> _Read:
        """Read what there is, up to so many.

        Thread-safe: no. Cancel-safe: yes; what it had read is given by the next call.

        Args:
            max_messages: How many at most, 1 and more.
            timeout: Seconds to wait for the first one; None waits for ever, 0 never waits.

        Returns:
            Messages, in the order of their numbers, without one left out; empty when none came in
            time. With `on_corruption="gap"` a `SpoolGap` stands for those that are gone.

        Raises:
            SpoolTrimmedError: What is next was removed by retention; `first` is the first one that
                is still there (`seek`).
            SpoolCorruptError: What is next is harmed, `first` to `last`; `seek(error.last + 1)`
                goes on behind it.
            ClosedError: It, or its spool, was closed.
        """
        whole("max_messages", max_messages, 1)
        deadline = self._spool._deadline(timeout)
        if not await self._fill(max_messages, deadline, whole=True):
            return []
        given = list(islice(self._read, max_messages))
        self._read = deque(islice(self._read, max_messages, None))
        return given  # a signal's function runs behind a call, so not between the two

    async def read_batch(
        self,
        max_messages: int = BATCH_MAX_MESSAGES,
        *,
        max_bytes: int = BATCH_MAX_BYTES,
        timeout: float | None = 0,
    ) -> SpoolBatch:
        """Read what there is as one table, without making a Python object of each message.

        Thread-safe: no. Cancel-safe: yes; the next call reads it again.

        Args:
            max_messages: How many at most, 1 to 16,777,216.
            max_bytes: Bytes of bodies, and of what goes with them, after which no further message
                is taken; to 1 GiB. It takes so much memory, and half of that at most besides.
            timeout: Seconds to wait for the first one; None waits for ever, 0 never waits.

        Returns:
            One message or more, in the order of their numbers, without one left out; without any
            when none came in time.

        Raises:
            SpoolTrimmedError, SpoolCorruptError, ClosedError: As `read`. With
                `on_corruption="gap"` what is gone stands in `gaps`.
        """
        most, size = check_batch(max_messages, max_bytes)
        deadline = self._spool._deadline(timeout)
        if self._read or self._reading is not None:  # what was read ahead is read again
            self._seek_to = self.seq
            self._read.clear()
        while self._reading is not None:
            await self._finish(self._reading)
        while await self._begin(deadline):
            try:
                batch = await self._batch(most, size)
                if len(batch) or batch.gaps:
                    return batch
            except BaseException:  # it was cancelled, or a signal's function raised
                if self._seek_to is None:
                    self._seek_to = self._begun
                raise
        return SpoolBatch(lib.mm_spool_rows_none(), seq=self.seq)

    async def _batch(self, most: int, size: int) -> SpoolBatch:
        """Read in a thread; of a cursor, all that there is may be done, and left out."""
        reading = self._reading = asyncio.get_running_loop().run_in_executor(
            None, lambda: self._reader.read_batch(most, max_bytes=size)
        )
        try:
            return await asyncio.shield(reading)
        finally:
            if reading.done():
                self._reading = None

    async def _begin(self, deadline: float | None) -> bool:
        """Be where it is to read, and wait until there is something; false: it is too late."""
        self._check_open()
        if self._seek_to is not None:
            self._reader.seek(self._seek_to)
            self._seek_to = None
        self._begun = self._reader.seq
        return await self._is_there(deadline)

    async def _fill(self, most: int, deadline: float | None, *, whole: bool) -> bool:
        """Have something to give out; false: there is nothing, in time."""
        while not self._read:
            self._check_open()
            if self._reading is None:
                if not await self._begin(deadline):
                    return False
                self._reading = asyncio.get_running_loop().run_in_executor(
                    None, self._reader._read, most, 0, whole
                )
            await self._finish(self._reading)
        self._check_open()
        return True

    async def _finish(self, reading: asyncio.Future[Any]) -> None:
        """Take what the thread reads; cancelled, even as it is there, the next call takes it."""
        await asyncio.wait([reading])
        read: deque[SpoolMessage | SpoolGap] = deque()
        if reading.exception() is None and self._seek_to is None:  # else nobody asks for that
            read.extend(reading.result())
        # A signal's function runs behind a call, so not between the two.
        self._read, self._reading = read, None
        if self._seek_to is None:
            reading.result()

    async def _is_there(self, deadline: float | None) -> bool:
        """Wait until what is next can be seen; false: it is too late."""
        spool = self._spool
        seen = spool._watching(spool._seen_when, self._reader.seq, deadline, "reading")
        try:
            with seen as self._waiting:
                await self._waiting
        except (TimedOutError, WouldBlockError):
            return False
        finally:
            self._waiting = None
        return True

    def _check_open(self) -> None:
        if self._closed:
            raise self._is_closed()
        self._spool._check_open()

    @staticmethod
    def _is_closed() -> ClosedError:
        return ClosedError("the reader was closed", code=lib.MM_ECLOSED)

    async def __aiter__(self) -> AsyncIterator[SpoolMessage | SpoolGap]:
        while await self._fill(threads._RUN, 0, whole=False):
            while self._read:
                one = self._read[0]
                del self._read[0]  # as in the one for threads
                yield one

    def close(self) -> None:
        """Close it; the spool stays open. Again: nothing.

        Thread-safe: no; a `read` that waits raises ClosedError.
        """
        self._closed = True
        self._read.clear()
        self._end(self._is_closed())
        if os.getpid() != self._reader._spool._pid:
            return
        if self._reading is None:
            self._reader.close()
        else:  # a thread is in it
            self._reading.add_done_callback(lambda _: self._reader.close())

    def _end(self, error: ClosedError) -> None:
        """End the call that waits, if there is one."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __enter__(self) -> None:
            raise TypeError("an asyncio SpoolReader is closed by `async with`, not with")

        def __exit__(self, *_: object) -> None:
            """Never reached: entering raises."""

        def __iter__(self) -> None:
            raise TypeError("use `async for`: an asyncio SpoolReader is awaited")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
