"""Who is there: each member is asked in turn, directly and then by way of others.

Not here: what follows from silence (opinion.py). Law: a probe ends by its answer or by its time,
and how many are under way is bounded by the times, and by LOOKS_MAX. Each node that is asked has a
number of its own, so that nobody answers in place of another; so has each other address of a
member, and nobody listens there only if that is so at all of them. A node that is behind with what
comes takes silence for its own fault.
"""

from __future__ import annotations

from .here import Here
from .limits import EVIDENCE_MAX, LOOKS_MAX, RELAYS_MAX
from .messages import HEAD, NUMBER, PROBE, REFUSAL, Kind
from .octets import NOBODY, MalformedError, Rumour, rumour_octets, statement_raw
from .opinion import Opinions
from .seam import Evidence
from .table import HERE, Row
from .told import Arrival, State

NEVER = float("inf")
BEHIND = 2
"""Looks at a probe whose time is over, after which this node is taken for slow."""
AT = HEAD.size


class Probe:
    """One that is under way."""

    __slots__ = (
        *("again", "asked", "deadline", "handle", "indirect", "last", "late", "nacks", "others_at"),
        *("refused", "sent", "shut", "ways"),
    )

    def __init__(self, handle: bytes, sent: float, deadline: float, *, last: bool = False) -> None:
        self.handle, self.sent, self.deadline, self.last = handle, sent, deadline, last
        self.indirect = False
        """Whether its second half has begun, in which helpers ask, too."""
        self.others_at = sent
        """When that was."""
        self.late = 0
        """Looks at which its time was over, and this node may have been behind with what comes."""
        self.again = False
        """Whether it was asked once more in that half, as a connection to it ended."""
        self.asked: dict[int, bytes] = {}
        """Helpers, by the number that each has."""
        self.nacks: set[bytes] = set()
        """Helpers that were not answered either."""
        self.refused: set[bytes] = set()
        """Who saw that nobody listens there; this node among them."""
        self.ways: dict[int, str] = {}
        """By number: the address that it was asked at."""
        self.shut: set[str] = set()
        """Addresses where nobody listens, or another node."""


class Relay:
    """A probe for another."""

    __slots__ = ("arrival", "deadline", "handle", "number", "ways")

    def __init__(self, handle: bytes, number: int, arrival: Arrival, deadline: float) -> None:
        self.handle, self.number, self.arrival, self.deadline = handle, number, arrival, deadline
        self.ways: dict[int, str] = {}
        """By number: the address that it is asked at, but those where nobody listens."""


