"""Req: asks, and waits for the answer; any number of requests at once.

Law: an answer belongs to exactly the request it answers, by id; one that comes too late is counted
and dropped; there is no state to get stuck in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from meshmsg._blocking import LEAST_S, Draining
from meshmsg._core import EINTR, borrow, fast, give_back, lib, to_ms
from meshmsg._data import Data, bytes_of
from meshmsg._engine import Engine
from meshmsg._errors import MeshError, PeerError, TimedOutError
from meshmsg._message import Message, classes_of_peers
from meshmsg._options import SocketOptions, build_options, check_count
from meshmsg._unpack import Forming

if TYPE_CHECKING:
    from typing_extensions import Unpack


def lost(error: MeshError, retries: int) -> PeerError:
    """The error of a request whose peer went away."""
    return PeerError(
        "the peer that had the request went away before it answered; whether it did the work is "
        f"unknown (retries={retries} are used up; ask again if asking twice does no harm)",
        code=error.code,
    )


class Req(Forming[Message], Draining):
    """Asks its Rep (or Router) peers, in turn.

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
        self._open(build_options(self._role, options, identity=identity), engine, bind, connect)

    def request(self, data: Data, *, timeout: float | None = None, retries: int = 0) -> Message:
        """Ask, and wait for the answer.

        Thread-safe: yes; many threads may ask at once, each gets its own answer.

        Args:
            data: The question.
            timeout: Seconds an attempt may take, sending included; None waits for ever.
            retries: How often to ask again after a time-out or when the peer went away; each goes
            to
                the next peer. Only for questions that may be asked twice.

        Returns:
            The answer. One that comes after its attempt was given up is dropped and counted.

        Raises:
            TimedOutError: No answer to any attempt.
            PeerError: The peer went away and no retry is left; the outcome is unknown.
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        if retries != 0:
            return self._ask_again(data, timeout, retries)
        try:
            return self._ask(data, timeout)
        except PeerError as error:
            raise lost(error, 0) from None

    def _ask_again(self, data: Data, timeout: float | None, retries: int) -> Message:
        check_count("retries", retries)
        for left in range(retries, -1, -1):
            try:
                return self._ask(data, timeout)
            except TimedOutError:
                if left == 0:
                    raise
            except PeerError as error:
                if left == 0:
                    raise lost(error, retries) from None
        raise AssertionError("the last attempt returns or raises")

    def _ask(self, data: Data, timeout: float | None) -> Message:
        ms = -1 if timeout is None else to_ms(timeout)
        deadline = None if not timeout else time.monotonic() + timeout
        body: bytes = (
            data if data.__class__ is bytes else bytes_of(data)  # pyright: ignore[reportAssignmentType]
        )
        number = [0]  # until it is sent
        slot = borrow()
        try:
            address = slot.address
            slice_ms = self._slice_ms
            rc = fast.call(self._handle, body, address, ms, slice_ms, classes_of_peers, number)
            if rc.__class__ is not int:
                reply: Message = rc
                return reply
            if not number[0]:
                self._put(body, number, timeout)
                rc = fast.await_reply(self._handle, number[0], address, ms, slice_ms)
            if rc == EINTR:
                self._log_events()
                left = timeout if deadline is None else max(deadline - time.monotonic(), LEAST_S)
                self._await_reply(number[0], slot.batch, left, timeout)
            elif rc < 0:
                raise self._error(rc, "no reply", timeout)
            return self._unpack_one(slot)
        except BaseException:  # also of a signal's function, wherever it came
            lib.mm_request_cancel(self._handle, number[0])
            slot.drop()
            raise
        finally:
            give_back(slot)

    def _put(self, body: bytes, number: list[int], timeout: float | None) -> None:
        """Send a request, waiting for room; number[0] gets its id."""
        try:
            self._blocking(
                lambda ms, slice_ms: int(fast.request(self._handle, body, ms, slice_ms, number)),
                timeout,
                "no room for a request",
            )
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                raise self._too_large(len(body), 1) from None
            raise

    def _await_reply(
        self, number: int, batch: Any, left: float | None, timeout: float | None
    ) -> None:
        """Wait on for the reply to a request."""
        try:
            self._blocking(
                lambda ms, slice_ms: lib.mm_reply(self._handle, number, batch, ms, slice_ms),
                left,
                "no reply",
            )
        except TimedOutError:
            raise self._error(lib.MM_ETIMEDOUT, "no reply", timeout) from None
