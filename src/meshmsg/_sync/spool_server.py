"""Shows a spool to readers in other processes; for threads.

Not here: what it answers (_ranges/answers.py), its limits (_ranges/server_form.py), reading from
there (remote_spool.py). Law: a request is answered by itself, by any of its threads: nothing of a
reader is remembered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ClosedError
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
from meshmsg._spool.arguments import whole
from meshmsg._spool.spool import Spool
from meshmsg._spool.view import SpoolView
from meshmsg._sync.roles import Rep

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
    """Shows a spool to readers in other processes and on other machines (`RemoteSpool`).

    Only what is durable is told and given, at each `durability`. Readers are served at once, and
    nothing is kept for any of them but its leases. The spool goes on as ever meanwhile; close the
    server first. Thread-safe: yes, every method.

    Args:
        spool: The spool, or a `SpoolView` of one that another process writes: that one can be read,
            and neither leased nor trimmed.
        bind: Endpoints to listen on, as of a Rep; outside loopback with `security=`.
        trim: Whether who may connect may have it trimmed; not of a view.
        readers: Peers that are served at once; others are told that it is busy.
        window_bytes: Bytes of an answer, whatever a reader asks for; or one batch of the spool, if
            that has more (4 MiB as a rule, a large message up to 64 MiB).
        flight_bytes: Bytes that wait to be written to all readers; with more it is busy.
        threads: Threads that read for them, 1 to 64.
        engine: The engine to use; None takes that of the process.
        options: As of a Rep: `security=`, `insecure=` and others.

    Raises:
        UsageError, TypeError: An argument is wrong.
        AddressError: An endpoint cannot be bound.
        InsecureBindError: It is outside loopback, without `security` or insecure=True.
    """

    def __init__(
        self,
        spool: Spool | SpoolView,
        *,
        bind: str | Iterable[str],
        trim: bool = False,
        readers: int = READERS,
        window_bytes: int = WINDOW_BYTES,
        flight_bytes: int = FLIGHT_BYTES,
        threads: int = TASKS,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        limits = limits_of(readers, window_bytes, flight_bytes)
        where = endpoints_of(bind)
        count = whole("threads", threads, 1, TASKS_MAX)
        self._answers = answers_of(spool, limits, trim)
        own = options_of(limits, options)
        self._bound = self._rep = RangesRep(bind=where, engine=engine, **own)
        self._path = spool.path
        self._threads = [
            threading.Thread(
                target=_serve, args=(self._rep, self._answers), name="meshmsg-ranges", daemon=True
            )
            for _ in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def peers(self) -> list[PeerInfo]:
        """Tell who is connected, as `Rep.peers`. Thread-safe: yes.

        Returns:
            One entry a peer.

        Raises:
            ClosedError: It was closed.
        """
        return self._rep.peers()

    def close(self) -> None:
        """Close it; the spool stays open. Again: nothing. Thread-safe: yes."""
        self._rep.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._answers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "closed" if self._rep.closed else f"at {self._rep.endpoint}"
        return f"<meshmsg.SpoolServer of {self._path} {where}>"


def _serve(rep: RangesRep, answers: Answers) -> None:
    with suppress(ClosedError):
        while True:
            request = rep.recv()
            load = load_of(rep.peers(), int(request.peer))
            answer = answered(answers, request, load)
            if answer is not None:
                send(request, answer)
            del request, answer  # not while it waits
