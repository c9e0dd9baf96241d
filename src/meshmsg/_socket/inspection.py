"""Looking into a socket: who is connected, what happened, what is counted; and errors that say so.

Not here: the life of a socket (base.py). Law: nothing here waits, and nothing here changes the
socket.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from meshmsg._binding.core import error_for, ffi, lib, text_of
from meshmsg._binding.errors import MeshError, TooLargeError
from meshmsg._binding.snapshots import Event, PeerInfo, Stats, peer_of, stats_of
from meshmsg._events.event_log import log as log
from meshmsg._events.outlet import Outlet, read_events
from meshmsg._socket.causes import What, room_of, seconds, topics_of, trouble_of

_HINTS: dict[int, str] = {
    lib.MM_ENOTSUP: "over SP a message is one body, without frames",
    lib.MM_EMFILE: "close sockets that are not needed, or raise the limit of open files",
    lib.MM_ECLOSED: "open a new one",
}


def is_open(handle: int) -> bool:
    """Whether a socket was not closed."""
    return bool(lib.mm_peer_count(handle, ffi.new("uint32_t *")) == 0)


class Looking:
    """What can be seen of a socket from outside."""

    _handle: int
    _role: ClassVar[int]
    _opts: Any
    _slice_ms: int
    _opened_pid: int
    _bound: list[tuple[str, str]]
    _outlet: Outlet
    _connected: list[str]
    _stops = False
    """Whether it was to stop receiving."""

    def _prepare(self) -> None:
        """Make what the socket's other parts need, before it is opened."""
        self._event_seq = 1
        self._event_lock = threading.RLock()

    def _opened(self) -> None:
        """Tell the socket's other parts its handle."""

    def _forget(self) -> None:
        """After a fork, in the child: locks may be held by threads that are not here."""
        self._event_lock = threading.RLock()
        self._outlet.after_fork()

    def _discard(self) -> int:
        """Drop what was received and not taken; tell how many messages."""
        return 0

    def _held(self) -> tuple[int, int]:
        """Tell how many messages and bytes were received and not taken yet."""
        return 0, 0

    def peers(self) -> list[PeerInfo]:
        """Tell who is connected now, with queues, counters and round-trip times.

        Thread-safe: yes.

        Returns:
            One entry a peer.

        Raises:
            ClosedError: The socket was closed.
        """
        cap = 16
        while True:
            found, count = self._first_peers(cap)
            if count <= cap:
                return found
            cap = count + 16

    def _first_peers(self, cap: int) -> tuple[list[PeerInfo], int]:
        """Some peers, and how many there are."""
        out = ffi.new("mm_peer[]", cap)
        count = ffi.new("uint32_t *")
        self._check(lib.mm_socket_peers(self._handle, out, cap, count), "listing peers")
        return [peer_of(out[i]) for i in range(min(count[0], cap))], int(count[0])

    def stats(self) -> Stats:
        """Tell the socket's counters.

        Thread-safe: yes.

        Returns:
            A frozen snapshot.

        Raises:
            ClosedError: The socket was closed.
        """
        out = ffi.new("mm_stats *")
        self._check(lib.mm_socket_stats(self._handle, out), "reading counters")
        return stats_of(out, *self._held())

    def events(self, *, since: int | None = None) -> list[Event]:
        """Tell what happened to the connections since the last call.

        Thread-safe: yes; each event is given to one caller, but to all that say `since`.

        Args:
            since: The `seq` of the last event that you know, 0 at first: all newer ones, whoever
                has had them, and without taking them from anybody.

        Returns:
            The new events, oldest first. The socket remembers 256; a gap in `seq` shows lost ones.

        Raises:
            ClosedError: The socket was closed.
        """
        if since is not None:
            return self._read_events(since + 1)[0]
        with self._event_lock:
            found, self._event_seq = self._read_events(self._event_seq)
        return found

    def _read_events(self, seq: int) -> tuple[list[Event], int]:
        code, found, seq = read_events(self._handle, seq)
        self._check(code, "reading events")
        return found, seq

    def _log_events(self) -> None:
        """Log what is new, where no thread does: without a descriptor for it, or simulated."""
        self._outlet.log_new()

    # ---- errors ----

    def _about(self) -> str:
        """Say which socket this is, for messages."""
        places = [f"bound to {bound}" for _, bound in self._bound]
        places += [f"connected to {url}" for url in self._connected]
        count = self._peer_count()
        if not places:
            places.append("neither bound nor connected")
        if count > 0 or (count == 0 and (self._bound or self._connected)):
            places.append("1 peer" if count == 1 else f"{count} peers")
        return f"{type(self).__name__} {', '.join(places)}"

    def _peer_count(self) -> int:
        """How many peers there are; below 0: the socket is closed."""
        count = ffi.new("uint32_t *")
        rc = int(lib.mm_peer_count(self._handle, count))
        return rc if rc < 0 else int(count[0])

    def _peers_of(self, count: int) -> What:
        """What a wait for so many peers says that ends without them."""

        def told() -> str:
            there = self._peer_count()
            return f"waiting for {count} peers" if there < 0 else f"{there} of {count} peers"

        return told

    def _why_not(self, what: str, timeout: float | None) -> str:
        """Say what is known of why something could not be done, now or in time."""
        queues = ""
        if what.startswith("no room"):
            what, queues = room_of(self, what, in_detail=timeout != 0)
        if timeout == 0:
            return f"{what} now{queues} ({self._about()})"
        span = "" if timeout is None else f" within {seconds(timeout)}"
        asked = topics_of(self) if what.startswith("no message") else ""
        return f"{what}{span}{queues} ({self._about()}{asked}{trouble_of(self)})"

    def _error(
        self, code: int, what: What, timeout: float | None = None, *, address: str = ""
    ) -> MeshError:
        """Make the error of a failed call: what was tried, where, and what is known of the
        cause."""
        what = what if isinstance(what, str) else what()
        if code == lib.MM_EAGAIN:
            return error_for(code, self._why_not(what, 0))
        if code == lib.MM_ETIMEDOUT:
            self._log_events()
            return error_for(code, self._why_not(what, timeout))
        if code == lib.MM_EFORKED:
            return error_for(
                code,
                f"this {type(self).__name__} was opened in process {self._opened_pid}; "
                "open a new one after fork",
            )
        if code == lib.MM_ECLOSED and self._stops and is_open(self._handle):
            return error_for(
                code,
                f"{what}: this {type(self).__name__} stopped receiving, and has given out all "
                "that came",
            )
        if code == lib.MM_ESTATE and self._stops:
            return error_for(
                code,
                f"{what}: this {type(self).__name__} was told to stop receiving, and takes no new "
                "peers and no new topics; open a new one",
                address=address,
            )
        if code == lib.MM_ECLOSED:
            return error_for(code, f"{what}: this {type(self).__name__} was closed; open a new one")
        hint = f"; {_HINTS[code]}" if code in _HINTS else ""
        if code == lib.MM_ENOTSUP:
            what = "not possible"
        about = "" if address else f" ({self._about()})"
        return error_for(code, f"{what}{about}: {text_of(code)}{hint}", address=address)

    def _check(self, code: int, what: What, *, address: str = "") -> None:
        if code < 0:
            raise self._error(code, what, address=address)

    def _too_large(self, size: int, count: int) -> MeshError:
        limit = int(self._opts.message_size_max)
        frames = int(self._opts.frames_max)
        return TooLargeError(
            f"a message of {size} bytes in {count} frames; this {type(self).__name__} takes "
            f"{limit} bytes (message_size_max) in {frames} frames (frames_max)",
            code=lib.MM_EMSGSIZE,
            size=size,
            limit=limit,
        )
