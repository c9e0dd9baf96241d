"""Two directories made one: digests first, then only what differs.

Not here: what a record does (opinion.py). Law: what a sync sends is bounded by SYNC_MAX a message
and SYNC_TOTAL_MAX in all, and at most SYNCS_MAX are answered at once.
"""

from __future__ import annotations

from math import log2

from .here import Here
from .limits import (
    MEMBERS_MAX,
    SYNC_MAX,
    SYNC_PER_SECOND,
    SYNC_TOTAL_MAX,
    SYNCS_MAX,
    WARNINGS_MAX,
)
from .messages import (
    BUCKET_DIGESTS,
    BUCKETS,
    DIGEST,
    HEAD,
    VERSION_ENTRY,
    Kind,
    bits_of,
    buckets_of,
    handles_of,
)
from .octets import (
    HANDLE,
    MalformedError,
    Rumour,
    Statement,
    rumour_octets,
    rumours_of,
    statement_raw,
    version_of,
)
from .opinion import Opinions
from .packing import packed
from .table import STANDING, Row
from .told import Arrival, Send, State

AT = HEAD.size
BITS = BUCKETS // 8
SYNC_TIME = 0.5
"""Seconds that a sync which was begun is counted, so that others get the time of this node."""
NAMED = 5
"""Members that a busy node names to one who asks it."""
AGREE = 2
"""Peers that have to agree before a node is at rest."""
SETTLING = 2.0
"""How many times longer the first pause at rest is than those before; each next one doubles."""
DOUBLINGS_MAX = 20
PACED = 110
"""Versions that a sync of a node which is not at rest compares at most, in a mesh of `PACED_AT`; in
a larger one more: so that a join of all at once does not fill the network, nor take much longer."""
PACED_AT = 1_000
PACED_BY = 1.2
"""The power of the number of members that those versions grow by."""
PASSED_ON_MAX = 2
"""New records of one message of a sync that are passed on as rumours, too. More have this node sync
often: else others would hear of them by neither way."""
TOLD_AGAIN_S = 1.0
"""Seconds until one is told again that it is gone here, who is there for others."""
TOLD_MAX = 128
"""Members that are told so in that time: each is a connection, of `CONNECTIONS_MAX`."""
FIRST = 1
"""The incarnation of who was never accused."""
ASKED_MAX = 32
"""Members that a sync was begun with lately, whose digests are answered; and as many addresses at
which this node does not know yet who is there."""
RUMOURS_ENOUGH = 48
"""Rumours that wait, beyond which no record joins them: syncs bring it."""


