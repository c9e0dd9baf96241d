"""Tables in an event loop: Arrow arrays that are put, and batches that are read.

Not here: what they are (_spool/arrow.py, _spool/batch.py). Law: both are done in a thread, as they
copy much at once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from meshmsg._binding.core import lib
from meshmsg._binding.errors import TimedOutError, WouldBlockError
from meshmsg._binding.note import MessageOptions
from meshmsg._spool.arguments import whole
from meshmsg._spool.arrow import Arrays
from meshmsg._spool.batch import BATCH_MAX_BYTES, BATCH_MAX_MESSAGES, SpoolBatch, check_batch
from meshmsg.aio._spool.later import whatever_comes
from meshmsg.aio._spool.waits import Waits

if TYPE_CHECKING:
    from typing_extensions import Unpack


async def append_batch(
    self: Waits,
    batch: object,
    *,
    wait: bool = True,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> range:
    """Put each element of an Arrow array as a message, without making Python objects of them.

    It is put in a thread. Thread-safe: yes; those of other tasks may come in between.
    Cancel-safe: what was put stays, and `sent` of the exception is how many: a call that is
    cancelled ends once what is put at this moment is put.

    Args:
        batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
            (of fixed size, too) or string; or a table (a record batch, a data frame) with a
            column `data` of that kind and perhaps `key`, which may be null.
        wait: As in `append`.
        timeout: Seconds for all of it; None waits for ever, 0: what can be put at once.
        options: As in `append`; the same goes with each.

    Returns:
        The numbers from its first to its last message, as of `append_many`.

    Raises:
        SpoolFullError, TimedOutError, WouldBlockError: As `append`; `sent`: how many were put.
        SpoolFailedError, TooLargeError, ClosedError: Likewise.
        UsageError: The array is of another type, has a null, or other columns; `sent` likewise.
        TypeError: It is no Arrow array.
    """
    deadline = self._deadline(timeout)
    arrays = Arrays(self._spool, batch, options)
    try:
        if self._later.busy or not await _put_at_once(self, arrays):
            await self._put_later(arrays, deadline)
    except BaseException as error:
        vars(error)["sent"] = arrays.put
        raise
    if wait and arrays.last:
        await self._kept(arrays.last, deadline, arrays.put)
    return arrays.numbers


async def _put_at_once(self: Waits, arrays: Arrays) -> bool:
    """Put what has room at this moment; whether that is all."""
    self._check_open()
    putting = asyncio.get_running_loop().run_in_executor(None, arrays.at_once)
    try:
        return bool(await asyncio.shield(putting) == lib.MM_OK)
    finally:
        arrays.given_up = not putting.done()
        if arrays.given_up and not arrays.begun:
            putting.cancel()  # no thread has come to it; one that comes now puts nothing
        elif arrays.given_up:
            await whatever_comes(putting)


async def read(
    self: Waits,
    seq: int,
    *,
    max_messages: int = BATCH_MAX_MESSAGES,
    max_bytes: int = BATCH_MAX_BYTES,
    timeout: float | None = 0,
) -> SpoolBatch:
    """Read from a number on, as one table, without making a Python object of each message.

    Who goes on with `last_seq + 1` of a batch reads on there; else the number is looked for in
    its segment file.

    Thread-safe: yes. Cancel-safe: yes.

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
    most, size = check_batch(max_messages, max_bytes)
    deadline = self._deadline(timeout)
    try:
        await self._wait(self._seen_when, seq, deadline, "reading")
    except (TimedOutError, WouldBlockError):
        return SpoolBatch(lib.mm_spool_rows_none(), seq=seq)
    return await self._in_thread(lambda: self._spool.read(seq, max_messages=most, max_bytes=size))
