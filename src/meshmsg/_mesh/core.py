"""The core of the mesh: its parts put together, behind the seam.

Not here: what the parts do (probe.py, opinion.py, sync.py, joining). Law: that of the seam; and
whatever arrives is done, or counted and dropped, and never raises.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from random import Random

from .here import Here
from .joining.dialing import Dialer
from .joining.foreign import Foreign
from .limits import ALL_TOLD, MESSAGE_MAX, SYNC_MAX, Times
from .messages import HEAD, KINDS, WARNING, Kind
from .octets import (
    HANDLE,
    VERSION,
    MalformedError,
    Rumour,
    Signed,
    node_id_of,
    rumour_octets,
    rumours_of,
    signed_of,
    statement_raw,
)
from .opinion import Opinions
from .packing import unpacked
from .probe import Prober
from .seam import Evidence, Signer, Verify
from .sync import AT, Syncer
from .told import Answer, Arrival, Event, Member, Record, Send, Service, State, Stranger

SWEEP = 1.0
"""Seconds between two looks for members to forget."""
FAREWELLS = 8
"""Members that a node which leaves tells at once; those that leave as well pass it on."""


class Core:
    """Membership and the directory of one node: `seam.MeshCore`.

    Not thread-safe: one thread at a time.
    """

    def __init__(
        self,
        *,
        name: str,
        cluster: str,
        boot_epoch: int,
        signer: Signer,
        verify: Verify,
        rng: Random,
        now: float,
        addresses: Sequence[str] = (),
        host: str = "",
        zone: str = "",
        times: Times | None = None,
        decode: Callable[[bytes], Signed] = signed_of,
        message_max: int = MESSAGE_MAX,
    ) -> None:
        """Make a node that knows nobody.

        Args:
            name: What people call it, up to NAME_MAX octets.
            cluster: Up to CLUSTER_MAX octets.
            boot_epoch: Milliseconds of the wall clock; with the signer's key it makes the id.
            signer: Who signs what this node says.
            verify: Who checks what others say.
            rng: Of this node alone; by `random.SystemRandom()` outside of simulations.
            now: The time, in seconds of the clock that `tick` has.
            addresses: Of its mesh port, if they are known.
            host, zone: Where it is.
            times: What the protocol waits for.
            decode: How octets become a record.
            message_max: Octets of a message that is not of a sync, at most; room for a record.

        Raises:
            MalformedError: A name is beyond its limit or is part of a path.
        """
        record = Record(
            node_id=node_id_of(signer.key, boot_epoch),
            name=name,
            cluster=cluster,
            boot_epoch=boot_epoch,
            incarnation=1,
            seq=1,
            sign_key=signer.key,
            addresses=tuple(addresses),
            host=host,
            zone=zone,
        )
        self.here = here = Here(
            record, signer, verify, rng, now, times or Times(), decode, message_max
        )
        self.opinions = Opinions(here)
        self.prober = Prober(here, self.opinions)
        self.syncer = Syncer(here, self.opinions)
        self.dialer = Dialer(here, self.syncer, self.prober)
        self.foreign = Foreign(here)
        self._since = now
        self._expected = float("inf")
        self._gossip_at = now
        self._sweep_at = now + SWEEP
        self.prober.next_at = now + rng.random() * here.times.period
        self.syncer.next_at = now + rng.random() * here.times.sync_restless

    # Time

    def tick(self, now: float) -> None:
        """Do what is due."""
        here, times = self.here, self.here.times
        if now - self._expected > times.frozen:
            self._thaw(now, now - self._expected)
        if here.left:
            self._gossip(now)
            self._expected = self.due()
            return
        if self.prober.due() <= now:
            self.prober.tick(now)
        if self.opinions.expiry <= now:
            self.opinions.expire(now)
        self.prober.look(now)
        if self.opinions.refute_at <= now:
            self.opinions.refute(now)
        self._gossip(now)
        self.syncer.tick(now)
        self.dialer.tick(now)
        if self._sweep_at <= now:
            self._sweep_at = now + SWEEP
            self.opinions.sweep(now)
            if not here.table.here:
                here.reached.asked(now)
        self._expected = self.due()

    def _thaw(self, now: float, late: float) -> None:
        """Go on after this process was frozen: what nobody answered meanwhile says nothing."""
        self.prober.cancel()
        self.here.reached.asked(now)
        self.opinions.postpone(late)
        self.here.feel(1)

    def _gossip(self, now: float) -> None:
        here = self.here
        if self._gossip_at > now or not here.rumours:
            return
        few = here.members <= ALL_TOLD
        self._gossip_at = now + (here.times.gossip_few if few else here.times.gossip)
        for row in here.table.some(ALL_TOLD if few else here.times.fanout):
            data = here.with_rumours(here.head(Kind.NEWS))
            if len(data) == AT:
                break
            here.send(row, data)

    def due(self) -> float:
        """Return when `tick` is wanted next, in seconds of the same clock."""
        gossip = self._gossip_at if self.here.rumours else float("inf")
        if self.here.left:
            return gossip
        return min(
            self.prober.next_at,
            self.prober.deadline,
            self.opinions.expiry,
            self.opinions.refute_at,
            gossip,
            self.syncer.next_at,
            self.dialer.next_at,
            self._sweep_at,
        )

    # What arrives

    def arrived(self, now: float, arrival: Arrival) -> None:
        """Take a message; what is malformed, or of another cluster, is counted and dropped."""
        here, data = self.here, arrival.data
        if not AT <= len(data) <= SYNC_MAX:
            here.counts["message of a wrong size"] += 1
            return
        version, number, tag, sender = HEAD.unpack_from(data)
        kind = KINDS.get(number)
        if version != VERSION or kind is None:
            here.counts["message of another version"] += 1
        elif tag != here.tag:
            here.counts["message of another cluster"] += 1
            self.foreign.hear(arrival, kind, tag, sender)
        elif here.left:
            self._pass_on_farewells(now, kind, data)
        elif sender != here.me.handle:
            knew = here.table.here
            self.prober.came_at = now
            try:
                if kind == Kind.PACKED and arrival.reply:  # else an answer has no measure
                    kind, data = unpacked(data)
                    arrival = arrival._replace(data=data)
                self._take(now, arrival, kind, sender)
            except (MalformedError, struct.error):
                here.counts["malformed message"] += 1
            self._follow(now)
            if not knew and here.table.here:
                self.dialer.met(now)

    def _follow(self, now: float) -> None:
        """Do at once what follows from what was heard or seen."""
        self.prober.look(now)
        if self.opinions.returned:  # others may be back as well
            self.opinions.returned = False
            self.syncer.restless(now)

    def _pass_on_farewells(self, now: float, kind: Kind, data: bytes) -> None:
        """Leaving, take only that others leave: those that they told may all be about to end."""
        if kind == Kind.NEWS:
            with suppress(MalformedError, struct.error):
                for rumour, body in rumours_of(data, AT):
                    if rumour == Rumour.LEFT:
                        self.opinions.hear_statement(now, rumour, body)

    def _take(self, now: float, arrival: Arrival, kind: Kind, sender: bytes) -> None:
        prober, syncer = self.prober, self.syncer
        if kind == Kind.PING:
            at = prober.on_ping(arrival)
        elif kind == Kind.ACK:
            at = prober.on_ack(now, arrival)
        elif kind == Kind.NACK:
            at = prober.on_nack(now, arrival)
        elif kind == Kind.INDIRECT:
            at = prober.on_indirect(now, arrival)
        elif kind in (Kind.NEWS, Kind.BUSY):
            at = AT
        elif kind == Kind.HELLO:
            at = syncer.on_hello(now, arrival, sender)
        elif kind == Kind.DIGEST:
            at = syncer.on_digest(now, arrival, sender)
        else:
            self._take_sync(now, arrival, kind, sender)
            return
        self._rumours(now, arrival, at, sender)
        if kind == Kind.PING:
            if sender not in self.here.table.rows:
                syncer.ask_for(arrival, sender)
            elif sender in self.here.table.absent:
                self.opinions.check(sender)

    def _take_sync(self, now: float, arrival: Arrival, kind: Kind, sender: bytes) -> None:
        if kind == Kind.SAME:
            self.syncer.agreed_with_one(now)
        elif kind == Kind.VERSIONS:
            self.syncer.on_versions(now, arrival, sender)
        elif kind == Kind.WANT:
            self.syncer.on_want(now, arrival)
        elif kind == Kind.RECORDS:
            self.syncer.on_records(now, arrival, sender)
        elif kind == Kind.WARN:
            handle, incarnation = WARNING.unpack_from(arrival.data, AT)
            if handle == self.here.me.handle:
                self.opinions.accused(now, incarnation)

    def _rumours(self, now: float, arrival: Arrival, at: int, sender: bytes) -> None:
        for kind, body in rumours_of(arrival.data, at):
            if kind == Rumour.RECORD:
                if self.opinions.hear_record(now, body, arrival.source, sender):
                    self.syncer.heard(now, body)
            elif kind != Rumour.HELD:
                self.opinions.hear_statement(now, kind, body)

    def saw(self, now: float, node: bytes, evidence: Evidence, address: str = "") -> None:
        """Take what the driver saw of a node.

        Args:
            now: The time.
            node: Its id; one that is not known is ignored.
            evidence: What it was.
            address: At which of its addresses; "": at all of them, or it does not matter.
        """
        row = self.here.table.rows.get(node[:HANDLE])
        if row is None or row.signed.record.node_id != node or self.here.left:
            return
        if evidence != Evidence.HEARD:
            self.prober.saw(now, node[:HANDLE], evidence, address)
        elif row.suspicion is None or not row.suspicion.refused_to(self.here.me.handle):
            self.opinions.heard(now, row)  # else its mesh is over, whatever its sockets still say
        self._follow(now)

    def suspects(self) -> list[bytes]:
        """Return the ids of those who are suspect: what comes from them now is evidence."""
        return [row.signed.record.node_id for row in self.opinions.suspects.values()]

    def missed(self, now: float, address: str) -> None:
        """Take that the driver could connect to nobody at an address it was to send to."""
        self.dialer.missed(address)

    def seeds(self, now: float, addresses: Iterable[str]) -> None:
        """Take addresses where nodes may be: the whole list as it is now. They are hints only."""
        self.dialer.take_seeds(now, addresses)

    # What this node says

    def offer(self, now: float, services: Sequence[Service]) -> None:
        """Say what this node offers from now on: all of it.

        Raises:
            MalformedError: A part is beyond its limit, or the record beyond RECORD_MAX; nothing
                changed.
        """
        if tuple(services) != self.here.me.record.services:
            self.here.say(services=services)

    def moved(self, now: float, addresses: Sequence[str]) -> None:
        """Say where this node's mesh port is from now on.

        Raises:
            MalformedError: An address is none, or there are too many; nothing changed.
        """
        if tuple(addresses) != self.here.me.record.addresses:
            self.here.say(addresses=addresses)
            self.syncer.restless(now)  # what others said to where it was is lost

    def leave(self, now: float) -> None:
        """Tell others that this node leaves; what is to be sent for it comes out of `take`."""
        here = self.here
        if here.left:
            return
        said = here.state(Rumour.LEFT, here.me.handle, here.me.record.incarnation)
        here.left = True
        here.rumours.drop(here.me.handle)
        farewell = statement_raw(said)
        here.rumours.add(Rumour.LEFT, said.subject, said.by, farewell)
        data = here.head(Kind.NEWS) + rumour_octets(Rumour.LEFT, farewell)
        for row in here.table.some(FAREWELLS):
            here.send(row, data)
        self._gossip_at = now + here.times.gossip

    # What comes out

    def take(self) -> list[Send | Answer]:
        """Return what is to be sent, once each."""
        out, self.here.out = self.here.out, []
        return out

    def events(self) -> list[Event]:
        """Return what changed, once each, in order."""
        told = list(self.here.told)
        self.here.told.clear()
        return told

    def strangers(self) -> list[Stranger]:
        """Return who spoke for another cluster, once each time that one did, in order."""
        return self.foreign.take()

    def members(self) -> list[Member]:
        """Return all nodes that are known, this one first."""
        return [self._self(), *(row.member() for row in self.here.table.rows.values())]

    def _self(self) -> Member:
        record = self.here.me.record
        state = State.LEFT if self.here.left else State.ALIVE
        return Member(record, state, self._since, None, None, record.node_id)

    def unasked(self, now: float) -> float | None:
        """Return for how many seconds others are there, and none of them reached this node; None:
        it is reached, or there are none."""
        frozen = now - self._expected > self.here.times.frozen  # what was asked still waits
        here = self.here
        return here.reached.unasked(now) if here.table.here and not frozen else None

    def me(self) -> Record:
        """Return what this node says of itself now."""
        return self.here.me.record
