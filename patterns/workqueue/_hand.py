"""The worker's side of the talk with a queue, without sockets: words in, words out.

`Worker` of threads and of asyncio are drivers around it.  Not here: how words look (`_wire`).
Time is an argument, but for a batch that is iterated over.
Law: nothing but `come_back` acknowledges a batch; the driver calls it when the task has finished
the one that it has in hand.  An acknowledgement is kept until a question with it was sent.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from meshmsg import Event, PeerError, PeerInfo, Reason, UsageError

from ._wire import (
    END,
    NUMBERS,
    TAKEN,
    TERMS,
    VERSION,
    WORK,
    pack_ask,
    pack_retry,
    parse_header,
    parse_numbers,
    parse_terms,
)

ASK_AGAIN = 1.0  # seconds of silence after which a worker repeats its question
LEAVE_S = 5.0  # seconds a queue may take to answer a worker that leaves
LOG = logging.getLogger("meshmsg")
_NO_QUEUE = (Reason.SOCKET_TYPE, Reason.NOT_ZMTP, Reason.OLD_ZMTP)
"""Why a connection ended to what is no queue, and will not become one."""
_RENEWALS = 3  # times a lease that a batch which moves on is renewed


@dataclass(frozen=True)
class BatchForm:
    """What the batches of threads and of asyncio share: records, and where they are from."""

    number: int
    """Which batch of the queue this is: 0, 1, 2, ..."""
    attempt: int
    """1 the first time it was handed out, 2 after one worker was lost with it, ..."""
    first_sequence: int
    """The sequence number of the first record; the others follow it."""
    records: tuple[bytes, ...]
    """The records, as they were put."""
    _hand: Hand | None = field(default=None, repr=False, compare=False)
    _name: int = field(default=0, repr=False, compare=False)
    """What the queue calls it."""

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[bytes]:
        """Give the records.  Each that is taken shows the queue that this worker moves on."""
        hand = self._hand
        if hand is None or hand.lease is None:
            return iter(self.records)
        return self._moving(hand)

    def __repr__(self) -> str:
        size = f"{len(self.records)} record{'s' * (len(self.records) != 1)}"
        return (
            f"<{type(self).__name__} {self.number}: {size} from "
            f"{self.first_sequence}, attempt {self.attempt}>"
        )

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The records with their sequence numbers."""
        return enumerate(self, self.first_sequence)

    @property
    def lost(self) -> bool:
        """Whether the queue has taken this batch away, as far as this worker has heard.

        It hears when it asks and when it extends.
        """
        return self._hand is not None and self._name in self._hand.lost

    def _moving(self, hand: Hand) -> Iterator[bytes]:
        for record in self.records:
            if time.monotonic() >= hand.renew_at:
                self._renew()
            yield record

    def _renew(self) -> None:
        """Tell the queue, without waiting; a batch without a worker tells nobody."""


