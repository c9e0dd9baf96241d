"""The books of an `IdleQueue`: which worker has been idle longest, which request waits or is where.

It does no I/O, takes the time as an argument and knows clients and workers only by name; drivers
say what `next_word` gives, and tell how that went.
Law: a request that was taken is in one place: it waits, is at one worker, or is settled (answered,
refused, or dropped as its client left); so taken = waiting + at work + settled after each call.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from meshmsg import PeerInfo, UsageError

from .._frames import NOTHING, Beside
from .._words import counted

READY, BYE, FAILED = b"READY", b"BYE", b"FAILED"
TAG_SIZE = 8
"""Octets of the number by which a request is known between the queue and its workers: a count, and
as many random ones, so that a queue that is restarted does not use the numbers of the one before,
and no worker can guess the number of a request that it was not given."""

TICK_S = 0.1  # seconds between looks at connections and patience when nobody says anything
READY_AGAIN_S = 1.0  # seconds of silence after which a worker says again that it is ready
TURN = 64  # messages taken from one side before the other has its turn
TURN_BYTES = 1024 * 1024  # ... and bytes: the message with which there are so many is the last

_COUNT_SIZE = 4  # octets of the count in that number
_ID_SIZE = 4  # octets of the id in front of the request of a meshmsg Req
_ID_MARK = 0x80  # set in the first of them
_REASON_MAX = 1024  # bytes of the reason of a refusal
_REFUSED = b"REFUSED"
_EXPIRED = "its ttl was over before a worker had it"
_ROUTE = "with 3 frames before it (the worker's name, an empty one, a number)"
LOG = logging.getLogger("meshmsg")


@dataclass(frozen=True)
class IdleStats:
    """What an `IdleQueue` has done, and has now; counts of requests unless the name says else.

    Attributes:
        taken: Requests that clients sent.
        answered: Requests whose answer was given to the client.
        refused: Requests whose client was told that there will be no answer.
        dropped: Requests whose client was gone, or took nothing more, before they were settled.
        retried: Times a request went to another worker, as the one that had it was lost or took too
            long.
        late: Answers of workers that nobody got: the request was settled already, by another one
            mostly. Also refusals of workers that no longer had the request.
        malformed: Messages that made no sense and were ignored.
        waiting: Requests that wait for a worker now.
        at_work: Requests that workers have now.
        workers: Workers that are known now.
        idle: Workers that wait for a request now.
    """

    taken: int
    answered: int
    refused: int
    dropped: int
    retried: int
    late: int
    malformed: int
    waiting: int
    at_work: int
    workers: int
    idle: int


@dataclass(eq=False)
class _Request:
    tag: bytes
    client: bytes
    envelope: list[bytes]
    body: list[bytes]
    beside: Beside = NOTHING
    attempts: int = 0

    def over(self, wall: float) -> bool:
        """Whether it is of no use any more."""
        return self.beside.expires is not None and self.beside.expires <= wall


class Word(NamedTuple):
    """What is to be said."""

    to_worker: bool
    name: bytes
    frames: list[bytes]
    request: _Request
    settles: str = ""
    """How this ends a request: "answered" or "refused", if the client can be reached."""
    note: bytes | None = None
    """What goes with it beside its frames, as it came."""


@dataclass(eq=False)
class _Worker:
    connection: int
    request: _Request | None = None
    since: float = 0.0
    """When it got that."""


@dataclass
class _Counts:
    taken: int = 0
    answered: int = 0
    refused: int = 0
    dropped: int = 0
    retried: int = 0
    late: int = 0
    malformed: int = 0


def names_of(peers: Iterable[PeerInfo]) -> tuple[dict[bytes, int], set[bytes]]:
    """Who is connected, by which connection, and who of them is a REQ socket."""
    peers = list(peers)
    return (
        {peer.identity: peer.id for peer in peers},
        {peer.identity for peer in peers if peer.role == "REQ"},
    )


def refusal_body(reason: str) -> bytes:
    """What a client is answered that knows no refusals."""
    return b"REFUSED " + reason.encode("utf-8", "backslashreplace")


@dataclass(eq=False)
class IdleBooks:
    """Who is idle and what waits.  Not thread-safe: its owner holds a lock."""

    backlog: int
    retries: int
    patience: float | None
    refusal: Callable[[str], bytes] = refusal_body
    random: Callable[[int], bytes] = os.urandom
    """Gives so many random octets."""
    wall: Callable[[], float] = time.time
    """The clock by which requests expire, in seconds since 1970."""
    out: deque[Word] = field(default_factory=deque)
    _waiting: dict[bytes, _Request] = field(default_factory=dict)
    _workers: dict[bytes, _Worker] = field(default_factory=dict)
    _idle: dict[bytes, None] = field(default_factory=dict)  # the one that is idle longest first
    _counts: _Counts = field(default_factory=_Counts)
    _connections: Mapping[bytes, int] = field(default_factory=dict)  # of workers
    _strict: Collection[
        bytes
    ] = ()  # workers that are REQ sockets: what they ask drops what they got
    _clients: Collection[bytes] = ()
    _look_at: float = 0.0  # nobody can be out of patience before that
    _expires_at: float = math.inf  # none of those that wait expires before that

    def __post_init__(self) -> None:
        if self.backlog < 0 or self.retries < 0:
            raise UsageError("backlog and retries must be 0 or more")
        if self.patience is not None and not self.patience > 0:
            raise UsageError(f"patience is {self.patience:g} s; it must be more than 0 s, or None")

    def __repr__(self) -> str:
        now = self.stats()
        return (
            f"{now.idle} of {counted(now.workers, 'worker')} idle, {now.waiting} waiting, "
            f"{now.answered} of {now.taken} answered"
        )

    def hear_client(
        self, client: bytes, frames: Sequence[bytes], now: float, beside: Beside = NOTHING
    ) -> None:
        """Take a request: an envelope, an empty frame, a body; and what went with it beside those.

        Tell `clients_here` before, when connections have changed.
        """
        cut = next((i for i, frame in enumerate(frames) if not frame), None)
        if cut is None or cut + 1 == len(frames):
            self._counts.malformed += 1
            return
        request = _Request(
            self._new_tag(), client, list(frames[:cut]), list(frames[cut + 1 :]), beside
        )
        self._counts.taken += 1
        if client not in self._clients:
            self._counts.dropped += 1  # it left after it asked
            return
        if len(self._waiting) >= self.backlog:
            self._refuse(request, f"{_waits(self.backlog)} already")
            return
        self._waiting[request.tag] = request
        self._note_expiry(request)
        self._match(now)

    def hear_worker(
        self, name: bytes, frames: Sequence[bytes], now: float, beside: Beside = NOTHING
    ) -> None:
        """Note what a worker says: that it is ready, an answer, that it failed, or goodbye.

        Tell `workers_here` before, when connections have changed.
        """
        if len(frames) < 2 or frames[0]:
            self._counts.malformed += 1
            return
        word, rest = frames[1], list(frames[2:])
        if word == BYE:
            self.worker_gone(name, now)
        elif word == READY:
            self._drop_unheard(name)
            self._rest(name)
        elif word == FAILED and len(rest) == 2:
            request = self._settle(name, rest[0], its_own=True)
            if request is not None:
                self._refuse(request, rest[1].decode(errors="replace") or "the worker failed")
            self._rest(name)
        elif len(word) == TAG_SIZE and rest:
            request = self._settle(name, word)
            if request is not None:
                frames = [*request.envelope, b"", *rest]
                answered = Word(False, request.client, frames, request, "answered", beside.note)
                self.out.append(answered)
            self._rest(name)
        else:
            self._counts.malformed += 1
        self._match(now)

    def worker_gone(self, name: bytes, now: float) -> None:
        """Forget a worker; what it had goes to another, or is refused."""
        worker = self._workers.pop(name, None)
        self._idle.pop(name, None)
        if worker is not None and worker.request is not None:
            self._again(worker.request, "was lost")
            self._match(now)

    def workers_here(
        self, connections: Mapping[bytes, int], now: float, strict: Collection[bytes] = ()
    ) -> None:
        """Forget the workers whose connection is gone, or is a new one; `strict`: who is a REQ."""
        self._connections, self._strict = connections, strict
        for name, worker in list(self._workers.items()):
            if connections.get(name) != worker.connection:
                self.worker_gone(name, now)

    def clients_here(self, names: Collection[bytes]) -> None:
        """Drop what waits for clients that are not among these."""
        self._clients = names
        gone = [tag for tag, one in self._waiting.items() if one.client not in names]
        for tag in gone:
            del self._waiting[tag]
        self._counts.dropped += len(gone)

    def expire(self, now: float) -> None:
        """Refuse what waits and is of no use any more; and take requests from workers that have
        had them for longer than `patience`.

        Such a worker gets nothing more until it says something.
        """
        self._expire_waiting()
        if self.patience is None or now < self._look_at:
            return
        self._look_at = now + self.patience
        for worker in self._workers.values():
            if worker.request is None:
                continue
            if worker.since + self.patience <= now:
                request, worker.request = worker.request, None
                self._again(request, f"took over {self.patience:g} s")
            else:
                self._look_at = min(self._look_at, worker.since + self.patience)
        self._match(now)

    def next_word(self) -> Word | None:
        """What is to be said next; a request that was taken from its worker meanwhile is not."""
        while self.out:
            word = self.out.popleft()
            if not word.to_worker or self._has(word.name, word.request) is not None:
                return word
        return None

    def said(self, word: Word) -> None:
        """This was sent."""
        if word.settles == "answered":
            self._counts.answered += 1
        elif word.settles == "refused":
            self._counts.refused += 1

    def unsaid(self, word: Word, now: float) -> None:
        """This could not be sent: its worker or client is gone, or takes no more."""
        if not word.to_worker:
            self._counts.dropped += 1
        elif self._has(word.name, word.request) is not None:
            word.request.attempts -= 1  # it never got there
            self._workers[word.name].request = None
            self._put_back(word.request)
            self.worker_gone(word.name, now)
            self._match(now)

    def unsendable(self, word: Word, why: str, now: float) -> None:
        """This cannot be sent to anybody, being too large, for example: its client is told."""
        if word.to_worker:
            worker = self._has(word.name, word.request)
            if worker is not None:
                worker.request = None
                self._idle = {word.name: None, **self._idle}  # as if it had not been its turn
                self._refuse(
                    word.request, f"the request cannot be passed on to a worker, {_ROUTE}: {why}"
                )
                self._match(now)
        elif word.settles == "answered":
            self._refuse(word.request, f"the worker's answer cannot be passed on: {why}")
        else:
            self._counts.dropped += 1
            LOG.warning("an idle queue cannot even refuse a request of %r: %s", word.name, why)

    def stats(self) -> IdleStats:
        """The counts, as they are now."""
        return IdleStats(
            **vars(self._counts),
            waiting=len(self._waiting),
            at_work=sum(one.request is not None for one in self._workers.values()),
            workers=len(self._workers),
            idle=len(self._idle),
        )

    def few_workers(self, count: int, timeout: float | None) -> str:
        """Why a `wait_for_workers` took too long."""
        here = len(self._workers)
        text = f"{here} of {counted(count, 'worker')} after {timeout or 0:g} s"
        silent = len(self._connections) - here
        if silent <= 0:
            return text
        who = f"{silent} more connected, but not" if here else f"{silent} connected, none of them"
        return f"{text}; {who} asking for work yet (a worker asks when it is iterated)"

    def check(self) -> None:
        """Assert the law of this file, when all of `out` was said."""
        now = self.stats()
        settled = now.answered + now.refused + now.dropped
        unsaid = sum(bool(word.settles) for word in self.out)
        assert now.taken == now.waiting + now.at_work + settled + unsaid
        assert all(self._workers[name].request is None for name in self._idle)
        assert not (self._idle and self._waiting)

    def _note_expiry(self, request: _Request) -> None:
        if request.beside.expires is not None:
            self._expires_at = min(self._expires_at, request.beside.expires)

    def _expire_waiting(self) -> None:
        """Refuse what waits and has expired: no worker is to begin it."""
        wall = self.wall()
        if wall < self._expires_at:
            return
        self._expires_at = math.inf
        for request in list(self._waiting.values()):
            if request.over(wall):
                del self._waiting[request.tag]
                self._refuse(request, _EXPIRED)
            else:
                self._note_expiry(request)

    def _drop_unheard(self, name: bytes) -> None:
        """A REQ that says that it is ready has not heard the request it was given, and never will.

        That happens when one of the same name was here before, and its READY was read only when it
        had left: a REQ throws away what came before it asked.  Others, which repeat their READY,
        have the request: it crossed that on its way.  Unless it expired on its way, and the socket
        dropped it.
        """
        worker = self._workers.get(name)
        if worker is None or worker.request is None:
            return
        if worker.request.over(self.wall()):
            request, worker.request = worker.request, None
            self._refuse(request, _EXPIRED)
        elif name in self._strict:
            request, worker.request = worker.request, None
            self._again(request, "was given it before it was ready")

    def _rest(self, name: bytes) -> None:
        """This worker is idle from now, unless it was already, has something to do, or left."""
        connection = self._connections.get(name)
        if connection is None:
            return
        worker = self._workers.setdefault(name, _Worker(connection))
        if worker.request is None:
            self._idle.setdefault(name)

    def _match(self, now: float) -> None:
        """Give what waits to who has been idle longest."""
        self._expire_waiting()
        while self._waiting and self._idle:
            name = next(iter(self._idle))
            del self._idle[name]
            request = self._waiting.pop(next(iter(self._waiting)))
            request.attempts += 1
            worker = self._workers[name]
            worker.request, worker.since = request, now
            frames = [b"", request.tag, *request.body]
            self.out.append(Word(True, name, frames, request, note=request.beside.note))

    def _settle(self, name: bytes, tag: bytes, *, its_own: bool = False) -> _Request | None:
        """The request with that tag, wherever it is; None: it is settled, or not this worker's."""
        worker = self._workers.get(name)
        if worker is not None and worker.request is not None and worker.request.tag == tag:
            request, worker.request = worker.request, None
            return request
        if not its_own:
            if tag in self._waiting:  # it took too long, and nobody else has it yet
                return self._waiting.pop(tag)
            for other in self._workers.values():
                if other.request is not None and other.request.tag == tag:
                    request, other.request = other.request, None  # its answer will be late
                    return request
        self._counts.late += 1
        return None

    def _has(self, name: bytes, request: _Request) -> _Worker | None:
        """The worker of that name, if it has this request."""
        worker = self._workers.get(name)
        return worker if worker is not None and worker.request is request else None

    def _new_tag(self) -> bytes:
        count = self._counts.taken % (1 << 8 * _COUNT_SIZE)
        return count.to_bytes(_COUNT_SIZE, "big") + self.random(TAG_SIZE - _COUNT_SIZE)

    def _again(self, request: _Request, why: str) -> None:
        if request.attempts > self.retries:
            self._refuse(
                request, f"the worker {why}, the last of {counted(request.attempts, 'attempt')}"
            )
            return
        self._counts.retried += 1
        self._put_back(request)

    def _put_back(self, request: _Request) -> None:
        if request.client not in self._clients:
            self._counts.dropped += 1
            return
        self._waiting = {request.tag: request, **self._waiting}  # before all that came later
        self._note_expiry(request)

    def _refuse(self, request: _Request, reason: str) -> None:
        """Tell the client: a Req of meshmsg in its words, others by an answer."""
        reason = _cut(reason)
        envelope = request.envelope
        if len(envelope) == 1 and len(envelope[0]) == _ID_SIZE and envelope[0][0] & _ID_MARK:
            frames = [envelope[0], _REFUSED, reason.encode()]
        else:
            frames = [*envelope, b"", self._refusal(reason)]
        self.out.append(Word(False, request.client, frames, request, "refused"))

    def _refusal(self, reason: str) -> bytes:
        """What the user's function makes of a reason; when it fails, what is made without one."""
        try:
            return bytes(memoryview(self.refusal(reason)))
        except Exception:
            LOG.exception("refusal= of an idle queue failed; the client is told %r", reason)
            return refusal_body(reason)


def _waits(requests: int) -> str:
    return f"{counted(requests, 'request')} wait{'s' * (requests == 1)}"


def _cut(reason: str) -> str:
    """As much of a reason as a refusal may have, in whole characters."""
    octets = reason.encode("utf-8", "backslashreplace")
    return octets[:_REASON_MAX].decode("utf-8", "ignore")
