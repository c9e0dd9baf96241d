"""The socket for threads, which may block: it waits in slices, so that signals are looked at.

Not here: sending and receiving (sending.py, receiving.py). Law: a wait ends when it is done, failed
or too late, and in between the interpreter runs signal handlers at least every SLICE_MS on the main
thread.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EINTR, LEAST_S, lib, on_main_thread, to_ms
from meshmsg._binding.data import buffer_of, pack_frames, size_of
from meshmsg._binding.errors import MeshError
from meshmsg._binding.note import NO_ROOM
from meshmsg._events.outlet import check_watch
from meshmsg._hints.wrong_role import not_awaited
from meshmsg._socket.causes import What, too_few
from meshmsg._socket.inbox import Inbox, MessageT
from meshmsg._socket.options import check_count
from meshmsg._socket.peers import peer_count
from meshmsg._sync.spooled import put_noted
from meshmsg._sync.watch import Events

if TYPE_CHECKING:
    from typing_extensions import Self


def _in_running_loop() -> bool:
    """Whether this thread runs an event loop of asyncio, which stands still in a blocking call."""
    asyncio = sys.modules.get("asyncio.events")
    return asyncio is not None and asyncio._get_running_loop() is not None


@not_awaited
class Socket(Inbox[MessageT]):
    """A socket for threads: what its blocking calls share."""

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

    def _send_noted(self, frames: list[bytes], note: bytes, timeout: float | None) -> None:
        """Send frames with what came with them: the octets as they are; a spool gets them first.

        Raises:
            TimedOutError, WouldBlockError: There was no room; nothing was sent, nor put.
        """
        if self._spooled is not None:
            put_noted(self._spooled, frames, note, timeout)
        else:
            self._send_packed(pack_frames(frames), note, timeout)

    def _send_packed(
        self,
        packed: tuple[bytes, Any, int],
        note: bytes,
        timeout: float | None,
        what: str = NO_ROOM,
    ) -> None:
        """Send frames that were packed, and the octets of what goes with them."""
        body, _, count = packed
        octets = buffer_of(note)
        try:
            self._blocking(
                lambda ms, slice_ms: lib.mm_send_packed(
                    self._handle, 0, *packed, *octets, ms, slice_ms
                ),
                timeout,
                what,
            )
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                raise self._too_large(size_of(body), count) from None
            raise

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
            too_few(self, count),
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
        self._check(peer_count(self._handle), "watching events")
        check_watch(self._outlet, self._slice_ms)
        return Events(self, self._outlet)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
