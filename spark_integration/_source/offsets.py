"""Where a query is: offsets of Spark, limits of a batch, and its division into tasks.

Not here: who is asked (watch.py). Law: pure. An offset is a number for each spool, which is that of
the next message; the same offset is the same text.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from meshmsg import UsageError

from .options import SEQ_MAX, UUID

FORM = 1
"""Of an offset, as it stands in a checkpoint."""


class Place(NamedTuple):
    """How far one spool is read."""

    next: int
    """The number of the next message."""
    epoch: int
    """The life of the spool in which what is below was told as durable."""
    kept: int = 0
    """Where the batch that ends here began; 0: that is not known."""
    rows: int = 0
    """How many numbers a task of the batch that ends here has at most; 0: as many as there are."""
    gone: int = 0
    """1: no endpoint showed it, and the query was told to go on without it."""


Places = dict[str, Place]
"""By the uuid of the spool."""


class Shown(NamedTuple):
    """What the endpoints of one spool said of it last."""

    first: int
    """The first number that is there."""
    stable: int
    """The one behind the last that is durable."""
    epoch: int
    endpoints: tuple[str, ...]
    down: bool = False
    """Whether none of them answers now."""


class Span(NamedTuple):
    """Messages of one spool: from a number to before another."""

    uuid: str
    epoch: int
    first: int
    end: int


def to_json(places: Mapping[str, Place]) -> dict[str, Any]:
    """Return an offset as Spark keeps it."""
    return {"p": {uuid: _words(places[uuid]) for uuid in sorted(places)}, "v": FORM}


def _words(place: Place) -> dict[str, int]:
    kept = {"kept": place.kept} if place.kept else {}
    rows = {"rows": place.rows} if place.rows else {}
    gone = {"gone": place.gone} if place.gone else {}
    return {"epoch": place.epoch, **gone, **kept, "next": place.next, **rows}


def from_json(offset: Mapping[str, Any]) -> Places:
    """Return what stands in an offset.

    Raises:
        UsageError: It is of another source, or of a later version.
    """
    if not isinstance(offset, Mapping) or offset.get("v") != FORM:
        raise UsageError(
            f"the checkpoint has {str(offset)[:200]}, which is no offset of this version of the "
            f"meshmsg source (v is {FORM})"
        )
    made: Places = {}
    for uuid, one in offset.get("p", {}).items():
        known = isinstance(one, dict)
        place = Place(*(one.get(name, 0) for name in Place._fields)) if known else None
        if not UUID.fullmatch(uuid) or place is None or not _numbers(place):
            raise UsageError(f"the checkpoint has {one!r} for {uuid!r}, which is no place")
        made[uuid] = place
    return made


def _numbers(place: Place) -> bool:
    right = all(isinstance(n, int) and not isinstance(n, bool) for n in place)
    there = 0 < place.next <= SEQ_MAX and 0 <= place.kept <= place.next
    known = 0 <= place.epoch < 2**32 and 0 <= place.gone <= 1
    return right and there and known and 0 <= place.rows <= SEQ_MAX


def on(place: Place, shown: Shown) -> Place:
    """Return the place behind what is durable; the same one if nothing came: an epoch alone is no
    news, as each new text of an offset is a batch. One that was gone is back, which is news."""
    if shown.stable > place.next:
        return Place(shown.stable, shown.epoch)
    return place._replace(gone=0) if place.gone else place


def behind(start: Places, end: Places, *, told: bool) -> Places:
    """Return the end of a batch, with where that batch began, if a later run is to be told: it
    keeps what is between. A spool that comes with it always says that."""
    return {
        uuid: place._replace(kept=start[uuid].next if told else 0) if uuid in start else place
        for uuid, place in end.items()
    }


def sized(start: Places, end: Places, rows: Mapping[str, int]) -> Places:
    """Return the end of a batch, with how many numbers of each spool a task of it has at most.

    Args:
        start: Where it begins. What did not move keeps its text.
        end: Where it ends.
        rows: By uuid; who is not there has no limit.
    """
    made = dict(end)
    for uuid, place in end.items():
        if uuid not in start or start[uuid].next != place.next:
            made[uuid] = place._replace(rows=rows.get(uuid, 0))
    return made


def began(start: Places, end: Places) -> Places:
    """Return where the first batch of a query began, as its end says it.

    Args:
        start: As this run has found it: `latest` is another number than it was for one that died.
        end: As it stands in the checkpoint.
    """
    made = dict(start)
    for uuid, place in end.items():
        if place.kept and (uuid not in start or start[uuid].next != place.kept):
            made[uuid] = Place(place.kept, place.epoch)
    return made


def done_before(places: Places, retain: int) -> Places:
    """Return what a run that begins at an offset may trim: what is below these.

    Args:
        places: Where it begins. What is below them is written, and the checkpoint says so.
        retain: Batches that stay though they are done. An offset knows where one batch began, so
            with more than one nothing is known of it.
    """
    if retain == 0:
        return places
    if retain > 1:
        return {}
    return {uuid: place._replace(next=place.kept) for uuid, place in places.items() if place.kept}


def _lag_of(start: Mapping[str, Place], end: Mapping[str, Place]) -> dict[str, int]:
    return {
        uuid: lag
        for uuid in sorted(start)
        if uuid in end and (lag := end[uuid].next - start[uuid].next) > 0
    }


def rows_between(start: Mapping[str, Place], end: Mapping[str, Place]) -> int:
    """Return how many numbers are between two offsets."""
    return sum(_lag_of(start, end).values())


def limited(start: Places, end: Places, rows: int) -> Places:
    """Return an end with at most so many numbers behind the start.

    Each spool gets a share by how much it has, and one at least if the limit has one for each.
    With a lower limit they take turns, told by how far all of them are.
    """
    behind = _lag_of(start, end)
    total = sum(behind.values())
    if total <= rows:
        return end
    names = list(behind)
    shares = dict.fromkeys(names, 0)
    if rows < len(names):
        turn = sum(place.next for place in start.values())
        for at in range(rows):
            shares[names[(turn + at) % len(names)]] = 1
    else:
        left, more = rows - len(names), total - len(names)
        for name in names:
            shares[name] = 1 + (behind[name] - 1) * left // more
        left = rows - sum(shares.values())
        for name in names:  # what rounding left, less than one for each
            if left > 0 and shares[name] < behind[name]:
                shares[name] += 1
                left -= 1
    return _cut(start, end, shares)


def limited_bytes(start: Places, end: Places, size: int, means: Mapping[str, float]) -> Places:
    """Return an end with about so many bytes behind the start, and one message at least.

    Args:
        start: Where it begins.
        end: Where it ends at most.
        size: Bytes.
        means: Of each spool the mean size of a message; where it is not known, 1.
    """
    behind = _lag_of(start, end)
    total = sum(lag * max(means.get(uuid, 1.0), 1.0) for uuid, lag in behind.items())
    if total <= size:
        return end
    shares = {uuid: int(lag * size / total) for uuid, lag in behind.items()}
    if not any(shares.values()):
        return limited(start, end, 1)
    return _cut(start, end, shares)


def _cut(start: Places, end: Places, shares: Mapping[str, int]) -> Places:
    made = dict(end)
    for uuid, share in shares.items():
        whole = start[uuid].next + share >= end[uuid].next
        if not whole and share == 0:
            made[uuid] = start[uuid]
        elif not whole:
            made[uuid] = Place(start[uuid].next + share, end[uuid].epoch)
    return made


def spans(start: Places, end: Places) -> list[Span]:
    """Return what is between two offsets. A spool that is not in the first begins where the other
    says, or at 1."""
    found = []
    for uuid in sorted(end):
        first = start[uuid].next if uuid in start else max(end[uuid].kept, 1)
        if end[uuid].next > first:
            found.append(Span(uuid, end[uuid].epoch, first, end[uuid].next))
    return found


def split(
    found: Sequence[Span], least: int, rows_max: Mapping[str, int] | None = None
) -> list[Span]:
    """Divide ranges into tasks.

    Args:
        found: Ranges, none of them empty.
        least: So many tasks at least, if there are so many numbers.
        rows_max: Of each spool, the numbers of a task at most.
    """
    parts = []
    for span in found:
        most = max((rows_max or {}).get(span.uuid, SEQ_MAX), 1)
        parts.append(-(-(span.end - span.first) // most))
    heap = [(-_share(span, n), at) for at, (span, n) in enumerate(zip(found, parts, strict=True))]
    heapq.heapify(heap)
    missing = least - sum(parts)
    while missing > 0 and heap:
        share, at = heapq.heappop(heap)
        if share >= -1:
            break  # the largest has one number
        parts[at] += 1
        missing -= 1
        heapq.heappush(heap, (-_share(found[at], parts[at]), at))
    made = []
    for span, count in zip(found, parts, strict=True):
        size = span.end - span.first
        cuts = [span.first + size * at // count for at in range(count + 1)]
        made += [span._replace(first=a, end=b) for a, b in pairwise(cuts) if b > a]
    return made


def _share(span: Span, count: int) -> int:
    return -(-(span.end - span.first) // count)
