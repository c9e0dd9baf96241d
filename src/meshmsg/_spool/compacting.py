"""Compaction by key: of the messages of a key only the last one stays.

Not here: what it does (csrc/spool/compact.h). Law: as in spool.py; what was asked for goes on by
itself where a call ends too early.
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.core import ffi, lib
from meshmsg._spool.held import SLICE_MS, Held
from meshmsg._spool.told import SpoolCompaction


def compact(self: Held, *, timeout: float | None = None) -> SpoolCompaction:
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
