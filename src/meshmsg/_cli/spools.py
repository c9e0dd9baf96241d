"""`meshmsg spool`: looks at a spool, and takes from it.

Not here: the arguments (spool_program.py), what export writes (spool_export.py). Law: a folder that
is no spool is not made one. What only looks takes no lock and writes nothing, so it is safe beside
who writes; what takes from a spool opens it, and tells who has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from meshmsg._binding.errors import (
    SpoolCorruptError,
    SpoolLockedError,
    SpoolTrimmedError,
    UsageError,
)
from meshmsg._cli.showing import printable
from meshmsg._delivery.group_lag import PREFIX
from meshmsg._delivery.grouped import check_start, first_since
from meshmsg._delivery.replaying import since_of
from meshmsg._spool.arguments import SEGMENT_MAX, SEGMENT_MIN, TOMBSTONE_AGE
from meshmsg._spool.batch import BATCH_MAX_MESSAGES, SpoolBatch
from meshmsg._spool.message import SpoolGap, SpoolMessage
from meshmsg._spool.reader import SpoolReader
from meshmsg._spool.spool import Spool
from meshmsg._spool.view import SpoolView

Told = dict[str, object]
SEGMENT = re.compile(r"(\d{20})\.seg")
"""The name of a segment file: the number that it begins with."""
SHOWN = 60
"""Characters of a body that a table has."""


def segments(path: str) -> list[tuple[int, int]]:
    """Return the first number and the bytes of each segment file.

    Raises:
        UsageError: It is no spool.
        OSError: It cannot be read.
    """
    if not path:
        raise UsageError("PATH is empty; it is the folder of a spool")
    found = []
    for entry in os.scandir(path):
        if match := SEGMENT.fullmatch(entry.name):
            with suppress(FileNotFoundError):  # it went meanwhile
                found.append((int(match[1]), entry.stat().st_size))
    if not found:
        raise UsageError(f"{path} is no spool: it has no segment file")
    return sorted(found)


@contextmanager
def opened(path: str, remote: bool, tombstone_age: float = TOMBSTONE_AGE) -> Iterator[Spool]:
    """Open one that is there, with files as large as it has."""
    largest = max(size for _, size in segments(path))
    size = min(max(largest, SEGMENT_MIN), SEGMENT_MAX)
    with Spool(path, segment_bytes=size, remote=remote, tombstone_age=tombstone_age) as spool:
        yield spool


def seen(path: str, remote: bool) -> SpoolView:
    """Look at one that is there, whoever has it."""
    segments(path)
    return SpoolView(path, remote=remote)


def listed(path: str, remote: bool) -> list[Told]:
    """Return what is told of each segment file."""
    with seen(path, remote) as view:
        last = view.info().last_seq
        found = segments(path)
    ends = [first - 1 for first, _ in found[1:]] + [last]
    return [
        {"file": f"{first:020}.seg", "first": first, "last": end, "bytes": size}
        for (first, size), end in zip(found, ends, strict=True)
    ]


def informed(path: str, remote: bool) -> Told:
    """Return what the files of the spool tell."""
    with seen(path, remote) as view:
        info = view.info()
        told = {name: value for name, value in asdict(info).items() if name in KEPT}
        return {"path": view.path, "messages": info.last_seq - info.first_seq + 1, **told}


KEPT = ("uuid", "epoch", "first_seq", "last_seq", "durable_seq", "clean_seq", "bytes", "files")
"""What of `SpoolInfo` is not of the process that has it open."""


def harmed_or_read(
    reader: SpoolReader, timeout: float | None = 0, removed: list[range] | None = None
) -> Iterator[SpoolMessage | SpoolGap]:
    """Read on behind what is harmed, with a gap in its place; and behind what was removed."""
    while True:
        try:
            read = reader.read(timeout=timeout)
        except SpoolTrimmedError as error:
            if removed is not None:
                removed.append(range(error.seq, error.first))
            reader.seek(error.first)
            continue
        except SpoolCorruptError as error:
            last = max(error.first, error.last)
            reader.seek(last + 1)
            read = [SpoolGap(error.first, last)]
        if not read:
            return
        yield from read


def verified(path: str, remote: bool) -> Told:
    """Read every message; return what is harmed, and how many compaction took."""
    harmed: list[Told] = []
    removed: list[range] = []
    messages = compacted = 0
    with seen(path, remote) as view, view.reader() as reader:
        behind = reader.seq
        for one in harmed_or_read(reader, removed=removed):
            first, last = (one.first, one.last) if isinstance(one, SpoolGap) else (one.seq,) * 2
            compacted += first - behind
            behind = last + 1
            if isinstance(one, SpoolGap):
                harmed.append({"first": one.first, "last": one.last})
            else:
                messages += 1
        compacted += max(reader.seq - behind, 0)
    compacted -= sum(len(numbers) for numbers in removed)
    return {"path": path, "messages": messages, "compacted": compacted, "harmed": harmed}


def text_of(octets: bytes) -> str | None:
    """Return it as text; None: it is none."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return None


