"""FanOut for asyncio: the same object, whose answers are awaited.

Not here: what it does (_fanout.py).  Law: no call blocks the loop; what is cancelled is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from types import TracebackType
from typing import Any, Literal

from meshmsg import TimedOutError, UsageError

from ._fanout import FanOut as Threads
from ._numbers import returns_errors
from ._slots import given_or_raised
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
            Its result, to be awaited. Cancelling it stops no task; the result is dropped.

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
        returned = returns_errors(errors)
        open_ = _Open(ordered)
        try:
            async for item in _each(items):
                open_.add(await self.submit(item))
                while open_.count >= window or open_.ready():
                    yield await _answer(await open_.take(), returned)
            while open_.count:
                yield await _answer(await open_.take(), returned)
        finally:
            open_.cancel()

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


class _Open:
    """The futures of one call of `map` that were not taken."""

    def __init__(self, ordered: bool) -> None:
        self._ordered = ordered
        self._futures: deque[asyncio.Future[Any]] = deque()
        self._others: set[asyncio.Future[Any]] = set()
        self._done: asyncio.Queue[asyncio.Future[Any]] = asyncio.Queue()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._futures) + len(self._others)

    def add(self, future: asyncio.Future[Any]) -> None:
        """Take one more."""
        if self._ordered:
            self._futures.append(future)
        else:
            self._others.add(future)
            future.add_done_callback(self._done.put_nowait)

    def ready(self) -> bool:
        """Whether the next one has its answer."""
        return self._futures[0].done() if self._futures else not self._done.empty()

    async def take(self) -> asyncio.Future[Any]:
        """Return the next one: in order, or as they have answers."""
        if self._ordered:
            return self._futures.popleft()
        future = await self._done.get()
        self._others.remove(future)
        return future

    def cancel(self) -> None:
        """Drop all."""
        for future in (*self._futures, *self._others):
            future.cancel()


async def _answer(future: asyncio.Future[Any], returned: bool) -> Any:
    try:
        return await future
    except Exception as error:
        return given_or_raised(error, returned)


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
