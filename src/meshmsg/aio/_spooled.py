"""Sending by way of a spool, for asyncio.

Not here: what is put (_delivery/spooled.py), waiting for a spool (_spool). Law: as in
_sync/spooled.py; nothing here blocks the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from meshmsg._binding.core import ends_of, native, to_ms
from meshmsg._binding.data import Data
from meshmsg._binding.errors import TimedOutError
from meshmsg._binding.note import MessageOptions
from meshmsg._delivery.pushing import PushOptions
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._delivery.spooled import Plan, Published, Spooled
from meshmsg._roles.arrays import bodies_of
from meshmsg._roles.unsent import Taken, tell_unsent
from meshmsg.aio._spool.later import whatever_comes
from meshmsg.aio._spool.spool import Spool
from meshmsg.aio._turns import is_due, share

IN_A_ROW = 256
"""Messages with receipts that are put at once."""
SLICE_S = 0.1
"""Seconds that a thread waits for room before it looks whether the task was cancelled."""
_FoundT = TypeVar("_FoundT")


async def put_one(
    spooled: Spooled,
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> int | None:
    """Put one message; its number, which has a receipt if that is wanted; None: it was dropped."""
    to_ms(timeout)  # refuses what is no time
    return await _put_kept(spooled, spooled.plan(frames, options), timeout, confirm)


async def put_published(
    spooled: Published,
    frames: Sequence[Data],
    topic: str | bytes,
    timeout: float | None,
    options: MessageOptions,
) -> None:
    """Put one message under a topic."""
    to_ms(timeout)  # refuses what is no time
    await _put_kept(spooled, spooled.plan_of(frames, topic, options), timeout, False)


async def _put_kept(
    spooled: Spooled, plan: Plan, timeout: float | None, confirm: bool
) -> int | None:
    spool: Spool = spooled.given
    deadline = spool._deadline(timeout)
    due = is_due()
    if plan.packed[2] == 1 and not plan.due_us and not plan.priority:
        seq = (await spool._put([plan.packed[0]], plan.meta, deadline, 0, spooled.check_open))[1]
    else:
        seq = await _put_plan(spool, spooled, plan, deadline) or 0
    if not seq:
        return None
    if confirm:
        spooled.receipt(seq)
    if due:  # behind the put, so that tasks put in their order
        await _share_put()
    await spool._kept(seq, deadline, 1)
    return seq


async def _share_put() -> None:
    try:
        await share()
    except BaseException as error:
        vars(error)["sent"] = 1
        raise


async def _put_plan(
    spool: Spool, spooled: Spooled, plan: Plan, deadline: float | None
) -> int | None:
    put: list[int | None] = []

    def call(seconds: float) -> int | None:
        put.append(spooled.put(plan, seconds, wait=False))
        return put[0]

    try:
        return await _in_slices(spool, deadline, call)
    except BaseException as error:
        vars(error)["sent"] = int(bool(put))
        raise


async def _in_slices(
    spool: Spool, deadline: float | None, call: Callable[[float], _FoundT]
) -> _FoundT:
    """Call in a thread until there is room; what ends it ends the call first."""
    while True:
        left = spool._left(deadline)
        last = left is not None and left <= SLICE_S
        seconds = left if last and left is not None else SLICE_S
        working = asyncio.ensure_future(spool._in_thread(partial(call, seconds)))
        try:
            return await asyncio.shield(working)
        except TimedOutError:
            if last:
                raise
        except asyncio.CancelledError:
            await whatever_comes(working)
            working.exception()
            raise


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
            if receipts is None:
                last = await _put_chunk(spool, spooled, taken, meta, deadline) or last
            else:
                last = await _put_in_a_row(spool, spooled, taken, meta, deadline, receipts) or last
        taken.chunk.clear()  # all are put
        if last:
            await spool._kept(last, deadline, taken.counts[1])
        return taken.counts[1]
    except BaseException as error:
        tell_unsent(error, messages, taken)
        if receipts is not None:
            vars(error).update(receipts=receipts)
        raise


async def _put_chunk(
    spool: Spool, spooled: Spooled, taken: Taken, meta: bytes, deadline: float | None
) -> int:
    counts, before = taken.counts, taken.counts[1]
    run = spooled.sendable(taken.chunk)
    try:
        last = 0
        if run:
            last = (await spool._put(run, meta, deadline, before, spooled.check_open))[1]
        counts[:] = len(run), before + len(run)
    except BaseException as error:
        sent = int(vars(error).get("sent", before))
        counts[:] = sent - before, sent
        raise
    spooled.check_next(taken.chunk, counts[0])
    return last


async def _put_in_a_row(
    spool: Spool,
    spooled: Spooled,
    taken: Taken,
    meta: bytes,
    deadline: float | None,
    receipts: ReceiptsForm[Any],
) -> int:
    counts, last = taken.counts, 0
    run = spooled.sendable(taken.chunk)
    while counts[0] < len(run):
        some = run[counts[0] : counts[0] + IN_A_ROW]
        first = at = 0
        if not spool._later.busy:
            watch = spool._watch()
            with spool._spool._in_use():
                _, at, first, last = native.spool_put(spool._spool._address, some, 0, meta)
            if at:
                watch.write_soon()
        if at:
            counts[:] = counts[0] + at, counts[1] + at
            spooled.note(receipts, first, last, at)
        else:
            last = await _in_slices(
                spool,
                deadline,
                lambda seconds: spooled.put_run(run, counts, meta, ends_of(seconds), receipts),
            )
    spooled.check_next(taken.chunk, counts[0])
    return last


async def put_arrays(
    spooled: Spooled,
    batch: object,
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Put each element of an Arrow array; with receipts, if those are given.  How many."""
    return await put_many(spooled, bodies_of(batch), timeout, options, receipts)
