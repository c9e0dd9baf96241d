"""Topics: subscribing to them, and who is subscribed; what the roles of publish/subscribe share.

Not here: waiting for subscribers (_sync/publishing.py, aio/_publishing.py). Law: nothing here
waits.
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.data import buffer_of, encode_topic
from meshmsg._binding.message import FullMessage, Message
from meshmsg._socket.base import SocketBase
from meshmsg._socket.causes import What
from meshmsg._socket.signature import verb


def message_of_topic(self: Any, frames: list[bytes], peer: int, envelope: int) -> Message:
    """Make a message whose first frame is its topic."""
    message = FullMessage(frames[-1])
    message.peer = peer
    message._frames = tuple(frames)
    message.topic = frames[0].decode("utf-8", "surrogateescape")
    return message


@verb
def subscribe(self: SocketBase, topic: str | bytes) -> None:
    """Ask for messages whose topic begins with this; "" asks for all.

    Counted: each subscribe needs its own unsubscribe. It is sent again after reconnecting.

    Thread-safe: yes.

    Args:
        topic: A prefix; str is encoded as UTF-8.

    Raises:
        TooLargeError: Over topic_size_max.
        UsageError: The socket stopped receiving (`stop_receiving`): nothing comes any more.
        ClosedError: The socket was closed.
    """
    raw = encode_topic(topic)
    self._check(lib.mm_subscribe(self._handle, *buffer_of(raw)), f"cannot subscribe to {topic!r}")


@verb
def unsubscribe(self: SocketBase, topic: str | bytes) -> None:
    """Take back one `subscribe`.

    Thread-safe: yes.

    Args:
        topic: As it was given to `subscribe`.

    Raises:
        UsageError: It is not subscribed to.
        ClosedError: The socket was closed.
    """
    raw = encode_topic(topic)
    rc = lib.mm_unsubscribe(self._handle, *buffer_of(raw))
    if rc == lib.MM_EINVAL:
        raise error_for(rc, f"{topic!r} is not subscribed to ({self._about()})")
    self._check(rc, f"cannot unsubscribe from {topic!r}")


@verb
def subscribers(self: SocketBase, topic: str | bytes = "") -> int:
    """Tell how many peers a message of this topic would reach now.

    Thread-safe: yes.

    Args:
        topic: The topic of the message (not a prefix to look for).

    Returns:
        The number of peers.

    Raises:
        ClosedError: The socket was closed.
    """
    raw = encode_topic(topic)
    out = ffi.new("uint32_t *")
    rc = lib.mm_subscriber_count(self._handle, *buffer_of(raw), out)
    self._check(rc, "cannot count subscribers")
    return int(out[0])


def subscribers_of(self: SocketBase, topic: str | bytes, count: int) -> What:
    """What a wait for so many subscribers says that ends without them."""

    def told() -> str:
        if self._peer_count() < 0:
            return f"waiting for {count} subscribers to {topic!r}"
        return f"{subscribers(self, topic)} of {count} subscribers to {topic!r}"

    return told
