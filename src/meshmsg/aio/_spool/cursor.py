"""Which messages of a spool somebody is done with, by name; for asyncio.

Not here: what a cursor promises (_spool/cursor.py), who makes one (kept.py). Law: what waits for
the disk is done in a thread; what is marked is marked at once.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import TYPE_CHECKING

from meshmsg._binding.core import lib, to_ms
from meshmsg._binding.errors import ClosedError
from meshmsg._hints.unshared import Unshared
from meshmsg._spool import cursor as threads
from meshmsg._spool import kept
from meshmsg._spool.arguments import lease_ms
from meshmsg._spool.reader import SpoolReader as ThreadsReader
from meshmsg._spool.starts import Begin, Start, begin_of
from meshmsg.aio._spool.reader import SpoolReader
from meshmsg.aio._spool.waits import Waits

if TYPE_CHECKING:
    from typing_extensions import Self


class SpoolCursor(Unshared):
    """Which messages of a spool somebody is done with, kept beside them; made by `Spool.cursor`.

    All messages up to its `floor` are done, and any above it. Its file is written about once a
    second while it changes, by `save`, and by `close`. What was done since the last save is not
    done any more after a crash: it is read again, and never lost.

    Several in one process that have the same name are the same; the last one to close saves. Tasks
    share one. In the child of a fork it is closed.
    """

    def __init__(self, spool: Waits, name: str, start: Begin) -> None:
        self._spool = spool
        self._cursor = threads.cursor_at(spool._spool, name, start)
        self._readers: weakref.WeakSet[_NotDone] = weakref.WeakSet()
        self._closing: asyncio.Future[None] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self._cursor.name

    @property
    def floor(self) -> int:
        """All messages up to this number are done; 0: the first is not."""
        return self._open().floor

    @property
    def lag(self) -> int:
        """How many messages can be read and are not done."""
        return self._open().lag

    @property
    def missed(self) -> int:
        """How many were removed before they were done, since it was opened or just before."""
        return self._open().missed

    @property
    def unsaved(self) -> int:
        """How many are done out of order and found no room in its file when it was saved last.

        After a crash they are read again. The file has room for some 10,000 ranges.
        """
        return self._open().unsaved

    def done(self, seq: int) -> None:
        """Say that one message is done; again: nothing.

        Thread-safe: yes. Waits for nothing.

        Args:
            seq: Its number.

        Raises:
            UsageError: No message of that number can be read yet.
            WouldBlockError: It is more than 134,217,664 above the floor; what is below comes first.
            SpoolFailedError: It could not be saved; close it, and open it again.
            ClosedError: It, or its spool, was closed.
        """
        self._open().done(seq)

    def done_up_to(self, seq: int) -> None:
        """Say that all messages up to that one are done.

        Thread-safe: yes. Waits for nothing.

        Args:
            seq: The last of them; 0: none.

        Raises:
            UsageError, SpoolFailedError, ClosedError: As `done`.
        """
        self._open().done_up_to(seq)

    def done_range(self, first: int, last: int) -> None:
        """Say that all messages from one to another are done.

        Thread-safe: yes. Waits for nothing.

        Args:
            first: The first of them, 1 and more.
            last: The last of them, itself included.

        Raises:
            UsageError, WouldBlockError, SpoolFailedError, ClosedError: As `done`.
        """
        self._open().done_range(first, last)

    def is_done(self, seq: int) -> bool:
        """Return whether that message is done.

        Thread-safe: yes. Waits for nothing.

        Args:
            seq: A number, 1 and more.

        Returns:
            True if it is.

        Raises:
            ClosedError: It, or its spool, was closed.
        """
        return self._open().is_done(seq)

    async def seek(self, seq: Start) -> None:
        """Go to a message, back or forth: all below it is done, and nothing else; it is saved.

        Readers that it gave go on where they are. Thread-safe: yes. Cancel-safe: yes; it may go on,
        to where it was told.

        Args:
            seq: The number that is next, up to one beyond the last message; or where that is in
                words, as the `start` of `Spool.cursor`.

        Raises:
            SpoolTrimmedError: It was removed; `first` is the first that is there.
            UsageError: It is beyond the next one.
            SpoolFailedError: It could not be saved.
            ClosedError: It, or its spool, was closed.
        """
        begin_of("seq", seq)
        cursor = self._open()
        await self._spool._in_thread(lambda: cursor.seek(seq))

    async def save(self, *, timeout: float | None = None) -> None:
        """Write it: what is done now is done after a crash, too.

        The messages are waited for first: nothing is done that is not on the disk.

        Thread-safe: yes. Cancel-safe: yes; it may go on, and be saved.

        Args:
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimedOutError, WouldBlockError: The messages are not on the disk, in time; now.
            SpoolFailedError: It could not be saved: nothing is saved in it until it was closed and
                opened again.
            ClosedError: It, or its spool, was closed.
        """
        to_ms(timeout)
        cursor = self._open()
        await self._spool._in_thread(lambda: cursor.save(timeout=timeout))

    def reader(self) -> SpoolReader:
        """Return a reader of what is not done, in order, from the floor on.

        It gives each message once, done or not; what is done before it comes to it is left out. A
        batch ends before one that is done. Thread-safe: yes.

        Returns:
            The reader, which is for one task at a time. It may outlive the cursor's `done`, but
            not its `close`.

        Raises:
            ClosedError: It, or its spool, was closed.
        """
        self._open()
        reader = _NotDone(self._spool, self)
        self._readers.add(reader)
        return reader

    async def close(self) -> None:
        """Save it and close it. Again: it waits for the same end.

        Thread-safe: no; readers of it that wait raise ClosedError. Cancel-safe: it goes on.

        Raises:
            SpoolFailedError: It could not be saved, now or before; what it says is what was saved.
        """
        if os.getpid() != self._spool._spool._pid:
            return  # its spool was given up as the process was forked
        if self._closing is not None:
            if self._closing.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([self._closing])
            return
        loop = asyncio.get_running_loop()
        self._closing = loop.run_in_executor(None, self._cursor.close)
        for reader in list(self._readers):
            reader._end(self._is_closed())
        await asyncio.shield(self._closing)

    def _open(self) -> threads.SpoolCursor:
        """Return that of threads, if it is open."""
        if os.getpid() == self._spool._spool._pid:
            self._spool._check_open()
            if self._closing is not None:
                raise self._is_closed()
        return self._cursor

    def _is_closed(self) -> ClosedError:
        return ClosedError(f"the cursor {self.name!r} was closed", code=lib.MM_ECLOSED)

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __enter__(self) -> None:
            raise TypeError("an asyncio SpoolCursor is closed by `async with`, not with")

        def __exit__(self, *_: object) -> None:
            """Never reached: entering raises."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<meshmsg.aio.SpoolCursor {self.name!r} of {self._spool.path}>"


