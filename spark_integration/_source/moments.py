"""Which number of a spool was the first at or after a time: found from the driver, by halves.

Not here: the option (options.py). Law: what servers answer as it is suffices; of N messages some
log2(N) short answers are read. In a spool times do not decrease, but where a clock was put back:
there it is one of the places where they pass the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import meshmsg as mm

from .offsets import Shown
from .opening import remote_of
from .options import SourceOptions

LOOK_MESSAGES = 256
"""Messages of an answer that are looked at."""
LOOK_BYTES = 64 * 1024
"""Bytes that are asked for; a batch of the spool that has more comes as a whole."""


class Row(NamedTuple):
    """A message, as far as it is looked at."""

    seq: int
    time: int
    """When it was put, in microseconds since 1970."""


Look = Callable[[int, int], list[Row]]
"""Returns some messages from a number to before another, in order; none: there are none."""


def first_at(look: Look, first: int, end: int, time: int) -> int:
    """Return the number of the first message that was put at a time or after it.

    Args:
        look: Looks at messages.
        first: The first number that there may be.
        end: The number behind the last; returned if all were put before.
        time: In microseconds since 1970.

    Raises:
        MeshError: As of `look`.
    """
    while first < end:
        middle = (first + end) // 2
        rows = look(middle, end)
        if not rows or rows[0].time >= time:
            end = middle
        elif rows[-1].time < time:
            first = rows[-1].seq + 1
        else:
            return next(row.seq for row in rows if row.time >= time)
    return first


def number_at(uuid: str, shown: Shown, time: int, options: SourceOptions) -> int:
    """Return the number of the first message of a spool that was put at a time or after it.

    Args:
        uuid: Of the spool.
        shown: Where it is, and what it has.
        time: In microseconds since 1970.
        options: Of the source.

    Returns:
        The number; the one behind the last if all were put before.

    Raises:
        TimedOutError: No server answered within `offsetTimeout`.
        SpoolError, SpoolChangedError: It cannot be read.
    """
    remote = remote_of(
        shown.endpoints, options, options.offset_timeout, uuid=uuid, on_corruption="gap"
    )

    def look(first: int, end: int) -> list[Row]:
        try:
            for batch in remote.read(first, end, max_messages=LOOK_MESSAGES, max_bytes=LOOK_BYTES):
                if len(batch):
                    return [Row(one.seq, round(one.stored * 1e6)) for one in batch.messages]
        except mm.SpoolTrimmedError as error:  # meanwhile: what is gone was put before
            return [Row(min(error.first, end) - 1, -1)]
        return []

    try:
        return first_at(look, shown.first, shown.stable, time)
    finally:
        remote.close()
