"""Sending by way of a spool, for asyncio.

Not here: what is put (_delivery/spooled.py), waiting for a spool (_spool). Law: as in
_sync/spooled.py; nothing here blocks the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from meshmsg._binding.data import Data
from meshmsg._binding.errors import SpoolFullError, WouldBlockError
from meshmsg._binding.note import MessageOptions
from meshmsg._delivery.pushing import PushOptions
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._delivery.spooled import FULL, Plan, Published, Spooled
from meshmsg._roles.arrays import bodies_of
from meshmsg._roles.unsent import Taken, tell_unsent
from meshmsg.aio._spool.spool import Spool
from meshmsg.aio._turns import is_due, share


async def put_one(
    spooled: Spooled,
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> int | None:
    """Put one message; its number, which has a receipt if that is wanted; None: it was dropped."""
    deadline = spooled.given._deadline(timeout)
    return await _put(spooled, spooled.plan(frames, options), deadline, confirm)


async def put_noted(
    spooled: Spooled, frames: list[bytes], note: bytes, timeout: float | None
) -> None:
    """Put a message that came from elsewhere, with what came with it; `timeout`: for room.

    What was put is waited for until it is kept, so that who tries again puts it once.

    Raises:
        TimedOutError, WouldBlockError: There was no room; nothing was put.
    """
    spool: Spool = spooled.given
    put = spooled.single(spooled.noted(frames, note), wait=False)
    try:
        await spool._put(put, spool._deadline(timeout))
    except SpoolFullError as error:
        raise WouldBlockError(FULL, code=error.code) from error
    if put.last:
        await spool._kept(put.last, None, 1)


async def put_published(
    spooled: Published,
    frames: Sequence[Data],
    topic: str | bytes,
    timeout: float | None,
    options: MessageOptions,
) -> None:
    """Put one message under a topic."""
    deadline = spooled.given._deadline(timeout)
    await _put(spooled, spooled.plan_of(frames, topic, options), deadline, False)


async def _put(spooled: Spooled, plan: Plan, deadline: float | None, confirm: bool) -> int | None:
    spool: Spool = spooled.given
    due = is_due()
    put = spooled.single(plan, wait=False)
    await spool._put(put, deadline)
    if not put.last:
        return None
    if confirm:
        spooled.receipt(put.last)
    if due:  # behind the put, so that tasks put in their order
        await spool._share(1)
    await spool._kept(put.last, deadline, 1)
    return put.last


async def put_many(
    spooled: Spooled,
    messages: Iterable[Data],
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Put many messages; with receipts, if those are given.  How many."""
    spool: Spool = spooled.given
    taken, last = None, 0
    try:
        deadline = spool._deadline(timeout)
        meta = spooled.meta(options)
        taken = Taken(messages)
        while taken.fill():
            if is_due(len(taken.chunk)):
                await share()
            put = spooled.rows(taken, meta, receipts)
            await spool._put(put, deadline)
            last = put.last or last
            spooled.check_next(taken.chunk, taken.counts[0])
        taken.chunk.clear()  # all are put
        if last:
            await spool._kept(last, deadline, taken.counts[1])
        spooled.told_kept(receipts)
        return taken.counts[1]
    except BaseException as error:
        tell_unsent(error, messages, taken)
        if receipts is not None:
            vars(error).update(receipts=receipts)
        raise


async def put_arrays(
    spooled: Spooled,
    batch: object,
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Put each element of an Arrow array; with receipts, if those are given.  How many."""
    return await put_many(spooled, bodies_of(batch), timeout, options, receipts)
