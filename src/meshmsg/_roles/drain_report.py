"""What became of the messages that a socket sent: what `drain` reports.

Not here: waiting for it (_sync/socket.py, aio/_sending.py). Law: every field has the meaning its C
namesake has in meshmsg.h.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from meshmsg._binding.errors import MeshError
from meshmsg._binding.record import Record


@dataclass(frozen=True, eq=False, repr=False)
class DrainReport(Record):
    """What became of the messages that were sent.

    Attributes:
        delivered: Confirmed: the peer has read them off its connection; of a Push with
            `delivery="at_least_once"`: acknowledged.
        unconfirmed: Written, but the peer has not confirmed, or acknowledged, them in time.
        unconfirmable: Written to peers that cannot confirm (ZMTP 3.0, SP), also to those that are
            gone since: whether they read it is not known.
        queued: Not written yet.
        in_doubt: Written to connections that ended before they were confirmed, and not since.
        dropped: Dropped by the overflow policy, for want of a peer, with a peer that left, or as
            its wire has no words for them (several frames, over SP), or it takes less; and those
            that expired or were handed out too often, dead letters among them.
        socket: Which socket it is of, in words.
    """

    delivered: int
    unconfirmed: int
    unconfirmable: int
    queued: int
    in_doubt: int
    dropped: int
    socket: str = field(default="", compare=False)

    def raise_for_loss(self) -> None:
        """Raise unless everything sent was delivered, or went to peers that cannot confirm.

        Thread-safe: yes.

        Raises:
            MeshError: Something is not known to be delivered; the message says how much, and why.
        """
        parts = {
            "still queued": self.queued,
            "written but not confirmed": self.unconfirmed,
            "in doubt, as their connection ended": self.in_doubt,
            "dropped": self.dropped,
        }
        lost = [f"{count:,} {what}" for what, count in parts.items() if count]
        if lost:
            if self.unconfirmable:
                lost.append(f"{self.unconfirmable:,} to peers that cannot confirm, not known")
            whose = f" ({self.socket})" if self.socket else ""
            raise MeshError(f"not everything was delivered: {', '.join(lost)}{whose}")


def drain_of(raw: Any, socket: str) -> DrainReport:
    """Make a DrainReport of an mm_drain_info."""
    return DrainReport(
        delivered=raw.confirmed_messages,
        unconfirmed=raw.unconfirmed_messages,
        unconfirmable=raw.unconfirmable_messages,
        queued=raw.queued_messages,
        in_doubt=raw.in_doubt_messages,
        dropped=raw.dropped_messages,
        socket=socket,
    )
