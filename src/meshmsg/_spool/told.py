"""What a spool tells of itself; also to the log and its socket, while calls wait for room
(`overflow="block"`): how full it is, who keeps what there is, and what would make room.

Not here: where it comes from (spool.py), which calls wait (full.py). Law: no lock is held while the
log's handlers are called.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import MeshError
from meshmsg._hints.plural import counted, plural
from meshmsg._spool.cursor import Looked, looked
from meshmsg._spool.full import feeds_push, not_done, what_it_had
from meshmsg._spool.held import Held

DETAIL_MAX: int = lib.MM_DETAIL_MAX
"""Octets of the words of an event."""
_NS = 1_000_000_000


@dataclass(frozen=True)
class SpoolInfo:
    """What a spool is, at one moment.

    Attributes:
        uuid: Which spool it is, as 32 hexadecimal digits; new when a folder is made anew.
        epoch: Of its life: 1 in the first, higher in each later one, not by 1.
        first_seq: The first number that is still there; one beyond `last_seq`: there is none.
        last_seq: The last number that was given; 0: none yet.
        written_seq: All up to it has the operating system.
        durable_seq: All up to it is on the disk.
        bytes, files: What it takes, in bytes, and in how many segment files.
        appended, dropped_oldest, dropped_newest: Messages, since it was opened; the last two are of
            `overflow=`.
        syncs: Times that the disk was waited for, since it was opened.
        sync_mean, sync_max: How long that took, in seconds, each with the writes before it.
        failed: A write or a sync failed: nothing more is put until it is opened again.
        expired, expired_files: Messages that went as they were too old (`max_age`), and files,
            since it was opened.
        acked, acked_files: Those that went as all were done with them (`until_acked_by`).
        clean_seq: No two messages up to it have one key: compaction has been there; 0: nowhere.
        compactions: How many are over, since it was opened.
        compacted, compacted_files: Messages that those took, and files that they wrote anew, or
            made one of.
        compaction_failed: The last one ended with an error: no room, no memory, the disk.
        clock_jumps: Times that the system's clock was set by more than an hour, since it was
            opened. Then half of what was there is kept for as long as `max_age` says. The log has a
            WARNING of it, from the next call that puts, waits or asks.
        repeated: Messages that were not put, since it was opened, as their `origin` said that they
            had been put before.
        producers: How many are known by an `origin`; of a `SpoolView` 0.
        forgotten_producers: Those that went since it was opened, as there were more than 10,000.
        max_bytes, max_messages: The limits it was opened with; None: it has none. Of a `SpoolView`
            None: only the process that has it open knows them.
        waiting: Calls that have waited for room for a tenth of a second or longer, and still do
            (`overflow="block"`). Of a `SpoolView` None: they are of another process.
    """

    uuid: str
    epoch: int
    first_seq: int
    last_seq: int
    written_seq: int
    durable_seq: int
    bytes: int
    files: int
    appended: int
    dropped_oldest: int
    dropped_newest: int
    syncs: int
    sync_mean: float
    sync_max: float
    failed: bool
    expired: int
    expired_files: int
    acked: int
    acked_files: int
    clock_jumps: int
    clean_seq: int
    compactions: int
    compacted: int
    compacted_files: int
    compaction_failed: bool
    repeated: int
    producers: int
    forgotten_producers: int
    max_bytes: int | None = None
    max_messages: int | None = None
    waiting: int | None = None


class SpoolRepeat(int):
    """The number of a message that its producer had put before; 0: it is not known any more.

    `append` with an `origin` returns it in place of a number, and nothing was put.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<meshmsg.SpoolRepeat {int(self)}>"


@dataclass(frozen=True)
class SpoolCompaction:
    """What a compaction of a spool came to.

    Attributes:
        messages: How many went: of each key all but the last, and old tombstones.
        tombstones: How many of those were tombstones whose time was over.
        files: Segment files that were written anew.
        merged_files: Those that went into another, as little was left of them.
        held_files: Those that were left alone: a lease, or a Push that has not delivered all of
            them, holds the first of them. The one that is written is not counted.
        skipped_files: Those that cannot be read to their end, and were left as they are.
        bytes: What it took less of the disk.
    """

    messages: int
    tombstones: int
    files: int
    merged_files: int
    held_files: int
    skipped_files: int
    bytes: int


