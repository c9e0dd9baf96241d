"""`meshmsg spool`: looks at a spool, and takes from it.

Not here: the arguments (spool_program.py), what export writes (spool_export.py). Law: a folder that
is no spool is not made one. What only looks takes no lock and writes nothing, so it is safe beside
who writes; what takes from a spool opens it, and tells who has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from meshmsg._binding.errors import (
    SpoolCorruptError,
    SpoolLockedError,
    SpoolTrimmedError,
    UsageError,
)
from meshmsg._cli.showing import printable
from meshmsg._cli.spool_removed import Gone, Removed
from meshmsg._delivery.group_lag import PREFIX
from meshmsg._spool.arguments import SEGMENT, SEGMENT_MAX, SEGMENT_MIN, TOMBSTONE_AGE
from meshmsg._spool.batch import BATCH_MAX_MESSAGES, SpoolBatch
from meshmsg._spool.cursor import check_place
from meshmsg._spool.message import SpoolGap, SpoolMessage, seq_of
from meshmsg._spool.reader import SpoolReader
from meshmsg._spool.spool import Spool
from meshmsg._spool.starts import Begin, Start, begin_of, end_of, number_of
from meshmsg._spool.view import SpoolView

Told = dict[str, object]
SHOWN = 60
"""Characters of a body that a table has."""


def segments(path: str) -> list[tuple[int, int]]:
    """Return the first number and the bytes of each segment file.

    Raises:
        UsageError: It is no spool, or not there.
        OSError: It cannot be read.
    """
    if not path:
        raise UsageError("PATH is empty; it is the folder of a spool")
    found = []
    try:
        entries = list(os.scandir(path))
    except FileNotFoundError:
        raise UsageError(f"{path} is not there") from None
    except NotADirectoryError:
        raise UsageError(f"{path} is no spool: it is no folder") from None
    for entry in entries:
        if match := SEGMENT.fullmatch(entry.name):
            with suppress(FileNotFoundError):  # it went meanwhile
                found.append((int(match[1]), entry.stat().st_size))
    if not found:
        raise UsageError(f"{path} is no spool: it has no segment file")
    return sorted(found)


@contextmanager
def opened(
    path: str, remote: bool, how: str, tombstone_age: float = TOMBSTONE_AGE
) -> Iterator[Spool]:
    """Open one that is there, with files as large as it has; `how`: what the process that has it
    open can do in its place."""
    largest = max(size for _, size in segments(path))
    size = min(max(largest, SEGMENT_MIN), SEGMENT_MAX)
    try:
        spool = Spool(
            path, segment_bytes=size, remote=remote, tombstone_age=tombstone_age, create=False
        )
    except SpoolLockedError as error:
        raise SpoolLockedError(f"{error}; only that can {how}", owner=error.owner) from None
    with spool:
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
    reader: SpoolReader, removed: Gone, timeout: float | None = 0
) -> Iterator[SpoolMessage | SpoolGap]:
    """Read on behind what is harmed, with a gap in its place; and behind what was removed, which is
    told. What compaction took is passed, as the reader does."""
    begun = False
    while True:
        try:
            read = reader.read(timeout=timeout)
        except SpoolTrimmedError as error:
            removed(range(error.seq, error.first), begun)
            reader.seek(error.first)
            continue
        except SpoolCorruptError as error:
            last = max(error.first, error.last)
            reader.seek(last + 1)
            read = [SpoolGap(error.first, last)]
        if not read:
            return
        begun = True
        yield from read


def verified(path: str, remote: bool) -> Told:
    """Read every message; return what is harmed, and how many compaction took."""
    harmed: list[Told] = []
    removed: list[range] = []
    messages = compacted = 0
    with seen(path, remote) as view, view.reader() as reader:
        behind = reader.seq
        for one in harmed_or_read(reader, lambda numbers, _: removed.append(numbers)):
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
    path: str, remote: bool, begin: Begin, follow: bool, removed: Removed
) -> Iterator[SpoolMessage | SpoolGap]:
    """Yield the messages from there on; follow: and those that come, for ever."""
    with seen(path, remote) as view:
        info = view.info()
        first = number_of(view, begin, (info.first_seq, info.last_seq))
        if follow:
            with view.reader(first) as reader:
                yield from harmed_or_read(reader, removed, None)
        else:  # somebody may put more meanwhile
            removed.last = info.last_seq
            yield from exported(view, first, info.last_seq, removed)


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


def trim(path: str, remote: bool, upto: str) -> Told:
    """Remove whole files that have nothing above that number, or nothing of what words mean."""
    start = start_of(upto)
    end = Begin("seq") if start == 0 else begin_of("SEQ", start)
    with opened(path, remote, "trim it: by Spool.trim()") as spool:
        gone = spool.trim(end_of(spool, end))
        return {"path": path, "files_removed": gone, "first_seq": spool.info().first_seq}


def compacted(path: str, remote: bool, tombstone_age: float) -> Told:
    """Take all but the last message of each key from one that nobody has open."""
    how = "compact it: by Spool.compact(), or Spool(compact=True)"
    with opened(path, remote, how, tombstone_age) as spool:
        return {"path": path, **asdict(spool.compact())}


@dataclass(frozen=True)
class Part:
    """Which messages are asked for: from where on, and up to where; None: of all."""

    first: Begin | None = None
    last: Begin | None = None

    @property
    def named(self) -> bool:
        """Whether its begin is said by a number."""
        return self.first is not None and self.first.kind == "seq"

    def numbers(self, view: SpoolView) -> tuple[int, int | None]:
        """Return the first number and the last one, as they are now; None: there is no end.

        An end in words, as "since:1h", is in front of the messages that they mean.
        """
        first = number_of(view, self.first or Begin("earliest"))
        return first, None if self.last is None else end_of(view, self.last)


def part_of(first: str | None, since: str | None, last: str | None) -> Part:
    """Check which messages are asked for: `--from` or `--since`, and `--to`."""
    begin = begin_at(first, since)
    end = None if last is None else begin_of("--to (--last)", start_of(last))
    least = begin.value if begin is not None and begin.kind == "seq" else 0
    if end is not None and end.kind == "seq" and end.value < least:
        raise UsageError(f"--to (--last) is {end.value}; it is {least} and more")
    return Part(begin, end)


def begin_at(first: str | None, since: str | None) -> Begin | None:
    """Return where `--from` or `--since` says that it begins; None: neither was said."""
    if since is not None:
        try:
            return begin_of("--since", f"since:{since}")
        except UsageError as error:
            words = "it is a time, as 90s, 5m, 2h or 7d"
            raise UsageError(f"--since is {since!r}; {words}") from error
    return None if first is None else begin_of("--from (--first)", start_of(first))


def gone_of(part: Part, first: int, last: int | None) -> range:
    """Return the numbers that were asked for by their end, and that are in front of all that is
    there."""
    of_all = part.first is None or part.first.kind == "earliest"
    by_number = part.last is not None and part.last.kind == "seq"
    ends = of_all and by_number and last is not None and last < first
    return range(1, last + 1) if ends and last is not None else range(0)


def exported(
    view: SpoolView, first: int, last: int | None, removed: Gone
) -> Iterator[SpoolMessage | SpoolGap]:
    """Yield messages from a number, to a number."""
    with view.reader(first) as reader:
        for one in harmed_or_read(reader, removed):
            if last is not None and seq_of(one) > last:
                return
            yield one


def batches(
    view: SpoolView, first: int, last: int | None, gaps: list[SpoolGap], removed: Gone
) -> Iterator[SpoolBatch]:
    """Yield the same as tables; what is harmed is added to gaps."""
    begun = False
    with view.reader(first) as reader:
        if last is not None:
            reader._below = last + 1
        while True:
            try:
                batch = reader.read_batch(BATCH_MAX_MESSAGES)
            except SpoolTrimmedError as error:
                removed(range(error.seq, error.first), begun)
                reader.seek(error.first)
                continue
            except SpoolCorruptError as error:
                end = max(error.first, error.last)
                gaps.append(SpoolGap(error.first, end))
                reader.seek(end + 1)
                begun = True
                continue
            if not batch:
                return
            begun = True
            yield batch


def cursors(path: str, remote: bool) -> list[Told]:
    """Return what is told of each cursor."""
    with seen(path, remote) as view:
        return [asdict(one) for one in view.cursors()]


def start_of(text: str) -> Start:
    """Return a start that was given as text: a number, or words."""
    return int(text) if text.isascii() and text.isdecimal() else text


def seek(path: str, remote: bool, name: str, start: Start) -> Told:
    """Go to a message with a cursor that is there."""
    how = "move a cursor of it: by SpoolCursor.seek(), or Pub.seek_group() of a group"
    with opened(path, remote, how) as spool:
        names = [one.name for one in spool.cursors()]
        if name not in names:
            group = PREFIX + name
            meant = f"; the place of the group of that name is {group!r}" if group in names else ""
            raise UsageError(f"{path} has no cursor {name!r}{meant}")
        check_place(spool, spool.find(start))  # whoever opens it is told of what was removed
        with spool.cursor(name) as cursor:
            cursor.seek(start)
            return {"path": path, "name": name, "floor": cursor.floor, "lag": cursor.lag}
