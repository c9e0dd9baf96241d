"""What the parts of one node's core share: itself, its table, and what it is to send.

Not here: when something is said (probe.py, sync.py, joining). Law: only this node signs its
record, and each that it signs is newer than the one before.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, log10
from random import Random

from .joining.reached import Reached
from .limits import EVENTS_MAX, MESSAGE_MAX, Times
from .messages import Heads, Kind
from .octets import (
    Rumour,
    Signed,
    Statement,
    cluster_tag,
    record_octets,
    signed_of,
    statement_octets,
)
from .rumours import Rumours
from .seam import Signer, Verify
from .table import Row, Table
from .told import Answer, Arrival, Event, EventKind, Record, Send, State
from .waiting.lateness import Lateness

MANY_RUMOURS = 48
"""Rumours that wait, beyond which each is passed on less often: a sync brings what it misses."""


class Here:
    """One node, as its own parts see it."""

    def __init__(
        self,
        record: Record,
        signer: Signer,
        verify: Verify,
        rng: Random,
        now: float,
        times: Times,
        decode: Callable[[bytes], Signed] = signed_of,
        message_max: int = MESSAGE_MAX,
    ) -> None:
        self.signer, self.verify, self.decode = signer, verify, decode
        self.message_max = message_max
        self.rng, self.times = rng, times
        self.tag = cluster_tag(record.cluster)
        self.table = Table(rng)
        self.rumours = Rumours()
        self.out: list[Send | Answer] = []
        self.told: deque[Event] = deque()
        self.counts: Counter[str] = Counter()
        """What was dropped, and why."""
        self.reached = Reached(now)
        self.health = 0.0
        """How slow this node seems to be itself: 0 is well."""
        self.lateness = Lateness(times)
        self.left = False
        self._ways: dict[bytes, str] = {}
        """By member: where it answered last, if that is not its first address."""
        self.me = self._sign(record)
        self.table.own = self.me.record.node_id
        self.heads = Heads(self.tag, self.me.handle)
        self.table.toggle(self.me, State.ALIVE)

    def _sign(self, record: Record) -> Signed:
        data = record_octets(record)
        raw = data + self.signer.sign(data)
        return self.decode(raw)

    def say(
        self,
        *,
        incarnation: int | None = None,
        addresses: Sequence[str] | None = None,
        services: Sequence[object] | None = None,
    ) -> None:
        """Sign what is new of this node and pass it on; if it has no octets, nothing changes."""
        record = self.me.record
        changes: dict[str, object] = {"seq": record.seq + 1}
        if incarnation is not None:
            changes["incarnation"] = incarnation
        if addresses is not None:
            changes["addresses"] = tuple(addresses)
        if services is not None:
            changes["services"] = tuple(services)
        signed = self._sign(replace(record, **changes))  # type: ignore[arg-type]
        self.table.toggle(self.me, State.ALIVE)
        self.me = signed
        self.table.toggle(signed, State.ALIVE)
        self.spread_me()

    def spread_me(self) -> None:
        """Pass on what this node says of itself."""
        handle = self.me.handle
        self.rumours.add(Rumour.RECORD, handle, handle, self.me.raw)

    def state(self, kind: Rumour, subject: bytes, incarnation: int) -> Statement:
        """Return a statement of this node, signed."""
        by = self.me.handle
        data = statement_octets(kind, self.tag, subject, incarnation, by)
        return Statement(kind, subject, incarnation, by, self.signer.sign(data))

    @property
    def members(self) -> int:
        """How many are there, this one included."""
        return self.table.here + 1

    @property
    def slowness(self) -> float:
        """How many times longer this node waits than one that is well, among others that are."""
        return max(1.0 + self.health, self.lateness.factor)

    def feel(self, change: float) -> None:
        """Count what speaks for (below 0) or against this node's own health."""
        self.health = min(self.times.health_max, max(0.0, self.health + change))

    def with_rumours(self, data: bytes, limit: int | None = None) -> bytes:
        """Return a message with as many rumours behind it as fit."""
        limit = self.message_max if limit is None else limit
        if not self.rumours or len(data) + 64 > limit:
            return data
        each = self.times.retransmit * ceil(log10(self.members + 1))
        if len(self.rumours) > MANY_RUMOURS:
            each = max(3, each // 4)
        return data + b"".join(self.rumours.pick(limit - len(data), each))

    def send(self, row: Row, data: bytes, to: str = "") -> None:
        """Send to a member, at one of its addresses or where it answered last."""
        to = to or self.address_of(row)
        if to:
            self.out.append(Send(to, data, row.signed.record.node_id))

    def address_of(self, row: Row) -> str:
        """Return where a member answered last, or its first address; "": it has none."""
        addresses = row.signed.record.addresses
        known = self._ways.get(row.signed.handle)
        return known if known in addresses else next(iter(addresses), "")

    def answered(self, row: Row, address: str) -> None:
        """Take that a member answers at one of its addresses: it is spoken to there now."""
        handle = row.signed.handle
        if address == next(iter(row.signed.record.addresses), ""):
            self._ways.pop(handle, None)
            return
        self._ways[handle] = address
        if len(self._ways) > len(self.table.rows):  # of some that are known no more
            self._ways = {h: a for h, a in self._ways.items() if h in self.table.rows}

    def answer(self, arrival: Arrival, data: bytes) -> bool:
        """Answer: on the connection, or by a datagram that is not larger than the question."""
        if arrival.reply:
            self.out.append(Answer(arrival.reply, data))
            return True
        if len(data) > len(arrival.data):
            self.counts["answer larger than its question"] += 1
            return False
        self.out.append(Send(arrival.source, data, None))
        return True

    def room_of(self, arrival: Arrival) -> int:
        """Return how large an answer may be."""
        most = self.message_max
        return most if arrival.reply else min(most, len(arrival.data))

    def tell(self, kind: EventKind, row: Row, before: Record | None = None) -> None:
        """Have the user told."""
        if len(self.told) >= EVENTS_MAX:
            self.told.popleft()
            self.counts["event nobody took"] += 1
        self.told.append(Event(kind, row.member(), before))

    def head(self, kind: Kind) -> bytes:
        """Return the head of a message."""
        return self.heads.of(kind)
