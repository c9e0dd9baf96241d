"""Forward for asyncio: joins two sockets, with a task of the loop for each way.

Law: as of the one for threads: received = forwarded + refused + abandoned + in hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType

from meshmsg import ClosedError, UsageError
from meshmsg.aio import Dealer, Pub, Pull, Push, Router, XPub, XSub

from ._flow import SLICE_S, Flow, check_capture, check_pair
from ._form import ForwardForm
from ._way import WayForm

Front = Router | XSub | Pull
Back = Dealer | XPub | Push
Capture = Push | Pub | Dealer | Callable[[list[bytes]], object]

_PAIRS = ((Router, Dealer), (XSub, XPub), (Pull, Push))


class Forward(ForwardForm[Front, Back, "_Way"]):
    """Pass messages between two asyncio sockets, with tasks of its own, until it is closed.

    It is `meshmsg.patterns.Forward` for asyncio: the same pairs of sockets, which it owns from then
    on.  It is made on a running loop and belongs to it.

    Thread-safe: no; as its loop.

    Example::

        front = aio.Router(bind="tcp://127.0.0.1:5555")     # clients connect here
        back = aio.Dealer(bind="tcp://127.0.0.1:5556")      # servers connect here
        async with Forward(front, back) as forward:
            ...
            print(forward.onward.forwarded, forward.backward.forwarded)
    """

    def __init__(self, front: Front, back: Back, *, capture: Capture | None = None) -> None:
        """Start to forward.

        Args:
            front: The side requests, publications or jobs come from.
            back: The side they go to.
            capture: Is given every message that was passed on, both ways, as its frames: a
                function, which is not awaited, or an asyncio socket, which stays its owner's.

        Raises:
            UsageError: These two do not make a pair, the Pull has ack="manual", or no event loop
                runs; they are left open.
            TypeError: `capture` takes no messages, as a coroutine function, or a sync socket.
        """
        both = check_pair(front, back, _PAIRS)
        check_capture(capture, awaited=True)
        self._front, self._back = front, back
        self._closed = False
        self._ways = [_Way(front, back, capture)]
        if both:
            self._ways.append(_Way(back, front, capture))
        self.start()

    async def __aenter__(self) -> Forward:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def start(self) -> None:
        """Forward again after `stop`; a forwarder that is made has started.

        Thread-safe: no. Starting one that runs is harmless.

        Raises:
            ClosedError: It was closed.
            UsageError: No event loop runs.
        """
        if self._closed:
            raise ClosedError("this Forward was closed; make a new one with new sockets")
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("an asyncio Forward is started while its event loop runs") from None
        for way in self._ways:
            way.start(loop)

    async def stop(self) -> None:
        """Stop forwarding, and leave both sockets open: what comes waits in their queues.

        Cancel-safe: yes; it stops. Thread-safe: no. Stopping one that does not run is harmless.
        """
        for way in self._ways:
            way.stopping = True
        for way in self._ways:
            await way.stop()

    async def close(self) -> None:
        """Close both sockets and stop; what they have queued lingers as for any socket.

        Cancel-safe: yes; it is closed. Thread-safe: no; closing twice is harmless.
        """
        self._closed = True
        self._front.close()
        self._back.close()
        for way in self._ways:
            way.closed = way.stopping = True
        for way in self._ways:
            await way.stop()


class _Way(WayForm):
    """One direction and its task."""

    _pause = staticmethod(partial(asyncio.sleep, SLICE_S))
    _task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether its task runs."""
        return self._task is not None and not self._task.done()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the task, unless it runs."""
        if not self.running:
            self.stopping = False
            self._task = loop.create_task(self._run())

    async def stop(self) -> None:
        """End the task."""
        self.stopping = True
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    def flow(self) -> Flow:
        """The counts now."""
        return self._flow(self.running)

    async def _run(self) -> None:
        steps = self.steps()
        with suppress(StopIteration):
            call = next(steps)
            while True:
                try:
                    found = await call()
                except Exception as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(found)
