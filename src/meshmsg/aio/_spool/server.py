"""Shows a spool to readers in other processes; for asyncio.

Not here: what it answers (_ranges/answers.py), its limits (_ranges/server_form.py).
Law: as in _sync/spool_server.py; what reads the disk is done in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ClosedError, UsageError
from meshmsg._binding.message import Request
from meshmsg._binding.peer_info import PeerInfo
from meshmsg._ranges.answers import Answers, load_of
from meshmsg._ranges.server_form import (
    FLIGHT_BYTES,
    READERS,
    TASKS,
    TASKS_MAX,
    WINDOW_BYTES,
    ServerForm,
    answered,
    answers_of,
    endpoints_of,
    limits_of,
    options_of,
    send,
)
from meshmsg._socket.engine import Engine
from meshmsg._socket.options import SocketOptions
from meshmsg._spool import spool as threads
from meshmsg._spool.arguments import whole
from meshmsg._spool.view import SpoolView
from meshmsg.aio._roles import Rep
from meshmsg.aio._spool.spool import Spool

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class RangesRep(Rep):
    """Its socket: what it is asked is little, and what it answers is much."""

    def __init__(
        self,
        *,
        bind: str | Iterable[str],
        engine: Engine | None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(options, engine, bind, None, flags=lib.MM_OPT_ASKED_LITTLE)


RangesRep.__name__ = "SpoolServer"  # what events, the log and errors call it


class SpoolServer(ServerForm):
    """Shows a spool to readers in other processes and on other machines; for asyncio.

    What `meshmsg.SpoolServer` says holds here. Make it while its loop runs: it answers from then
    on, by tasks of its own, and reads in threads. Close it before the spool.

    Args:
        spool: An asyncio `Spool`, or a `Spool` or a `SpoolView` of threads.
        bind: Endpoints to listen on, as of a Rep; outside loopback with `security=`.
        trim: Whether who may connect may have it trimmed; not of a view.
        readers: Peers that are served at once; others are told that it is busy.
        window_bytes: Bytes of an answer, whatever a reader asks for; or one batch of the spool, if
            that has more.
        flight_bytes: Bytes that wait to be written to all readers; with more it is busy.
        tasks: Requests that are answered at once, 1 to 64.
        engine: The engine to use; None takes that of the process.
        options: As of a Rep: `security=`, `insecure=` and others.

    Raises:
        UsageError: An argument is wrong, or no loop runs.
        TypeError: An argument is wrong.
        AddressError: An endpoint cannot be bound.
        InsecureBindError: It is outside loopback, without `security` or insecure=True.
    """

    def __init__(
        self,
        spool: Spool | threads.Spool | SpoolView,
        *,
        bind: str | Iterable[str],
        trim: bool = False,
        readers: int = READERS,
        window_bytes: int = WINDOW_BYTES,
        flight_bytes: int = FLIGHT_BYTES,
        tasks: int = TASKS,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        limits = limits_of(readers, window_bytes, flight_bytes)
        where = endpoints_of(bind)
        count = whole("tasks", tasks, 1, TASKS_MAX)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("an asyncio SpoolServer is made while its event loop runs") from None
        inner = spool._spool if isinstance(spool, Spool) else spool
        self._answers = answers_of(inner, limits, trim)
        own = options_of(limits, options)
        self._bound = self._rep = RangesRep(bind=where, engine=engine, **own)
        self._path = inner.path
        self._tasks = [loop.create_task(_serve(self._rep, self._answers)) for _ in range(count)]

    def peers(self) -> list[PeerInfo]:
        """Tell who is connected, as `Rep.peers`. Thread-safe: yes. Waits for nothing.

        Returns:
            One entry a peer.

        Raises:
            ClosedError: It was closed.
        """
        return self._rep.peers()

    async def close(self) -> None:
        """Close it; the spool stays open. Again: nothing.

        Cancel-safe: it is closed. Thread-safe: no.
        """
        self._rep.close()
        await asyncio.wait(self._tasks)
        self._answers.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        where = "closed" if self._rep.closed else f"at {self._rep.endpoint}"
        return f"<meshmsg.aio.SpoolServer of {self._path} {where}>"


async def _serve(rep: RangesRep, answers: Answers) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ClosedError):
        while True:
            request: Request = await rep.recv()
            load = load_of(rep.peers(), int(request.peer))
            answer = await loop.run_in_executor(None, answered, answers, request, load)
            if answer is not None:
                send(request, answer)
            del request, answer  # not while it waits
