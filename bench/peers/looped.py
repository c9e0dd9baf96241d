"""Ends of asyncio libraries: each has a loop of its own and runs one coroutine a measurement.

Law: the loop is entered once for many messages, as in a program that lives in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from .seam import Answerer, Asker, Receiver, Sender

T = TypeVar("T")


class Looped:
    """Something with a loop of its own."""

    _socket: Any

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if not hasattr(self, "_loop"):
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(coroutine)

    async def _shut(self) -> None:
        self._socket.close()

    def close(self) -> None:
        """Close the socket and the loop."""
        self._run(self._shut())
        self._loop.close()


class LoopedSender(Looped, Sender):
    """Awaits `send`."""

    def send(self, body: bytes) -> None:
        """Send one."""
        self.send_count(body, 1)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""

        async def sending() -> None:
            send = self._socket.send
            for _ in range(count):
                await send(body)

        self._run(sending())


class LoopedReceiver(Looped, Receiver):
    """Awaits `recv`."""

    def recv(self) -> bytes:
        """Receive one."""

        async def receiving() -> bytes:
            body: bytes = await self._socket.recv()
            return body

        return self._run(receiving())

    def recv_count(self, count: int) -> None:
        """Receive so many."""

        async def receiving() -> None:
            recv = self._socket.recv
            for _ in range(count):
                await recv()

        self._run(receiving())


class LoopedAsker(Looped, Asker):
    """Asks within one coroutine."""

    async def _ask(self, body: bytes) -> None:
        await self._socket.send(body)
        await self._socket.recv()

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._run(self._ask(body))

    def ask_times(self, body: bytes, count: int) -> list[int]:
        """Ask so many times; the nanoseconds each took."""

        async def asking() -> list[int]:
            ask, clock, times = self._ask, time.perf_counter_ns, []
            for _ in range(count):
                start = clock()
                await ask(body)
                times.append(clock() - start)
            return times

        return self._run(asking())


class LoopedAnswerer(Looped, Answerer):
    """Answers within one coroutine."""

    async def _answer(self) -> None:
        await self._socket.send(await self._socket.recv())

    def answer_count(self, count: int) -> None:
        """Answer so many."""

        async def answering() -> None:
            for _ in range(count):
                await self._answer()

        self._run(answering())
