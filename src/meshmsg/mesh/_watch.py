"""What a user is told as it happens: a queue of events for each who watches.

Not here: waiting on an event loop (aio.py), who puts them in (_driver.py). Law: a slow watcher
holds up nobody: beyond `WATCH_MAX` events the oldest are dropped, and counted. No lock is held, as
who watches may be interrupted by a signal's function that leaves (_waking/calls.py).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from meshmsg._binding.core import to_ms
from meshmsg._binding.errors import ClosedError, TimedOutError, WouldBlockError
from meshmsg._mesh.told import Event, EventKind, Member, State
from meshmsg.mesh._waking.calls import Latch

if TYPE_CHECKING:
    from typing_extensions import Self

WATCH_MAX = 10_000
"""Events that wait for one who watches."""
TWINS_MAX = 1_000
"""Nodes of which it is remembered that they have the name of another one."""


def concerns(event: Event, service: str) -> bool:
    """Whether an event is about a node that has, or had, a service."""
    records = (event.member.record, event.before)
    return any(s.name == service for r in records if r is not None for s in r.services)


def offers(member: Member, service: str | None) -> bool:
    """Whether a node offers a service, as far as is known."""
    return service is None or any(one.name == service for one in member.record.services)


def is_there(member: Member) -> bool:
    """Whether a node is taken to be there."""
    return member.state in (State.ALIVE, State.SUSPECT)


class EventQueue:
    """Events of one who watches; `Watch` and the asyncio one are made of it."""

    def __init__(self, service: str | None, ring: Callable[[], None]) -> None:
        self._service = service
        self._ring = ring
        self._events: deque[Event] = deque()
        self._there: set[bytes] = set()
        """Nodes that it was told of as offering the service."""
        self._lost: set[bytes] = set()
        """Nodes of those that are unreachable, and not forgotten."""
        self._twins: dict[bytes, None] = {}
        """Nodes that have the name of another one and do not offer the service, the latest last."""
        self._ended = False
        self._missed = 0

    def first(self, members: Sequence[Member]) -> None:
        """Begin with who is there now."""
        self.told([Event(EventKind.UP, one) for one in members if is_there(one)])

    def told(self, events: Sequence[Event]) -> bool:
        """Take events; false: it wants no more."""
        if self._ended:
            return False
        mine = [told for one in events for told in self._as_told(one)]
        self._events.extend(mine)
        for _ in range(len(self._events) - WATCH_MAX):
            with suppress(IndexError):  # who watches took it
                self._events.popleft()
                self._missed += 1
        if mine:
            self._ring()
        return True

    def _as_told(self, event: Event) -> list[Event]:
        """What it is to one who watches a service, of which nodes come and go that are in the mesh
        all the time. That a node has the name of another one is told as it comes, too."""
        if self._service is None:
            return [event]
        told, node = self._as_one(event), event.member.record.node_id
        if told is None:
            if event.kind == EventKind.CONFLICT:
                self._twins[node] = None
                if len(self._twins) > TWINS_MAX:
                    del self._twins[next(iter(self._twins))]
            return []
        if told.kind == EventKind.UP and node in self._twins:
            del self._twins[node]
            return [Event(EventKind.CONFLICT, event.member), told]
        return [told]

    def _as_one(self, event: Event) -> Event | None:
        """The same of one event alone; None: nothing."""
        node, kind = event.member.record.node_id, event.kind
        was = node in self._there
        offered = is_there(event.member) and offers(event.member, self._service)
        if kind in (EventKind.UP, EventKind.CHANGED) and offered:
            self._there.add(node)
            self._lost.discard(node)
            return replace(event, kind=EventKind.CHANGED if was else EventKind.UP)
        if kind in (EventKind.UP, EventKind.CHANGED):
            self._there.discard(node)
            return replace(event, kind=EventKind.LEFT) if was else None
        if kind == EventKind.CONFLICT:
            return event if was or offered else None
        return self._as_gone(event, node)

    def _as_gone(self, event: Event, node: bytes) -> Event | None:
        """The same of who is not in the mesh: only of one that came; FORGOTTEN is the last word."""
        told = node in self._there or node in self._lost
        self._there.discard(node)
        self._lost.discard(node)
        if told and event.kind == EventKind.UNREACHABLE:
            self._lost.add(node)
        return event if told else None

    def closed(self) -> None:
        """There will be no more; those that wait are still given out."""
        self._ended = True
        self._ring()

    def take(self) -> Event | None:
        """Return the next event, if there is one.

        Raises:
            ClosedError: There is none, and will be none.
        """
        ended = self._ended  # from before the look
        with suppress(IndexError):
            return self._events.popleft()
        if ended:
            raise ClosedError("watching ended: it, or its Mesh, was closed")
        return None

    @property
    def missed(self) -> int:
        """How many events were dropped, as nobody took them."""
        return self._missed


class Watch(EventQueue):
    """Events of the mesh, for threads: `for event in mesh.watch(...)`.

    It begins with an UP for each node that is there. It ends when it or the mesh is closed.
    Thread-safe: yes; each event is given out once.
    """

    def __init__(self, service: str | None) -> None:
        self._rung = Latch()
        super().__init__(service, self._wake)

    def _wake(self) -> None:
        before, self._rung = self._rung, Latch()
        before.open()

    def next(self, timeout: float | None = None) -> Event:
        """Return the next event, and wait for it.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError: There was none in time.
            WouldBlockError: There is none now (timeout=0).
            ClosedError: It, or the mesh, was closed.
        """
        to_ms(timeout)  # refuses what is no time
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            rung = self._rung  # from before the look
            found = self.take()
            if found is not None:
                return found
            if timeout == 0:
                raise WouldBlockError("no event of the mesh waits")
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimedOutError(f"no event of the mesh within {timeout:g} s")
            rung.wait(left)

    def close(self) -> None:
        """Watch no more; who waits in it ends. Again: nothing. Thread-safe: yes."""
        self.closed()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            return self.next()
        except ClosedError:
            raise StopIteration from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
