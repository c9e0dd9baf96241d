"""Receiving, for threads that may block.

Law: a call that fails has taken nothing; messages prefetched by an iteration stay with the socket,
in order, for whoever receives next.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshmsg._core import EINTR, lib, local
from meshmsg._errors import ClosedError, UsageError
from meshmsg._message import Message
from meshmsg._send import Blocking

BATCH_MESSAGES = 256
"""Messages an iteration takes from the core at once."""
BATCH_BYTES = 1024 * 1024
"""Bytes after which a batch takes no further message."""


class Receiver(Blocking):
    """A socket that receives."""

    def _receive(self, max_messages: int, timeout: float | None) -> list[Message]:
        batch = local.batch
        rc = EINTR
        if timeout is None:
            rc = lib.mm_recv(self._handle, batch, max_messages, BATCH_BYTES, -1, self._slice_ms)
        if rc < 0:
            if rc != EINTR:
                raise self._error(rc, "no message", timeout)
            self._blocking(
                lambda ms, slice_ms: lib.mm_recv(
                    self._handle, batch, max_messages, BATCH_BYTES, ms, slice_ms
                ),
                timeout,
                "no message",
            )
        return self._unpack(batch)

    def recv(self, *, timeout: float | None = None) -> Message:
        """Receive one message, waiting for it if need be.

        Thread-safe: yes; each message goes to one thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            The message: its body as bytes, with `.frames`, `.peer` and, where there is one, `.topic`.

        Raises:
            TimedOutError: Nothing arrived in time; the socket is unchanged.
            WouldBlockError: Nothing is there (timeout=0).
            ClosedError: The socket was closed, here, while waiting.
        """
        if self._ready:
            message = self._take_ready()
            if message is not None:
                return message
        return self._receive(1, timeout)[0]

    def recv_many(
        self, max_messages: int = 1000, *, timeout: float | None = None
    ) -> list[Message]:
        """Receive what is there, waiting only for the first message.

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
        if max_messages < 1:
            raise UsageError(f"max_messages is {max_messages}; it is 1 or more")
        found: list[Message] = []
        while len(found) < max_messages:
            message = self._take_ready()
            if message is None:
                break
            found.append(message)
        return found or self._receive(max_messages, timeout)

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

    def __iter__(self) -> Iterator[Message]:
        """Iterate over messages as they come, for ever; ends when the socket is closed.

        Messages are taken from the core in batches; leaving the loop loses none of them.
        """
        while True:
            message = self._take_ready()
            if message is None:
                try:
                    found = self._receive(1 if self._fileno_taken else BATCH_MESSAGES, None)
                except ClosedError:
                    return
                message = found[0]
                self._ready.extend(found[1:])
            yield message

