"""What a node thinks of others, from what it saw itself and what it was told.

Not here: who is probed when (probe.py). Law: nobody becomes unreachable but by what this node has
found itself: it asked a last time and had no answer, or nobody listens there. The words of others,
however many they are, only say when it asks. Whoever is heard is alive.
"""

from __future__ import annotations

from .here import Here
from .joining.admission import Admission
from .limits import (
    CHECKS_MAX,
    CONFIRMERS_MAX,
    FORGOTTEN_MAX,
    JUMP_MAX,
)
from .messages import WARNING, Kind
from .octets import (
    U32,
    Rumour,
    Signed,
    Statement,
    statement_octets,
    statement_of,
    statement_raw,
    version_of,
)
from .table import HERE, Row, Suspicion, observers
from .told import EventKind, Record, State
from .waiting.deadlines import Deadlines


class Opinions:
    """The states of all members, and why."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.suspects: dict[bytes, Row] = {}
        self.deadlines = Deadlines(self.suspects)
        self.checks: list[bytes] = []
        """Members to probe out of their turn."""
        self.looks: dict[bytes, None] = {}
        """Members to ask a last time, in order."""
        self.looks_later: dict[bytes, None] = {}
        """The same, of those that never answered."""
        self.expiry = float("inf")
        """When the next suspicion ends, or its member is asked a last time."""
        self.refute_at = float("inf")
        self._refute_over = -1
        self._refuted = float("-inf")
        self.returned = False
        """Whether one who was gone is there again, while others are still gone."""
        self._aged_at = 0.0
        """When the first of those who are gone may be due for what age does."""
        self.admission = Admission(here)

    # Records

    def hear_record(
        self, now: float, raw: bytes, source: str, by: bytes, *, held: bool = False
    ) -> bool:
        """Take a record; return whether it was new.

        Raises:
            MalformedError: It is none.
        """
        here = self.here
        handle, incarnation, seq = version_of(raw)
        if handle == here.me.handle:
            return False
        row = here.table.rows.get(handle)
        if row is not None and not held:
            known = row.signed.record
            if (incarnation, seq) <= (known.incarnation, known.seq):
                return False
        signed = here.decode(raw)
        record = signed.record
        if row is not None:
            known = row.signed.record
            if (record.incarnation, record.seq) <= (known.incarnation, known.seq):
                if held and row.state in HERE and record.incarnation == known.incarnation:
                    self.check(signed.handle)
                    self.warn(row)
                return False
            if record.node_id != known.node_id:
                here.counts["record of another with that handle"] += 1
                return False
        elif not self.admission.admits(now, source, itself=by == handle, held=held):
            here.counts["new member over the limit"] += 1
            return False
        if record.cluster != here.me.record.cluster or not here.verify(
            record.sign_key, raw[: -len(record.signature)], record.signature
        ):
            here.counts["record that is not signed"] += 1
            return False
        if row is None:
            self._enter(now, signed, by, held, source)
        else:
            self._renew(now, row, signed, held)
        return True

    def _enter(self, now: float, signed: Signed, by: bytes, held: bool, source: str) -> None:
        here = self.here
        held = held or self._is_past(signed.record)
        row = Row(signed, State.UNREACHABLE if held else State.ALIVE, now, by)
        here.table.add(row)
        self.admission.entered(row, source)
        if held:
            row.proof = Suspicion(signed.record.incarnation, now)
            self.looks_later[signed.handle] = None
            return
        here.tell(EventKind.UP, row)
        self._same_name(now, row)

    def _is_past(self, record: Record) -> bool:
        """Whether a later start of its name is there: then it is asked before it counts."""
        named = [o.signed for o in self.here.table.named(record.name) if o.state == State.ALIVE]
        if self.here.me.record.name == record.name:
            named.append(self.here.me)
        return any(other.record.boot_epoch > record.boot_epoch for other in named)

    def _same_name(self, now: float, row: Row) -> None:
        here, record = self.here, row.signed.record
        conflict = record.name == here.me.record.name
        for other in here.table.named(record.name):
            if other is row:
                continue
            if other.state == State.ALIVE:
                conflict = True
            elif _is_later(row, other):
                self._superseded(now, other)
        if conflict:
            here.tell(EventKind.CONFLICT, row)

    def _superseded(self, now: float, row: Row) -> None:
        """Forget one that is not there, as a later start has its name; a suspect is asked now."""
        if row.state == State.SUSPECT:
            self._look(now, row)
        elif row.state == State.UNREACHABLE and _was_asked(row):
            self.forget(now, row)

    def _renew(self, now: float, row: Row, signed: Signed, held: bool) -> None:
        """Take the newer record of a member; held: who sent it holds it UNREACHABLE, too."""
        here, before = self.here, row.signed.record
        here.table.replace(row, signed)
        record = signed.record
        accused = row.suspicion.incarnation if row.suspicion else before.incarnation
        if held:
            self.check(signed.handle)
        if held and row.state in (State.UNREACHABLE, State.FORGOTTEN):
            if row.suspicion is not None:  # what it said against that was not enough
                row.suspicion.incarnation = max(accused, record.incarnation)
        elif row.state != State.ALIVE and record.incarnation > accused:
            self._alive(now, row, signed.handle)
        same = (before.services, before.addresses, before.name, before.host, before.zone)
        if same != (record.services, record.addresses, record.name, record.host, record.zone):
            here.tell(EventKind.CHANGED, row, before)
        if record.name != before.name:
            self._same_name(now, row)

    def _alive(self, now: float, row: Row, by: bytes) -> None:
        was = row.state
        self.suspects.pop(row.signed.handle, None)
        row.proof = None
        self.here.rumours.drop(row.signed.handle)
        self.here.table.change(row, State.ALIVE, now, by)
        if was != State.SUSPECT:
            self.returned = bool(self.here.table.absent)
            self.here.tell(EventKind.UP, row)
            self._same_name(now, row)

    # Statements

    def hear_statement(self, now: float, kind: Rumour, raw: bytes) -> None:
        """Take what somebody says of a member.

        Raises:
            MalformedError: It is no statement.
        """
        said = statement_of(kind, raw)
        if said.subject == self.here.me.handle:
            if kind != Rumour.LEFT:
                self.accused(now, said.incarnation)
            return
        row = self.here.table.rows.get(said.subject)
        if row is None or said.by == self.here.me.handle:
            return
        known = row.signed.record.incarnation
        if not known <= said.incarnation <= known + JUMP_MAX:
            return
        if kind == Rumour.LEFT:
            self._hear_left(now, row, said)
        elif row.state in HERE:
            self._hear_accuser(now, row, said)

    def _signed_by(self, said: Statement, by: Row) -> bool:
        data = statement_octets(said.kind, self.here.tag, said.subject, said.incarnation, said.by)
        if self.here.verify(by.signed.record.sign_key, data, said.signature):
            return True
        self.here.counts["statement that is not signed"] += 1
        return False

    def _hear_left(self, now: float, row: Row, said: Statement) -> None:
        if row.state in (State.LEFT, State.FORGOTTEN) or said.by != said.subject:
            return
        if not self._signed_by(said, row):
            return
        self.suspects.pop(said.subject, None)
        self.here.rumours.drop(said.subject)
        row.proof = said
        self.here.table.change(row, State.LEFT, now, said.by)
        self._pass_on(said)
        self.here.tell(EventKind.LEFT, row)

    def _hear_accuser(self, now: float, row: Row, said: Statement) -> None:
        here = self.here
        accuser = here.table.rows.get(said.by)
        if accuser is None or accuser.state not in HERE or said.by == said.subject:
            return
        suspicion = row.suspicion
        if suspicion is not None:
            before = suspicion.accusers.get(said.by)
            enough = observers(here.times, here.members)
            if before is not None and (before.kind == said.kind or said.kind == Rumour.SUSPECT):
                return
            count = suspicion.refused if said.kind == Rumour.REFUSED else len(suspicion.accusers)
            if count >= enough or len(suspicion.accusers) >= CONFIRMERS_MAX:
                return
        if not self._signed_by(said, accuser):
            return
        if row.heard is not None and now - row.heard < here.times.fresh:
            self.warn(row, said.incarnation)
            return
        self._suspect(now, row, said)
        if here.rng.random() * here.members < here.times.checkers:
            self.check(said.subject)

    def accuse(self, now: float, row: Row, kind: Rumour, *, last: bool = False) -> None:
        """Suspect a member, as this node's own probe failed; last: that was the last look."""
        if row.state not in HERE:
            if row.suspicion is not None:  # others told of it so, or it is tried now and then
                row.suspicion.silent = True
            if row.state == State.UNREACHABLE and self._replaced(row):
                self.forget(now, row)
            return
        here, handle = self.here, row.signed.handle
        suspicion = row.suspicion
        if suspicion is None or not suspicion.refused_to(here.me.handle):
            self._suspect(now, row, here.state(kind, handle, row.signed.record.incarnation))
        suspicion = row.suspicion
        if last and suspicion is not None and suspicion.looked:
            suspicion.silent = True
            self._plan(row)

    def _suspect(self, now: float, row: Row, said: Statement) -> None:
        here, suspicion = self.here, row.suspicion
        if suspicion is None:
            suspicion = row.proof = Suspicion(row.signed.record.incarnation, now)
            here.table.change(row, State.SUSPECT, now, said.by)
            self.suspects[said.subject] = row
        suspicion.add(said)
        enough = observers(here.times, here.members)
        self._pass_on(said)
        refused = suspicion.refused >= enough and enough > 1
        if refused and suspicion.refused_to(here.me.handle):
            self._unreachable(now, row)
            return
        before = suspicion.deadline
        suspicion.set_deadline(here.times, here.members)
        if suspicion.looked:
            suspicion.deadline = min(before, suspicion.deadline)
        if refused:
            self._look(now, row)
        self._plan(row)

    def _plan(self, row: Row) -> None:
        """Have something done about a suspect as its time, which is another now, is over."""
        suspicion = row.suspicion
        if suspicion is not None:
            self.deadlines.put(row)
            due = suspicion.deadline - (0 if suspicion.looked else self._looking)
            self.expiry = min(self.expiry, due)

    @property
    def _looking(self) -> float:
        """Seconds that a last look takes."""
        return (self.here.times.direct + self.here.times.indirect) * self.here.slowness

    def _look(self, now: float, row: Row) -> None:
        """Have a suspect asked a last time: if it is silent, its time is over."""
        suspicion = row.suspicion
        if suspicion is not None and not suspicion.looked:
            suspicion.looked = True
            looks = self.looks_later if row.heard is None else self.looks
            looks[row.signed.handle] = None
            suspicion.deadline = max(now, min(suspicion.deadline, now + self._looking))
            self._plan(row)

    def is_enough(self, row: Row) -> bool:
        """Whether so many accuse a member that nobody else need be asked about it."""
        enough = observers(self.here.times, self.here.members)
        return row.suspicion is not None and len(row.suspicion.accusers) >= enough

    def look_again(self) -> None:
        """Have asked anew who was being asked: this process was frozen."""
        for row in self.suspects.values():
            if row.suspicion is not None and not row.suspicion.silent:
                row.suspicion.looked = False
                self._plan(row)

    def _pass_on(self, said: Statement) -> None:
        self.here.rumours.add(said.kind, said.subject, said.by, statement_raw(said))

    def gone(self, now: float, row: Row) -> None:
        """Hold a member unreachable, as nobody listens there and helpers say the same."""
        if row.state in HERE:
            self.accuse(now, row, Rumour.REFUSED)
            if row.state in HERE:
                self._unreachable(now, row)

    def heard(self, now: float, row: Row) -> None:
        """Take that a member itself was heard."""
        self.here.table.heard(row, now)
        if row.source:
            self.admission.settled(row)
        if row.state == State.SUSPECT:
            self._alive(now, row, self.here.me.handle)
        elif row.state in (State.UNREACHABLE, State.FORGOTTEN):
            self.warn(row)
            self._alive(now, row, self.here.me.handle)

    def warn(self, row: Row, incarnation: int | None = None) -> None:
        """Tell a member that somebody holds it unreachable, so that it says otherwise."""
        record = row.signed.record
        accused = record.incarnation if incarnation is None else incarnation
        data = WARNING.pack(row.signed.handle, accused)
        self.here.send(row, self.here.head(Kind.WARN) + data)

    # This node's own

    def accused(self, now: float, incarnation: int) -> None:
        """Take that somebody suspects this node: it will say that it is alive."""
        own = self.here.me.record.incarnation
        if not own <= incarnation <= min(own + JUMP_MAX, U32 - 1) or self.here.left:
            return
        self._refute_over = max(self._refute_over, incarnation)
        self.refute_at = min(self.refute_at, max(now, self._refuted + self.here.times.refute))

    def refute(self, now: float) -> None:
        """Say that this node is alive."""
        self.refute_at, self._refuted = float("inf"), now
        self.here.feel(1)
        self.here.say(incarnation=self._refute_over + 1)

    # Time

    def expire(self, now: float) -> None:
        """End the suspicions whose time is over; ask those a last time whose time is nearly so."""
        for row in self.deadlines.to_ask(now, self._looking):
            self._look(now, row)
        for row in self.deadlines.over(now):
            if row.suspicion is not None and row.suspicion.silent:
                self._unreachable(now, row)
        self.expiry = self.deadlines.first(self._looking)

    def postpone(self, late: float) -> None:
        """Give everybody the time that this process was frozen."""
        for row in self.suspects.values():
            if row.suspicion is not None:
                row.suspicion.deadline += late
                row.suspicion.start += late
                self.deadlines.put(row)
        self.expiry += late

    def _unreachable(self, now: float, row: Row) -> None:
        here, suspicion = self.here, row.suspicion
        self.suspects.pop(row.signed.handle, None)
        by = next(iter(suspicion.accusers), here.me.handle) if suspicion else here.me.handle
        if suspicion is not None:
            suspicion.silent = True
        here.table.change(row, State.UNREACHABLE, now, by)
        here.tell(EventKind.UNREACHABLE, row)
        if self._replaced(row):
            self.forget(now, row)

    def _replaced(self, row: Row) -> bool:
        """Whether a later start has its name: one that is there, or is gone as well by now."""
        here, record = self.here, row.signed.record
        if here.me.record.name == record.name:
            return True
        for other in here.table.named(record.name):
            if other.state == State.ALIVE and _is_later(other, row):
                return True
            if other.signed.record.boot_epoch > record.boot_epoch and other.state not in HERE:
                return True
        return False

    def forget(self, now: float, row: Row) -> None:
        """Wait for a member no more."""
        self._aged_at = 0.0  # how many are forgotten is limited
        self.here.table.change(row, State.FORGOTTEN, now, self.here.me.handle)
        self.here.tell(EventKind.FORGOTTEN, row)

    def sweep(self, now: float) -> None:
        """Forget who is unreachable for long; remove who is forgotten, or left, for longer."""
        for row in self._namesakes():
            if row.state == State.UNREACHABLE and _was_asked(row) and self._replaced(row):
                self.forget(now, row)
        if self._aged_at <= now:
            self._age(now)
        for row in self.admission.giving_way():
            if row.state == State.UNREACHABLE:
                self.forget(now, row)
            self._remove(row)

    def _namesakes(self) -> list[Row]:
        """Those who share a name with others: nobody else can be replaced."""
        table, own = self.here.table, self.here.me.record.name
        return [row for name in (own, *table.shared_names()) for row in table.named(name)]

    def _age(self, now: float) -> None:
        """Do what follows from how long all are gone, and say when that is to be done again."""
        times = self.here.times
        terms = (times.forget, times.forget_unheard, times.left_kept, times.forgotten_kept)
        self._aged_at = now + min(terms)  # nobody who goes later is due before
        forgotten = []
        for row in list(self.here.table.absent.values()):
            least = times.forget if row.heard is not None else times.forget_unheard
            if row.state != State.UNREACHABLE:
                left = row.state == State.LEFT
                least = times.left_kept if left else times.forgotten_kept
            if now - row.since < least:
                self._aged_at = min(self._aged_at, row.since + least)
                if row.state == State.FORGOTTEN:
                    forgotten.append(row)
            elif row.state == State.UNREACHABLE:
                self.forget(now, row)
            else:
                self._remove(row)
        forgotten.sort(key=lambda row: row.since)
        for row in forgotten[: max(0, len(forgotten) - FORGOTTEN_MAX)]:
            self._remove(row)

    def _remove(self, row: Row) -> None:
        self.admission.settled(row)
        self.here.table.remove(row)

    def check(self, handle: bytes) -> None:
        """Have a member probed out of its turn."""
        if len(self.checks) < CHECKS_MAX and handle not in self.checks:
            self.checks.append(handle)

    def next_check(self) -> bytes:
        """Return one of them, at random: so that nodes which were told the same divide the work."""
        index = self.here.rng.randrange(len(self.checks))
        self.checks[index], self.checks[-1] = self.checks[-1], self.checks[index]
        return self.checks.pop()


def _is_later(one: Row, other: Row) -> bool:
    """Whether a life of the same name is the later one: by its start, or as it answers now.

    A clock that was set back between two lives makes the later one seem the earlier.
    """
    if one.signed.record.boot_epoch > other.signed.record.boot_epoch:
        return True
    return one.heard is not None and one.heard > max(other.since, other.heard or 0.0)


def _was_asked(row: Row) -> bool:
    """Whether this node found itself that one who is unreachable does not answer."""
    return row.suspicion is None or row.suspicion.silent
