"""A spool of another process, to be read; for threads.

Not here: what is asked and what answers mean (_ranges/asking.py), serving (spool_server.py). Law: a
question may be asked again, whatever became of it: none of them does harm twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from meshmsg._binding.core import Slot, body_in, borrow, give_back, lib, native
from meshmsg._binding.errors import (
    ClosedError,
    PeerError,
    RefusedError,
    TimedOutError,
    WouldBlockError,
)
from meshmsg._ranges.asking import (
    HELD,
    RETRIES,
    TIMEOUT,
    Leases,
    Octets,
    Patience,
    Range,
    RemoteSpoolInfo,
    info_of,
    range_of,
)
from meshmsg._ranges.form import Answer, Request, Status
from meshmsg._ranges.remote_form import RemoteForm
from meshmsg._socket.engine import Engine
from meshmsg._socket.options import SocketOptions
from meshmsg._spool.batch import BATCH_MAX_BYTES, BATCH_MAX_MESSAGES, SpoolBatch
from meshmsg._sync.request import Req

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class RemoteLease:
    """Holds what is in a spool of another process from a number on; made by `RemoteSpool.lease`.

    It ends by itself, and is renewed by whoever has it; `with` releases it. It is in the memory of
    the server: if that is started anew, there is none until it is renewed.
    """

    def __init__(self, remote: RemoteSpool, name: str, from_seq: int, ttl: float) -> None:
        self._remote = remote
        self.name: str = name
        """Its name."""
        self._first = from_seq
        self.renew(ttl, from_seq=from_seq)

    @property
    def from_seq(self) -> int:
        """That message, and all above it, are held; `trim` with its name moves that on."""
        return self._remote._leases.first(self.name, self._first)

    def renew(self, ttl: float, *, from_seq: int | None = None) -> None:
        """Hold for so long from now on. Thread-safe: yes.

        Args:
            ttl: Seconds.
            from_seq: The first message to hold from now on; None: as before, or where
                `trim` with its name has moved that to, whoever did it.

        Raises:
            SpoolTrimmedError: Messages of it were removed.
            WouldBlockError: Another holder has it by now, or there are too many.
            ClosedError: It was closed.
        """
        before = from_seq is None
        seq = self.from_seq if from_seq is None else from_seq
        request = self._remote._asking.lease(self.name, seq, ttl, as_before=before)
        self._first = self._remote._leases.held(request, self._remote._do(request))

    def release(self) -> bool:
        """Hold no longer. Thread-safe: yes.

        Returns:
            False: it was over.

        Raises:
            ClosedError: It was closed.
        """
        answer = self._remote._do(self._remote._asking.release(self.name))
        self._remote._leases.released(self.name)
        return answer.a == 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._remote._closed:
            self.release()

    def __repr__(self) -> str:
        return f"<meshmsg.RemoteLease {self.name!r} from {self.from_seq} of {self._remote._where}>"


class RangesReq(Req):
    """Its socket."""


RangesReq.__name__ = "RemoteSpool"  # what events, the log and errors call it


class RemoteSpool(RemoteForm):
    __doc__ = RemoteForm.__doc__

    def __init__(
        self,
        connect: str | Iterable[str],
        *,
        uuid: str | None = None,
        holder: bytes | None = None,
        on_corruption: Literal["fail", "gap"] = "fail",
        timeout: float | None = TIMEOUT,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._over = False
        self._leases = Leases()
        self._lock = threading.RLock()
        self._ends = threading.Condition(self._lock)
        """Told as it is closed; no Event, which a signal's function cannot set at any moment. The
        lock is entered, not this: that such a function can split."""
        self._leaves = False
        """Whether it raises PeerError once nobody is connected, rather than wait for who comes."""
        self._req = self._opened(
            RangesReq, connect, uuid, holder, on_corruption, timeout, engine, options
        )

    def info(self) -> RemoteSpoolInfo:
        """Ask which spool it is, and which numbers can be read.

        Thread-safe: yes.

        Returns:
            What it is now.

        Raises:
            SpoolChangedError: It is another spool than before.
            TimedOutError: No server answered in time.
            RefusedError: The server does not do that; it says why.
            PeerError: It is no server of ranges.
            ClosedError: It was closed.
        """
        return info_of(self._do(self._asking.info()))

    def read(
        self,
        from_seq: int,
        to_seq: int | None = None,
        *,
        max_messages: int = BATCH_MAX_MESSAGES,
        max_bytes: int = BATCH_MAX_BYTES,
        epoch: int | None = None,
    ) -> Iterator[SpoolBatch]:
        """Read messages from a number to before another, as tables.

        Each time they are the same. Others may read them meanwhile. One answer is asked for ahead,
        so this and the server hold about `max_bytes` each for it, however slowly it is taken.
        Where the connection is lost, what is next is asked for again.

        Thread-safe: yes; one thread iterates over what it returns.

        Args:
            from_seq: The first number, 1 and more.
            to_seq: The number behind the last; None: what is durable as it begins.
            max_messages: Of a batch, at most.
            max_bytes: Of a batch, and of an answer, at most; or one batch of the spool, if that has
                more.
            epoch: In which life they were told as durable (`info().epoch`), if that was before
                this was opened: SpoolChangedError if a message is of a later one, or the spool is
                in an earlier one.

        Returns:
            An iterator of batches as of `Spool.read`, all messages of the range one by one.

        Raises:
            SpoolTrimmedError: The first of them, or the next while it is iterated, were removed.
            SpoolAheadError: Not all are durable.
            SpoolCorruptError: What is next is harmed, and on_corruption is "fail".
            TimedOutError: No server answered in time, or it was busy.
            SpoolChangedError, RefusedError, PeerError, ClosedError: As `info`.
            UsageError, TypeError: An argument is wrong; at once.
        """
        reading = range_of(
            *(self._asking, from_seq, to_seq),
            max_messages=max_messages,
            max_bytes=max_bytes,
            gaps=self._gaps,
            epoch=epoch,
        )
        return self._batches(reading)

    def lease(self, name: str, from_seq: int, ttl: float) -> RemoteLease:
        """Hold what is there from a message on, for some time, whoever trims.

        Thread-safe: yes.

        Args:
            name: 1 to 58 of A-Z, a-z, 0-9, dot, underscore and hyphen, with no dot in front. Who
                has the same name and the same `holder` has the same lease.
            from_seq: The first message to hold, up to `stable_seq`.
            ttl: Seconds, to a week.

        Returns:
            The lease, to be renewed and released.

        Raises:
            SpoolTrimmedError: The message was removed.
            SpoolAheadError: It is above `stable_seq`.
            WouldBlockError: Another holder has it, or there are too many.
            TimedOutError, SpoolChangedError, RefusedError, PeerError, ClosedError: As `info`.
            UsageError, TypeError: An argument is wrong.
        """
        return RemoteLease(self, name, from_seq, ttl)

    def trim(self, seq: int, *, name: str | None = None) -> int:
        """Say that what is up to a number is not needed any more.

        Segment files go that have nothing above it, and nothing that any lease holds. Again, or
        with a lower number: nothing. Thread-safe: yes.

        Args:
            seq: The last number that is not needed; 0: none.
            name: A lease of this holder: it holds what is above the number from now on.

        Returns:
            How many files went.

        Raises:
            SpoolAheadError: It is not durable.
            WouldBlockError: Another holder has the lease.
            RefusedError: The server trims for nobody (`SpoolServer(trim=True)` does).
            TimedOutError, SpoolChangedError, PeerError, ClosedError: As `info`.
            UsageError, TypeError: An argument is wrong.
        """
        files = self._do(self._asking.trim(seq, name)).a
        self._leases.trimmed(name, seq)
        return files

    def close(self) -> None:
        """Close it. Calls that wait raise ClosedError. Thread-safe: yes; again: nothing."""
        with self._lock:
            self._over = True
            self._ends.notify_all()
        self._req.close()

    @property
    def _closed(self) -> bool:
        return self._over

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, request: Request) -> Answer:
        return self._ask(request)[0]

    def _ask(self, request: Request) -> tuple[Answer, Octets]:
        """Ask until there is an answer."""
        patience = Patience(self._timeout, time.monotonic())
        while True:
            octets = self._asking.octets(request)
            left = patience.left(time.monotonic())
            data = self._once(octets, left) if self._leaves else self._again(octets, left)
            answer = self._asking.answer(request, data)
            if answer.status != Status.BUSY:
                return answer, data
            wait = patience.wait(time.monotonic())
            if wait is None:
                raise self._asking.still_busy(answer, self._timeout)
            with self._lock:
                if self._ends.wait_for(lambda: self._over, wait):
                    raise ClosedError(f"{self._where} was closed", code=lib.MM_ECLOSED)

    def _lease_as(self, holder: bytes, name: str, from_seq: int, ttl: float) -> bool:
        """Hold as another holder than its own; False: there is another one yet.

        Raises:
            WouldBlockError: There are too many leases.
            MeshError: As `lease`.
        """
        request = self._asking.lease(name, from_seq, ttl)
        try:
            self._do(replace(request, holder=holder))
        except WouldBlockError as error:
            if HELD not in str(error):
                raise
            return False
        return True

    def _has_gone(self, error: PeerError) -> bool:
        """Whether that was a connection that was lost, rather than nonsense that came."""
        return bool(error.code != lib.MM_EPROTO)

    def _again(self, octets: bytes, timeout: float | None) -> Octets:
        data: Octets = self._req.request(octets, retries=RETRIES, deadline=timeout)
        return data

    def _once(self, octets: bytes, timeout: float | None) -> Octets:
        """Ask who is connected, if anybody is and stays so."""
        try:
            self._req.wait_for_peers(1, timeout=0)
        except WouldBlockError:
            gone = f"{self._where}: nobody is connected"
            raise PeerError(gone, code=lib.MM_ECONNRESET, address=self._where) from None
        data: Octets = self._req.request(octets, timeout=timeout)
        return data

    def _batches(self, reading: Range) -> Iterator[SpoolBatch]:
        if not reading.begun:
            reading.begin(self._do(reading.opening()).stable_seq)
        slot = borrow()
        try:
            yield from self._read(reading, slot)
        finally:
            slot.drop()
            give_back(slot)
        yield from reading.rest()

    def _read(self, reading: Range, slot: Slot) -> Iterator[SpoolBatch]:
        """Ask ahead, answer by answer: each is read where it came, until the next one comes."""
        request = reading.request()
        answer, data = self._ask(request) if request is not None else (None, b"")
        while request is not None and answer is not None:
            made = reading.batches(answer, data)
            request = reading.request()
            number = self._begin(request)
            try:
                yield from made
            except BaseException:
                lib.mm_request_cancel(self._req._handle, number)
                raise
            del made, data
            answer, data = self._end(request, number, slot) if request is not None else (None, b"")

    def _begin(self, request: Request | None) -> int:
        """Ask ahead, if that can be done at once; 0: it was not."""
        number = [0]
        if request is not None:
            native.request(self._req._handle, self._asking.octets(request), 0, 0, number)
        return number[0]

    def _end(self, request: Request, number: int, slot: Slot) -> tuple[Answer, Octets]:
        """Return the answer to what was asked ahead, or ask now."""
        if number:
            try:
                data = self._had(number, slot)
            except RefusedError:
                raise
            except (PeerError, TimedOutError):
                if self._leaves:
                    raise
                return self._ask(request)
            answer = self._asking.answer(request, data)
            if answer.status != Status.BUSY:
                return answer, data
        return self._ask(request)

    def _begin_info(self) -> tuple[Request, int] | None:
        """Ask as `info`, and do not wait; None: that cannot be asked now."""
        request = self._asking.info()
        number = self._begin(request)
        return (request, number) if number else None

    def _end_info(self, begun: tuple[Request, int], timeout: float) -> RemoteSpoolInfo | None:
        """Return the answer, if it comes in time; None: the server is busy. Nothing is asked again.

        Raises:
            SpoolChangedError, TimedOutError, RefusedError, PeerError, ClosedError: As `info`.
        """
        request, number = begun
        slot = borrow()
        try:
            self._req._await_reply(number, slot, timeout, timeout)
            answer = self._asking.answer(request, body_in(slot))
            return None if answer.status == Status.BUSY else info_of(answer)
        except BaseException:
            lib.mm_request_cancel(self._req._handle, number)
            raise
        finally:
            slot.drop()
            give_back(slot)

    def _had(self, number: int, slot: Slot) -> memoryview:
        """Return an answer as it lies there, until something else does."""
        try:
            self._req._await_reply(number, slot, self._timeout, self._timeout)
        except BaseException:
            lib.mm_request_cancel(self._req._handle, number)
            slot.drop()
            raise
        return body_in(slot)
