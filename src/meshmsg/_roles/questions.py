"""Questions and answers: the forms of Req, Rep, Surveyor and Respondent, and refusals.

Not here: forms of other roles (forms.py, topics.py), asking (_sync/request.py, aio/_request.py).
Law: what is asked goes out behind an id and an empty frame; what a peer says is fit for a log.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from meshmsg._binding.core import EREFUSED, Slot, error_for, lib, native
from meshmsg._binding.errors import MeshError, TooLargeError
from meshmsg._binding.message import REQUESTS, Message, Request
from meshmsg._hints.plural import counted
from meshmsg._roles.stopping import stop_receiving
from meshmsg._socket.base import SocketBase
from meshmsg._socket.engine import Engine
from meshmsg._socket.failures import too_large
from meshmsg._socket.inbox import Inbox, fileno
from meshmsg._socket.options import SocketOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

ENVELOPE_SIZE = 4
"""Bytes of the id in front of a request or survey."""
ENVELOPE_FRAMES = 2
"""Frames in front of it: the id, and an empty one."""


def question_too_large(self: SocketBase, size: int, count: int) -> MeshError:
    """Say what is too large: size and count are those of the question alone."""
    error = too_large(self, size + ENVELOPE_SIZE, count + ENVELOPE_FRAMES)
    about = (
        f"a question of {counted(size, 'byte')} in {counted(count, 'frame')} is, with its "
        f"envelope, {error}"
    )
    error.args = (about,)
    return error


class ReqForm(Inbox[Message]):
    """Asks its Rep (or Router) peers, in turn.

    Args:
        identity: The name Router peers know it by. Give none to reach a REP of libzmq: until that
            one has noticed that the last peer of a name is gone, it ignores the next for ever.
    """

    _role: ClassVar[int] = lib.MM_REQ
    _does = "it asks: request(data), which gives the reply"
    _too_large = question_too_large

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(options, engine, bind, connect, identity=identity)

    def _no_reply(self, code: int, timeout: float | None = None) -> MeshError:
        """Say why there is no reply to a request that was sent."""
        if code != lib.MM_EMSGSIZE:
            return self._error(code, "no reply", timeout)
        limit, frames = int(self._opts.message_size_max), int(self._opts.frames_max)
        return TooLargeError(
            f"no reply: an answer was over the {counted(limit, 'byte')} (message_size_max) or the "
            f"{counted(frames, 'frame')} (frames_max) that this {type(self).__name__} takes, "
            "and the connection was ended for it, with this request and any other on it; each may "
            "have been done, and is not asked again. Raise the limit, or ask for less",
            code=code,
            limit=limit,
        )


class SurveyorForm(Inbox[Message]):
    """Asks all its Respondent peers at once; they answer, or not, until a deadline."""

    _role: ClassVar[int] = lib.MM_SURVEYOR
    _does = "it asks all its peers: survey(data), and then iterate over the answers"
    _too_large = question_too_large


def reply_error(self: SocketBase, code: int, size: int, frames: int) -> MeshError:
    """Say what kept an answer from being sent; its way back is part of size and frames."""
    if code == lib.MM_EMSGSIZE:
        return self._too_large(size, frames)
    return self._error(code, "cannot reply")


class RepForm(Inbox[Request]):
    """Answers requests: what it receives is a Request, whose `reply` answers it.

    Any number of requests may be open at once, and answered in any order, from any thread.
    """

    _role: ClassVar[int] = lib.MM_REP
    _does = "it receives requests, and each is answered by itself: recv, then request.reply(data)"
    _quiet_to = "req"
    _receives = True
    _form = REQUESTS
    _reply_error = reply_error
    fileno = fileno
    stop_receiving = stop_receiving


class RespondentForm(Inbox[Request]):
    """Answers surveys: what it receives is a Request, whose `reply` answers it, once.

    It need not answer. `reply` returns False once whoever asked is gone; an answer after the
    survey's deadline is sent, and counted as late over there.
    """

    _role: ClassVar[int] = lib.MM_RESPONDENT
    _does = "it receives surveys, and each is answered by itself: recv, request.reply(data)"
    _quiet_to = "surveyor"
    _receives = True
    _form = REQUESTS
    _reply_error = reply_error
    fileno = fileno
    stop_receiving = stop_receiving


def shown(reason: str) -> str:
    """What a peer says, fit for a line of a log."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in reason)


def refused(socket: SocketBase, slot: Slot) -> MeshError:
    """The error of a request that was refused; its reason is in that batch."""
    [(frames, number, _)] = native.parts(slot.address)
    slot.drop()
    who = None
    with suppress(MeshError):  # closed meanwhile
        who = next((peer for peer in socket.peers() if peer.id == number), None)
    reason = frames[-1].decode("utf-8", "replace")
    why = f": {shown(reason)}" if reason else ", and did not say why"
    return error_for(
        EREFUSED,
        f"the peer refused the request{why}",
        address=who.endpoint if who is not None else "",
        peer=who.identity if who is not None else b"",
        reason=reason,
    )
