"""At which of its endpoints a node is connected to, of several: the next, if one does not answer.

Not here: connecting (_follow.py). Law: of a node one endpoint at a time, so that nothing comes
twice. All are tried, one after the other; then there is a pause, as of a socket between two
attempts. After a connection the first is the first again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from random import Random, SystemRandom

from meshmsg._binding.snapshots import Event, EventKind, Reason

STABLE_S = 1.0
"""Seconds that a connection is there before its end is no failed attempt; of sockets, too."""
DOUBLINGS_MAX = 20
"""Of the pause, at most; `reconnect_max` of the socket ends it long before."""
_DENIED = (Reason.TLS_ALERT, Reason.ERROR_COMMAND)
"""Somebody is there who does not want us: the pause is half of the longest one, at least."""
_FAILS = (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED, EventKind.PEER_DOWN)


class _Tries:
    """Of one node: its endpoints, and which one it is now."""

    __slots__ = ("again", "at", "denied", "rounds", "up", "urls", "why")

    def __init__(self, urls: tuple[str, ...], at: int) -> None:
        self.urls, self.at = urls, at
        self.rounds = 0
        """How often all of them have failed, since a connection was there."""
        self.again: float | None = None
        """When the first is tried again, if all have failed."""
        self.up = float("-inf")
        """Since when it is connected."""
        self.denied = False
        """Whether one of them, in this round, does not want us."""
        self.why: dict[str, str] = {}
        """By endpoint: why it was left."""


class Ways:
    """Those of one socket. Not thread-safe: for the thread of the mesh."""

    def __init__(
        self,
        least: float,
        most: float,
        clock: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
    ) -> None:
        """Begin with nobody.

        Args:
            least, most: Seconds of the pause, at first and at last: as of the socket.
            clock: Seconds, that only go on.
            rng: For the pause.
        """
        self._least, self._most, self._clock = least, most, clock
        self._rng = rng or SystemRandom()
        self._tries: dict[bytes, _Tries] = {}
        self._due = float("inf")
        """When the first pause is over."""
        self._moved = False

    def of(self, node: bytes, urls: Sequence[str], live: Callable[[Sequence[str]], str]) -> str:
        """Return the endpoint of a node that is to be connected to.

        Args:
            node: Its id.
            urls: Its endpoints, the best first; one at least.
            live: Returns which of these is connected already; "": none.
        """
        one, several = self._tries.get(node), tuple(dict.fromkeys(urls))
        if len(several) == 1:
            self._tries.pop(node, None)
            return several[0]
        if one is None or one.urls != several:
            there = live(several)
            one = _Tries(several, several.index(there) if there else 0)
            self._tries[node] = one
        return one.urls[one.at]

    def others(self, node: bytes) -> list[str]:
        """Return the other endpoints of a node."""
        one = self._tries.get(node)
        return [] if one is None else [*one.urls[: one.at], *one.urls[one.at + 1 :]]

    def only(self, nodes: Container[bytes]) -> None:
        """Forget all others."""
        self._tries = {node: one for node, one in self._tries.items() if node in nodes}

    @property
    def why(self) -> dict[str, str]:
        """By endpoint: why another one was tried in its place."""
        return {url: words for one in self._tries.values() for url, words in one.why.items()}

    def take(self, events: Iterable[Event]) -> bool:
        """Take what happened to connections; true: somebody is to be connected elsewhere."""
        for event in events:
            if event.reason != Reason.LOCAL:
                for one in self._at(event.endpoint):
                    self._took(one, event)
        if self._due <= self._clock():
            self._begin_anew()
        moved, self._moved = self._moved, False
        return moved

    def refused(self, url: str, words: str) -> None:
        """Take that a socket does not connect to an endpoint at all."""
        for one in self._at(url):
            self._failed(one, words)

    def _at(self, url: str) -> list[_Tries]:
        return [one for one in self._tries.values() if one.urls[one.at] == url]

    def _took(self, one: _Tries, event: Event) -> None:
        if event.kind == EventKind.PEER_UP:
            one.up, one.again = self._clock(), None
            one.why.pop(event.endpoint, None)
        elif event.kind == EventKind.PEER_DOWN and self._clock() - one.up >= STABLE_S:
            self._move(one, 0)
            one.rounds = 0
        elif event.kind == EventKind.CONNECT_FAILED and event.retry_in is None:
            pass  # its name has more addresses
        elif event.kind in _FAILS or (event.kind == EventKind.PEER_SILENT and _is_early(one)):
            one.denied |= event.kind == EventKind.HANDSHAKE_FAILED and event.reason in _DENIED
            self._failed(one, event.detail)

    def _failed(self, one: _Tries, words: str) -> None:
        """Go on with the next one; after the last there is a pause, in which that one is kept."""
        one.why[one.urls[one.at]] = words
        if one.again is not None:
            return
        if one.at + 1 < len(one.urls):
            self._move(one, one.at + 1)
            return
        pause = min(self._least * 2 ** min(one.rounds, DOUBLINGS_MAX), self._most)
        pause *= self._rng.random()
        if one.denied:
            pause = self._most * (1 + self._rng.random()) / 2
        one.rounds, one.denied = one.rounds + 1, False
        again = one.again = self._clock() + pause
        self._due = min(self._due, again)

    def _begin_anew(self) -> None:
        now, self._due = self._clock(), float("inf")
        for one in self._tries.values():
            again = one.again
            if again is not None and again <= now:
                one.again = None
                self._move(one, 0)
            elif again is not None:
                self._due = min(self._due, again)

    def _move(self, one: _Tries, at: int) -> None:
        self._moved |= one.at != at
        one.at = at


def _is_early(one: _Tries) -> bool:
    """Whether silence is enough to try the next one: else each has the time of a handshake."""
    return one.rounds == 0 and one.at + 1 < len(one.urls)
