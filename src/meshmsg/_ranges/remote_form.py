"""What a spool of another process is, for threads and for asyncio: how it is opened.

Not here: asking and waiting (_sync/remote_spool.py, aio/_spool/remote.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meshmsg._binding.core import to_ms
from meshmsg._binding.data import several
from meshmsg._binding.errors import UsageError
from meshmsg._ranges.asking import Asking
from meshmsg._ranges.form import ANSWER_MAX
from meshmsg._socket.causes import trouble_of
from meshmsg._socket.engine import Engine
from meshmsg._socket.options import SocketOptions
from meshmsg._spool.arguments import choice


class RemoteForm:
    """A spool of another process or machine, which a `SpoolServer` there shows: it is read.

    What is read is what stands in the files over there, checked here by the same CRCs. A number
    that was told as durable means the same message ever after, until it is trimmed. The server
    keeps nothing for a reader but its leases, so any number of them may read anything, again, too.

    Args:
        connect: The endpoint of the server, or several that show the same spool.
        uuid: Which spool it is to be, as in `info().uuid`; None: the one that answers first.
            Another one is SpoolChangedError from then on.
        holder: 1 to 16 bytes that say who has its leases: the same in each process that shares
            them. None: nobody else does.
        on_corruption: "fail": reading what is harmed raises SpoolCorruptError; "gap": it is left
            out, and stands in `gaps` of the next batch.
        timeout: Seconds that an answer may take, with connecting, and asking again where the
            connection is lost or the server is busy; None: for ever.
        engine: The engine to use; None takes that of the process.
        options: As of a Req: `security=` and others.

    Raises:
        UsageError, TypeError: An argument is wrong.
        AddressError: The endpoint is malformed.
    """

    _where: str
    _asking: Asking
    _gaps: bool
    _timeout: float | None
    _req: Any
    """Its socket."""

    def _opened(
        self,
        kind: Callable[..., Any],
        connect: str | Iterable[str],
        uuid: str | None,
        holder: bytes | None,
        on_corruption: str,
        timeout: float | None,
        engine: Engine | None,
        options: SocketOptions,
    ) -> Any:
        """Return the socket, a Req of that kind; the arguments are those of its class."""
        endpoints = several(connect)
        if not endpoints:
            raise UsageError("connect has no endpoint; it is that of a SpoolServer")
        self._where = ", ".join(endpoints)
        self._gaps = choice("on_corruption", on_corruption, ("fail", "gap")) == "gap"
        to_ms(timeout)
        if timeout is not None and not timeout > 0:
            raise UsageError(f"timeout is {timeout!r}; it is seconds, above 0, or None")
        self._timeout = timeout
        self._asking = Asking(self._where, uuid, holder)
        sizes: SocketOptions = {"message_size_max": ANSWER_MAX}
        return kind(connect=endpoints, engine=engine, **{**sizes, **options})

    def _trouble(self) -> str:
        """Say what dialling met last, behind what else is said; "": nothing is known."""
        return trouble_of(self._req)

    def __repr__(self) -> str:
        return f"<meshmsg.RemoteSpool {self._where}>"
