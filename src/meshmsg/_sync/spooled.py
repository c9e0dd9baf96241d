"""Sending by way of a spool, for threads that may block.

Not here: what is put (_delivery/spooled.py). Law: a call that returns has its messages kept, as the
durability of the spool says; one that fails says what was put.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from meshmsg._binding.core import ends_of, left_of
from meshmsg._binding.data import Data
from meshmsg._binding.errors import SpoolFullError, WouldBlockError
from meshmsg._binding.note import MessageOptions
from meshmsg._delivery.pushing import PushOptions
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._delivery.spooled import FULL, Plan, Published, Spooled
from meshmsg._roles.arrays import bodies_of
from meshmsg._roles.unsent import Taken, tell_unsent


def put_one(
    spooled: Spooled,
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> int | None:
    """Put one message; its number, which has a receipt if that is wanted; None: it was dropped."""
    deadline = ends_of(timeout)
    seq = _put(spooled, spooled.plan(frames, options), deadline)
    if seq is not None and confirm:
        spooled.receipt(seq)
    return seq


def put_noted(spooled: Spooled, frames: list[bytes], note: bytes, timeout: float | None) -> None:
    """Put a message that came from elsewhere, with what came with it; `timeout`: for room.

    What was put is waited for until it is kept, so that who tries again puts it once.

    Raises:
        TimedOutError, WouldBlockError: There was no room; nothing was put.
    """
    deadline = ends_of(timeout)
    put = spooled.single(spooled.noted(frames, note), wait=False)
    try:
        spooled.spool._put(put, left_of(deadline))
    except SpoolFullError as error:
        raise WouldBlockError(FULL, code=error.code) from error
    spooled.kept(None)


def put_published(
    spooled: Published,
    frames: Sequence[Data],
    topic: str | bytes,
    timeout: float | None,
    options: MessageOptions,
) -> None:
    """Put one message under a topic."""
    deadline = ends_of(timeout)
    _put(spooled, spooled.plan_of(frames, topic, options), deadline)


def _put(spooled: Spooled, plan: Plan, deadline: float | None) -> int | None:
    put = spooled.single(plan, wait=True)
    spooled.spool._put(put, left_of(deadline))
    return put.last or None


def put_many(
    spooled: Spooled,
    messages: Iterable[Data],
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Put many messages; with receipts, if those are given.  How many."""
    taken = None
    try:
        deadline = ends_of(timeout)
        meta = spooled.meta(options)
        taken = Taken(messages)
        while taken.fill():
            spooled.spool._put(spooled.rows(taken, meta, receipts), left_of(deadline))
            spooled.check_next(taken.chunk, taken.counts[0])
        taken.chunk.clear()  # all are put
        spooled.kept(left_of(deadline))
        spooled.told_kept(receipts)
        return taken.counts[1]
    except BaseException as error:
        tell_unsent(error, messages, taken)
        if receipts is not None:
            vars(error).update(receipts=receipts)
        raise


def put_arrays(
    spooled: Spooled,
    batch: object,
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Put each element of an Arrow array; with receipts, if those are given.  How many."""
    return put_many(spooled, bodies_of(batch), timeout, options, receipts)