class Syncer:
    """The syncs of one node."""

    def __init__(self, here: Here, opinions: Opinions) -> None:
        self.here, self.opinions = here, opinions
        self.next_at = 0.0
        self.agreed = 0
        """Peers in a row that had the same directory; below AGREE, syncs are often."""
        self._answering: dict[bytes, float] = {}
        self._awaited: set[bytes] = set()
        """Those of them that have not told their versions yet: each does so once."""
        self._asked: dict[bytes, None] = {}
        """Members that a sync was begun with and that did not answer by a digest, in order."""
        self._asked_anybody = 0
        """Syncs that were begun with whoever is at an address."""
        self._allowance, self._allowed_at = SYNC_PER_SECOND, 0.0
        self._told: dict[bytes, float] = {}
        """Members that were told lately that they are gone here, and when."""

    def tick(self, now: float) -> None:
        """Begin a sync with some member, if it is due."""
        if self.next_at > now:
            return
        for row in self.here.table.some(1):
            self.here.send(row, self.hello(row))
        self.plan(now)

    def plan(self, now: float) -> None:
        """Set when the next begins."""
        times = self.here.times
        wait = times.sync_restless
        if self.agreed >= AGREE:
            idle = times.sync_idle * max(1.0, log2(max(1, self.here.members) / 32) + 1)
            wait = min(idle, wait * SETTLING * 2.0 ** min(self.agreed - AGREE, DOUBLINGS_MAX))
        self.next_at = now + wait * (0.75 + 0.5 * self.here.rng.random())

    def restless(self, now: float) -> None:
        """Sync often again."""
        self.agreed = 0
        self.next_at = min(self.next_at, now + self.here.times.sync_restless)

    def hello(self, row: Row | None) -> bytes:
        """Return what begins a sync with a member, or whoever is there; our record goes with it."""
        here = self.here
        if row is None:
            self._asked_anybody = min(ASKED_MAX, self._asked_anybody + 1)
        else:
            self._asked[row.signed.handle] = None
            if len(self._asked) > ASKED_MAX:
                del self._asked[next(iter(self._asked))]
        data = here.head(Kind.HELLO) + DIGEST.pack(here.table.digest)
        return data + rumour_octets(Rumour.RECORD, here.me.raw)

    def agreed_with_one(self, now: float) -> None:
        """Count a peer that has the same directory."""
        self.agreed += 1
        if self.agreed == AGREE:
            self.plan(now)

    def _differs(self) -> None:
        """Count from the start, if this node is not at rest: a peer has another directory."""
        if self.agreed < AGREE:
            self.agreed = 0

    # What arrives

    def on_hello(self, now: float, arrival: Arrival, sender: bytes) -> int:
        """Compare the digests; return where the rumours begin."""
        here = self.here
        self._there(sender)
        (digest,) = DIGEST.unpack_from(arrival.data, AT)
        if digest == here.table.digest:
            here.answer(arrival, here.head(Kind.SAME))
            self.agreed_with_one(now)
        elif not self._slot(now, sender):
            self._differs()
            here.answer(arrival, self._busy(arrival))
        else:
            self._differs()
            data = here.head(Kind.DIGEST) + BUCKET_DIGESTS.pack(*here.table.buckets)
            data += rumour_octets(Rumour.RECORD, here.me.raw)
            here.answer(arrival, packed(data))
        return AT + DIGEST.size

    def _busy(self, arrival: Arrival) -> bytes:
        """Say so, and name some members that may have the time."""
        data, room = self.here.head(Kind.BUSY), self.here.room_of(arrival)
        for row in [None, *self.here.table.some(NAMED)]:
            raw = rumour_octets(Rumour.RECORD, (self.here.me if row is None else row.signed).raw)
            if len(data) + len(raw) <= room:
                data += raw
        return data

    def _slot(self, now: float, sender: bytes) -> bool:
        self._answering = {other: until for other, until in self._answering.items() if until > now}
        if sender not in self._answering and len(self._answering) >= SYNCS_MAX:
            self.here.counts["sync beyond the limit"] += 1
            return False
        self._answering[sender] = now + SYNC_TIME
        self._awaited.intersection_update(self._answering)
        self._awaited.add(sender)
        return True

    def _did_ask(self, sender: bytes) -> bool:
        """Whether a sync was begun that this one may answer by a digest, once."""
        if sender in self._asked:
            del self._asked[sender]
        elif self._asked_anybody:
            self._asked_anybody -= 1
        else:
            self.here.counts["digest nobody asked for"] += 1
            return False
        return True

    def on_digest(self, now: float, arrival: Arrival, sender: bytes) -> int:
        """Tell what we have in the buckets that differ."""
        here = self.here
        self._there(sender)
        theirs = BUCKET_DIGESTS.unpack_from(arrival.data, AT)
        self._differs()
        if not self._did_ask(sender):
            return AT + BUCKET_DIGESTS.size
        differ = [i for i, own in enumerate(here.table.buckets) if own != theirs[i]]
        entries: dict[int, list[bytes]] = {bucket: [] for bucket in differ}
        for row in here.table.in_buckets(differ):
            entries[row.signed.handle[0]].append(self._entry(row))
        if here.me.handle[0] in entries:
            mine = here.me
            standing = STANDING[State.LEFT if here.left else State.ALIVE]
            version = (mine.handle, mine.record.incarnation, mine.record.seq, standing)
            entries[mine.handle[0]].append(VERSION_ENTRY.pack(*version))
        chosen: list[int] = []
        size, limit = AT + BITS, self._limit()
        here.rng.shuffle(differ)
        for bucket in differ:
            size += len(entries[bucket]) * VERSION_ENTRY.size
            if size > SYNC_MAX or (size > limit and chosen):
                break
            chosen.append(bucket)
        data = b"".join(entry for bucket in chosen for entry in entries[bucket])
        here.answer(arrival, packed(here.head(Kind.VERSIONS) + bits_of(chosen) + data))
        return AT + BUCKET_DIGESTS.size

    def _limit(self) -> int:
        """Return how many octets of versions a sync tells: few, where much is new."""
        if self.agreed >= AGREE:
            return SYNC_MAX
        entries = PACED * max(1.0, self.here.members / PACED_AT) ** PACED_BY
        return min(SYNC_MAX, AT + BITS + int(entries) * VERSION_ENTRY.size)

    def _entry(self, row: Row) -> bytes:
        record = row.signed.record
        return VERSION_ENTRY.pack(
            row.signed.handle, record.incarnation, record.seq, STANDING[row.state]
        )

    def on_versions(self, now: float, arrival: Arrival, sender: bytes) -> None:
        """Send what is newer here; ask for what is newer there."""
        here, data = self.here, arrival.data
        bits = buckets_of(data[AT : AT + BITS])
        if len(data) < AT + BITS or (len(data) - AT - BITS) % VERSION_ENTRY.size:
            raise MalformedError("a list of versions that ends too early")
        if sender not in self._awaited:
            here.counts["versions nobody asked for"] += 1
            return
        self._awaited.discard(sender)
        mine = {row.signed.handle: row for row in here.table.in_buckets(bits)}
        want: list[bytes] = []
        give: list[Row] = []
        warned, own = 0, here.me.handle[0] in bits
        for handle, incarnation, seq, standing in VERSION_ENTRY.iter_unpack(data[AT + BITS :]):
            row = mine.pop(handle, None)
            if handle == here.me.handle:
                own = (incarnation, seq) < (here.me.record.incarnation, here.me.record.seq)
                if standing == STANDING[State.UNREACHABLE]:
                    self.opinions.accused(now, incarnation)
                continue
            if row is None:
                known = here.table.rows.get(handle)
                if known is None or known.signed.record.incarnation < incarnation:
                    want.append(handle)
                continue
            record = row.signed.record
            ours, theirs = (record.incarnation, record.seq), (incarnation, seq)
            if theirs > ours or (theirs == ours and standing == 2 != STANDING[row.state]):
                want.append(handle)
            elif ours > theirs or STANDING[row.state] > standing:
                give.append(row)
            elif standing > STANDING[row.state] and warned < WARNINGS_MAX:
                warned += 1
                self.opinions.check(handle)
                self.opinions.warn(row)
        give.extend(mine.values())
        self._records(now, arrival, self._mine(own) + [self._octets(row) for row in give])
        limit = (SYNC_MAX - AT) // HANDLE
        if want:
            self.here.answer(arrival, here.head(Kind.WANT) + b"".join(want[:limit]))

    def _mine(self, wanted: bool) -> list[bytes]:
        """Return what a sync brings of this node, if the other one has not got it by now."""
        return [rumour_octets(Rumour.RECORD, self.here.me.raw)] if wanted else []

    def _octets(self, row: Row) -> bytes:
        """Return what a sync brings of a member."""
        gone = row.state in (State.UNREACHABLE, State.FORGOTTEN)
        kind = Rumour.HELD if gone else Rumour.RECORD
        data = rumour_octets(kind, row.signed.raw)
        if isinstance(row.proof, Statement):
            data += rumour_octets(Rumour.LEFT, statement_raw(row.proof))
        return data

    def _records(self, now: float, arrival: Arrival, records: list[bytes]) -> None:
        """Send records, in as many messages as they need."""
        here = self.here
        head = here.head(Kind.RECORDS)
        parts: list[bytes] = []
        size, total = AT, 0
        allowed = min(SYNC_TOTAL_MAX, self._allowance + (now - self._allowed_at) * SYNC_PER_SECOND)
        for data in records:
            total += len(data)
            if total > allowed:
                here.counts["record beyond the limit of syncs"] += 1
                break
            if size + len(data) > SYNC_MAX:
                here.answer(arrival, packed(head + b"".join(parts)))
                parts, size = [], AT
            parts.append(data)
            size += len(data)
        self._allowance, self._allowed_at = max(0.0, allowed - total), now
        if parts:
            here.answer(arrival, packed(head + b"".join(parts)))

    def _there(self, handle: bytes) -> Row | None:
        """Look for one that is gone here and is there for another; return it, if it is so."""
        row = self.here.table.absent.get(handle)
        if row is None or row.state == State.LEFT:
            return None
        self.opinions.check(handle)
        return row

    def _told_there(self, now: float, handle: bytes) -> None:
        """Look for one that is gone here and there for who told of it; and tell it that it is gone.

        It says otherwise to all. That alone is soon where many are back: who was cut off takes
        itself for slow, as nobody answered it, and asks one at a time.
        """
        row = self._there(handle)
        if row is None:
            return
        self._told = {one: at for one, at in self._told.items() if now - at < TOLD_AGAIN_S}
        if handle not in self._told and len(self._told) < TOLD_MAX:
            self._told[handle] = now
            self.opinions.warn(row)

    def on_want(self, now: float, arrival: Arrival) -> None:
        """Send the records that were asked for."""
        here, rows = self.here, self.here.table.rows
        asked = handles_of(arrival.data, AT, min(MEMBERS_MAX, (SYNC_MAX - AT) // HANDLE))
        wanted = dict.fromkeys(asked)
        known = [self._octets(rows[handle]) for handle in wanted if handle in rows]
        self._records(now, arrival, self._mine(here.me.handle in wanted) + known)

    def on_records(self, now: float, arrival: Arrival, sender: bytes) -> None:
        """Take records; a few that are new are passed on, many are what others sync, too.

        What is said of one who is held for gone is not: others would take it for there.
        """
        if len(arrival.data) > SYNC_MAX:
            raise MalformedError(f"{len(arrival.data)} octets of records, at most {SYNC_MAX}")
        new, count = list[bytes](), 0
        for kind, body in rumours_of(arrival.data, AT):
            if kind in (Rumour.RECORD, Rumour.HELD):
                held = kind == Rumour.HELD
                if self.opinions.hear_record(now, body, arrival.source, sender, held=held):
                    count += 1
                    if not held:
                        new.append(body)
                if not held:
                    self._told_there(now, version_of(body)[0])
            elif kind == Rumour.LEFT:
                self.opinions.hear_statement(now, kind, body)
        if count > PASSED_ON_MAX:
            self.restless(now)
        else:
            for raw in new:
                self._spread(raw)

    def heard(self, now: float, raw: bytes) -> None:
        """Take that a record which came beside something else is new: it is passed on.

        A node that is not at rest leaves that to its syncs: where all join at once, nearly all
        that would be passed on is known where it comes to. But not who refutes an accusation.
        """
        if self.agreed >= AGREE and len(self.here.rumours) >= RUMOURS_ENOUGH:
            self.restless(now)
        if self.agreed >= AGREE or version_of(raw)[1] > FIRST:
            self._spread(raw)

    def _spread(self, raw: bytes) -> None:
        handle, incarnation, _ = version_of(raw)
        if len(self.here.rumours) < RUMOURS_ENOUGH or incarnation > FIRST:
            self.here.rumours.add(Rumour.RECORD, handle, handle, raw)

    def ask_for(self, arrival: Arrival, sender: bytes) -> None:
        """Ask one that we do not know for its record."""
        self.here.answer(arrival, self.here.head(Kind.WANT) + sender)

    def send_hello(self, address: str) -> None:
        """Begin a sync with whoever is there."""
        self.here.out.append(Send(address, self.hello(None), None))
