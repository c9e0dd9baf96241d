"""What forwarders of threads and of asyncio share: their pairs, their counts.

Not here: how messages move (`_way`), and who moves them (`_forward`, `_aio`).
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from meshmsg import Stats, UsageError

SLICE_S = 0.1  # seconds between looks at whether a forwarder was stopped
LOG = logging.getLogger("meshmsg")


@dataclass(frozen=True)
class Flow:
    """What went one way.

    Attributes:
        forwarded: Messages passed on to the other socket.
        refused: Messages the other socket would not take: the requester is gone, for example.
        abandoned: Messages in hand when the forwarder was closed: 0 or 1.
        uncaptured: Messages that were passed on, and that `capture` did not take.
    """

    forwarded: int
    refused: int
    abandoned: int
    uncaptured: int = 0


@dataclass(frozen=True)
class ForwardStats:
    """What a forwarder has done, and what its sockets count.

    Attributes:
        running: Whether it forwards now.
        onward: What went from front to back.
        backward: What went from back to front.
        front: The counts of the front socket.
        back: The counts of the back socket.
    """

    running: bool
    onward: Flow
    backward: Flow
    front: Stats
    back: Stats


class Count:
    """The counts of one way, while they change.  One thread, or task, changes them."""

    def __init__(self) -> None:
        self.forwarded = self.refused = self.uncaptured = 0

    def flow(self, abandoned: bool) -> Flow:
        """The counts now."""
        return Flow(self.forwarded, self.refused, int(abandoned), self.uncaptured)


def check_pair(front: object, back: object, pairs: Sequence[tuple[type, type]]) -> bool:
    """Refuse what is no pair; whether it has two ways."""
    found = [pair for pair in pairs if isinstance(front, pair[0]) and isinstance(back, pair[1])]
    if not found:
        raise UsageError(
            f"cannot forward from {type(front).__name__} to {type(back).__name__}; pairs are "
            "Router and Dealer, XSub and XPub, Pull and Push, both for threads or both for asyncio"
        )
    if getattr(front, "_by_hand", False):
        raise UsageError(
            "cannot forward from a Pull with ack='manual': it would acknowledge nothing; "
            "ack='auto' acknowledges a message when the next one is taken"
        )
    return found[0] is not pairs[-1]


def check_capture(capture: object, *, awaited: bool) -> None:
    """Refuse what cannot take captured messages; `awaited`: sockets are those of asyncio."""
    if capture is None:
        return
    name = type(capture).__name__
    sends = hasattr(capture, "send_frames")
    if sends and hasattr(capture, "__aenter__") is not awaited:
        found, wanted = ("threads", "asyncio") if awaited else ("asyncio", "threads")
        raise TypeError(f"capture is a {name} for {found}; this Forward is for {wanted}")
    calls = (capture, getattr(type(capture), "__call__", None))  # noqa: B004
    if any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in calls):
        raise TypeError("capture is a coroutine function, which is not awaited; use a plain one")
    if not callable(capture) and not sends:
        raise TypeError(f"capture is a {name}: neither callable nor a sender")


def check_captured(found: object) -> None:
    """Refuse what a function has only promised to do: nobody awaits it."""
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError("capture returned an awaitable, which is not awaited; use a plain function")
