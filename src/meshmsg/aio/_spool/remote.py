"""A spool of another process, to be read; for asyncio.

Not here: what is asked and what answers mean (_ranges/asking.py). Law: as in
_sync/remote_spool.py; batches are made in a thread, as that copies much at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ClosedError
from meshmsg._binding.message import Message
from meshmsg._ranges.asking import (
    RETRIES,
    TIMEOUT,
    Leases,
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
from meshmsg.aio._request import Req

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class RemoteLease:
    """Holds what is in a spool of another process from a number on; made by `RemoteSpool.lease`.

    It ends by itself, and is renewed by whoever has it; `async with` releases it. It is in the
    memory of the server: if that is started anew, there is none until it is renewed.
    """

    def __init__(self, remote: RemoteSpool, name: str, from_seq: int) -> None:
        self._remote = remote
        self.name: str = name
        """Its name."""
        self._first = from_seq

    @property
    def from_seq(self) -> int:
        """That message, and all above it, are held; `trim` with its name moves that on."""
        return self._remote._leases.first(self.name, self._first)

    async def renew(self, ttl: float, *, from_seq: int | None = None) -> None:
        """Hold for so long from now on.

        Cancel-safe: yes; it may be renewed. Thread-safe: no.

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
        self._first = self._remote._leases.held(request, await self._remote._do(request))

    async def release(self) -> bool:
        """Hold no longer.

        Cancel-safe: yes; it may be released. Thread-safe: no.

        Returns:
            False: it was over.

        Raises:
            ClosedError: It was closed.
        """
        answer = await self._remote._do(self._remote._asking.release(self.name))
        self._remote._leases.released(self.name)
        return answer.a == 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._remote._closed:
            await self.release()

    def __repr__(self) -> str:
        return f"<meshmsg.aio.RemoteLease {self.name!r} from {self.from_seq}>"


class RangesReq(Req):
    """Its socket."""


RangesReq.__name__ = "RemoteSpool"  # what events, the log and errors call it


class RemoteSpool(RemoteForm):
    __doc__ = RemoteForm.__doc__
    _closed = False

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
        self._leases = Leases()
        self._req = self._opened(
            RangesReq, connect, uuid, holder, on_corruption, timeout, engine, options
        )

    async def info(self) -> RemoteSpoolInfo:
        """Ask which spool it is, and which numbers can be read.

        Cancel-safe: yes. Thread-safe: no; use it from its loop's thread.

        Returns:
            What it is now.

        Raises:
            SpoolChangedError: It is another spool than before.
            TimedOutError: No server answered in time.
            RefusedError: The server does not do that; it says why.
            PeerError: It is no server of ranges.
            ClosedError: It was closed.
        """
        return info_of(await self._do(self._asking.info()))

    def read(
        self,
        from_seq: int,
        to_seq: int | None = None,
        *,
        max_messages: int = BATCH_MAX_MESSAGES,
        max_bytes: int = BATCH_MAX_BYTES,
        epoch: int | None = None,
    ) -> AsyncIterator[SpoolBatch]:
        """Read messages from a number to before another, as tables; as `meshmsg.RemoteSpool.read`.

        It is an iterator for `async for`: this itself is not awaited, and asks for nothing yet.

        Cancel-safe: yes; a range that is given up is read again from where it is to go on.
        Thread-safe: no; use it from its loop's thread.

        Args:
            from_seq: The first number, 1 and more.
            to_seq: The number behind the last; None: what is durable as it begins (`stable_seq`).
            max_messages: Of a batch, at most.
            max_bytes: Of a batch, and of an answer, at most; or one batch of the spool, if that has
                more.
            epoch: In which life they were told as durable (`info().epoch`), if that was before
                this was opened: SpoolChangedError if a message is of a later one, or the spool is
                in an earlier one.

        Returns:
            An iterator of batches as of `Spool.read`, all messages of the range one by one.

        Raises:
            SpoolError: Any of those that threads have, while it is iterated.
            TimedOutError, RefusedError, PeerError, ClosedError: As `info`, likewise.
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

    async def lease(self, name: str, from_seq: int, ttl: float) -> RemoteLease:
        """Hold what is there from a message on, for some time, whoever trims.

        Cancel-safe: yes; it may be held until it ends. Thread-safe: no.

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
        lease = RemoteLease(self, name, from_seq)
        await lease.renew(ttl, from_seq=from_seq)
        return lease

    async def trim(self, seq: int, *, name: str | None = None) -> int:
        """Say that what is up to a number is not needed any more.

        Segment files go that have nothing above it, and nothing that any lease holds. Again, or
        with a lower number: nothing.

        Cancel-safe: yes; it may be done. Thread-safe: no.

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
        files = (await self._do(self._asking.trim(seq, name))).a
        self._leases.trimmed(name, seq)
        return files

    def close(self) -> None:
        """Close it. Tasks that wait raise ClosedError. Thread-safe: no; again: nothing."""
        self._closed = True
        self._req.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _do(self, request: Request) -> Answer:
        return (await self._ask(request))[0]

    async def _ask(self, request: Request) -> tuple[Answer, Message]:
        """Ask until there is an answer."""
        clock = asyncio.get_running_loop().time
        patience = Patience(self._timeout, clock())
        while True:
            octets = self._asking.octets(request)
            left = patience.left(clock())
            data = await self._req.request(octets, retries=RETRIES, deadline=left)
            answer = self._asking.answer(request, data)
            if answer.status != Status.BUSY:
                return answer, data
            wait = patience.wait(clock())
            if wait is None:
                raise self._asking.still_busy(answer, self._timeout)
            await asyncio.sleep(wait)
            if self._closed:
                raise ClosedError(f"{self._where} was closed", code=lib.MM_ECLOSED)

    async def _batches(self, reading: Range) -> AsyncGenerator[SpoolBatch, None]:
        if not reading.begun:
            reading.begin((await self._do(reading.opening())).stable_seq)
        request = reading.request()
        ahead = asyncio.ensure_future(self._ask(request)) if request is not None else None
        try:
            while ahead is not None:
                answer, data = await ahead
                made = reading.batches(answer, data)
                request = reading.request()
                ahead = asyncio.ensure_future(self._ask(request)) if request is not None else None
                while (batch := await self._next(made)) is not None:
                    yield batch
                del made, data
        finally:
            if ahead is not None:
                ahead.cancel()
                ahead.add_done_callback(_forget)
        for batch in reading.rest():
            yield batch

    @staticmethod
    async def _next(made: Iterator[SpoolBatch]) -> SpoolBatch | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, next, made, None)


def _forget(ahead: asyncio.Future[tuple[Answer, Message]]) -> None:
    """Whoever would have been told of an error is gone."""
    if not ahead.cancelled():
        ahead.exception()
