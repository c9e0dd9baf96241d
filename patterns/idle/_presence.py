"""Who is connected to an `IdleQueue`, told to its books whenever that has changed.

Not here: who counts for how long after it left (`_leaving`).
Law: it takes events from nobody (`events(since=)`), and does no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._books import IdleBooks, names_of
from ._leaving import Leaving

if TYPE_CHECKING:
    from meshmsg import Router, aio


class Presence:
    """Watches both sides of one queue.  Not thread-safe: its owner holds a lock."""

    def __init__(
        self, books: IdleBooks, *, clients: Router | aio.Router, workers: Router | aio.Router
    ) -> None:
        self._books = books
        self._clients, self._workers = clients, workers
        self._leaving = Leaving()
        self._clients_seen = self._workers_seen = 0  # the last event of that side we know

    def check(self, now: float) -> None:
        """Tell the books who is connected, if that has changed.

        To be called after receiving: who has said something is known by then.
        """
        news = self._workers.events(since=self._workers_seen)
        if news or self._leaving:
            self._workers_seen = news[-1].seq if news else self._workers_seen
            here, strict = names_of(self._workers.peers())
            self._books.workers_here(self._leaving.here(here, now), now, strict)
        news = self._clients.events(since=self._clients_seen)
        if news:
            self._clients_seen = news[-1].seq
            here, _ = names_of(self._clients.peers())
            self._books.clients_here(here)
