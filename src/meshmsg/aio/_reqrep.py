"""Req for asyncio: any number of tasks ask at once, one wake-up completes all whose answers came.

Law: as in meshmsg._reqrep: an answer belongs to its request by id; a cancelled request is
forgotten, and its late answer counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from meshmsg._core import ffi, lib, local, to_ms
from meshmsg._data import Data, pack_frames
from meshmsg._engine import Engine
from meshmsg._errors import PeerError, TimedOutError
from meshmsg._message import Message
from meshmsg._options import SocketOptions, build_options, check_count
from meshmsg._reqrep import lost
from meshmsg._unpack import Forming
from meshmsg.aio._io import AsyncFrameSender
from meshmsg.aio._loop import READABLE, LoopWaker

if TYPE_CHECKING:
    from typing_extensions import Unpack

IDS_AT_ONCE = 256
"""Replies one call into C tells of."""


class Req(Forming[Message], AsyncFrameSender):
    """Asks its Rep (or Router) peers, in turn. See `meshmsg.Req`. Use it from one loop.

    Args:
        identity: The name Router peers know it by. Give none to reach a REP of libzmq: until that
            one has noticed that the last peer of a name is gone, it ignores the next for ever.
    """

    _role: ClassVar[int] = lib.MM_REQ

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._pending: dict[int, asyncio.Future[Message]] = {}
        self._open(build_options(self._role, options, identity=identity), engine, bind, connect)

    async def request(
        self, data: Data, *, timeout: float | None = None, retries: int = 0
    ) -> Message:
        """Ask, and wait for the answer; many tasks may ask at once.

        Cancel-safe: a cancelled request is forgotten, and its answer counted as late.
        Thread-safe: no; use it from its loop's thread.

        Args:
            data: The question.
            timeout: Seconds an attempt may take, sending included; None waits for ever.
            retries: How often to ask again after a time-out or when the peer went away.

        Returns:
            The answer.

        Raises:
            TimedOutError: No answer to any attempt.
            PeerError: The peer went away and no retry is left; the outcome is unknown.
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        check_count("retries", retries)
        for left in range(retries, -1, -1):
            try:
                return await self._ask(data, timeout)
            except TimedOutError:
                if left == 0:
                    raise
            except PeerError as error:
                if left == 0:
                    raise lost(error, retries) from None
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self, data: Data, timeout: float | None) -> Message:
        body, sizes, count = pack_frames([data])
        number = ffi.new("uint64_t *")
        to_ms(timeout)
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        waker = self._waker()  # before anything is sent: it may be refused
        await self._sending(
            lambda: int(lib.mm_request(self._handle, body, sizes, count, 0, 0, number)),
            timeout,
            len(body),
            count,
            "no room for a request",
        )
        request = int(number[0])
        future: asyncio.Future[Message] = loop.create_future()
        self._pending[request] = future
        waker.on_readable[self._handle] = self._complete
        timer = None if end is None else loop.call_at(end, self._too_late, request, timeout)
        try:
            self._watch(waker)
            return await future
        finally:
            if timer is not None:
                timer.cancel()
            if self._pending.pop(request, None) is not None:
                lib.mm_request_cancel(self._handle, request)
            if not self._pending:
                waker.on_readable.pop(self._handle, None)  # it must not keep this socket alive

    def _watch(self, waker: LoopWaker) -> None:
        rc = waker.watch(self._handle, READABLE)
        if rc < 0:
            self._fail_all(rc)

    def _too_late(self, request: int, timeout: float | None) -> None:
        future = self._pending.get(request)
        if future is not None and not future.done():
            future.set_exception(self._error(lib.MM_ETIMEDOUT, "no reply", timeout))

    def _fail_all(self, code: int) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(self._error(code, "no reply"))

    def _complete(self) -> None:
        """Replies came: give each to the task that waits for it."""
        ids = ffi.new("uint64_t[]", IDS_AT_ONCE)
        count = lib.mm_replies_ready(self._handle, ids, IDS_AT_ONCE)
        if count < 0:
            self._fail_all(count)
            return
        batch = local.batch
        for i in range(count):
            request = int(ids[i])
            future = self._pending.pop(request, None)
            if future is None or future.done():  # given up in this very moment: counted as late
                lib.mm_request_cancel(self._handle, request)
                continue
            rc = lib.mm_reply(self._handle, request, batch, 0, 0)
            if rc < 0:
                future.set_exception(self._error(rc, "no reply"))
            else:
                future.set_result(self._unpack(batch)[0])
        if self._pending:
            self._watch(self._waker())
