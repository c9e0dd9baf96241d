"""What a receive gives: bytes that know where they came from.

Law: a Message is its body; nothing else takes part in comparison or hashing.
"""

from __future__ import annotations

from collections.abc import Callable

from meshmsg._errors import UsageError


class Message(bytes):
    """A received message: the body, as bytes, with what else is known of it.

    Attributes:
        topic: Of a Sub: the topic it was published under, "" when it was a single frame.
        peer: Who sent it: for a Router the peer's identity, else its id in `peers()`.
    """

    topic: str = ""
    peer: int | bytes = 0
    _frames: tuple[bytes, ...] = ()

    @property
    def frames(self) -> tuple[bytes, ...]:
        """All frames of the message, as ZeroMQ peers send them; the last is the body."""
        return self._frames or (bytes(self),)

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(self),)


class Request(Message):
    """A request a Rep received. `reply` answers it, once."""

    _reply: Callable[[list[bytes]], bool] | None = None

    def reply(self, data: bytes | bytearray | memoryview) -> bool:
        """Answer this request.

        Never blocks. Thread-safe: yes.

        Args:
            data: The answer.

        Returns:
            False when whoever asked is gone or takes no more; the answer is then counted as dropped.

        Raises:
            UsageError: It was answered already.
            ClosedError: The socket was closed.
        """
        send = self._reply
        if send is None:
            raise UsageError("this request was answered already; each takes one reply")
        self._reply = None
        return send([bytes(data)])
