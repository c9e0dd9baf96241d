"""What of a spool is kept for whom: its cursors, and leases.

Not here: a cursor (cursor.py), the spool (spool.py). Law: as in spool.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EAGAIN, SLICE_MS, ffi, lib
from meshmsg._binding.errors import SpoolError, UsageError, WouldBlockError
from meshmsg._hints.unshared import Unshared
from meshmsg._spool.arguments import cursor_name, lease_ms, whole
from meshmsg._spool.cursor import (
    SpoolCursor,
    SpoolCursorInfo,
    cursor_at,
    looked,
    names_of,
    trimmed,
)
from meshmsg._spool.held import Held
from meshmsg._spool.starts import Start, begin_of, find
from meshmsg._spool.told import SpoolCompaction

if TYPE_CHECKING:
    from typing_extensions import Self


class SpoolLease(Unshared):
    """Holds what is in a spool from a number on; made by `Spool.lease`.

    It ends by itself; `with` releases it. It is in memory only: after a crash there is none.
    """

    def __init__(self, spool: Held, name: str, from_seq: int, ttl: float) -> None:
        self._spool = spool
        self.name: str = cursor_name("name", name)
        """Its name."""
        self.from_seq: int = whole("from_seq", from_seq, 1)
        """That message, and all above it, are held."""
        self.renew(ttl)

    def renew(self, ttl: float) -> None:
        """Hold for so long from now on. One that is over is had again, if nothing went meanwhile.

        Thread-safe: yes. Waits for no longer than files are being removed.

        Args:
            ttl: Seconds.

        Raises:
            SpoolTrimmedError: Messages of it were removed.
            WouldBlockError: There are 1,024 leases.
            ClosedError: The spool was closed.
        """
        ms = lease_ms(ttl)
        with self._spool._in_use() as pointer:
            rc = int(lib.mm_spool_lease(pointer, self.name.encode(), self.from_seq, ms))
        if rc == lib.MM_ENOENT:
            raise trimmed(self._spool, self.from_seq)
        if rc == EAGAIN:
            most = lib.MM_SPOOL_LEASES_MAX
            raise WouldBlockError(f"{self._spool.path}: there are {most:,} leases", code=rc)
        self._spool._raise_for(rc, f"the lease {self.name!r}")

    def release(self) -> bool:
        """Hold no longer.

        Thread-safe: yes.

        Returns:
            False: it was over.

        Raises:
            ClosedError: The spool was closed.
        """
        with self._spool._in_use() as pointer:
            rc = int(lib.mm_spool_release(pointer, self.name.encode()))
        return rc == int(lib.MM_OK)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool._pointer is not None:
            self.release()

    def __repr__(self) -> str:
        return f"<meshmsg.SpoolLease {self.name!r} from {self.from_seq} of {self._spool.path}>"


class Kept(Held):
    """A spool, as those see it for whom messages are kept."""

    def cursor(self, name: str, start: Start = "earliest") -> SpoolCursor:
        """Open the cursor of that name, or make it.

        Thread-safe: yes. It waits for the disk.

        Args:
            name: 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, with no dot in front.
            start: Where one begins that is made; one that is there goes on where it was.
                "earliest": with the first message that is there; "latest": with what is put from
                now on; "seq:42", or 42: with that number; "last:100": with the last hundred
                numbers; "since:5m": with what was put in the last 5 minutes (s, m, h, d), by the
                clock of this machine.

        Returns:
            The cursor. Close it, or use it in a `with`.

        Raises:
            SpoolTrimmedError: It is made, and the message of the number `start` was removed.
            SpoolCorruptError: It is harmed, or of another spool.
            SpoolFailedError, SpoolFullError: The disk failed, or has no room for it.
            SpoolError: Its file cannot be used.
            ClosedError: The spool was closed.
            UsageError, TypeError: An argument is wrong.
        """
        return cursor_at(self, cursor_name("name", name), begin_of("start", start))

    find = find

    def cursors(self) -> list[SpoolCursorInfo]:
        """List the cursors, in the order of their names, open or not. It changes none of them.

        Thread-safe: yes. It waits for the disk.

        Returns:
            The name, the floor and the lag of each.

        Raises:
            SpoolError: They cannot be read.
            ClosedError: The spool was closed.
        """
        names = names_of(self, lib.mm_spool_cursor_names)
        return [
            SpoolCursorInfo(name, found.floor, found.lag)
            for name in names
            if (found := looked(self, name)) is not None
        ]

    def delete_cursor(self, name: str) -> None:
        """Remove a cursor. If `until_acked_by` names it, nothing goes until it is made again.

        Thread-safe: yes. It waits for the disk.

        Args:
            name: Its name.

        Raises:
            UsageError: It is open.
            SpoolError: There is none, or it cannot be removed.
            ClosedError: The spool was closed.
        """
        cursor_name("name", name)
        with self._in_use() as pointer:
            rc = int(lib.mm_spool_cursor_delete(pointer, name.encode()))
        if rc == lib.MM_ESTATE:
            raise UsageError(f"{self.path}: the cursor {name!r} is open; close it first")
        if rc == lib.MM_ENOENT:
            raise SpoolError(f"{self.path}: there is no cursor {name!r}", code=rc)
        self._raise_for(rc, f"removing the cursor {name!r}")

    def lease(self, name: str, from_seq: int, ttl: float) -> SpoolLease:
        """Hold what is there from a message on, for some time.

        Nothing of it is removed by `trim`, `max_age` or `until_acked_by` before the lease is over
        or released; `overflow="drop_oldest"` removes it all the same. Another one of that name is
        replaced. Thread-safe: yes.

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
        return SpoolLease(self, name, from_seq, ttl)

    def compact(self, *, timeout: float | None = None) -> SpoolCompaction:
        """Take, of the messages of each key, all but the last one from the sealed segment files.

        The file that is written is not sealed, and stays as it is. Messages without a key stay. One
        with a key and an empty body, a tombstone, takes what was before it, and goes itself
        `tombstone_age` seconds later, with the first compaction then. Numbers stay as they are: who
        reads passes over what went, and a cursor is done with it.

        What a lease holds, or a Push has not delivered, stays, and so does all behind it.

        Thread-safe: yes. Others put and read meanwhile.

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
        did = ffi.new("mm_spool_compacted *")

        def call(pointer: Any, ms: int) -> int:
            return int(lib.mm_spool_compact(pointer, ms, SLICE_MS, did))

        self._until(call, timeout, "compacting")
        return SpoolCompaction(
            messages=int(did.messages),
            tombstones=int(did.tombstones),
            files=int(did.files),
            merged_files=int(did.merged_files),
            held_files=int(did.held_files),
            skipped_files=int(did.skipped_files),
            bytes=int(did.bytes),
        )