def tail(
    path: str, remote: bool, count: int, follow: bool = False
) -> Iterator[SpoolMessage | SpoolGap]:
    """Yield the last messages; follow: and those that come, for ever."""
    with seen(path, remote) as view:
        info = view.info()
        first = max(info.last_seq - count + 1, info.first_seq)
        if follow:
            with view.reader(first) as reader:
                yield from harmed_or_read(reader, None)
        else:  # somebody may put more meanwhile
            yield from exported(view, first, info.last_seq)


def line_of(one: SpoolMessage | SpoolGap) -> str:
    """Return a message, or a gap, as a line for people."""
    if isinstance(one, SpoolGap):
        return f"{one.first} to {one.last}: harmed"
    text = text_of(one)
    body = repr(bytes(one[: SHOWN + 1])) if text is None else printable(text[: SHOWN + 1])
    more = f"  ({len(one):,} bytes)" if len(body) > SHOWN else ""
    key = "" if one.key is None else f"  key {printable(one.key.decode('utf-8', 'replace'))}"
    topic = f"  topic {printable(one.frames[0].decode('utf-8', 'replace'))}" if one.topic else ""
    return f"{one.seq}{topic}{key}  {body[:SHOWN]}{more}"


def trim(path: str, remote: bool, seq: int) -> Told:
    """Remove whole files that have nothing above that number."""
    with opened(path, remote) as spool:
        gone = spool.trim(seq)
        return {"path": path, "files_removed": gone, "first_seq": spool.info().first_seq}


def compacted(path: str, remote: bool, tombstone_age: float) -> Told:
    """Take all but the last message of each key from one that nobody has open."""
    try:
        with opened(path, remote, tombstone_age) as spool:
            return {"path": path, **asdict(spool.compact())}
    except SpoolLockedError as error:
        raise SpoolLockedError(
            f"{error}; only that can compact it: by Spool.compact(), or Spool(compact=True)",
            owner=error.owner,
        ) from None


def range_of(first: int | None, last: int | None) -> tuple[int | None, int | None]:
    """Check which messages are asked for."""
    if first is not None and first < 1:
        raise UsageError(f"--first is {first}; it is 1 and more")
    if last is not None and last < (first or 1):
        raise UsageError(f"--last is {last}; it is {first or 1} and more")
    return first, last


def gone_of(view: SpoolView, first: int | None, last: int | None) -> range:
    """Return the numbers that were asked for by name, and that were removed."""
    there = view.info().first_seq
    begin, end = first or 1, there if last is None else min(last + 1, there)
    named = first is not None or (last is not None and last < there)
    return range(begin, end) if named else range(0)


def exported(
    view: SpoolView, first: int | None, last: int | None
) -> Iterator[SpoolMessage | SpoolGap]:
    """Yield messages from a number, to a number."""
    with view.reader(first) as reader:
        for one in harmed_or_read(reader):
            if last is not None and (one.first if isinstance(one, SpoolGap) else one.seq) > last:
                return
            yield one


def batches(
    view: SpoolView, first: int | None, last: int | None, gaps: list[SpoolGap]
) -> Iterator[SpoolBatch]:
    """Yield the same as tables; what is harmed is added to gaps."""
    with view.reader(first) as reader:
        if last is not None:
            reader._below = last + 1
        while True:
            try:
                batch = reader.read_batch(BATCH_MAX_MESSAGES)
            except SpoolTrimmedError as error:
                reader.seek(error.first)
                continue
            except SpoolCorruptError as error:
                end = max(error.first, error.last)
                gaps.append(SpoolGap(error.first, end))
                reader.seek(end + 1)
                continue
            if not batch:
                return
            yield batch


def cursors(path: str, remote: bool) -> list[Told]:
    """Return what is told of each cursor."""
    with seen(path, remote) as view:
        return [asdict(one) for one in view.cursors()]


def _found(spool: Spool, start: str) -> int:
    """Return the number that a cursor is to go to."""
    if start.isdecimal():
        return int(start)
    check_start(start)
    since = since_of(start)
    if since is not None:
        return first_since(spool, since)
    known = spool.info()
    return known.first_seq if start == "earliest" else known.last_seq + 1


def seek(path: str, remote: bool, name: str, start: str) -> Told:
    """Go to a message with a cursor that is there: a number, or as GroupStart has it."""
    with opened(path, remote) as spool:
        names = [one.name for one in spool.cursors()]
        if name not in names:
            group = PREFIX + name
            meant = f"; the place of the group of that name is {group!r}" if group in names else ""
            raise UsageError(f"{path} has no cursor {name!r}{meant}")
        with spool.cursor(name) as cursor:
            cursor.seek(_found(spool, start))
            return {"path": path, "name": name, "floor": cursor.floor, "lag": cursor.lag}
