"""The limits of a window, and what is refused beyond them.

Not here: what counts towards them. Law: each limit is a constant with its unit, and is documented.
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.errors import OutsideWindowError, PeerError, UsageError
from meshmsg._binding.message import Message

LIMIT = 100_000
"""Messages a window remembers, unless it is said."""
LIMIT_MAX = 100_000_000
"""Messages a window may be told to remember."""
CONNECTIONS_MAX = 65_536
"""Connections of senders of which a window knows that it has forgotten messages."""
EPOCH_MAX = 2**64 - 1
SEQ_MAX = 2**63 - 1
"""The largest number of a message that a database takes; no honest sender comes so far."""


def check_limit(limit: int) -> int:
    """Refuse what is no number of messages."""
    whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not whole or not 1 <= limit <= LIMIT_MAX:
        raise UsageError(f"limit is {limit!r}; it is a whole number from 1 to {LIMIT_MAX:,}")
    return limit


def identity(message: Message | tuple[int, int]) -> tuple[int, int]:
    """Return where a message was first; refuse one of which nobody knows."""
    if isinstance(message, Message):
        found: Any = message.seq
        if found is None:
            raise UsageError(
                "this message has no seq, so nobody can say whether it comes again: send it by a "
                "Push with delivery='at_least_once', receive it by a Pull with ack='manual'; or "
                "receive it of a Pub with a spool, by a Sub with replay= or group="
            )
    else:
        found = message
        if not isinstance(found, tuple) or [type(part) for part in found] != [int, int]:
            raise TypeError(
                f"a message of a Pull, or its seq, is needed, not {type(message).__name__}: "
                "what was pickled or copied is plain bytes; hand message.seq on beside it"
            )
    epoch, seq = found
    if not 0 <= epoch <= EPOCH_MAX or not 1 <= seq <= SEQ_MAX:
        raise PeerError(f"no message has the number {seq} of the connection {epoch}")
    return epoch, seq


def outside(seq: int, floor: int, limit: int) -> OutsideWindowError:
    """Return the error of a message that is older than what a window remembers."""
    return OutsideWindowError(
        f"message {seq} of its connection may have been done: the window, of {limit:,} messages, "
        f"has forgotten those up to {floor}; decide, and acknowledge it, or raise the limit",
        seq=seq,
        floor=floor,
        limit=limit,
    )
