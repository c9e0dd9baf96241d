"""Asyncio objects for tests written for threads: calls run on a loop in a thread of its own.

Law: what is awaited there is waited for here; everything else is the same call.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any

PATIENCE = 60.0  # seconds a call may take before the test fails


class LoopThread:
    """An event loop in a thread of its own, until `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def call(self, function: Callable[[], Any]) -> Any:
        """Call it on the loop; await what comes of it, if that can be awaited."""

        async def calling() -> Any:
            found = function()
            return await found if inspect.isawaitable(found) else found

        return asyncio.run_coroutine_threadsafe(calling(), self._loop).result(PATIENCE)

    def make(self, kind: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Make an object of this loop, and stand in for it."""
        return InLoop(self, self.call(lambda: kind(*args, **options)))

    def close(self) -> None:
        """End the tasks that are left, the loop and its thread."""

        async def finish() -> None:
            await self._loop.shutdown_asyncgens()

        self.call(finish)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
        del self._loop  # what is kept of it keeps its descriptors


class InLoop:
    """Stands in for an object of a loop: methods, `with`, `for` (which is `async for` there)."""

    def __init__(self, thread: LoopThread, real: Any) -> None:
        self._thread, self._real = thread, real

    def __getattr__(self, name: str) -> Any:
        found = self._thread.call(lambda: getattr(self._real, name))
        if not callable(found):
            return found
        return lambda *args, **options: self._thread.call(lambda: found(*args, **options))

    def __repr__(self) -> str:
        return str(self._thread.call(lambda: repr(self._real)))

    def __len__(self) -> int:
        return len(self._real)

    def __enter__(self) -> InLoop:
        self._thread.call(lambda: self._real.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.call(lambda: self._real.__aexit__(kind, value, trace))

    def __iter__(self) -> Iterator[Any]:
        if hasattr(self._real, "__aiter__"):
            return self._awaited(self._real.__aiter__())
        return self._plain(iter(self._real))

    def _awaited(self, iterator: AsyncIterator[Any]) -> Iterator[Any]:
        async def step() -> Any:
            return await anext(iterator, None)

        while (found := self._thread.call(step)) is not None:
            yield InLoop(self._thread, found)

    def _plain(self, iterator: Iterator[Any]) -> Iterator[Any]:
        end = object()
        while (found := self._thread.call(lambda: next(iterator, end))) is not end:
            yield found
