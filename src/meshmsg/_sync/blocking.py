"""Waiting, for threads that may block: in slices, so that signals are looked at.

Not here: sending and receiving (send.py, recv.py). Law: a wait ends when it is done, failed or too
late, and in between the interpreter runs signal handlers at least every SLICE_MS on the main
thread.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from meshmsg._binding.core import EINTR, ffi, lib, on_main_thread, to_ms
from meshmsg._binding.errors import TimedOutError, WouldBlockError
from meshmsg._hints.wrong_role import NotAwaited
from meshmsg._socket.base import SocketBase
from meshmsg._socket.causes import What
from meshmsg._socket.drain_report import DrainReport, drain_of
from meshmsg._socket.options import check_count
from meshmsg._sync.watch import Events, check_watch

if TYPE_CHECKING:
    from typing_extensions import Self

LEAST_S = 0.000001
"""What is left of a time that is up: the call then waits its shortest, and says that it is too
late."""


def _in_running_loop() -> bool:
    """Whether this thread runs an event loop of asyncio, which stands still in a blocking call."""
    asyncio = sys.modules.get("asyncio.events")
    return asyncio is not None and asyncio._get_running_loop() is not None


def now_of(socket: SocketBase) -> float:
    """Seconds on the clock of a socket's engine, which may be a simulated one."""
    if socket._slice_ms:  # 0: its engine is simulated
        return time.monotonic()
    return float(lib.mm_now_ms(socket._handle)) / 1000


class Blocking(SocketBase, NotAwaited):
    """What a socket's blocking calls share."""

    _warned = False

    def _warn_of_a_loop(self) -> None:
        """Once a socket: a wait of this thread's holds up its event loop."""
        if not self._warned and _in_running_loop():
            self._warned = True
            warnings.warn(
                f"a blocking call of {type(self).__name__} waits in a thread that runs an event "
                f"loop, and holds it up; await one of meshmsg.aio.{type(self).__name__}",
                RuntimeWarning,
                stacklevel=2,
            )

    def _blocking(self, call: Callable[[int, int], int], timeout: float | None, what: What) -> int:
        """Call until it is done, failed or too late; in between, signal handlers run."""
        ms = to_ms(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        slice_ms = self._slice_ms
        while True:
            rc = call(ms, slice_ms)
            if rc != EINTR:
                break
            self._log_events()
            self._warn_of_a_loop()
            if not on_main_thread():
                slice_ms = 0
            if deadline is not None:
                ms = to_ms(max(deadline - time.monotonic(), LEAST_S))
        if rc < 0:
            raise self._error(rc, what, timeout)
        return rc

    def wait_for_peers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until peers are connected and ready.

        Thread-safe: yes.

        Args:
            count: How many, all together.
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError: There were not so many in time.
            WouldBlockError: There are not so many now (timeout=0).
            ClosedError: The socket was closed.
        """
        check_count("count", count)
        self._blocking(
            lambda ms, slice_ms: lib.mm_wait_peers(self._handle, count, ms, slice_ms),
            timeout,
            self._peers_of(count),
        )

    def watch(self) -> Events:
        """Tell what happens to the connections, from the socket's opening on: `for event in`.

        The iterator waits for the next event. Each call gives one with a place of its own: what it
        tells is told by `events()` and other iterators as well. It ends when the socket is closed.
        One that falls more than 256 events behind misses some: a gap in `seq` shows it.

        Thread-safe: yes; an iterator is for one thread.

        Returns:
            An iterator of `Event`.

        Raises:
            UsageError: The socket is of a simulated world; use `events()` there.
            ResourceError: There was no descriptor or thread for it when the socket was opened.
            ClosedError: The socket was closed.
        """
        self._check(self._peer_count(), "watching events")
        check_watch(self._outlet, self._slice_ms)
        return Events(self, self._outlet)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Draining(Blocking):
    """A socket whose messages can be waited for until they have arrived."""

    def drain(self, *, timeout: float | None = None) -> DrainReport:
        """Wait until the peers have received what was sent.

        A peer confirms by answering a heartbeat that was sent behind the messages; that works with
        libzmq too. It says that the peer's engine has read them, not that its application has.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            What was delivered, what was not, and why; it does not raise when time is up.

        Raises:
            ClosedError: The socket was closed.
        """
        info = ffi.new("mm_drain_info *")
        try:
            self._blocking(
                lambda ms, slice_ms: lib.mm_drain(self._handle, ms, slice_ms, info),
                timeout,
                "not drained",
            )
        except (TimedOutError, WouldBlockError):
            pass
        return drain_of(info)
