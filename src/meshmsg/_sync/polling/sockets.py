"""The sockets that a Poller waits for, and what may be asked of each.

Not here: what makes a socket ready, and how the thread waits (csrc/sched/pollset.c). Law: what is
known here and what the core watches change together, under the poller's lock; all are of one
engine.
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.core import SLICE_MS, ffi, lib, raise_for
from meshmsg._binding.errors import UsageError
from meshmsg._socket.base import SocketBase
from meshmsg._socket.engine import Engine
from meshmsg._sync.polling.ready import READABLE, WRITABLE

LOGGED_AT_ONCE = 16
"""Sockets whose connection trouble is looked for by each slice of a wait, in turn."""


def wishes(socket: SocketBase, readable: bool | None, writable: bool) -> int:
    """Return what to wait for, if this socket can do that."""
    what = f"{type(socket).__module__}.{type(socket).__name__}"
    receives, sends = socket._receives, socket._sends
    if type(socket).__module__.startswith("meshmsg.aio"):
        raise UsageError(
            f"{what} is no socket that a thread receives from with recv(); asyncio needs no "
            "Poller: await each socket in a task of its own"
        )
    if readable is None:
        readable = receives or not writable
    if readable and not receives:
        hint = "; add(socket, writable=True) waits until it takes a message" if sends else ""
        raise UsageError(f"{what} is no socket that a thread receives from with recv(){hint}")
    if not readable and not writable:
        raise UsageError("nothing to wait for: ask for readable, writable or both")
    if writable and not sends:
        raise unsure(socket)
    return READABLE * readable | WRITABLE * writable


def unsure(socket: Any) -> UsageError:
    """What to raise when it cannot be said whether a socket takes a message."""
    return UsageError(
        f"whether a {type(socket).__name__} can send depends on the message, if it sends at all: "
        "send with timeout=0 to find out"
    )


class Sockets:
    """Sockets of one engine, and the core's pollset of them, once there was a first one."""

    def __init__(self) -> None:
        self.handle: int = 0
        self.slice_ms = SLICE_MS
        self.members: dict[int, Any] = {}
        self.asked: dict[int, int] = {}
        self._engine: Engine | None = None
        self._logged = 0

    def watch(self, socket: Any, asked: int) -> int:
        """Wait for it, in place of what was asked of it before; a code."""
        if not self.handle:
            self._open(socket)
        elif socket._engine is not self._engine:
            raise UsageError(
                f"this {type(socket).__name__} is of another engine than the sockets that are "
                "waited for already; a Poller waits for those of one engine"
            )
        known = self.asked.get(socket._handle)
        self.members[socket._handle] = socket  # first: it may be ready at once
        self.asked[socket._handle] = asked
        rc = int(lib.mm_pollset_watch(self.handle, socket._handle, asked))
        if rc < 0:
            if known is None:
                self.members.pop(socket._handle, None)
            self.asked[socket._handle] = known or 0
        return rc

    def _open(self, socket: Any) -> None:
        out = ffi.new("mm_handle *")
        try:
            rc = lib.mm_pollset_open(socket._engine._handle, out)
            if rc in (lib.MM_ECLOSED, lib.MM_EFORKED):
                raise socket._error(rc, "cannot be waited for")
            raise_for(rc, "opening a Poller")
            self._engine = socket._engine
            self.slice_ms = socket._slice_ms
            self.handle = out[0]
        except BaseException:  # of a signal's function, too, wherever it came
            self.handle = 0
            if out[0]:
                lib.mm_pollset_close(out[0])
            raise

    def remove(self, socket: SocketBase) -> None:
        """Wait for it no longer."""
        if self.members.pop(socket._handle, None) is not None:
            self.asked.pop(socket._handle, None)
            lib.mm_pollset_remove(self.handle, socket._handle)

    def fileno(self) -> int:
        """Return the core's descriptor, which is readable when some may be ready."""
        fd = ffi.new("int *")
        raise_for(lib.mm_pollset_fileno(self.handle, fd), "waiting for descriptors as well")
        return int(fd[0])

    def forget(self) -> int:
        """Know none any more; what the core has is to be closed, if it is there."""
        self.members.clear()
        self.asked.clear()
        handle, self.handle = self.handle, 0
        return handle

    def log_events(self) -> None:
        """Pass new connection trouble to logging: of some of the sockets, the next ones next."""
        sockets = list(self.members.values())
        start = self._logged if self._logged < len(sockets) else 0
        self._logged = start + LOGGED_AT_ONCE
        for socket in sockets[start : self._logged]:
            socket._log_events()
