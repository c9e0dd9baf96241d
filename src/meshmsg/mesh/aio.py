"""A node of a mesh, for asyncio: the same names, and what waits is awaited.

Not here: what does not wait (_mesh.py). Law: whatever loop it is used in, the mesh itself runs on a
thread of its own; a cancelled call has taken nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

from meshmsg._binding.core import ends_of, left_of, to_ms
from meshmsg._binding.errors import ClosedError, TimedOutError, UsageError, WouldBlockError
from meshmsg._mesh.told import Event, Member
from meshmsg._security.tls import Secret
from meshmsg.aio._roles import Dealer
from meshmsg.mesh._driver import LEAVE_S
from meshmsg.mesh._mesh import MeshForm
from meshmsg.mesh._offers import service_name
from meshmsg.mesh._opening import policy_of
from meshmsg.mesh._outside.asking import TIMEOUT_S, Asked, check_timeout
from meshmsg.mesh._outside.info import MeshInfo, mesh_info
from meshmsg.mesh._outside.questions import LIST
from meshmsg.mesh._watch import EventQueue

if TYPE_CHECKING:
    from typing_extensions import Self


class Watch(EventQueue):
    """Events of the mesh, for asyncio: `async for event in mesh.watch(...)`.

    It begins with an UP for each node that is there, and ends when it or the mesh is closed.
    Cancel-safe: a cancelled step has taken nothing. Thread-safe: an iterator is for one loop.
    """

    def __init__(self, service: str | None) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("a Watch of asyncio is made while its event loop runs") from None
        self._rung = asyncio.Event()
        super().__init__(service, self._wake)

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._rung.set)

    async def next(self, timeout: float | None = None) -> Event:
        """Return the next event, and wait for it. Cancel-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError: There was none in time.
            WouldBlockError: There is none now (timeout=0).
            ClosedError: It, or the mesh, was closed.
        """
        to_ms(timeout)  # refuses what is no time
        deadline = None if timeout is None else self._loop.time() + timeout
        while True:
            self._rung.clear()
            found = self.take()
            if found is not None:
                return found
            if timeout == 0:
                raise WouldBlockError("no event of the mesh waits")
            if deadline is not None and self._loop.time() >= deadline:
                raise TimedOutError(f"no event of the mesh within {timeout:g} s")
            await self._until(deadline)

    async def _until(self, deadline: float | None) -> None:
        """Wait until it is rung, or until then. Not by `asyncio.wait_for`, which before Python 3.12
        swallows a cancellation that comes together with the ring."""
        timer = None if deadline is None else self._loop.call_at(deadline, self._rung.set)
        try:
            await self._rung.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        """Watch no more; who waits in it ends. Again: nothing."""
        self.closed()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self.next()
        except ClosedError:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Mesh(MeshForm):
    """A node of a mesh, for asyncio; arguments and errors are those of `meshmsg.mesh.Mesh`.

    Leaving the `async with` block leaves the mesh. Thread-safe: yes, but a loop waits on its own
    thread.
    """

    def watch(self, service: str | None = None) -> Watch:
        """Tell what changes, beginning with who is there: `async for event in mesh.watch()`.

        Args:
            service: Of nodes that offer this, or did: one that begins to is UP, one that
                withdraws it has LEFT. None: of all.

        Returns:
            An asynchronous iterator, for the running loop.

        Raises:
            UsageError: It is no name, or no loop runs.
            ClosedError: The mesh was closed.
        """
        made = Watch(service if service is None else service_name(service))
        self._driver.listen(made, lambda: made.first(self._offering(made._service)))
        return made

    async def wait_for(
        self, service: str | None = None, count: int = 1, *, timeout: float | None = None
    ) -> list[Member]:
        """Wait until so many nodes offer a service. Cancel-safe: yes.

        Args:
            service: The name; None: nodes of the mesh, this one included.
            count: How many at least.
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            The nodes that do.

        Raises:
            TimedOutError: There were not so many in time; it says what seeds say.
            WouldBlockError: There are not so many now (timeout=0).
            UsageError: An argument is wrong.
            ClosedError: The mesh was closed.
        """
        self._check_wait(service, count, timeout)
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        async with self.watch() as changes:
            while True:
                found = self._offering(service)
                if len(found) >= count:
                    return found
                if timeout == 0:
                    raise WouldBlockError(str(self._too_few(service, count, 0)))
                try:
                    left = None if deadline is None else max(deadline - loop.time(), 0.001)
                    await changes.next(left)
                except TimedOutError:
                    raise self._too_few(service, count, timeout or 0) from None

    async def leave(self, *, timeout: float = LEAVE_S) -> None:
        """Tell the others that this node leaves, and close. Again: nothing.

        Cancel-safe: it leaves all the same.

        Args:
            timeout: Seconds for telling them, at most 2 of which are needed.
        """
        to_ms(timeout)
        loop = asyncio.get_running_loop()
        await asyncio.shield(loop.run_in_executor(None, self._driver.leave, timeout))

    def close(self) -> None:
        """Close without a word: to the others it is as if the process had ended."""
        self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()


async def ask(
    address: str,
    *,
    secret: str | os.PathLike[str] | Secret | None = None,
    timeout: float | None = TIMEOUT_S,
) -> MeshInfo:
    """Ask any node of a mesh who is there and what they offer: as `meshmsg.mesh.ask`.

    Cancel-safe: yes. Arguments, result and errors are the same.
    """
    check_timeout(timeout)
    security = policy_of(secret)
    asked = Asked(address, security)
    deadline = ends_of(timeout)
    async with Dealer(connect=asked.url, security=security) as dealer:
        token, question = asked.question(LIST)
        try:
            await dealer.wait_for_peers(1, timeout=timeout)
            await dealer.send_frames(question, timeout=left_of(deadline))
        except TimedOutError as error:
            raise asked.nobody(error, dealer.events()) from None
        told = None
        while told is None:
            try:
                frames = await dealer.recv_frames(timeout=left_of(deadline))
            except TimedOutError:
                raise asked.silent(timeout) from None
            told = asked.answer(frames, token)
    return mesh_info(told, asked.address)


__all__ = ["Mesh", "Watch", "ask"]
