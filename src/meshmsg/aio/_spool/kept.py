"""What of a spool is kept for whom, for asyncio: its cursors, and leases.

Not here: a cursor (cursor.py), the spool (spool.py). Law: all of it may wait for the disk, and is
done in a thread.
"""

from __future__ import annotations

import asyncio
import threading

from meshmsg._binding.core import to_ms
from meshmsg._spool.arguments import cursor_name, lease_ms, whole
from meshmsg._spool.cursor import SpoolCursorInfo
from meshmsg._spool.starts import Start, begin_of
from meshmsg._spool.told import SpoolCompaction
from meshmsg.aio._spool.cursor import SpoolCursor, SpoolLease
from meshmsg.aio._spool.waits import Waits


class Kept(Waits):
    """A spool of a loop, as those see it for whom messages are kept."""

    async def cursor(self, name: str, start: Start = "earliest") -> SpoolCursor:
        """Open the cursor of that name, or make it.

        As in `async with await spool.cursor("billing") as cursor:`. Thread-safe: yes. Cancel-safe:
        yes; it may be made, and is closed then.

        Args:
            name: 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, with no dot in front.
            start: Where one begins that is made; one that is there goes on where it was.
                "earliest": with the first message that is there; "latest": with what is put from
                now on; "seq:42", or 42: with that number; "last:100": with the last hundred
                numbers; "since:5m": with what was put in the last 5 minutes (s, m, h, d), by the
                clock of this machine.

        Returns:
            The cursor. Close it, or use it in an `async with`.

        Raises:
            SpoolTrimmedError: It is made, and the message of the number `start` was removed.
            SpoolCorruptError: It is harmed, or of another spool.
            SpoolFailedError, SpoolFullError: The disk failed, or has no room for it.
            SpoolError: Its file cannot be used.
            ClosedError: The spool was closed.
            UsageError, TypeError: An argument is wrong.
        """
        name, begins = cursor_name("name", name), begin_of("start", start)
        self._check_open()
        opening = asyncio.get_running_loop().run_in_executor(None, SpoolCursor, self, name, begins)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_unwanted)
            raise

    async def find(self, start: Start) -> int:
        """Return the number of the message that a start means at this moment.

        So `spool.reader(await spool.find("since:5m"))` reads what was put in the last 5 minutes.
        Thread-safe: yes. Cancel-safe: yes.

        Args:
            start: "earliest", "latest", "seq:42" or 42, "last:100", "since:5m", as of a cursor.

        Returns:
            The number; 1 behind the last one, if what is meant is yet to come.

        Raises:
            UsageError, TypeError: It says nothing that there is.
            SpoolFailedError: The disk failed.
            ClosedError: The spool was closed.
        """
        begin_of("start", start)
        return await self._in_thread(lambda: self._spool.find(start))

    async def cursors(self) -> list[SpoolCursorInfo]:
        """List the cursors, in the order of their names, open or not. It changes none of them.

        Thread-safe: yes. Cancel-safe: yes.

        Returns:
            The name, the floor and the lag of each.

        Raises:
            SpoolError: They cannot be read.
            ClosedError: The spool was closed.
        """
        return await self._in_thread(lambda: self._spool.cursors())

    async def delete_cursor(self, name: str) -> None:
        """Remove a cursor. If `until_acked_by` names it, nothing goes until it is made again.

        Thread-safe: yes. Cancel-safe: yes; it may go on, and be removed.

        Args:
            name: Its name.

        Raises:
            UsageError: It is open.
            SpoolError: There is none, or it cannot be removed.
            ClosedError: The spool was closed.
        """
        cursor_name("name", name)
        await self._in_thread(lambda: self._spool.delete_cursor(name))

    async def lease(self, name: str, from_seq: int, ttl: float) -> SpoolLease:
        """Hold what is there from a message on, for some time.

        Nothing of it is removed by `trim`, `max_age` or `until_acked_by` before the lease is over
        or released; `overflow="drop_oldest"` removes it all the same. Another one of that name is
        replaced. It waits for no longer than files are being removed. Thread-safe: yes.
        Cancel-safe: yes; it may hold, until it is over.

        Args:
            name: As of a cursor; it has nothing to do with one.
            from_seq: The number of the first message to hold; it may be yet to come.
            ttl: Seconds, by a clock that nobody sets.

        Returns:
            The lease, to be renewed and released.

        Raises:
            SpoolTrimmedError: The message was removed.
            WouldBlockError: There are 1,024 leases.
            ClosedError: The spool was closed.
            UsageError, TypeError: An argument is wrong.
        """
        cursor_name("name", name)
        whole("from_seq", from_seq, 1)
        lease_ms(ttl)
        return await self._in_thread(lambda: SpoolLease(self, name, from_seq, ttl))

    async def compact(self, *, timeout: float | None = None) -> SpoolCompaction:
        """Take, of the messages of each key, all but the last one from the sealed segment files.

        As of `meshmsg.Spool`; it is done in a thread. Thread-safe: yes. Cancel-safe: it goes on.

        Args:
            timeout: Seconds to wait; None waits for ever. It goes on behind that.

        Returns:
            What it came to.

        Raises:
            TimedOutError, WouldBlockError: It is not done, in time; now.
            SpoolFullError: The disk has no room for a file to write what stays to; nothing is lost.
            SpoolFailedError: The disk failed; nothing is lost, and none begins before the spool was
                opened again.
            ClosedError: The spool was closed.
        """
        to_ms(timeout)
        return await self._in_thread(lambda: self._spool.compact(timeout=timeout))


def _unwanted(opening: asyncio.Future[SpoolCursor]) -> None:
    """Close one that nobody waits for, and not on the loop, as that may wait for the disk."""
    if not opening.cancelled() and opening.exception() is None:
        cursor = opening.result()._cursor
        threading.Thread(
            target=cursor._spool._close_cursor, args=(cursor._key,), name="meshmsg cursor"
        ).start()
