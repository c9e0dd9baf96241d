"""Reading a spool from any number on, by readers that it keeps.

Law: who goes on where a call ended gets the reader that stands there, so nothing is looked for.
"""

from __future__ import annotations

from meshmsg._spool.arguments import whole
from meshmsg._spool.batch import BATCH_MAX_BYTES, BATCH_MAX_MESSAGES, SpoolBatch
from meshmsg._spool.held import Held
from meshmsg._spool.reader import SpoolReader

IDLE_MAX = 4
"""Readers that a spool keeps, each with an open file and the memory of a batch."""


def read(
    self: Held,
    seq: int,
    *,
    max_messages: int = BATCH_MAX_MESSAGES,
    max_bytes: int = BATCH_MAX_BYTES,
    timeout: float | None = 0,
) -> SpoolBatch:
    """Read from a number on, as one table, without making a Python object of each message.

    Who goes on with `last_seq + 1` of a batch reads on there; else the number is looked for in
    its segment file.

    Thread-safe: yes.

    Args:
        seq: The number that it begins with, 1 and more. It may be one that is yet to come.
        max_messages: How many at most, 1 to 16,777,216.
        max_bytes: Bytes after which no further message is taken, as of
            `SpoolReader.read_batch`.
        timeout: Seconds to wait for the first one; None waits for ever, 0 never waits.

    Returns:
        One message or more, without one left out; without any when none came in time. Its
        `last_seq + 1` is then `seq` again.

    Raises:
        SpoolTrimmedError, SpoolCorruptError, ClosedError: As `SpoolReader.read`.
    """
    whole("seq", seq, 1)
    reader: SpoolReader | None = _reader_at(self, seq)
    assert reader is not None
    try:
        return reader.read_batch(max_messages, max_bytes=max_bytes, timeout=timeout)
    finally:
        with self._inside.lock:
            if self._pointer is not None and len(self._idle_readers) < IDLE_MAX:
                self._idle_readers.append(reader)
                reader = None
        if reader is not None:
            reader.close()


def _reader_at(spool: Held, seq: int) -> SpoolReader:
    with spool._inside.lock:
        idle = spool._idle_readers
        at = next((i for i, one in enumerate(idle) if one.seq == seq), None)
        if at is None and len(idle) == IDLE_MAX:
            at = 0  # the one that was used the longest ago
        reader: SpoolReader | None = idle.pop(at) if at is not None else None
    if reader is None:
        return SpoolReader(spool, seq)
    if reader.seq != seq:
        reader.seek(seq)
    return reader
