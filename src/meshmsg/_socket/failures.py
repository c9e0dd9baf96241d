"""The errors of calls on a socket: what was tried, on which socket, and what is known of the cause.

Not here: the causes in words (causes.py), the classes of errors (_binding/errors.py). Law: nothing
here waits, and nothing here changes the socket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshmsg._binding.core import error_for, ffi, lib, text_of
from meshmsg._binding.errors import MeshError, TooLargeError
from meshmsg._socket.causes import What, room_of, seconds, topics_of, trouble_of

if TYPE_CHECKING:
    from meshmsg._socket.base import SocketBase

_HINTS: dict[int, str] = {
    lib.MM_ENOTSUP: "over SP a message is one body, without frames",
    lib.MM_EMFILE: "close sockets that are not needed, or raise the limit of open files",
    lib.MM_ECLOSED: "open a new one",
}


def is_open(handle: int) -> bool:
    """Whether a socket was not closed."""
    return bool(lib.mm_peer_count(handle, ffi.new("uint32_t *")) == 0)


def _why_not(socket: SocketBase, what: str, timeout: float | None) -> str:
    """Say what is known of why something could not be done, now or in time."""
    queues = ""
    if what.startswith("no room"):
        what, queues = room_of(socket, what, in_detail=timeout != 0)
    if timeout == 0:
        return f"{what} now{queues} ({socket._about()})"
    span = "" if timeout is None else f" within {seconds(timeout)}"
    asked = topics_of(socket) if what.startswith("no message") else ""
    return f"{what}{span}{queues} ({socket._about()}{asked}{trouble_of(socket)})"


def error_of(
    socket: SocketBase, code: int, what: What, timeout: float | None = None, *, address: str = ""
) -> MeshError:
    """Make the error of a failed call: what was tried, where, and what is known of the
    cause."""
    what = what if isinstance(what, str) else what()
    if code == lib.MM_EAGAIN:
        return error_for(code, _why_not(socket, what, 0))
    if code == lib.MM_ETIMEDOUT:
        socket._log_events()
        return error_for(code, _why_not(socket, what, timeout))
    if code == lib.MM_EFORKED:
        return error_for(
            code,
            f"this {type(socket).__name__} was opened in process {socket._opened_pid}; "
            "open a new one after fork",
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
    if code == lib.MM_ECLOSED:
        return error_for(code, f"{what}: this {type(socket).__name__} was closed; open a new one")
    hint = f"; {_HINTS[code]}" if code in _HINTS else ""
    if code == lib.MM_ENOTSUP:
        what = "not possible"
    about = "" if address else f" ({socket._about()})"
    return error_for(code, f"{what}{about}: {text_of(code)}{hint}", address=address)


def too_large(socket: SocketBase, size: int, count: int) -> MeshError:
    """Say what is too large, and the limits."""
    limit = int(socket._opts.message_size_max)
    frames = int(socket._opts.frames_max)
    return TooLargeError(
        f"a message of {size} bytes in {count} frames; this {type(socket).__name__} takes "
        f"{limit} bytes (message_size_max) in {frames} frames (frames_max)",
        code=lib.MM_EMSGSIZE,
        size=size,
        limit=limit,
    )
