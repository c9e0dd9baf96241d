"""A spool for asyncio: the same files, the same promises, and nothing that blocks the loop.

Not here: waiting (watch.py), what has no room (later.py), reading (reader.py). Law: what is put is
put by the task itself, at once, if there is room; then it waits until its number is kept. So tasks
share syncs as threads do.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from meshmsg._binding.core import EAGAIN
from meshmsg._binding.data import Data, exact_bytes
from meshmsg._spool import spool as threads
from meshmsg._spool.arguments import (
    COMPACT_RATIO,
    TOMBSTONE_AGE,
    Origin,
    Producer,
    origin_of,
    whole,
)
from meshmsg._spool.puts import Put, SpoolOptions, planned, put_of, returned, taken_of
from meshmsg._spool.starts import Start, check_end
from meshmsg._spool.told import SpoolInfo, SpoolRecovery
from meshmsg.aio._spool.batches import append_batch, read
from meshmsg.aio._spool.kept import Kept
from meshmsg.aio._spool.later import Later
from meshmsg.aio._spool.reader import SpoolReader
from meshmsg.aio._spool.waits import read_when
from meshmsg.aio._spool.watch import DURABLE, LoopWatch
from meshmsg.aio._turns import is_due

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

_FoundT = TypeVar("_FoundT")


class Spool(Kept):
    """Messages that are kept in files, numbered from 1 on, and can be read again; for asyncio.

    What `meshmsg.Spool` says holds here: durability, limits, what a crash leaves. An awaited call
    never blocks the loop: it puts its messages at once, and waits for the disk as for a socket.
    Tasks that wait at the same time share each sync.

    The constructor opens it, as that of a socket does. That takes time: the last segment file is
    read (64 MiB, or `segment_bytes`), and after a crash what was not proved to be on the disk is
    copied and synced. It is done once, mostly before a loop has other work. A program that opens
    spools while it serves others does so in a thread: `await asyncio.to_thread(aio.Spool, path)`.
    A spool belongs to no loop; tasks of several may use it.

    Args:
        path: The folder. It is made, if the one above it is there.
        durability: "disk", "os" or "buffered", as of `meshmsg.Spool`.
        segment_bytes: Bytes of a segment file, 65,536 and more.
        max_bytes: Bytes of all files, at most; None: as the disk has room.
        max_messages: Messages, at most; None: no limit.
        overflow: What `append` does when that is reached, or the disk is full: "error", "block",
            "drop_oldest", "drop_newest".
        max_age: Seconds that messages are kept, at least. None: no limit.
        until_acked_by: Names of cursors: a file goes by itself once all of them are done with it.
        on_corruption: "fail" or "gap".
        sync_every: Seconds between syncs for "os" and "buffered".
        remote: Also on a file system of another machine.
        segment_age: Seconds: a file takes no more once its first message is older.
        compact: Compact by itself (`compact()`), beside its other work.
        compact_ratio: When: once so much of the bytes of its sealed files came since the last time;
            above 0, to 1.
        tombstone_age: Seconds that a tombstone, a message with a key and an empty body, stays
            behind the compaction that took what it deletes; 0: it goes with that.
        uuid: What it is called, 16 bytes, if it is made now; None: at random.
        create: Make one where there is none; False: only open what is there.

    Raises:
        SpoolLockedError: Another process, or this one, has it open; `owner` says which.
        SpoolCorruptError: Messages that were durable are gone, and on_corruption is "fail".
        SpoolError: The folder cannot be used: not there, not permitted, of a later version; or
            there is no spool, and `create` is False.
        UsageError, TypeError: An argument is wrong, or the spool is there and has another uuid.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: threads.Durability = "disk",
        segment_bytes: int | None = None,
        max_bytes: int | None = None,
        max_messages: int | None = None,
        overflow: threads.Overflow = "error",
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
        self._spool = threads.Spool(
            path,
            durability=durability,
            segment_bytes=segment_bytes,
            max_bytes=max_bytes,
            max_messages=max_messages,
            overflow=overflow,
            max_age=max_age,
            until_acked_by=until_acked_by,
            on_corruption=on_corruption,
            sync_every=sync_every,
            remote=remote,
            segment_age=segment_age,
            compact=compact,
            compact_ratio=compact_ratio,
            tombstone_age=tombstone_age,
            uuid=uuid,
            create=create,
        )
        self.path: str = self._spool.path
        """The folder."""
        self.recovery: SpoolRecovery = self._spool.recovery
        """What was found when it was opened."""
        self._kept_when = None if durability == "buffered" else read_when(durability)
        self._seen_when = read_when(durability)
        self._later = Later(self._spool)
        self._watches: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopWatch] = (
            weakref.WeakKeyDictionary()
        )
        self._closing: asyncio.Future[None] | None = None

    async def append(
        self,
        data: Data,
        *,
        wait: bool = True,
        timeout: float | None = None,
        origin: Origin | None = None,
        **options: Unpack[SpoolOptions],
    ) -> int | None:
        """Put a message, and wait until it is kept as `durability` says.

        Thread-safe: yes, for tasks of several loops. Cancel-safe: it is put with the first step of
        the call; cancelled after that, or out of time, it is put all the same, and may be kept.
        Cancelled while it waits for room (`overflow="block"`), it may be put. `sent` of the
        exception says what is known: 1, it was put.

        Args:
            data: The body: bytes, or anything contiguous with a buffer. It is copied.
            wait: False returns as soon as it has its number; `flush` waits for it, and otherwise it
                is written soon.
            timeout: Seconds to wait; None waits for ever. 0 does not wait for the disk: what is not
                kept at once, which at "disk" nothing is, is WouldBlockError.
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
        deadline = self._deadline(timeout)
        same = planned(options)
        body = same.body(exact_bytes(data))
        put = put_of(self._spool, [body], same.plan, origin_of(origin))
        await self._put(put, deadline)
        if wait and put.until:
            await self._kept(put.until, deadline, 1)
        elif is_due():
            await self._share(put.put)
        return returned(put)

    async def append_many(
        self,
        messages: Iterable[Data] | AsyncIterable[Data],
        *,
        wait: bool = True,
        timeout: float | None = None,
        origin: Origin | None = None,
        **options: Unpack[SpoolOptions],
    ) -> range:
        """Put messages in their order, and wait until all are kept as `durability` says.

        They share few syncs: this is the quick way to put many.

        Thread-safe: yes, as `append`; those of other tasks may come in between. Cancel-safe: what
        was put stays, and `sent` of the exception is how many; of those that waited for room, one
        more run of 4,096 may be.

        Args:
            messages: Any iterable of bodies, also one for `async for`: what it gives is put as it
                comes.
            wait: As in `append`.
            timeout: Seconds for all of it; None waits for ever, 0 waits for nothing. What the
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
        deadline = self._deadline(timeout)
        same, known = planned(options), origin_of(origin)
        first = last = taken = sent = until = 0
        if isinstance(messages, AsyncIterable):
            try:
                async for one in messages:
                    body = same.body(exact_bytes(one))
                    put = put_of(self._spool, [body], same.plan, known, behind=taken)
                    await self._put(put, deadline, sent)
                    taken, sent = taken + 1, sent + put.put
                    first, last = first or put.first, put.last or last
                    until = max(until, put.until)
            except BaseException as error:
                vars(error).setdefault("sent", sent)
                raise
        else:
            for run, broken in _runs(iter(messages)):
                put = put_of(self._spool, same.bodies(run), same.plan, known, behind=taken)
                await self._put(put, deadline, sent)
                taken, sent = taken + len(run), sent + put.put
                first, last = first or put.first, put.last or last
                until = max(until, put.until)
                if broken is not None:
                    await self._kept_before(broken, until if wait else 0, deadline)
                    vars(broken)["sent"] = sent
                    raise broken
                if is_due(len(run)):
                    await self._share(sent)
        if wait and until:
            await self._kept(until, deadline, sent)
        return range(first, last + 1) if last else range(0)

    append_batch = append_batch

    def last_origin(self, producer: Producer) -> int | None:
        """Tell the last number that a producer put: where it goes on after a restart.

        Thread-safe: yes.

        Args:
            producer: As in an `origin`.

        Returns:
            The number. None: nothing is known of it.

        Raises:
            ClosedError: The spool was closed.
            UsageError, TypeError: It is no producer.
        """
        self._check_open()
        return self._spool.last_origin(producer)

    async def flush(self, *, timeout: float | None = None) -> None:
        """Wait until all that was put before is on the disk, whatever `durability` is.

        Thread-safe: yes. Cancel-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError, WouldBlockError: It is not, in time; now.
            SpoolFailedError: The disk failed.
            ClosedError: The spool was closed.
        """
        deadline = self._deadline(timeout)
        if self._kept_when != DURABLE:  # somebody is to sync, and that waits
            await self._in_thread(lambda: self._spool.flush(timeout=timeout))
            return
        doing = "waiting for the disk"
        await self._wait(DURABLE, self._watch().last(), deadline, doing)
        if (lost := self._spool._unplaced(doing)) is not None:
            raise lost

    def reader(self, seq: int | None = None) -> SpoolReader:
        """Return a reader that begins with that number; None: with the first that is there.

        Thread-safe: yes.

        Args:
            seq: A number, 1 and more. It may be one that is yet to come.

        Returns:
            The reader, which is for one task at a time.

        Raises:
            ClosedError: The spool was closed.
        """
        return SpoolReader(self, self.info().first_seq if seq is None else whole("seq", seq, 1))

    read = read

    async def trim(self, seq: Start) -> int:
        """Remove segment files that have no number above that one.

        Messages go by the file, and the last file stays, unless another one is begun, as of
        `meshmsg.Spool`. Thread-safe: yes. Cancel-safe: it goes on, and files go.

        Args:
            seq: The last number that is not needed any more; 0: nothing goes. Or in words, as of
                `meshmsg.Spool`: "since:7d" keeps what was put in the last 7 days.

        Returns:
            How many files went.

        Raises:
            ClosedError: The spool was closed.
            UsageError, TypeError: It is neither.
        """
        check_end(seq)
        return await self._in_thread(lambda: self._spool.trim(seq))

    def info(self) -> SpoolInfo:
        """Look what it is at this moment.

        Thread-safe: yes.

        Returns:
            A snapshot.

        Raises:
            ClosedError: The spool was closed.
        """
        self._check_open()
        return self._spool.info()

    async def close(self) -> None:
        """Write what waits, and close it and its readers. Again: it waits for the same end.

        Thread-safe: no; calls that wait meanwhile raise ClosedError. Cancel-safe: it goes on.

        Raises:
            SpoolFailedError: The disk failed, now or before; what was not durable may be lost, or
                a cursor was not saved.
        """
        if os.getpid() != self._spool._pid:
            return  # it was given up as the process was forked
        if self._closing is not None:
            if self._closing.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([self._closing])
            return
        loop = asyncio.get_running_loop()
        self._closing = loop.run_in_executor(None, self._spool.close)
        for of, watch in list(self._watches.items()):
            if of is loop:
                watch.end()
            else:
                watch.end_from_anywhere()
        await asyncio.shield(self._closing)

    async def _put(self, put: Put, deadline: float | None, sent: int = 0) -> None:
        """Put all of it, `sent` messages having been put: at once if there is room."""
        try:
            if self._later.busy or not self._put_at_once(put):
                await self._put_later(put, deadline)
            if (lost := self._spool._unplaced_by(put)) is not None:
                raise lost
        except BaseException as error:
            vars(error)["sent"] = sent + put.put
            raise

    def _put_at_once(self, put: Put) -> bool:
        """Put what has room at this moment; whether that is all."""
        spool, watch = self._spool, self._watch()
        try:
            with spool._in_use() as pointer:
                rc = put.at_once(pointer)
        finally:
            if put.last:
                watch.write_soon()
        spool._heed()
        if rc != EAGAIN:
            spool._raise_for(rc, put.doing)
        return rc != EAGAIN

    async def _kept_before(self, broken: BaseException, seq: int, deadline: float | None) -> None:
        """What an iterable gave before it failed is kept; the iterable's error is what is told."""
        if seq and isinstance(broken, Exception):
            await self._kept(seq, deadline, 0)

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __enter__(self) -> None:
            raise TypeError("an asyncio Spool is closed by `async with`, not with")

        def __exit__(self, *_: object) -> None:
            """Never reached: entering raises."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        for watch in list(getattr(self, "_watches", {}).values()):
            watch.end_from_anywhere()

    def __repr__(self) -> str:
        closed = self._closing is not None or self._spool._pointer is None
        return f"<meshmsg.aio.Spool {self.path}{' closed' if closed else ''}>"


def _runs(source: Iterator[Any]) -> Iterator[tuple[list[bytes], BaseException | None]]:
    """Yield runs of bodies; the last one may say what the source failed by."""
    while True:
        run, broken = taken_of(source)
        if run or broken is not None:
            yield run, broken
        if not run or broken is not None:
            return
