"""Poller: one thread waits for several sockets at once.

Not here: what makes a socket ready, and how the thread waits (csrc/engine/group.c). Law: what it
tells of could be received at that moment, and is told of again as long as that is so.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from meshmsg._blocking import LEAST_S
from meshmsg._core import (
    EAGAIN,
    EINTR,
    SLICE_MS,
    error_for,
    fast,
    ffi,
    lib,
    on_main_thread,
    raise_for,
    text_of,
    to_ms,
)
from meshmsg._engine import Engine
from meshmsg._errors import MeshError, UsageError
from meshmsg._recv import Receiver

if TYPE_CHECKING:
    from typing_extensions import Self

SocketT = TypeVar("SocketT", bound=Receiver[Any])

LOGGED_AT_ONCE = 16
"""Sockets whose connection trouble is looked for by each slice of a wait, in turn."""

_lock = threading.RLock()


class Poller(Generic[SocketT]):
    """Waits for several sockets at once, for a thread that serves them all.

    It needs no descriptors, and where nobody else waits its thread reads the connections itself,
    as a lone `recv` does. A poller that is dropped is closed.

    Args:
        sockets: What to wait for; `add` takes more.

    Raises:
        UsageError, ClosedError: As `add`.
    """

    def __init__(self, sockets: Iterable[SocketT] = ()) -> None:
        self._handle: int = 0
        self._closed = False
        self._pid = os.getpid()
        self._engine: Engine | None = None
        self._slice_ms = SLICE_MS
        self._sockets: dict[int, SocketT] = {}
        self._logged = 0
        try:
            for socket in sockets:
                self.add(socket)
        except BaseException:
            self.close()
            raise

    def add(self, socket: SocketT) -> None:
        """Wait for this socket as well, also if another thread is in `poll` already.

        From then on, and after `remove` too, the socket takes messages from the core one call at a
        time, as after `fileno()`.

        Thread-safe: yes. Adding twice is harmless.

        Args:
            socket: One that receives, not an asyncio one, of the same engine as the others.

        Raises:
            UsageError: It is none of those.
            ClosedError: The socket or this poller was closed.
            ForkedError: The socket or this poller was opened before a fork.
        """
        if not isinstance(socket, Receiver):
            what = f"{type(socket).__module__}.{type(socket).__name__}"
            raise UsageError(f"{what} is no socket that a thread receives from with recv()")
        with _lock:  # the core's poller and this one change together
            handle = self._open(socket)
            known = socket._handle in self._sockets
            self._sockets[socket._handle] = socket  # first: it may be ready at once
            rc = lib.mm_group_add(handle, socket._handle)
            if rc < 0 and not known:
                self._sockets.pop(socket._handle, None)
        if rc < 0:
            if rc == lib.MM_EINVAL:  # the poller is no longer there
                raise self._error(lib.MM_ECLOSED)
            socket._check(rc, "cannot be waited for")
        socket._watch()

    def _open(self, socket: SocketT) -> int:
        """Return the core's poller, which is of the first socket's engine; under the lock."""
        if self._closed:
            raise self._error(lib.MM_ECLOSED)
        if not self._handle:
            out = ffi.new("mm_handle *")
            rc = lib.mm_group_open(socket._engine._handle, out)
            if rc in (lib.MM_ECLOSED, lib.MM_EFORKED):
                raise socket._error(rc, "cannot be waited for")
            raise_for(rc, "opening a Poller")
            self._pid = os.getpid()
            self._engine = socket._engine
            self._slice_ms = socket._slice_ms
            self._handle = out[0]
        elif os.getpid() != self._pid:
            raise self._error(lib.MM_EFORKED)
        elif socket._engine is not self._engine:
            raise UsageError(
                f"this {type(socket).__name__} is of another engine than the sockets that are "
                "waited for already; a Poller waits for those of one engine"
            )
        return self._handle

    def remove(self, socket: SocketT) -> None:
        """Wait for this socket no longer.

        Thread-safe: yes. Removing one that is not in it, or was closed, is harmless.

        Args:
            socket: As it was given to `add`.
        """
        with _lock:
            if self._sockets.pop(socket._handle, None) is not None:
                lib.mm_group_remove(self._handle, socket._handle)

    def poll(self, timeout: float | None = None) -> list[SocketT]:
        """Wait until a receive of one or more of the sockets would find a message.

        A socket is told of as long as there is something to receive, so one message of each is
        enough. If other threads receive from it as well, receive with timeout=0: they may have been
        faster. A closed socket is told of once, so that `recv` raises ClosedError, and is then no
        longer waited for.

        Thread-safe: one thread at a time; a second one gets UsageError.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            All sockets that are ready, 256 at most, the others first next time; none when time is
            up.

        Raises:
            UsageError: There is no socket to wait for; another thread is waiting here.
            ClosedError: The poller was closed.
            ForkedError: It was opened before a fork.
        """
        ms = -1 if timeout is None else to_ms(timeout)
        if not self._sockets:
            raise (
                self._error(lib.MM_ECLOSED)
                if self._closed
                else UsageError("this Poller has no sockets to wait for; `add` some")
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        found: Any = fast.poll(self._handle, self._sockets, ms, self._slice_ms)
        return found if found.__class__ is list and found else self._poll_on(found, ms, deadline)

    def _poll_on(self, found: Any, ms: int, deadline: float | None) -> list[SocketT]:
        """Wait on after a first try that gave this; in between, signal handlers run."""
        slice_ms = self._slice_ms
        while not (found.__class__ is list and found):
            if found == EAGAIN:
                return []
            if found == lib.MM_ETIMEDOUT:
                self._log_events()
                return []
            if found == lib.MM_ECLOSED and not self._closed:
                return self._engine_is_gone()
            if found == EINTR:
                self._log_events()
                slice_ms = slice_ms if on_main_thread() else 0
            elif found.__class__ is int:
                raise self._error(found)
            if deadline is not None and ms > 0:
                ms = to_ms(max(deadline - time.monotonic(), LEAST_S))
            found = fast.poll(self._handle, self._sockets, ms, slice_ms)
        told: list[SocketT] = found
        return told

    def _engine_is_gone(self) -> list[SocketT]:
        """All sockets were closed with it."""
        with _lock:
            self._handle = 0
            told = list(self._sockets.values())
            self._sockets.clear()
        return told

    def _log_events(self) -> None:
        """Pass new connection trouble to logging: of some of the sockets, the next ones next."""
        sockets = list(self._sockets.values())
        start = self._logged if self._logged < len(sockets) else 0
        self._logged = start + LOGGED_AT_ONCE
        for socket in sockets[start : self._logged]:
            socket._log_events()

    def _error(self, code: int) -> MeshError:
        if code == lib.MM_ECLOSED:
            return error_for(code, "this Poller was closed; make a new one")
        if code == lib.MM_EFORKED:
            return error_for(
                code, f"this Poller was made in process {self._pid}; make a new one after fork"
            )
        if code == lib.MM_ESTATE:
            return error_for(code, "another thread is waiting in this Poller; one at a time may")
        return error_for(code, f"cannot wait for sockets: {text_of(code)}")

    @property
    def closed(self) -> bool:
        """Whether the poller was closed."""
        return self._closed

    def close(self) -> None:
        """Close the poller, and none of its sockets. Who waits in it gets ClosedError.

        Thread-safe: yes. Closing twice is harmless.
        """
        with _lock:
            self._closed = True
            self._sockets.clear()
            handle, self._handle = self._handle, 0
        if handle:
            lib.mm_group_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.mm_group_close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"of {len(self._sockets)} sockets"
        return f"<meshmsg.Poller {state}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a Poller cannot be pickled: it waits in this process; make one there")


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)
