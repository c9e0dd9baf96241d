"""FanOut for asyncio: the same object, whose answers are awaited.

Not here: what it does (_fanout.py).  Law: no call blocks the loop; what is cancelled is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from types import TracebackType
from typing import Any

from meshmsg import TimedOutError, UsageError

from ._fanout import FanOut as Threads
from ._told import FanOutStats

ROOM_S = 0.005
"""Seconds until it is looked again whether there is room."""


class FanOut:
    """Give work items to tasks of Spark, and await one result each: as `meshmsg.spark.FanOut`.

    Takes the same arguments; `progress` and `decode` are called by a thread. Make and use it in one
    loop.
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
    ) -> AsyncIterator[Any]:
        """Give the results of many items.

        Args:
            items: An iterable, or an async one.
            ordered: Results in the order of items; False: each as it comes.
            window: Items that may be open at once, of this call.

        Yields:
            A result an item.

        Raises:
            ItemError: An item was given up; the iteration ends there.
            FanOutError, ClosedError: As `submit`.
            UsageError: `window` is less than 1.
        """
        if window < 1:
            raise UsageError(f"window is {window}; it must be 1 or more")
        futures: deque[asyncio.Future[Any]] = deque()
        done: asyncio.Queue[asyncio.Future[Any]] = asyncio.Queue()
        count = 0
        try:
            async for item in _each(items):
                future = await self.submit(item)
                count += 1
                if ordered:
                    futures.append(future)
                else:
                    future.add_done_callback(done.put_nowait)
                while count and (count >= window or _ready(futures, done)):
                    yield await (futures.popleft() if ordered else await done.get())
                    count -= 1
            while count:
                yield await (futures.popleft() if ordered else await done.get())
                count -= 1
        finally:
            for future in futures:
                future.cancel()

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


def _ready(futures: deque[asyncio.Future[Any]], done: asyncio.Queue[asyncio.Future[Any]]) -> bool:
    return futures[0].done() if futures else not done.empty()


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
