"""What a forwarder is to those who look at it, for threads and for asyncio alike.

Not here: starting, stopping and closing it (`_forward`, `_aio`), how messages move (`_way`).  Law:
looking changes nothing.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from meshmsg import Stats

from ._flow import Flow, ForwardStats


class Side(Protocol):
    """A socket of either kind."""

    def stats(self) -> Stats:
        """Its counters."""
        ...


class Way(Protocol):
    """One direction, whoever drives it."""

    @property
    def running(self) -> bool:
        """Whether it is driven."""
        ...

    def flow(self) -> Flow:
        """The counts now."""
        ...


FrontT = TypeVar("FrontT", bound=Side)
BackT = TypeVar("BackT", bound=Side)
WayT = TypeVar("WayT", bound=Way)


class ForwardForm(Generic[FrontT, BackT, WayT]):
    """Two sockets, and one way or two between them."""

    _front: FrontT
    _back: BackT
    _ways: list[WayT]
    """From front to back; and back, if there is such a way."""

    def __repr__(self) -> str:
        return f"<Forward {self._front!r} to {self._back!r}>"

    @property
    def front(self) -> FrontT:
        """The side requests, publications or jobs come from: where it is bound, who is there."""
        return self._front

    @property
    def back(self) -> BackT:
        """The side they go to."""
        return self._back

    @property
    def running(self) -> bool:
        """Whether it forwards now."""
        return any(way.running for way in self._ways)

    @property
    def onward(self) -> Flow:
        """What went from front to back."""
        return self._ways[0].flow()

    @property
    def backward(self) -> Flow:
        """What went from back to front; always nothing for `Pull` and `Push`."""
        return self._ways[1].flow() if len(self._ways) > 1 else Flow(0, 0, 0)

    def stats(self) -> ForwardStats:
        """All counts: what went each way, and those of both sockets.

        Thread-safe: yes; of asyncio: no, as its loop.

        Returns:
            The counts now.

        Raises:
            ClosedError: It was closed.
        """
        return ForwardStats(
            running=self.running,
            onward=self.onward,
            backward=self.backward,
            front=self._front.stats(),
            back=self._back.stats(),
        )
