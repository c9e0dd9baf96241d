"""Looking into a socket: who is connected, what happened, what is counted; and errors that say so.

Not here: the life of a socket (_base). Law: nothing here waits, and nothing here changes the
socket.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from meshmsg._core import error_for, ffi, lib, text_of
from meshmsg._errors import MeshError, TooLargeError
from meshmsg._info import Event, EventKind, PeerInfo, Reason, Stats, event_of, peer_of, stats_of

log = logging.getLogger("meshmsg")

_EVENTS_AT_ONCE = 64
_TROUBLE = (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED, EventKind.PEER_DOWN)
_EXPECTED = (Reason.EOF, Reason.LOCAL)
_HINTS: dict[int, str] = {
    lib.MM_EADDRINUSE: "another socket listens there; port 0 takes a free one",
    lib.MM_EADDRINVAL: "endpoints are tcp://host:port, ipc:///path/of/a/file and inproc://name; to "
    "connect over SP, sp+tcp://host:port and sp+ipc:///path/of/a/file",
    lib.MM_ENOTSUP: "over SP a message is one body, without frames",
    lib.MM_EMFILE: "close sockets that are not needed, or raise the limit of open files",
    lib.MM_ECLOSED: "open a new one",
}


class Looking:
    """What can be seen of a socket from outside."""

    _handle: int
    _opts: Any
    _opened_pid: int
    _bound: list[tuple[str, str]]
    _connected: list[str]

    def _prepare(self) -> None:
        """Make what the socket's other parts need, before it is opened."""
        self._event_seq = 1
        self._log_seq = 1
        self._event_lock = threading.RLock()

    def _opened(self) -> None:
        """Tell the socket's other parts its handle."""

    def _forget(self) -> None:
        """After a fork, in the child: locks may be held by threads that are not here."""
        self._event_lock = threading.RLock()

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

    def events(self) -> list[Event]:
        """Tell what happened to the connections since the last call.

        Thread-safe: yes; each event is given to one caller.

        Returns:
            The new events, oldest first. The socket remembers 256; a gap in `seq` shows lost ones.

        Raises:
            ClosedError: The socket was closed.
        """
        with self._event_lock:
            found, self._event_seq = self._read_events(self._event_seq)
        return found

    def _read_events(self, seq: int) -> tuple[list[Event], int]:
        found: list[Event] = []
        out = ffi.new("mm_event[]", _EVENTS_AT_ONCE)
        next_seq = ffi.new("uint64_t *")
        while True:
            count = lib.mm_socket_events(self._handle, seq, out, _EVENTS_AT_ONCE, next_seq)
            self._check(count, "reading events")
            found += [event_of(out[i]) for i in range(count)]
            seq = next_seq[0]
            if count < _EVENTS_AT_ONCE:
                return found, seq

    def _log_events(self) -> None:
        """Pass new connection trouble to logging; called from slow paths only."""
        try:
            with self._event_lock:
                found, self._log_seq = self._read_events(self._log_seq)
        except MeshError:
            return
        for event in found:
            trouble = event.kind in _TROUBLE and event.reason not in _EXPECTED
            log.log(
                logging.WARNING if trouble else logging.DEBUG,
                "%s %s %s: %s",
                type(self).__name__,
                event.endpoint,
                event.kind.name,
                event.detail or event.reason.name,
            )

    # ---- errors ----

    def _about(self) -> str:
        """Say which socket this is, for messages."""
        places = [f"bound to {bound}" for _, bound in self._bound]
        places += [f"connected to {url}" for url in self._connected]
        count = ffi.new("uint32_t *")
        if lib.mm_peer_count(self._handle, count) == 0:
            places.append("1 peer" if count[0] == 1 else f"{count[0]} peers")
        return f"{type(self).__name__} {', '.join(places)}"

    def _last_trouble(self) -> str:
        try:
            found, _ = self._read_events(1)
        except MeshError:
            return ""
        bad = [event for event in found if event.kind in _TROUBLE]
        return f"; last: {bad[-1].endpoint} {bad[-1].detail}" if bad else ""

    def _error(
        self, code: int, what: str, timeout: float | None = None, *, address: str = ""
    ) -> MeshError:
        """Make the error of a failed call: what was tried, where, and what is known of the
        cause."""
        if code == lib.MM_EAGAIN:
            return error_for(code, f"{what} now ({self._about()})")
        if code == lib.MM_ETIMEDOUT:
            self._log_events()
            about = f"{self._about()}{self._last_trouble()}"
            return error_for(code, f"{what} within {timeout} s ({about})")
        if code == lib.MM_EFORKED:
            return error_for(
                code,
                f"this {type(self).__name__} was opened in process {self._opened_pid}; "
                "open a new one after fork",
            )
        if code == lib.MM_ECLOSED:
            return error_for(code, f"{what}: this {type(self).__name__} was closed; open a new one")
        hint = f"; {_HINTS[code]}" if code in _HINTS else ""
        if code == lib.MM_ENOTSUP:
            what = "not possible"
        about = "" if address else f" ({self._about()})"
        return error_for(code, f"{what}{about}: {text_of(code)}{hint}", address=address)

    def _check(self, code: int, what: str, *, address: str = "") -> None:
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
