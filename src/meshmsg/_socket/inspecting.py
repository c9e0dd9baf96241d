"""What is seen of a socket from outside: its peers, its counters, what happened to it.

Not here: watching events as they come (_sync/watch.py, aio/_watch.py). Law: what is given is a
snapshot, and looking changes nothing but which events were told.
"""

from __future__ import annotations

import threading
from typing import Protocol

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.peer_info import PeerInfo
from meshmsg._binding.snapshots import Event, Stats, stats_of
from meshmsg._events.outlet import read_events
from meshmsg._socket.failures import check
from meshmsg._socket.peers import all_peers
from meshmsg._socket.signature import verb
from meshmsg._socket.state import State


class Inspected(State, Protocol):
    """A socket, and what only looking at it needs."""

    _event_seq: int
    """The next event that `events()` tells."""
    _event_lock: threading.RLock

    def _held(self) -> tuple[int, int]:
        """Tell how many messages and bytes were received and not taken yet."""
        ...

    def _group_lag(self) -> dict[str, int | None]:
        """Tell how far the groups of a Pub are behind."""
        ...


@verb
def peers(self: State) -> list[PeerInfo]:
    """Tell who is connected now, with queues, counters and round-trip times.

    Thread-safe: yes.

    Returns:
        One entry a peer.

    Raises:
        ClosedError: The socket was closed.
    """
    count, found = all_peers(self._handle)
    check(self, count, "listing peers")
    return found


@verb
def stats(self: Inspected) -> Stats:
    """Tell the socket's counters.

    Thread-safe: yes.

    Returns:
        A frozen snapshot.

    Raises:
        ClosedError: The socket was closed.
    """
    out = ffi.new("mm_stats *")
    check(self, lib.mm_socket_stats(self._handle, out), "reading counters")
    return stats_of(out, *self._held(), self._group_lag())


@verb
def events(self: Inspected, *, since: int | None = None) -> list[Event]:
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
        return events_from(self, since + 1)[0]
    with self._event_lock:
        found, self._event_seq = events_from(self, self._event_seq)
    return found


def events_from(self: State, seq: int) -> tuple[list[Event], int]:
    """Read the events from a number on, and the number of the next."""
    code, found, seq = read_events(self._handle, seq)
    check(self, code, "reading events")
    return found, seq
