"""A spool: messages that outlive the process, in files of a folder.

Not here: reading (_spool/reader.py), what stands in the files (docs/spool-format.md). Law: whatever
was returned as kept is kept as the level says; a call that fails tells how much it put.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from meshmsg._binding.core import EAGAIN, address_of, appends_natively, ends_of, ffi, left_of, lib
from meshmsg._binding.data import Data, exact_bytes
from meshmsg._binding.errors import (
    SpoolCorruptError,
    SpoolError,
    SpoolFailedError,
    SpoolLockedError,
    UsageError,
)
from meshmsg._spool.arguments import (
    COMPACT_RATIO,
    TOMBSTONE_AGE,
    Origin,
    Producer,
    age_ms,
    choice,
    compact_ppm,
    cursor_names,
    flag,
    folder,
    folder_of,
    is_gone,
    is_shut,
    make_folder,
    no_spool,
    origin_of,
    producer_of,
    segment_age_ms,
    sizes,
    sync_ms,
    tombstone_ms,
    uuid_of,
    whole,
)
from meshmsg._spool.arrow import append_batch
from meshmsg._spool.full import PUTS, disk_refused, is_full
from meshmsg._spool.held import Inside, Putting
from meshmsg._spool.kept import Kept
from meshmsg._spool.puts import (
    Put,
    SpoolOptions,
    kept,
    last_of,
    planned,
    put_of,
    returned,
    sum_of,
    taken_of,
)
from meshmsg._spool.reader import SpoolReader, read
from meshmsg._spool.starts import Start, begin_of, check_end, end_of
from meshmsg._spool.told import SpoolInfo, SpoolRecovery, info_of, tell_waiting

if TYPE_CHECKING:
    from typing_extensions import Unpack

Durability = Literal["buffered", "os", "disk"]
Overflow = Literal["error", "block", "drop_oldest", "drop_newest"]
_LEVELS: dict[str, int] = {
    "buffered": lib.MM_SPOOL_BUFFERED,
    "os": lib.MM_SPOOL_OS,
    "disk": lib.MM_SPOOL_DISK,
}
_OVERFLOWS: dict[str, int] = {
    "error": lib.MM_SPOOL_ERROR,
    "block": lib.MM_SPOOL_BLOCK,
    "drop_oldest": lib.MM_SPOOL_DROP_OLDEST,
    "drop_newest": lib.MM_SPOOL_DROP_NEWEST,
}
LOOK_S = 1.0
"""Seconds from one look at the folder to the next, while messages are put."""
_OVERHEAD = 4096 + 56 + 8 + 56
"""Octets of a segment file that no message can have (docs/spool-format.md)."""
_BODY_MAX = 64 * 1024 * 1024
"""Octets of a batch, and so of a message and what stands beside it."""


class Spool(Kept):
    """Messages that are kept in files, numbered from 1 on, and can be read again.

    One process writes to it; threads share it. A thread that waits for the disk writes for all that
    came before it, so many callers share each sync.

    Args:
        path: The folder. It is made, if the one above it is there; see `create`.
        durability: What it takes until `append` returns, and until a message can be read.
            "disk" (the default): it survives the process, the system and the machine's power, on a
            device that keeps what it says it has. "os": the system has it, so it survives the
            process, killed or not; a crash of the machine may take what came in the last
            `sync_every` seconds. "buffered": it is in this process, and is written soon.
        segment_bytes: Bytes of a segment file, 65,536 and more; what retention removes is whole
            files.
        max_bytes: Bytes of all files, at most; None: as the disk has room.
        max_messages: Messages, at most; None: no limit.
        overflow: What `append` does when that is reached, or the disk is full: "error"
            (SpoolFullError), "block" (it waits for room, which the log tells once a minute),
            "drop_oldest" (whole files go, counted), "drop_newest" (the message is not kept,
            counted).
        max_age: Seconds that messages are kept, at least: a file goes when all of it is older.
            None: no limit.
        until_acked_by: Names of cursors: a file goes by itself once all of them are done with it.
            One that is not there yet is done with nothing. None: files do not go for that.
        on_corruption: What becomes of messages that were durable and are harmed: "fail": opening
            or reading raises SpoolCorruptError; "gap": a `SpoolGap` is read in their place.
        sync_every: Seconds between syncs for "os" and "buffered".
        remote: Also on a file system of another machine, whose locks and syncs are only as good as
            that one's.
        segment_age: Seconds: a file takes no more once its first message is older, so that
            `max_age` and compaction get at it. None: it is written until it is full.
        compact: Compact by itself (`compact()`), beside its other work.
        compact_ratio: When: once so much of the bytes of its sealed files came since the last time;
            above 0, to 1.
        tombstone_age: Seconds that a tombstone, a message with a key and an empty body, stays
            behind the compaction that took what it deletes; 0: it goes with that.
        uuid: What it is called, 16 bytes, if it is made now; None: at random. With one, what is
            put again into a new folder, in the same order, has the same names as before: that is
            for who makes messages again, and nobody else.
        create: Make one where there is none. False: only open what is there; else SpoolError says
            what is there in its place, and nothing is changed.

    Raises:
        SpoolLockedError: Another process, or this one, has it open; `owner` says which.
        SpoolCorruptError: Messages that were durable are gone, and on_corruption is "fail".
        SpoolError: The folder cannot be used: not there, not permitted, of a later version; every
            user of this machine may write to it; it is on another machine, without `remote`; or
            there is no spool, and `create` is False.
        UsageError, TypeError: An argument is wrong, or the spool is there and has another uuid.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "disk",
        segment_bytes: int | None = None,
        max_bytes: int | None = None,
        max_messages: int | None = None,
        overflow: Overflow = "error",
        max_age: float | None = None,
        until_acked_by: Iterable[str] | None = None,
        on_corruption: Literal["fail", "gap"] = "fail",
        sync_every: float = 0.1,
        remote: bool = False,
        segment_age: float | None = None,
        compact: bool = False,
        compact_ratio: float = COMPACT_RATIO,
        tombstone_age: float = TOMBSTONE_AGE,
        uuid: bytes | None = None,
        create: bool = True,
    ) -> None:
        gaps = choice("on_corruption", on_corruption, ("fail", "gap")) == "gap"
        super().__init__(folder(path), gaps)
        makes = flag("create", create)
        owner = ffi.new("char[]", f"process {os.getpid()} on {os.uname().nodename}".encode()[:127])
        opts = ffi.new("mm_spool_opts *")
        opts.level = _LEVELS[choice("durability", durability, _LEVELS)]
        opts.overflow = _OVERFLOWS[choice("overflow", overflow, _OVERFLOWS)]
        opts.gaps, opts.remote, opts.owner = self._gaps, flag("remote", remote), owner
        opts.file_bytes, opts.max_bytes = sizes(segment_bytes, max_bytes)
        opts.max_messages = 0 if max_messages is None else whole("max_messages", max_messages, 1)
        opts.sync_every_ms = sync_ms(sync_every)
        opts.max_age_ms, opts.segment_age_ms = age_ms(max_age), segment_age_ms(segment_age)
        self._ages, self._max_age = max_age is not None, max_age
        opts.compact_ppm = compact_ppm(compact, compact_ratio)
        opts.tombstone_age_ms = tombstone_ms(tombstone_age)
        self._acked_by = cursor_names(until_acked_by)
        names = [ffi.new("char[]", name.encode()) for name in self._acked_by]
        acked_by = ffi.new("char *[]", names)
        called = ffi.NULL if uuid is None else ffi.new("uint8_t[]", uuid_of(uuid))
        opts.uuid = called
        opts.acked_by, opts.acked_by_count = acked_by, len(names)
        self._file_bytes, self._max_bytes = int(opts.file_bytes), int(opts.max_bytes)
        self._max_messages, self._blocks = int(opts.max_messages), overflow == "block"
        self._drops = overflow == "drop_newest"
        self._record_max = min(int(opts.file_bytes) - _OVERHEAD, _BODY_MAX)
        self._level, self._waits = int(opts.level), opts.level != lib.MM_SPOOL_BUFFERED
        self._durability: Durability = durability
        self.recovery: SpoolRecovery = self._open(opts, makes)
        """What was found when it was opened."""
        if uuid is not None and self.info().uuid != uuid.hex():
            is_called = self.info().uuid
            self.close()
            raise UsageError(f"{self.path} is there, and its uuid is {is_called}, not {uuid.hex()}")

    def _open(self, opts: Any, makes: bool) -> SpoolRecovery:
        if not makes and (there := no_spool(self.path)):
            raise SpoolError(
                f"{self.path}: opening it, and not making it (create=False): {there}",
                code=lib.MM_ENOENT,
            )
        made, why_not = make_folder(self.path) if makes else (False, "")
        report, out = ffi.new("mm_spool_report *"), ffi.new("mm_spool **")
        rc = int(lib.mm_spool_open(os.fsencode(self.path), opts, report, out))
        if rc < 0 and made:
            with suppress(OSError):  # it holds something, and so its name was synced
                os.rmdir(self.path)
        if rc == EAGAIN:
            owner = bytes(ffi.string(report.owner)).decode("utf-8", "replace")
            by = owner or "by another, whose LOCK was removed, or its folder is locked (flock)"
            raise SpoolLockedError(f"{self.path} is open: {by}", owner=owner)
        if rc == lib.MM_SPOOL_HARMED:
            raise SpoolCorruptError(
                f"{self.path}: messages from {report.lost_first} on are harmed, at octet "
                f'{report.harmed_at} of segment {report.harmed_file}; on_corruption="gap" leaves '
                "them out",
                first=int(report.lost_first),
                last=int(report.lost_last),
            )
        if rc == lib.MM_ENOENT and why_not:
            raise SpoolError(f"{self.path}: making it: {why_not}", code=rc)
        self._raise_for(rc, "opening it")
        self._pointer = out[0]
        self._address = address_of(out[0])
        self._folder = folder_of(self._place)
        self._look_at = time.monotonic() + LOOK_S
        self._door = self._address
        lost = (int(report.lost_first), int(report.lost_last)) if report.lost_first else None
        return SpoolRecovery(
            made=bool(report.made),
            unclean=bool(report.unclean),
            copied=int(report.copied_messages),
            torn_bytes=int(report.torn_bytes),
            lost=lost,
            torn_left=int(report.torn_left),
        )

    @appends_natively(kept, Inside.left)
    def append(
        self,
        data: Data,
        *,
        wait: bool = True,
        timeout: float | None = None,
        origin: Origin | None = None,
        **options: Unpack[SpoolOptions],
    ) -> int | None:
        """Put a message, and wait until it is kept as `durability` says.

        Thread-safe: yes.

        Args:
            data: The body: bytes, or anything contiguous with a buffer. It is copied.
            wait: False returns as soon as it has its number; `flush` waits for it, and otherwise it
                is written soon.
            timeout: Seconds to wait; None waits for ever, 0 waits for nobody else. The write that
                the call itself makes is not cut.
            origin: Who puts it, and its number there, as in `("orders", 42)`: a name, or 16 bytes,
                and a number that goes up. One that is not above the last of its producer was put
                before, and is not put again (docs/spool.md, "Putting once").
            options: What goes with it: `key`, `headers`, `ttl`, `timestamp`, and `topic`,
                `expires`, `delay`, `at`, `priority` (`SpoolOptions`). The last three mean something
                to a Push or Pub with this spool only: a reader gets it at once.

        Returns:
            Its number; a `SpoolRepeat` with that of the first one, if it was put before, which is
            kept as well now. None: it was dropped (`overflow="drop_newest"`).

        Raises:
            SpoolFullError: There is no room; it was not put.
            TimedOutError, WouldBlockError: It was not kept in time; at once (timeout=0). It may be
                put all the same, and be kept later.
            SpoolFailedError: The disk failed; whether it is kept nobody knows until the spool is
                opened again.
            TooLargeError: It has no room in a segment file.
            ClosedError: The spool was closed; with `sent` 1 it was put, and closing kept it.
        """
        same = planned(options)
        put = put_of(self, [same.body(exact_bytes(data))], same.plan, origin_of(origin), wait=wait)
        try:
            self._put(put, timeout)
            return returned(put)
        except BaseException as error:  # also what a signal's function raises behind it
            vars(error)["sent"] = put.put
            raise

    def append_many(
        self,
        messages: Iterable[Data],
        *,
        wait: bool = True,
        timeout: float | None = None,
        origin: Origin | None = None,
        **options: Unpack[SpoolOptions],
    ) -> range:
        """Put messages in their order, and wait until all are kept as `durability` says.

        They share few syncs: this is the quick way to put many.

        Thread-safe: yes; those of other threads may come in between.

        Args:
            messages: Any iterable of bodies.
            wait: As in `append`.
            timeout: Seconds for all of it; None waits for ever, 0 waits for nobody else. What the
                iterable takes is not cut; what has room is put when the time is up, too.
            origin: That of the first one; the numbers of the others go up by one. Those that were
                put before are left out.
            options: As in `append`; the same goes with each.

        Returns:
            The numbers from the first to the last message that was put; empty: none was. With
            `overflow="drop_newest"`, or an `origin`, there may be fewer than were given.

        Raises:
            SpoolFullError, TimedOutError, WouldBlockError: As `append`; `sent`: how many were put.
            SpoolFailedError, TooLargeError, ClosedError: Likewise.
            BaseException: What the iterable raised; what it gave before is kept, and `sent` is how
                many that is, without what was dropped (`overflow="drop_newest"`).
        """
        if isinstance(messages, (bytes, str, bytearray, memoryview)):
            raise TypeError("append_many takes an iterable of bodies; for a single one use append")
        deadline = ends_of(timeout)
        same, known = planned(options), origin_of(origin)
        source = iter(messages)
        first = last = taken = 0
        sent: tuple[int, Put | None] = 0, None  # before the last run, and what puts that
        try:
            run, broken = taken_of(source)
            while run:
                more, broken = taken_of(source) if broken is None else ([], broken)
                bodies = same.bodies(run)
                put = put_of(self, bodies, same.plan, known, behind=taken, wait=wait and not more)
                sent = sum_of(*sent), put
                self._put(put, left_of(deadline))
                taken += len(run)
                first, last = first or put.first, put.last or last
                run = more
            if broken is not None:
                raise broken
        except BaseException as error:
            vars(error)["sent"] = sum_of(*sent)
            raise
        return range(first, last + 1) if last else range(0)

    append_batch = append_batch

    def last_origin(self, producer: Producer) -> int | None:
        """Tell the last number that a producer put: where it goes on after a restart.

        Thread-safe: yes.

        Args:
            producer: As in an `origin`.

        Returns:
            The number. None: nothing is known of it; it put nothing with an `origin`, or 10,000
            others have put something since.

        Raises:
            ClosedError: The spool was closed.
            UsageError, TypeError: It is no producer.
        """
        octets = producer_of(producer)
        with self._in_use() as pointer:
            return last_of(pointer, octets)

    def flush(self, *, timeout: float | None = None) -> None:
        """Wait until all that was put before is on the disk, whatever `durability` is.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 waits for nobody else. If nobody
                writes, the call itself does, which is not cut.

        Raises:
            TimedOutError, WouldBlockError: It is not, in time; now.
            SpoolFailedError: The disk failed.
            ClosedError: The spool was closed.
        """
        self._flush(lib.MM_SPOOL_DISK, timeout, "waiting for the disk")

    def reader(self, seq: int | None = None) -> SpoolReader:
        """Return a reader that begins with that number; None: with the first that is there.

        Thread-safe: yes.

        Args:
            seq: A number, 1 and more. It may be one that is yet to come.

        Returns:
            The reader, which is for one thread at a time.

        Raises:
            ClosedError: The spool was closed.
        """
        return SpoolReader(self, self.info().first_seq if seq is None else whole("seq", seq, 1))

    read = read

    def trim(self, seq: Start) -> int:
        """Remove segment files that have no number above that one.

        Messages go by the file, and the last file stays. If it has no number above, either, and
        more than a quarter of what it may have, or the spool is full, another one is begun first,
        and it goes, too. Thread-safe: yes.

        Args:
            seq: The last number that is not needed any more; 0: nothing goes. Or in words, which
                say what is kept: "since:7d", "last:100", as of `find`; "seq:42" is 42.

        Returns:
            How many files went.

        Raises:
            ClosedError: The spool was closed.
            UsageError, TypeError: It is neither.
        """
        check_end(seq)
        upto = end_of(self, begin_of("seq", seq)) if isinstance(seq, str) else seq
        with self._in_use() as pointer:
            return int(lib.mm_spool_trim(pointer, upto))

    def info(self) -> SpoolInfo:
        """Look what it is at this moment.

        Thread-safe: yes.

        Returns:
            A snapshot.

        Raises:
            ClosedError: The spool was closed.
        """
        out = self._inspected()
        self._heed()
        info = info_of(out, self._max_bytes, self._max_messages, len(self._room))
        return replace(info, failed=True) if is_gone(self._place, self._folder) else info

    def close(self) -> None:
        """Write what waits, and close it and its readers. Again: nothing.

        Thread-safe: yes; calls that wait meanwhile raise ClosedError. So does one that this thread
        is in, if a signal's function closes it: then it is closed as the last call ends, and the
        next `close` raises what went wrong.

        Raises:
            SpoolFailedError: The disk failed, now or before; what was not durable may be lost, or
                a cursor was not saved; or the folder is not there any more.
        """
        closes = self._pointer is not None
        rc, saved = self._end()
        self._raise_for(rc, "closing it")
        if closes and (lost := self._unplaced("closing it")) is not None:
            raise lost
        if saved != lib.MM_OK:
            raise SpoolFailedError(
                f"{self.path}: closing it: the disk failed; a cursor says what was saved before",
                code=saved,
            )

    def _unplaced(self, doing: str) -> SpoolFailedError | None:
        why = is_gone(self._place, self._folder)
        if why:
            why += ", and what was put may be gone with it"
            self._look_at = 0  # from now on each call that puts says so
        elif doing in PUTS and disk_refused(self):
            why = is_shut(self._place)
        if why:
            return SpoolFailedError(f"{self.path}: {doing}: {why}", code=lib.MM_EIO)
        self._look_at = time.monotonic() + LOOK_S
        return None

    def _free(self, pointer: Any) -> tuple[int, int]:
        feeds, cursors = self._let_go()
        for feed, end, _ in feeds.values():
            end(feed)
        saved = self._close_each(cursors.values())
        return int(lib.mm_spool_close(pointer)), saved

    def _look(self, put: Putting) -> None:
        if not (self._blocks and put.unput and is_full(self)):
            self._room.leave(put)
        elif self._room.enter(put):
            tell_waiting(self)

    def _opened(self) -> Any:
        pointer = super()._opened()
        if self._ages:  # of others no file goes by its age
            self._jumps = int(lib.mm_spool_clock_jumps(pointer))
        return pointer

    def __del__(self) -> None:
        if self._pointer is not None:
            self._end()
