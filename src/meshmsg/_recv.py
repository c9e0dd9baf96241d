"""Receiving, for threads that may block.

Law: a call that fails has taken nothing; messages prefetched by an iteration stay with the socket,
in order, for whoever receives next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshmsg._blocking import Blocking
from meshmsg._core import EAGAIN, EINTR, borrow, fast, give_back, lib, to_ms
from meshmsg._errors import ClosedError
from meshmsg._inbox import Inbox
from meshmsg._options import check_batch
from meshmsg._unpack import MessageT

BATCH_MESSAGES = 512
"""Messages an iteration takes from the core at once."""
BATCH_BYTES = 1024 * 1024
"""Bytes after which a batch takes no further message."""


class Receiver(Inbox[MessageT], Blocking):
    """A socket that receives."""

    def _receive(self, max_messages: int, timeout: float | None) -> list[MessageT]:
        """Take what was asked for, no more."""
        ms, slice_ms = self._first_try(timeout)
        slot = borrow()
        try:
            if not self._prefetched:
                rc = lib.mm_recv(self._handle, slot.batch, max_messages, BATCH_BYTES, ms, slice_ms)
                if rc > 0:
                    return self._unpack(slot.batch)
                if rc != EINTR and (rc != EAGAIN or timeout == 0):
                    raise self._error(rc, "no message", timeout)
            return self._receive_in_turn(slot.batch, max_messages, timeout)
        finally:
            give_back(slot)

    def _first_try(self, timeout: float | None) -> tuple[int, int]:
        """Return how a first try waits, (timeout_ms, slice_ms): for ever, or not at all."""
        if timeout is None:
            return -1, self._slice_ms
        to_ms(timeout)  # refuses what is no time
        return 0, 0

    def _receive_in_turn(
        self, batch: Any, max_messages: int, timeout: float | None, prefetch: int = 0
    ) -> list[MessageT]:
        """Receive beside threads that prefetch; what is prefetched over the first stays ready."""
        to_ms(timeout)
        asleep = False
        try:
            with self._inbox_lock:
                found = self._take_many(max_messages)
                if found:
                    return found
                if prefetch and not (self._sleepers or self._fileno_taken):
                    first = self._ready.fill(
                        self._handle, prefetch, BATCH_BYTES, self._plain, self._unpack_at
                    )
                    if type(first) is not int:
                        return [first]
                    rc = first
                else:
                    rc = lib.mm_recv(self._handle, batch, max_messages, BATCH_BYTES, 0, 0)
                    if rc > 0:
                        return self._unpack(batch)
                if rc != EAGAIN or timeout == 0:
                    raise self._error(rc, "no message", timeout)
                self._sleepers += 1
                asleep = True
            self._blocking(
                lambda ms, slice_ms: lib.mm_recv(
                    self._handle, batch, max_messages, BATCH_BYTES, ms, slice_ms
                ),
                timeout,
                "no message",
            )
            return self._unpack(batch)
        finally:
            if asleep:
                with self._inbox_lock:
                    self._sleepers -= 1

    def recv(self, *, timeout: float | None = None) -> MessageT:
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
            ClosedError: The socket was closed, here, while waiting.
        """
        if self._ready:
            message = self._take_ready()
            if message is not None:
                return message
        if self._prefetched:
            return self._receive_ahead(timeout)
        ms, slice_ms = (-1, self._slice_ms) if timeout is None else self._first_try(timeout)
        slot = borrow()
        try:
            rc = fast.recv(self._handle, slot.address, 1, BATCH_BYTES, ms, slice_ms)
            if rc == 1:
                return self._unpack_one(slot)
        finally:
            give_back(slot)
        return self._receive(1, timeout)[0]

    def _receive_ahead(self, timeout: float | None) -> MessageT:
        """Receive one message, and what is there behind it, which stays ready."""
        slot = borrow()
        try:
            return self._receive_in_turn(slot.batch, 1, timeout, BATCH_MESSAGES)[0]
        finally:
            give_back(slot)

    def recv_many(
        self, max_messages: int = 1000, *, timeout: float | None = None
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
            found = self._take_many(max_messages)
            if found:
                return found
        return self._receive(max_messages, timeout)

    def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
        """Receive one message as its frames, as ZeroMQ peers send them.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            All frames; of a Router the first is the peer's identity.

        Raises:
            TimedOutError, WouldBlockError, ClosedError: As `recv`.
        """
        return list(self.recv(timeout=timeout).frames)

    def __iter__(self) -> Iterator[MessageT]:
        """Iterate over messages as they come, for ever; ends when the socket is closed.

        Messages are taken from the core in batches; leaving the loop loses none of them.
        """
        self._prefetched = True
        stream: Iterator[MessageT] = fast.stream(self._ready, self._refill)
        return stream

    def _refill(self) -> MessageT:
        """Receive the next one for an iteration, and what is there behind it."""
        try:
            return self._receive_ahead(None)
        except ClosedError:
            raise StopIteration from None
