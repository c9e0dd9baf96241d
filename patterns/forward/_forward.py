"""Forward: joins two sockets, so that peers which cannot reach each other meet in one place.

It is no broker: it stores nothing beyond the bounded queues of its two sockets, and when one side
is slow the other is slowed down.
Law: every message taken from one side was passed on, refused with a count, is in hand, or was in
hand when the forwarder was closed; so received = forwarded + refused + abandoned + in hand.
`stop` and `close` hold no lock: a signal's function, and a `capture`, may call them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType

from meshmsg import (
    ClosedError,
    Dealer,
    Pub,
    Pull,
    Push,
    Router,
    XPub,
    XSub,
)

from ._flow import SLICE_S, Flow, check_capture, check_pair
from ._form import ForwardForm
from ._way import WayForm

Front = Router | XSub | Pull
Back = Dealer | XPub | Push
Capture = Push | Pub | Dealer | Callable[[list[bytes]], object]

_PAIRS = ((Router, Dealer), (XSub, XPub), (Pull, Push))


class Forward(ForwardForm[Front, Back, "_Way"]):
    """Pass messages between two sockets, with threads of its own, until it is closed.

    Three kinds of pairs make sense:

    * `Router` and `Dealer`: requests from many clients to many servers, replies back.
    * `XSub` and `XPub`: what many publishers say to many subscribers, subscriptions back.
    * `Pull` and `Push`: jobs, one way.

    The forwarder owns both sockets from then on: closing it closes them.

    Thread-safe: yes, every method; a signal's function may call all but `start`.

    Example::

        front = meshmsg.Router(bind="tcp://127.0.0.1:5555")     # clients connect here
        back = meshmsg.Dealer(bind="tcp://127.0.0.1:5556")      # servers connect here
        with Forward(front, back) as forward:
            ...
            print(forward.onward.forwarded, forward.backward.forwarded)
    """

    def __init__(self, front: Front, back: Back, *, capture: Capture | None = None) -> None:
        """Start to forward.

        Args:
            front: The side requests, publications or jobs come from.
            back: The side they go to.
            capture: Is given every message that was passed on, both ways, as its frames: a
                function, or a socket, which stays its owner's. A socket never slows the forwarder
                down: what it does not take at once, and what makes a function raise, is counted
                (`Flow.uncaptured`).

        Raises:
            UsageError: These two do not make a pair, or the Pull has ack="manual"; they are left
                open.
            TypeError: `capture` takes no messages, as a coroutine function, or a socket of asyncio.
        """
        both = check_pair(front, back, _PAIRS)
        check_capture(capture, awaited=False)
        self._front, self._back = front, back
        self._lock = threading.Lock()
        self._closed = False
        self._ways = [_Way(front, back, capture)]
        if both:
            self._ways.append(_Way(back, front, capture))
        self.start()

    def __enter__(self) -> Forward:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Forward again after `stop`; a forwarder that is made has started.

        Thread-safe: yes. Starting one that runs is harmless.

        Raises:
            ClosedError: It was closed.
        """
        with self._lock:
            if self._closed:
                raise ClosedError("this Forward was closed; make a new one with new sockets")
            for way in self._ways:
                way.start()

    def stop(self) -> None:
        """Stop forwarding, and leave both sockets open: what comes waits in their queues.

        What is in hand is passed on first, unless there is no room for it: then it is kept for
        `start`.

        Thread-safe: yes. Stopping one that does not run is harmless.
        """
        for way in self._ways:
            way.stopping = True
        for way in self._ways:
            way.stop()

    def close(self) -> None:
        """Close both sockets and stop; what they have queued lingers as for any socket.

        Thread-safe: yes; closing twice is harmless.
        """
        self._closed = True
        self._front.close()
        self._back.close()
        for way in self._ways:
            way.closed = way.stopping = True
        for way in self._ways:
            way.stop()


class _Way(WayForm):
    """One direction and its thread."""

    _pause = staticmethod(partial(time.sleep, SLICE_S))
    _thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self.running:
            if not self.stopping:
                return
            self.stop()
        self.stopping = self.closed
        self._thread = threading.Thread(target=self._run, name="meshmsg-forward", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for that, unless it is this one."""
        self.stopping = True
        thread = self._thread
        if thread is not None and thread.ident and thread is not threading.current_thread():
            thread.join()

    def flow(self) -> Flow:
        """The counts now."""
        return self._flow(self.running)

    def _run(self) -> None:
        steps = self.steps()
        with suppress(StopIteration):
            call = next(steps)
            while True:
                try:
                    found = call()
                except Exception as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(found)
