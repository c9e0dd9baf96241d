"""The errors of calls on a socket: what was tried, on which socket, and what is known of the cause.

Not here: the causes in words (causes.py), the classes of errors (_binding/errors.py). Law: nothing
here waits, and nothing here changes the socket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshmsg._binding.core import error_for, lib, text_of
from meshmsg._binding.errors import MeshError, TooLargeError
from meshmsg._hints.plural import counted
from meshmsg._socket.causes import (
    What,
    about,
    room_of,
    seconds,
    services_of,
    topics_of,
    trouble_of,
)
from meshmsg._socket.peers import all_peers, is_open

if TYPE_CHECKING:
    from meshmsg._socket.state import State

_HINTS: dict[int, str] = {
    lib.MM_ENOTSUP: "over SP a message is one body, without frames",
    lib.MM_EMFILE: "close sockets that are not needed, or raise the limit of open files",
    lib.MM_ECLOSED: "open a new one",
}


def _why_not(socket: State, what: str, timeout: float | None) -> str:
    """Say what is known of why something could not be done, now or in time."""
    queues = ""
    if what.startswith("no room"):
        what, queues = room_of(socket, what, in_detail=timeout != 0)
    if timeout == 0:
        return f"{what} now{queues} ({about(socket)})"
    span = "" if timeout is None else f" within {seconds(timeout)}"
    asked = topics_of(socket) if what.startswith("no message") else ""
    causes = f"{asked}{services_of(socket)}{trouble_of(socket)}"
    return f"{what}{span}{queues} ({about(socket)}{causes})"


def error_of(
    socket: State, code: int, what: What, timeout: float | None = None, *, address: str = ""
) -> MeshError:
    """Make the error of a failed call: what was tried, where, and what is known of the
    cause."""
    what = what if isinstance(what, str) else what()
    if code == lib.MM_EAGAIN:
        return error_for(code, _why_not(socket, what, 0))
    if code == lib.MM_ETIMEDOUT:
        socket._outlet.log_new()
        return error_for(code, _why_not(socket, what, timeout))
    if code == lib.MM_EFORKED:
        return error_for(
            code,
            f"this {type(socket).__name__} was opened in process {socket._opened_pid}; "
            "open a new one after fork",
        )
    if code == lib.MM_EFINISHED:
        return error_for(
            code,
            f"{what}: all was received, and everybody who sends to this {type(socket).__name__} "
            f"has said that there is no more (Push.finish) ({about(socket)})",
        )
    if code == lib.MM_ESTATE and socket._finished:
        return error_for(
            code,
            f"{what}: finish() of this {type(socket).__name__} was called, nothing more is sent",
        )
    if code == lib.MM_ECLOSED and socket._stops and is_open(socket._handle):
        return error_for(
            code,
            f"{what}: this {type(socket).__name__} stopped receiving, and has given out all "
            "that came",
        )
    if code == lib.MM_ESTATE and socket._stops:
        return error_for(
            code,
            f"{what}: this {type(socket).__name__} was told to stop receiving, and takes no new "
            "peers and no new topics; open a new one",
            address=address,
        )
    spooled: MeshError | None = socket._spooled and socket._spooled.failure(code, what)
    if spooled is not None:
        return spooled
    if code == lib.MM_ECLOSED:
        return error_for(code, f"{what}: this {type(socket).__name__} was closed; open a new one")
    hint = f"; {_HINTS[code]}" if code in _HINTS else ""
    if code == lib.MM_ENOTSUP:
        what = "not possible"
    which = "" if address else f" ({about(socket)})"
    return error_for(code, f"{what}{which}: {text_of(code)}{hint}", address=address)


def check(socket: State, code: int, what: What, *, address: str = "") -> None:
    """Raise the error of a call that failed."""
    if code < 0:
        raise error_of(socket, code, what, address=address)


def _too_large_for_peers(socket: State, size: int, count: int) -> MeshError:
    """Say what those that are there take; it is within what the socket itself does."""
    _, peers = all_peers(socket._handle)
    told = [
        (peer.takes_bytes, peer.takes_frames)
        for peer in peers
        if peer.takes_bytes is not None
        and peer.takes_frames is not None
        and (size > peer.takes_bytes or count > peer.takes_frames)
    ]
    limit, frames = max(told, default=(0, 0))
    which = "its peer takes" if len(told) == 1 else "the peers it could go to take, at most,"
    most = f" {counted(limit, 'byte')} in {counted(frames, 'frame')}" if told else " less"
    return TooLargeError(
        f"a message of {counted(size, 'byte')} in {counted(count, 'frame')}; {which}{most} "
        "(message_size_max and frames_max of its socket); nothing was sent",
        code=lib.MM_EMSGSIZE,
        size=size,
        limit=limit,
    )


def too_large(socket: State, size: int, count: int) -> MeshError:
    """Say what is too large, and the limits: of this socket, or else of its peers."""
    limit = int(socket._opts.message_size_max)
    frames = int(socket._opts.frames_max)
    if size <= limit and count <= frames:
        return _too_large_for_peers(socket, size, count)
    return TooLargeError(
        f"a message of {counted(size, 'byte')} in {counted(count, 'frame')}; this "
        f"{type(socket).__name__} takes {counted(limit, 'byte')} (message_size_max) in "
        f"{counted(frames, 'frame')} (frames_max)",
        code=lib.MM_EMSGSIZE,
        size=size,
        limit=limit,
    )
