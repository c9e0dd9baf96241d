"""FanOut for asyncio: the same object, whose answers are awaited.

Not here: what it does (_fanout.py).  Law: no call blocks the loop; what is cancelled is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal

from meshmsg import TimedOutError, UsageError

from ._fanout import FanOut as Threads
from ._numbers import returns_errors
from ._slots import Slots, Wrong
from ._told import FanOutStats

ROOM_S = 0.005
"""Seconds until it is looked again whether there is room."""


class FanOut:
    """Give work items to tasks of Spark, and await one result each: as `meshmsg.spark.FanOut`.

    Takes the same arguments; `progress`, `dead` and `decode` are called by a thread. Make and use
    it in one loop.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._threads = Threads(*args, **options)

    @property
    def endpoint(self) -> str:
        """Where tasks get items."""
        return self._threads.endpoint

    async def submit(self, item: Any) -> asyncio.Future[Any]:
        """Give an item to whichever worker is next; wait while there is no room for it.

        Args:
            item: Bytes, or what `encode` makes bytes of.

        Returns:
            Its result, to be awaited. Cancelling it drops what has not gone out to a
            task; later it stops no task, and the result is dropped.

        Raises:
            TypeError, TooLargeError, FanOutError, ClosedError: As `submit` for threads.
        """
        while True:
            try:
                return asyncio.wrap_future(self._threads.submit(item, timeout=0))
            except TimedOutError:
                await asyncio.sleep(ROOM_S)

    async def map(
        self,
        items: Iterable[Any] | AsyncIterable[Any],
        *,
        ordered: bool = True,
        window: int = 10_000,
        errors: Literal["raise", "return"] = "raise",
    ) -> AsyncIterator[Any]:
        """Give the results of many items.

        Args:
            items: An iterable, or an async one.
            ordered: Results in the order of items; False: each as it comes.
            window: Items that may be open at once, of this call.
            errors: As of `map` for threads.

        Yields:
            A result an item; or, with `errors="return"`, an `ItemError`, or what `decode` raised.

        Raises:
            ItemError: An item was given up, with `errors="raise"`.
            FanOutError, ClosedError: As `submit`.
            UsageError: `window` is less than 1, or `errors` is neither of the two.
        """
        if window < 1:
            raise UsageError(f"window is {window}; it must be 1 or more")
        slots, given, taken = _Slots(ordered, returns_errors(errors)), 0, 0
        try:
            async for item in _each(items):
                await self._put(item, slots, given)
                given += 1
                while given - taken >= window or slots.ready():
                    for outcome in await slots.next():
                        taken += 1
                        yield outcome if type(outcome) is not Wrong else slots.given(outcome)
            while given > taken:
                for outcome in await slots.next():
                    taken += 1
                    yield outcome if type(outcome) is not Wrong else slots.given(outcome)
        finally:
            slots.closed = True

    async def _put(self, item: Any, slots: Slots, place: int) -> None:
        while True:
            try:
                return self._threads._submit(item, slots, 0, place)
            except TimedOutError:
                await asyncio.sleep(ROOM_S)

    def stats(self) -> FanOutStats:
        """Return the counts."""
        return self._threads.stats()

    async def close(self, *, cancel: bool = False, timeout: float | None = None) -> None:
        """Wait until all is done, then end the tasks; as `close` for threads."""
        await asyncio.to_thread(self._threads.close, cancel=cancel, timeout=timeout)

    async def __aenter__(self) -> FanOut:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close(cancel=value is not None)

    def __repr__(self) -> str:
        return repr(self._threads)


class _Slots(Slots):
    """Those of one call of `map`, whose loop is woken."""

    def __init__(self, ordered: bool, returned: bool) -> None:
        super().__init__(ordered, returned)
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    async def next(self) -> Sequence[Any]:
        """Wait for what is next, and return it, as `take` does."""
        while not self.ready():
            self._woken.clear()
            self._waits = True
            if not self.ready():  # else it came before anybody knew that this waits
                await self._woken.wait()
        self._waits = False
        return self.take()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._woken.set)


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
