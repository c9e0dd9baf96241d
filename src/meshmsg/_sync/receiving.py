"""Receiving, for threads that may block.

Law: a call that fails has taken nothing; messages prefetched by an iteration stay with the socket,
in order, for whoever receives next.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

from meshmsg._binding.core import EAGAIN, EINTR, native, to_ms
from meshmsg._binding.errors import ClosedError, EndOfStreamError
from meshmsg._binding.message import Message
from meshmsg._roles.batches import check_by_hand
from meshmsg._socket.inbox import MessageT
from meshmsg._socket.options import check_batch
from meshmsg._socket.signature import verb
from meshmsg._sync.socket import Socket

BATCH_MESSAGES = 512
"""Messages an iteration takes from the core at once."""
BATCH_BYTES = 1024 * 1024
"""Bytes after which a batch takes no further message."""


class _Receives(Protocol):
    def recv(self, *, timeout: float | None = None) -> Message: ...


def _receive(self: Socket[MessageT], max_messages: int, timeout: float | None) -> list[MessageT]:
    """Take what was asked for, no more."""
    if self._prefetched:
        return _receive_in_turn(self, max_messages, timeout)
    if timeout is not None:
        to_ms(timeout)  # refuses what is no time
    ms, slice_ms = (-1, self._slice_ms) if timeout is None else (0, 0)
    try:
        found: list[MessageT] | int = self._ready.recv_many(
            self, self._handle, max_messages, BATCH_BYTES, ms, slice_ms
        )
    except BaseException:
        self._ready.keep([])
        raise
    return found if isinstance(found, list) else _receive_on(self, found, max_messages, timeout)


def _receive_on(
    self: Socket[MessageT], rc: int, max_messages: int, timeout: float | None
) -> list[MessageT]:
    """Receive after a first try that gave this code."""
    if rc != EINTR and (rc != EAGAIN or timeout == 0):
        raise self._error(rc, "no message", timeout)
    return _receive_in_turn(self, max_messages, timeout)


def _receive_in_turn(
    self: Socket[MessageT], max_messages: int, timeout: float | None, prefetch: int = 0
) -> list[MessageT]:
    """Receive beside threads that prefetch; what is prefetched over the first stays ready."""
    to_ms(timeout)
    found: list[MessageT] = []
    asleep = False

    def take(ms: int, slice_ms: int) -> int:
        nonlocal found
        taken: list[MessageT] | int = self._ready.recv_many(
            self, self._handle, max_messages, BATCH_BYTES, ms, slice_ms
        )
        if isinstance(taken, int):
            return taken
        found = taken
        return len(found)

    try:
        try:
            with self._ready as ready:
                ahead = prefetch and not (ready.watched or ready or ready.sleeps(0))
                rc = _take_ahead(self, prefetch, found) if ahead else take(0, 0)
                if rc > 0:
                    return found
                if rc != EAGAIN or timeout == 0:
                    raise self._error(rc, "no message", timeout)
                asleep = True
                ready.sleeps(1)
            self._blocking(take, timeout, "no message")
        finally:
            if asleep:
                self._ready.sleeps(-1)
    except BaseException:
        self._ready.keep(found)
        raise
    return found


def _take_ahead(self: Socket[MessageT], count: int, found: list[MessageT]) -> int:
    """Take one message, and leave what is there behind it ready; a code."""
    first: Any = self._ready.recv(self, self._handle, count, BATCH_BYTES, 0, 0)
    if type(first) is int:
        return first
    found.append(first)
    return 1


@verb
def recv(self: Socket[MessageT], *, timeout: float | None = None) -> MessageT:
    """Receive one message, waiting for it if need be.

    Thread-safe: yes; each message goes to one thread.

    Args:
        timeout: Seconds to wait; None waits for ever, 0 never waits.

    Returns:
        The message: its body as bytes, with `.frames`, `.peer` and, where there is one,
        `.topic`; of a Rep, a Request.

    Raises:
        TimedOutError: Nothing arrived in time; the socket is unchanged.
        WouldBlockError: Nothing is there (timeout=0).
        EndOfStreamError: There is nothing, and all who send have finished (`Push.finish`).
        ClosedError: The socket was closed, here, while waiting.
    """
    if self._prefetched:
        message: MessageT | None = self._ready.pop()
        return message if message is not None else _recv_in_turn(self, timeout)
    found: Any
    try:
        if timeout is None:
            found = self._ready.one(self)
        else:
            to_ms(timeout)  # refuses what is no time
            found = self._ready.recv(self, self._handle, 1, BATCH_BYTES, 0, 0)
    except BaseException:
        self._ready.keep([])
        raise
    if type(found) is int:
        return _receive_on(self, found, 1, timeout)[0]
    received: MessageT = found
    return received


def _recv_in_turn(self: Socket[MessageT], timeout: float | None) -> MessageT:
    """Receive one message, beside or after iterations."""
    if timeout is None:
        message: MessageT | None = self._ready.turn(*_turn_of(self))
        if message is not None:
            return message
    return _receive_in_turn(self, 1, timeout, BATCH_MESSAGES)[0]


def _turn_of(self: Socket[MessageT]) -> tuple[Any, ...]:
    """What a wait for the next message and those behind it is told."""
    return self, self._handle, BATCH_MESSAGES, BATCH_BYTES, -1, self._slice_ms


@verb
def recv_many(
    self: Socket[MessageT], max_messages: int = 1000, *, timeout: float | None = None
) -> list[MessageT]:
    """Receive what is there, waiting only for the first message.

    A call may leave some for the next: what came in together is handed over together, uncopied.

    Thread-safe: yes.

    Args:
        max_messages: How many at most, 1 or more.
        timeout: Seconds to wait for the first; None waits for ever, 0 never waits.

    Returns:
        One message or more, oldest first.

    Raises:
        TimedOutError, WouldBlockError, ClosedError: As `recv`.
        UsageError: max_messages is below 1.
    """
    check_batch(max_messages)
    if self._ready:
        found: list[MessageT] = self._ready.take(max_messages)
        if found:
            return found
    return _receive(self, max_messages, timeout)


@verb
def recv_frames(self: _Receives, *, timeout: float | None = None) -> list[bytes]:
    """Receive one message as its frames, as ZeroMQ peers send them.

    Thread-safe: yes.

    Args:
        timeout: Seconds to wait; None waits for ever, 0 never waits.

    Returns:
        All frames; of a Router the first is the peer's identity.

    Raises:
        TimedOutError, WouldBlockError, ClosedError: As `recv`.
    """
    check_by_hand(self, "recv_frames")
    return list(self.recv(timeout=timeout).frames)


@verb
def iterate(self: Socket[MessageT]) -> Iterator[MessageT]:
    """Iterate over messages as they come; ends when the socket is closed, or when everybody who
    sends to it has sent the last one (`Push.finish`).

    Messages are taken from the core in batches; leaving the loop loses none of them.
    """
    self._prefetched = True
    stream: Iterator[MessageT] = native.stream(self._ready, partial(_refill, self), *_turn_of(self))
    return stream


def _refill(self: Socket[MessageT]) -> MessageT:
    """Receive the next one for an iteration, and what is there behind it."""
    try:
        return _receive_in_turn(self, 1, None, BATCH_MESSAGES)[0]
    except (ClosedError, EndOfStreamError):
        raise StopIteration from None
