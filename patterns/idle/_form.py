"""What an idle queue and its workers are, for threads and for asyncio alike: all that never waits.

Not here: starting and closing them, what is said and heard (`_idle`, `_aio`), who gets what
(`_books`).  Law: nothing here sends or receives.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from meshmsg import ClosedError, MeshError, PeerError, Stats, WouldBlockError

from .._life import Life
from ._books import IdleBooks, Word
from ._job import JobForm


class Side(Protocol):
    """A socket of either kind."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        ...

    @property
    def endpoint(self) -> str:
        """Where it is bound."""
        ...

    def stats(self) -> Stats:
        """Its counters."""
        ...


SideT = TypeVar("SideT", bound=Side)
JobT = TypeVar("JobT", bound=JobForm)


class QueueForm(Generic[SideT]):
    """Two sockets, and the books between them."""

    _front: SideT
    _back: SideT
    _books: IdleBooks
    _life: Life

    @property
    def front(self) -> SideT:
        """The side clients connect to: its endpoint, peers. Not to be received from or closed."""
        return self._front

    @property
    def back(self) -> SideT:
        """The side workers connect to: its endpoint, peers. Not to be received from or closed."""
        return self._back

    def _shown(self) -> str:
        return f"<IdleQueue {self._front.endpoint} to {self._back.endpoint}: {self._books!r}>"

    def _not_said(self, word: Word, error: MeshError, now: float) -> None:
        """Note why a word was not sent; raises what says that the queue is closed."""
        if isinstance(error, ClosedError):
            raise error
        if isinstance(error, (PeerError, WouldBlockError)):  # it is gone, or takes no more
            self._books.unsaid(word, now)
        else:
            self._books.unsendable(word, str(error), now)


class WorkerForm(Generic[SideT, JobT]):
    """A socket, and the job that is in hand."""

    _endpoint: str
    _dealer: SideT
    _job: JobT | None
    _taken: int
    _heard: int
    """Messages that were received and are known here."""

    def __repr__(self) -> str:
        state = "closed" if self._dealer.closed else f"of {self._endpoint}"
        hand = "" if self._job is None or self._job.settled else ", one in hand"
        return f"<IdleWorker {state}: {self._taken} job{'s' * (self._taken != 1)} taken{hand}>"

    def _begin(self, endpoint: str, dealer: SideT) -> None:
        self._endpoint = endpoint
        self._dealer = dealer
        self._job = None
        self._taken = self._heard = 0

    def _came(self, job: JobT | None) -> None:
        """Note what a received message is: a job, or None.

        In this order: what a signal's function raises in the midst of it loses no job.
        """
        if job is not None:
            self._job = job
        self._heard += 1
        self._taken += job is not None

    def stats(self) -> Stats:
        """The counts of the socket underneath.

        Thread-safe: yes.

        Returns:
            A snapshot.
        """
        return self._dealer.stats()