class _NotDone(SpoolReader):
    """Reads what a cursor is not done with."""

    def __init__(self, spool: Waits, cursor: SpoolCursor) -> None:
        self._cursor = cursor
        super().__init__(spool, 1)  # it begins where that one does

    def _opened(self, seq: int) -> ThreadsReader:
        return self._cursor._cursor.reader()

    def _check_open(self) -> None:
        super()._check_open()
        self._cursor._open()


class SpoolLease(Unshared):
    """Holds what is in a spool from a number on; made by `Spool.lease`.

    It ends by itself; `async with` releases it. It is in memory only: after a crash there is none.
    """

    def __init__(self, spool: Waits, name: str, from_seq: int, ttl: float) -> None:
        self._spool = spool
        self._lease = kept.SpoolLease(spool._spool, name, from_seq, ttl)
        self.name: str = self._lease.name
        """Its name."""
        self.from_seq: int = self._lease.from_seq
        """That message, and all above it, are held."""

    async def renew(self, ttl: float) -> None:
        """Hold for so long from now on. One that is over is had again, if nothing went meanwhile.

        It waits for no longer than files are being removed. Thread-safe: yes. Cancel-safe: yes; it
        may be renewed.

        Args:
            ttl: Seconds.

        Raises:
            SpoolTrimmedError: Messages of it were removed.
            WouldBlockError: There are 1,024 leases.
            ClosedError: The spool was closed.
        """
        lease_ms(ttl)
        await self._spool._in_thread(lambda: self._lease.renew(ttl))

    def release(self) -> bool:
        """Hold no longer.

        Thread-safe: yes. Waits for nothing.

        Returns:
            False: it was over.

        Raises:
            ClosedError: The spool was closed.
        """
        self._spool._check_open()
        return self._lease.release()

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __enter__(self) -> None:
            raise TypeError("an asyncio SpoolLease is released by `async with`, not with")

        def __exit__(self, *_: object) -> None:
            """Never reached: entering raises."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._spool._closing is None:
            self._lease.__exit__()

    def __repr__(self) -> str:
        return f"<meshmsg.aio.SpoolLease {self.name!r} from {self.from_seq} of {self._spool.path}>"
