"""Forward: joins two sockets, so that peers which cannot reach each other meet in one place.

It is no broker: it stores nothing beyond the bounded queues of its two sockets, and when one side
is slow the other is slowed down.
Law: every message taken from one side was passed on, refused with a count, or was in hand when
the forwarder was closed; so received = forwarded + refused + abandoned, each way.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import TracebackType

from meshmsg import (
    ClosedError,
    Dealer,
    MeshError,
    Pull,
    Push,
    Router,
    UsageError,
    XPub,
    XSub,
)

Front = Router | XSub | Pull
Back = Dealer | XPub | Push

_PAIRS = ((Router, Dealer), (XSub, XPub), (Pull, Push))


@dataclass(frozen=True)
class Flow:
    """What went one way."""

    forwarded: int
    """Messages passed on to the other socket."""
    refused: int
    """Messages the other socket would not take: the requester is gone, for example."""
    abandoned: int
    """Messages in hand when the forwarder was closed: 0 or 1."""


class Forward:
    """Pass messages between two sockets, with threads of its own, until it is closed.

    Three kinds of pairs make sense:

    * `Router` and `Dealer`: requests from many clients to many servers, replies back.
    * `XSub` and `XPub`: what many publishers say to many subscribers, subscriptions back.
    * `Pull` and `Push`: jobs, one way.

    The forwarder owns both sockets from then on: closing it closes them.

    Thread-safe: yes, every method.

    Example::

        front = meshmsg.Router(bind="tcp://127.0.0.1:5555")     # clients connect here
        back = meshmsg.Dealer(bind="tcp://127.0.0.1:5556")      # servers connect here
        with Forward(front, back) as forward:
            ...
            print(forward.onward.forwarded, forward.backward.forwarded)
    """

    def __init__(self, front: Front, back: Back) -> None:
        """Start to forward.

        Args:
            front: The side requests, publications or jobs come from.
            back: The side they go to.

        Raises:
            UsageError: These two do not make a pair; they are left open.
        """
        if not any(isinstance(front, one) and isinstance(back, two) for one, two in _PAIRS):
            raise UsageError(
                f"cannot forward from {type(front).__name__} to {type(back).__name__}; pairs are "
                "Router and Dealer, XSub and XPub, Pull and Push"
            )
        self._sockets = (front, back)
        self._ways = [_Way(front, back)]
        if not isinstance(front, Pull) and not isinstance(back, Push):
            self._ways.append(_Way(back, front))
        for way in self._ways:
            way.thread.start()

    def __enter__(self) -> Forward:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        front, back = self._sockets
        return f"<Forward {front!r} to {back!r}>"

    @property
    def onward(self) -> Flow:
        """What went from front to back."""
        return self._ways[0].flow()

    @property
    def backward(self) -> Flow:
        """What went from back to front; always nothing for `Pull` and `Push`."""
        return self._ways[1].flow() if len(self._ways) > 1 else Flow(0, 0, 0)

    def close(self) -> None:
        """Close both sockets and stop; what they have queued lingers as for any socket.

        Thread-safe: yes; closing twice is harmless.
        """
        for socket in self._sockets:
            socket.close()
        for way in self._ways:
            way.thread.join()


class _Way:
    """One direction and its thread."""

    def __init__(self, source: Front | Back, target: Front | Back) -> None:
        assert not isinstance(source, Push)
        assert not isinstance(target, Pull)
        self._source, self._target = source, target
        self._lock = threading.Lock()
        self._forwarded = self._refused = self._abandoned = 0
        self.thread = threading.Thread(target=self._run, name="meshmsg-forward", daemon=True)

    def flow(self) -> Flow:
        """The counts now."""
        with self._lock:
            return Flow(self._forwarded, self._refused, self._abandoned)

    def _run(self) -> None:
        while True:
            try:
                frames = self._source.recv_frames()
            except ClosedError:
                return
            try:
                self._target.send_frames(frames)
            except ClosedError:
                with self._lock:
                    self._abandoned += 1
                return
            except MeshError:
                with self._lock:
                    self._refused += 1
            else:
                with self._lock:
                    self._forwarded += 1
