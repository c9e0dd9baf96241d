"""What a server of ranges is, for threads and for asyncio: its limits, and its socket's options.

Not here: what it answers (answers.py), waiting (_sync/spool_server.py, aio/_spool/server.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from meshmsg._binding.data import several
from meshmsg._binding.errors import ClosedError, MeshError, UsageError
from meshmsg._binding.message import Request
from meshmsg._ranges.answers import WINDOWS_MAX, Answers, Limits, Load
from meshmsg._ranges.form import ANSWER_MAX, NotAsked
from meshmsg._ranges.places import Filled
from meshmsg._socket.base import SocketBase
from meshmsg._socket.options import SocketOptions
from meshmsg._spool.arguments import flag, whole
from meshmsg._spool.held import Held
from meshmsg._spool.view import SpoolView

READERS = 64
"""Peers that are served at once, if nothing is said."""
READERS_MAX = 10_000
WINDOW_BYTES = 8 * 1024 * 1024
"""Bytes of an answer, if nothing is said."""
WINDOW_MIN, WINDOW_MAX = 4096, 64 * 1024 * 1024
FLIGHT_BYTES = 256 * 1024 * 1024
"""Bytes that wait to be written to all readers, if nothing is said."""
FLIGHT_MAX = 2**40
READERS_MORE = 16
"""Connections beyond `readers`: those are told that it is busy."""
TASKS, TASKS_MAX = 2, 64
"""Requests that are answered at once, if nothing is said; and at most."""
REASON_MAX = 200
"""Characters of a reason for a refusal."""
ASKED_MESSAGES = 64
"""Requests of a peer that wait to be answered."""
ASKED_BYTES = 64 * 1024
"""Bytes of them."""

LOG = logging.getLogger("meshmsg")


class ServerForm:
    """A server of ranges, of threads or of asyncio."""

    _bound: SocketBase
    """What readers connect to."""

    @property
    def endpoint(self) -> str:
        """Where it listens, with the port that was chosen."""
        return self._bound.endpoint


def limits_of(readers: object, window_bytes: object, flight_bytes: object) -> Limits:
    """Return the limits, checked."""
    window = whole("window_bytes", window_bytes, WINDOW_MIN, WINDOW_MAX)
    return Limits(
        whole("readers", readers, 1, READERS_MAX),
        window,
        whole("flight_bytes", flight_bytes, window, FLIGHT_MAX),
    )


def answers_of(spool: object, limits: Limits, trim: object) -> Answers:
    """Return what answers for a spool, or for a view of one."""
    if not isinstance(spool, Held):
        raise TypeError(
            f"spool is {type(spool).__name__}; it is a Spool, or a SpoolView of one that another "
            "process writes"
        )
    trims = flag("trim", trim)
    if trims and isinstance(spool, SpoolView):
        raise UsageError(
            "trim is True, and spool is a SpoolView, which trims nothing: show the Spool itself, "
            "in the process that writes it"
        )
    return Answers(spool, limits, trims=trims)


def endpoints_of(bind: str | Iterable[str]) -> list[str]:
    """Return where it is to listen; a server has no other way to say so."""
    found = several(bind)
    if not found:
        raise UsageError("bind has no endpoint; a SpoolServer listens at one or more")
    return found


def options_of(limits: Limits, options: SocketOptions) -> SocketOptions:
    """Return the options of its socket, a Rep."""
    own: SocketOptions = {
        "message_size_max": ANSWER_MAX,
        "send_queue_bytes": WINDOWS_MAX * limits.window_bytes + ANSWER_MAX,
        "recv_queue_messages": ASKED_MESSAGES,
        "recv_queue_bytes": ASKED_BYTES,
        "connections_max": limits.readers + READERS_MORE,
    }
    return {**own, **options}


def answered(answers: Answers, request: Request, load: Load) -> bytes | Filled | None:
    """Return the answer to a request; None: it was refused."""
    try:
        return answers.answer(request, load)
    except NotAsked as error:
        reason = str(error)
    except ClosedError:
        reason = "the spool was closed"
    except Exception:  # it serves others all the same
        LOG.exception("a SpoolServer could not answer")
        reason = "the server failed; its log says why"
    refuse(request, reason)
    return None


def refuse(request: Request, reason: str) -> None:
    """Tell a peer why there is no answer, if it can be told."""
    try:
        request.refuse(reason[:REASON_MAX])
    except MeshError:  # it is closed
        return


def send(request: Request, answer: bytes | Filled) -> None:
    """Answer a request; who is gone by then gets nothing."""
    try:
        request._reply_room(*answer) if isinstance(answer, Filled) else request.reply(answer)
    except ClosedError:
        return
    except MeshError as error:  # too large: `options` said so
        refuse(request, str(error))