class Hand:
    """What a worker knows of its queue, and has of it.  Not thread-safe: its owner holds a lock."""

    def __init__(self, endpoint: str, prefetch: int, silence: float) -> None:
        if prefetch < 1 or silence <= 0:
            raise ValueError("prefetch must be at least 1 and silence more than 0")
        self.endpoint = endpoint
        self.ended = False
        self.lease: float | None = None
        self.renew_at = math.inf
        self.lost: set[int] = set()  # of what is in hand
        self.batches_done = 0
        self._prefetch = prefetch
        self._silence = silence
        self._version = 1  # what the queue speaks, as far as is known
        self._asked = False  # a question is on its way, or was answered
        self._unsaid = False  # the queue does not know yet what is in hand
        self._first = 0  # the queue's number of its first batch
        self._done: list[int] = []
        self._said = 0  # how many of those are in the last question
        self._ahead: dict[int, tuple[int, int, int, tuple[bytes, ...]]] = {}
        self._in_hand: int | None = None
        self._leave_by: float | None = None  # it leaves, and waits that long for the queue's answer

    def hear(self, frames: list[bytes]) -> None:
        """Note what the queue says; words that are not known are passed over."""
        if frames[0] == WORK:
            header = parse_header(frames[1]) if len(frames) > 1 else None
            if header is None:
                raise PeerError(f"{self.endpoint} is no work queue: its batch has no header")
            if header[0] not in (*self._ahead, self._in_hand):
                self._ahead[header[0]] = (*header, tuple(frames[2:]))
        elif frames[0] == TAKEN:
            for number in (parse_numbers(frames[1]) if len(frames) == 2 else None) or ():
                self._ahead.pop(number, None)
                if number == self._in_hand:
                    self.lost.add(number)
        elif frames[0] == END:
            self.ended = True
        elif frames[0] == TERMS and (terms := parse_terms(frames)) is not None:
            if terms.oldest > VERSION:
                raise PeerError(
                    f"the work queue at {self.endpoint} speaks version {terms.version} and "
                    f"understands {terms.oldest} and later; this worker speaks {VERSION}: "
                    "install the queue's version of meshmsg here"
                )
            self._version, self.lease = min(terms.version, VERSION), terms.lease
            self._asked = self._asked and self._leave_by is None  # now it can be told that
            if terms.first != self._first:
                self._meet(terms.first)

    def leave(self, now: float) -> None:
        """Take no more, and tell the queue; `ended` when it knows, or has not answered in time.

        To be called again and again until then, with nothing in hand.
        """
        if self._leave_by is None:
            self._leave_by = now + LEAVE_S
            self._asked = False
            self._ahead.clear()
        elif now >= self._leave_by and not self.ended:
            self.ended = True
            LOG.warning(
                "the work queue at %s did not answer a worker that leaves for %g s: it may not "
                "know of the last batches that are done, and then others do them again",
                self.endpoint,
                LEAVE_S,
            )

    def take(self, now: float) -> tuple[int, int, int, tuple[bytes, ...], Hand, int] | None:
        """Begin the next batch, if one is here: what a `BatchForm` is made of."""
        if self._in_hand is not None or not self._ahead or self._leave_by is not None:
            return None
        number = next(iter(self._ahead))
        self._in_hand = number
        self._unsaid = self.lease is not None
        self._renewed(now)
        name, attempt, first_sequence, records = self._ahead.pop(number)
        return (name - self._first) % NUMBERS, attempt, first_sequence, records, self, name

    @property
    def busy(self) -> bool:
        """Whether a batch is in hand."""
        return self._in_hand is not None

    @property
    def owes(self) -> bool:
        """Whether there is, or may come to be, something that the queue should know of."""
        return self.busy or self.batches_done > 0

    def has(self, name: int) -> bool:
        """Whether this batch is in hand."""
        return name == self._in_hand

    def come_back(self, name: int) -> None:
        """The task is done with what it has in hand; if it was handed back, with nothing."""
        if name == self._in_hand:
            self._done.append(name)
            self.batches_done += 1
            self.put_down()

    def left_over(self) -> int | None:
        """What an earlier loop left without being done with it, if the queue takes it back."""
        if self._version < VERSION:
            self.put_down()
        return self._in_hand

    def question(self, now: float, *, again: bool = False) -> list[bytes] | None:
        """What is to be asked now, if anything; `asked` says that it was sent."""
        if not (again or self._done or self._unsaid or not self._asked):
            return None
        held: tuple[list[int], list[int]] | None = None
        leaves = self._leave_by is not None
        if self._version >= VERSION:
            held = ([] if self._in_hand is None else [self._in_hand], list(self._ahead))
            held = ([], []) if leaves else held
        self._renewed(now)
        self._said = len(self._done)
        return pack_ask(0 if leaves else self._prefetch, self._done, held)

    def asked(self) -> None:
        """The question was sent; what was done since it was made is for the next one."""
        del self._done[: self._said]
        self._said = 0
        self._unsaid = False
        self._asked = True

    def wait(self, seconds: float) -> float:
        """How long to wait for the next word, when nothing was heard for so long."""
        if self._leave_by is not None:
            return ASK_AGAIN
        return max(0.0, min(ASK_AGAIN, self._silence - seconds))

    def silent(self, seconds: float, peers: Sequence[PeerInfo], events: Sequence[Event]) -> None:
        """Nothing was heard for so long: ask again; after too long it is an error.

        At once if whoever is there can be no queue, by its role or by what ended the last attempt.
        """
        self._asked = False
        if self._leave_by is not None:
            return
        wrong = [f"a {peer.role} socket is there" for peer in peers if peer.role != "ROUTER"]
        if not peers and events and events[-1].reason in _NO_QUEUE:
            wrong.append(events[-1].detail)
        if wrong:
            raise PeerError(f"{self.endpoint} is no work queue: {wrong[0]}")
        if seconds >= self._silence:
            last = f"; last: {events[-1].detail}" if not peers and events else ""
            raise PeerError(
                f"no sign of the work queue at {self.endpoint} for {self._silence:g} s{last}"
            )

    def hand_back(self, name: int, delay: float) -> list[bytes]:
        """What gives the batch in hand back; `put_down` says that it was sent."""
        if not delay >= 0:
            raise ValueError(f"delay is {delay:g} s; it must be 0 or more")
        if name != self._in_hand:
            number = (name - self._first) % NUMBERS
            raise UsageError(f"batch {number} is not in hand: it was acknowledged or handed back")
        if self._version < VERSION:
            raise PeerError(
                f"the work queue at {self.endpoint} speaks version {self._version}, in which a "
                "batch cannot be handed back; close the worker instead"
            )
        return pack_retry(delay, [name])

    def put_down(self) -> None:
        """Nothing is in hand any more."""
        self._in_hand = None
        self._unsaid = False
        self.renew_at = math.inf
        self.lost.clear()

    @property
    def done_text(self) -> str:
        """How many batches are done."""
        return f"{self.batches_done} batch{'es' * (self.batches_done != 1)} done"

    def text(self) -> str:
        """What goes on, for `repr`."""
        hand = "nothing"
        if self._in_hand is not None:
            hand = f"batch {(self._in_hand - self._first) % NUMBERS}"
        return f"{hand} in hand, {len(self._ahead)} ahead, {self.done_text}"

    def _meet(self, first: int) -> None:
        """The queue is another one than before: it knows nothing of what was had from that."""
        self._first = first
        self._ahead.clear()
        self._done.clear()
        self._said = 0
        if self._in_hand is not None:
            self.lost.add(self._in_hand)

    def _renewed(self, now: float) -> None:
        if self.lease is not None and self._in_hand is not None:
            self.renew_at = now + self.lease / _RENEWALS


def worker_name(identity: bytes) -> bytes:
    """The name of a worker: as given, or one that no other has."""
    return identity or f"worker-{os.getpid()}-{os.urandom(6).hex()}".encode()
