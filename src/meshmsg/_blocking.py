"""Waiting, for threads that may block: in slices, so that signals are looked at.

Not here: sending and receiving (_send, _recv). Law: a wait ends when it is done, failed or too
late, and in between the interpreter runs signal handlers at least every SLICE_MS on the main
thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from meshmsg._base import SocketBase
from meshmsg._core import EINTR, ffi, lib, on_main_thread, to_ms
from meshmsg._errors import TimedOutError, WouldBlockError
from meshmsg._info import DrainReport, drain_of
from meshmsg._options import check_count

if TYPE_CHECKING:
    from typing_extensions import Self

LEAST_S = 0.000001
"""What is left of a time that is up: the call then waits its shortest, and says that it is too
late."""


class Blocking(SocketBase):
    """What a socket's blocking calls share."""

    def _blocking(self, call: Callable[[int, int], int], timeout: float | None, what: str) -> int:
        """Call until it is done, failed or too late; in between, signal handlers run."""
        ms = to_ms(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        slice_ms = self._slice_ms
        while True:
            rc = call(ms, slice_ms)
            if rc != EINTR:
                break
            self._log_events()
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
            f"not {count} peers",
        )

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
