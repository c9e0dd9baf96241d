"""What forwarders of threads and of asyncio share: their pairs, their counts.

Not here: who moves the messages (forward.py, aio/).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from meshmsg import Stats, UsageError

SLICE_S = 0.1  # seconds between looks at whether a forwarder was stopped
LOG = logging.getLogger("meshmsg")


@dataclass(frozen=True)
class Flow:
    """What went one way."""

    forwarded: int
    """Messages passed on to the other socket."""
    refused: int
    """Messages the other socket would not take: the requester is gone, for example."""
    abandoned: int
    """Messages in hand when the forwarder was closed: 0 or 1."""
    uncaptured: int = 0
    """Messages that were passed on, and that `capture` did not take."""


@dataclass(frozen=True)
class ForwardStats:
    """What a forwarder has done, and what its sockets count."""

    running: bool
    """Whether it forwards now."""
    onward: Flow
    """What went from front to back."""
    backward: Flow
    """What went from back to front."""
    front: Stats
    """The counts of the front socket."""
    back: Stats
    """The counts of the back socket."""


class Count:
    """The counts of one way, while they change."""

    def __init__(self) -> None:
        self.forwarded = self.refused = self.abandoned = self.uncaptured = 0

    def flow(self) -> Flow:
        """The counts now."""
        return Flow(self.forwarded, self.refused, self.abandoned, self.uncaptured)


def check_pair(
    front: object, back: object, pairs: Sequence[tuple[type, type]], capture: object
) -> bool:
    """Refuse what is no pair, and what cannot take captured messages; whether it has two ways."""
    found = [pair for pair in pairs if isinstance(front, pair[0]) and isinstance(back, pair[1])]
    if not found:
        raise UsageError(
            f"cannot forward from {type(front).__name__} to {type(back).__name__}; pairs are "
            "Router and Dealer, XSub and XPub, Pull and Push, both for threads or both for asyncio"
        )
    if capture is not None and not callable(capture) and not hasattr(capture, "send_frames"):
        raise UsageError(f"capture is a {type(capture).__name__}: neither callable nor a sender")
    return found[0] is not pairs[-1]