class Prober:
    """The probes of one node, and those that it makes for others."""

    def __init__(self, here: Here, opinions: Opinions) -> None:
        self.here, self.opinions = here, opinions
        self.probes: dict[int, Probe] = {}
        self.relays: dict[int, Relay] = {}
        self._helped: dict[int, int] = {}
        """By the number of a helper: that of the probe."""
        self._looking = 0
        """Last looks that are under way."""
        self.next_at = 0.0
        self.deadline = NEVER
        """When the first probe or relay has its time over."""
        self.came_at = -NEVER
        """When a message came last, whatever it was."""
        self._answered = -NEVER
        """When that was asked which was answered: of all that was, the last."""
        self._late_at = -NEVER
        """When an answer came last that was not in time."""
        self._checked_last = False
        self._began: dict[bytes, float] = {}
        """By member, in order of time: when evidence began the last probe of it."""

    def due(self) -> float:
        """Return when `tick` has something to do."""
        return min(self.next_at, self.deadline)

    def tick(self, now: float) -> None:
        """End what is over; begin what is due."""
        if self.deadline <= now:
            self._end(now)
        if self.next_at <= now:
            times = self.here.times
            spread = 0.9 + 0.2 * self.here.rng.random()
            self.next_at = now + times.period * self.here.slowness * spread
            row = self._whose_turn()
            if row is not None:
                self.begin(now, row)

    def cancel(self) -> None:
        """Drop all probes: this process was frozen, so that silence says nothing."""
        self.probes.clear()
        self.relays.clear()
        self._helped.clear()
        self._looking = 0
        self.opinions.look_again()
        self.deadline = NEVER

    def _whose_turn(self) -> Row | None:
        """A suspect that is to be checked, but each second time at most, so that none starves."""
        checks = self.opinions.checks
        if not self._checked_last:
            while checks:
                row = self.here.table.rows.get(self.opinions.next_check())
                if row is not None and row.state != State.LEFT:
                    self._checked_last = True
                    return row
        self._checked_last = False
        return self.here.table.next_probed()

    def begin(self, now: float, row: Row, *, last: bool = False) -> None:
        """Ask a member; last: what follows from silence is not waited for any more."""
        here = self.here
        number = here.rng.getrandbits(32)
        wait = max(here.times.direct * here.slowness, here.times.patience * (row.rtt or 0))
        self.probes[number] = probe = Probe(row.signed.handle, now, now + wait, last=last)
        probe.ways[number] = here.address_of(row)
        self._looking += last
        self.deadline = min(self.deadline, now + wait)
        self._ping(row, number)

    def look(self, now: float) -> None:
        """Begin the last looks that wait, out of turn: only so many at once."""
        first, later = self.opinions.looks, self.opinions.looks_later
        while (looks := first or later) and self._looking < LOOKS_MAX:
            handle = next(iter(looks))
            del looks[handle]
            row = self.here.table.rows.get(handle)
            if row is not None and row.state in (State.SUSPECT, State.UNREACHABLE):
                self.begin(now, row, last=True)

    def _take(self, number: int) -> Probe | None:
        """Take a probe that is over, if it is under way, and what its helpers have of it."""
        probe = self.probes.pop(number, None)
        if probe is not None:
            self._looking -= probe.last
            for one in (*probe.asked, *probe.ways):
                self._helped.pop(one, None)
            self._sleep()
        return probe

    def _sleep(self) -> None:
        """Wait for no deadline if there is nothing that has one."""
        if not self.probes and not self.relays:
            self.deadline = NEVER

    def _ping(self, row: Row, number: int, to: str = "") -> None:
        """Ask it, with news; to: at one more of its addresses, and without."""
        here = self.here
        data = here.head(Kind.PING) + PROBE.pack(number, row.signed.handle)
        suspicion = row.suspicion
        if suspicion is not None:
            for said in suspicion.accusers.values():
                data += rumour_octets(said.kind, statement_raw(said))
                break
        here.send(row, data if to else here.with_rumours(data), to)

    def _ping_at(self, row: Row, number: int, probe: Probe, address: str) -> None:
        """Ask it at one more address: with a number that says where it answered."""
        own = self.here.rng.getrandbits(32)
        probe.ways[own], self._helped[own] = address, number
        self._ping(row, own, address)

    def _ping_others(self, row: Row, number: int, probe: Probe) -> None:
        """Ask it at all other addresses; at the only one it has once more."""
        addresses = row.signed.record.addresses
        if len(addresses) <= 1:
            self._ping(row, number)
            return
        asked = {*probe.ways.values(), *probe.shut}
        for address in (one for one in addresses if one not in asked):
            self._ping_at(row, number, probe, address)

    def _end(self, now: float) -> None:
        for number, probe in [one for one in self.probes.items() if one[1].deadline <= now]:
            if not probe.indirect:
                self._ask_others(now, number, probe)
            elif self._is_behind(now, probe):
                self._wait_on(now, probe)
            else:
                self._take(number)
                self._failed(now, probe)
        for number, relay in [one for one in self.relays.items() if one[1].deadline <= now]:
            if number in self.relays:
                self._over(relay)
                self._nack(relay, refused=False)
        ends = [probe.deadline for probe in self.probes.values()]
        ends += [relay.deadline for relay in self.relays.values()]
        self.deadline = min(ends, default=NEVER)

    def _is_behind(self, now: float, probe: Probe) -> bool:
        """Whether silence says nothing of a member: messages come here, but none yet is an answer
        to what was asked later than it. Then its own may be among those that wait. An answer that
        is late says so again."""
        times = self.here.times
        return (
            not self._hears(probe)
            and not probe.nacks
            and now - self.came_at <= times.indirect * self.here.slowness
            and now - max(probe.sent, self._late_at) < times.behind
            and now - probe.sent < times.behind_max
        )

    def _hears(self, probe: Probe) -> bool:
        """Whether it is proven that this node hears what is said to it since that probe."""
        return self._answered > probe.sent

    def _wait_on(self, now: float, probe: Probe) -> None:
        """Give a probe more time; who is not answered by anybody meanwhile is slow, and asks less
        often."""
        probe.late += 1
        if probe.late < BEHIND:
            self._ask_else(now)
        elif probe.late == BEHIND:
            self.here.feel(1)
        probe.deadline = now + self.here.times.again * self.here.slowness
        self.deadline = min(self.deadline, probe.deadline)

    def _ask_else(self, now: float) -> None:
        """Ask whose turn it is at once, but no suspect: who answers proves that this node hears."""
        if self.here.health < self.here.times.health_max:
            self.next_at, self._checked_last = min(self.next_at, now), True

    def _proven(self, now: float, asked_at: float) -> None:
        """Take that what was asked then is answered: who was asked before and is silent is so."""
        self._answered = max(self._answered, asked_at)
        if any(probe.late and probe.sent < asked_at for probe in self.probes.values()):
            self.deadline = now

    def _over(self, relay: Relay) -> None:
        for number in relay.ways:
            self.relays.pop(number, None)
        self._sleep()

    def _ask_others(self, now: float, number: int, probe: Probe) -> None:
        """Begin the second half of a probe: of a last look that many wanted it is without others"""
        here = self.here
        row = here.table.rows.get(probe.handle)
        if row is None:
            self._take(number)
            return
        probe.indirect = True
        probe.others_at = now
        probe.deadline = now + (here.times.direct + here.times.indirect) / 2 * here.slowness
        probe.deadline = max(probe.deadline, now + here.times.indirect)
        self.deadline = min(self.deadline, probe.deadline)
        if not (probe.last and self.opinions.is_enough(row)):
            for helper in here.table.some(here.times.helpers, probe.handle):
                own = here.rng.getrandbits(32)
                probe.asked[own], self._helped[own] = helper.signed.handle, number
                data = here.head(Kind.INDIRECT) + PROBE.pack(own, probe.handle)
                here.send(helper, here.with_rumours(data))
        elif not self._hears(probe):
            self._ask_else(now)
        self._ping_others(row, number, probe)

    def _failed(self, now: float, probe: Probe) -> None:
        row = self.here.table.rows.get(probe.handle)
        if row is None:
            return
        if not probe.last and not self._hears(probe):
            missing = len(probe.asked) - len(probe.nacks)
            self.here.feel(missing if probe.asked else 1)
        kind = Rumour.REFUSED if self.here.me.handle in probe.refused else Rumour.SUSPECT
        self.opinions.accuse(now, row, kind, last=probe.last)

    def _nack(self, relay: Relay, *, refused: bool) -> None:
        data = self.here.head(Kind.NACK) + REFUSAL.pack(relay.number, refused)
        self.here.answer(relay.arrival, data)

    # What arrives

    def on_ping(self, arrival: Arrival) -> int:
        """Answer a probe; return where its rumours begin."""
        number, handle = PROBE.unpack_from(arrival.data, AT)
        here = self.here
        if handle in (here.me.handle, NOBODY):
            here.reached.asked(self.came_at)
            data = here.head(Kind.ACK) + NUMBER.pack(number)
            here.answer(arrival, here.with_rumours(data, here.room_of(arrival)))
        else:
            here.answer(arrival, here.head(Kind.NACK) + REFUSAL.pack(number, 1))
        return AT + PROBE.size

    def on_ack(self, now: float, arrival: Arrival) -> int:
        """Take an answer; return where its rumours begin."""
        number: int = NUMBER.unpack_from(arrival.data, AT)[0]
        probe = self._take(self._helped.get(number, number))
        relay = self.relays.get(number)
        if probe is not None:
            row = self.here.table.rows.get(probe.handle)
            asked_at = probe.others_at if number in probe.asked else probe.sent
            self._proven(now, asked_at)
            if row is not None:
                if number in probe.ways:
                    self.here.answered(row, probe.ways[number])
                direct = arrival.data[AT - len(probe.handle) : AT] == probe.handle
                took = now - (probe.others_at if probe.indirect else probe.sent)
                if direct:
                    self.here.lateness.answered(row, took, surely=not probe.indirect)
                if direct and not probe.indirect:
                    row.rtt = took if row.rtt is None else row.rtt * 0.875 + took * 0.125
                if probe.late:
                    self._late_at = now
                if probe.late < BEHIND:
                    self.here.feel(-self.here.times.recovery)
                self.opinions.heard(now, row)
        elif relay is not None:
            self._over(relay)
            self.here.answer(relay.arrival, self.here.head(Kind.ACK) + NUMBER.pack(relay.number))
            row = self.here.table.rows.get(relay.handle)
            if row is not None:
                self.here.answered(row, relay.ways[number])
                self.opinions.heard(now, row)
        return AT + NUMBER.size

    def on_nack(self, now: float, arrival: Arrival) -> int:
        """Take that a helper was not answered, or that another node is at that address now."""
        number: int
        number, refused = REFUSAL.unpack_from(arrival.data, AT)
        if len(arrival.data) != AT + REFUSAL.size:
            raise MalformedError("a NACK of another size")
        relay, own = self.relays.get(number), self._helped.get(number, number)
        probe = self.probes.get(own)
        if relay is not None and refused:
            self._saw_for(now, relay.handle, relay.ways[number])
        elif probe is not None and number in probe.asked:
            helper = probe.asked[number]
            probe.nacks.add(helper)
            self._proven(now, probe.others_at)
            if refused:
                self._refused(now, own, probe, helper)
        elif probe is not None and refused:
            self._shut(now, own, probe, probe.ways.get(number, ""))
        return len(arrival.data)

    def on_indirect(self, now: float, arrival: Arrival) -> int:
        """Ask a member for another one."""
        number, handle = PROBE.unpack_from(arrival.data, AT)
        here, row = self.here, self.here.table.rows.get(handle)
        relay = Relay(handle, number, arrival, now + here.times.direct)
        if row is None or len(self.relays) >= RELAYS_MAX:
            self._nack(relay, refused=False)
        else:
            first = here.address_of(row)
            self.deadline = min(self.deadline, relay.deadline)
            for address in (first, *(a for a in row.signed.record.addresses if a != first)):
                own = here.rng.getrandbits(32)
                self.relays[own], relay.ways[own] = relay, address
                self._ping(row, own, "" if address == first else address)
        return AT + PROBE.size

    # Evidence

    def saw(self, now: float, handle: bytes, evidence: Evidence, address: str = "") -> None:
        """Take that nobody listens there, or that a connection to it ended; "": at all of its
        addresses."""
        row = self.here.table.rows.get(handle)
        if row is None:
            return
        if evidence == Evidence.REFUSED:  # others wait for that, whatever it is taken for here
            self._saw_for(now, handle, address)
        if row.state not in HERE:
            return
        asked = [(number, one) for number, one in self.probes.items() if one.handle == handle]
        for number, probe in asked:
            self._saw_of(now, number, probe, evidence, address)
        if asked:
            return
        if evidence != Evidence.LOST and row.suspicion is not None:
            return
        if self._may_begin(now, handle):
            number = self.here.rng.getrandbits(32)
            self.probes[number] = probe = Probe(handle, now, now)
            self._saw_of(now, number, probe, evidence, address)
        else:
            self.opinions.check(handle)

    def _saw_of(
        self, now: float, number: int, probe: Probe, evidence: Evidence, address: str
    ) -> None:
        """Take what was seen of a member that is asked: an end alone is no refusal."""
        if evidence == Evidence.REFUSED:
            self._shut(now, number, probe, address)
        elif not probe.indirect:
            self._ask_others(now, number, probe)
        elif not probe.again:
            probe.again = True
            row = self.here.table.rows.get(probe.handle)
            if row is not None and len(row.signed.record.addresses) > 1:
                self._ping_at(row, number, probe, address or self.here.address_of(row))
            elif row is not None:
                self._ping(row, number)

    def _may_begin(self, now: float, handle: bytes) -> bool:
        """Whether evidence may begin a probe of it at once: its connection may flap."""
        began, pause = self._began, self.here.times.evidence
        while began and next(iter(began.values())) <= now - pause:
            del began[next(iter(began))]
        if handle in began or len(began) >= EVIDENCE_MAX:
            self.here.counts["evidence that came too often"] += 1
            return False
        began[handle] = now
        return True

    def _saw_for(self, now: float, handle: bytes, address: str) -> None:
        """Tell those that this node probes it for that nobody listens there, if so at all."""
        for own, relay in list(self.relays.items()):
            if relay.handle != handle or (address and relay.ways[own] != address):
                continue
            del self.relays[own], relay.ways[own]
            if relay.ways:
                continue
            self._nack(relay, refused=True)
            row = self.here.table.rows.get(handle)
            if row is not None:
                self.opinions.accuse(now, row, Rumour.REFUSED)

    def _shut(self, now: float, number: int, probe: Probe, address: str) -> None:
        """Take that nobody listens at one address of a member that is asked; "": at none."""
        row = self.here.table.rows.get(probe.handle)
        probe.shut.add(address)
        if address and row is not None and not probe.shut.issuperset(row.signed.record.addresses):
            if not probe.indirect:
                self._ask_others(now, number, probe)
            return
        self._refused(now, number, probe, self.here.me.handle)

    def _refused(self, now: float, number: int, probe: Probe, by: bytes) -> None:
        """Take that nobody listens there; who found that himself, and heard it of enough, waits no
        more."""
        probe.refused.add(by)
        if probe.last and by == self.here.me.handle:
            self._take(number)
            self._failed(now, probe)
            return
        if not probe.indirect:
            self._ask_others(now, number, probe)
        enough = min(self.here.times.confirmers, len(probe.asked) + 1)
        found = self.here.me.handle in probe.refused
        if found and enough > 1 and len(probe.refused) >= enough:
            self._take(number)
            row = self.here.table.rows.get(probe.handle)
            if row is not None:
                self.opinions.gone(now, row)
