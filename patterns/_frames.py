"""What came, as it is handed on: its frames, and what went with them beside those.

Not here: handing it on.  Law: what went with a message is handed on as the octets that came.
"""

from __future__ import annotations

from typing import NamedTuple

from meshmsg import Message


def frames_of(message: Message) -> list[bytes]:
    """Return a message as its socket's `recv_frames` would; of a Router with who sent it."""
    peer = message.peer
    return [peer, *message.frames] if isinstance(peer, bytes) else list(message.frames)


class Beside(NamedTuple):
    """What went with a message beside its frames: key, headers, times."""

    note: bytes | None = None
    """As octets; None: nothing."""
    expires: float | None = None
    """Until when it is of use, in seconds since 1970."""


NOTHING = Beside()


def beside(message: Message) -> Beside:
    """Return what went with a message."""
    note = message._meta
    return NOTHING if note is None else Beside(note, message.expires)