@dataclass(frozen=True)
class SpoolRecovery:
    """What was found when a spool was opened.

    Attributes:
        made: The spool is new.
        unclean: It was not closed in order: the process or the machine had stopped.
        copied: Messages that were not proved to be on the disk; they are, now.
        torn_bytes: Octets behind the last message that were no message: never durable, and kept in
            the folder `quarantine`.
        lost: The first and the last number of durable messages that are gone
            (`on_corruption="gap"`), or None.
        torn_left: How many of `torn_bytes` are not in `quarantine`, as the disk has no room.
    """

    made: bool
    unclean: bool
    copied: int
    torn_bytes: int
    lost: tuple[int, int] | None
    torn_left: int = 0


def info_of(
    out: Any, max_bytes: int = 0, max_messages: int = 0, waiting: int | None = None
) -> SpoolInfo:
    """Return what the core filled in, and its limits (0: none, or not known)."""
    return SpoolInfo(
        uuid=bytes(ffi.buffer(out.uuid)).hex(),
        epoch=int(out.epoch),
        first_seq=int(out.first_seq),
        last_seq=int(out.last_seq),
        written_seq=int(out.written_seq),
        durable_seq=int(out.durable_seq),
        bytes=int(out.bytes),
        files=int(out.files),
        appended=int(out.appended_messages),
        dropped_oldest=int(out.dropped_oldest),
        dropped_newest=int(out.dropped_newest),
        syncs=int(out.syncs),
        sync_mean=int(out.sync_ns) / _NS / max(int(out.syncs), 1),
        sync_max=int(out.sync_max_ns) / _NS,
        failed=bool(out.failed),
        expired=int(out.expired_messages),
        expired_files=int(out.expired_files),
        acked=int(out.acked_messages),
        acked_files=int(out.acked_files),
        clock_jumps=int(out.clock_jumps),
        clean_seq=int(out.clean_seq),
        compactions=int(out.compactions),
        compacted=int(out.compacted_messages),
        compacted_files=int(out.compacted_files),
        compaction_failed=bool(out.compaction_failed),
        repeated=int(out.repeated_messages),
        producers=int(out.producers),
        forgotten_producers=int(out.forgotten_producers),
        max_bytes=max_bytes or None,
        max_messages=max_messages or None,
        waiting=waiting,
    )


def tell_waiting(spool: Held) -> None:
    """Say that calls wait: to the log, and to the socket that has its messages."""
    count = max(len(spool._room), 1)
    waits = f"{counted(count, 'call')} {plural(count, 'waits', 'wait')} for room: "
    waits += f"it had {what_it_had(spool)}"
    with spool._inside.lock:
        sockets = [handle for _, _, handle in spool._feeds.values()]
    detail = waits.encode()[:DETAIL_MAX]
    for handle in sockets:
        lib.mm_spool_tell_full(handle, ffi.new("char[]", detail))
    logging.getLogger("meshmsg").warning(
        'the spool %s (overflow="block"): %s%s', spool.path, waits, _what_makes_room(spool)
    )


def _what_makes_room(spool: Held) -> str:
    """Return who is not done with what is there, and what makes room."""
    keeps = _who_keeps(spool) + not_done(spool)
    ways = ["acknowledging those"] if keeps else []
    if spool._max_age is not None:
        ways.append(f"max_age, once all of a file is older than {spool._max_age:g} s")
    if not keeps and (spool._acked_by or feeds_push(spool)):
        keeps = "; all of it is acknowledged, and goes by itself"
    elif not ways:
        keeps = "; nothing goes by itself, as there is neither until_acked_by nor max_age"
    return f"{keeps}; room is made by {', or '.join([*ways, 'Spool.trim()'])}"


def _who_keeps(spool: Held) -> str:
    """Return which cursor of `until_acked_by` is furthest behind, or is not there at all."""
    found: list[Looked] = []
    for name in spool._acked_by:
        with suppress(MeshError):
            one = looked(spool, name)
            if one is None:
                return (
                    f"; until_acked_by names the cursor {name!r}, which is not there: nothing goes "
                    "until somebody opens it, and is done with messages"
                )
            found.append(one)
    behind = [one for one in found if one.lag]
    if not behind:
        return ""
    last = min(behind, key=lambda one: one.floor or 0)
    return (
        f"; of until_acked_by the cursor {last.name!r} is furthest behind, with "
        f"{counted(last.lag or 0, 'message')} that it is not done with"
    )
