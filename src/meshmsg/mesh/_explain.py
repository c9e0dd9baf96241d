"""What a node knows of another one, and why: for `explain`, and for who asks from outside.

Not here: asking (_outside). Law: plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from meshmsg._hints.plural import counted
from meshmsg._mesh.limits import WEIGHT
from meshmsg._mesh.told import Member, Service, State
from meshmsg.mesh._addresses import PLAIN, PROTECTED, name_of, name_of_host, unusable
from meshmsg.mesh._finding.asking import SeedInfo

ITSELF = "this node found"
"""In place of the name of who said it, if that is the node that explains."""


@dataclass(frozen=True)
class Explanation:
    """Why this node sees another one, or why it does not.

    Attributes:
        asked: What was asked for.
        others: All other nodes that are known.
        found: Nodes that it may be: by name, id or address. None: nobody has told of it.
        now: The time of the mesh's clock, which `since` and `heard` of those have.
        told_by: By id: the name of the node that said what the state says; `ITSELF` of this one.
        errors: By address: why it could not be connected to the last time.
        seeds: What seeds say, and what became of it.
        own: This node's own addresses, as it advertises them; none while it has no address.
        dropped: Messages of the mesh that found no room or nobody, since it began.
        refused: Datagrams that came and were refused, by why, with `transport="udp"`.
        strangers: What is known of nodes of other clusters that came to this one.
        unasked: Why others may not reach this node, though they hear it; "": they do.
        by_datagrams: Nodes of `found` that are sent datagrams, by id; others are connected to.
        turned_away: What is known of who came to this node and had not its secret.
        host: This node's own machine and network namespace; "": not known.
    """

    asked: str
    others: tuple[Member, ...]
    found: tuple[Member, ...]
    now: float
    told_by: Mapping[bytes, str]
    errors: Mapping[str, str]
    seeds: tuple[SeedInfo, ...]
    own: tuple[str, ...]
    dropped: int
    refused: Mapping[str, int] = field(default_factory=dict)
    by_datagrams: frozenset[bytes] = frozenset()
    strangers: tuple[str, ...] = ()
    unasked: str = ""
    turned_away: tuple[str, ...] = ()
    host: str = ""

    def lines(self) -> list[str]:
        """Say it in lines. Thread-safe: yes."""
        said = [f"{self.asked}: nobody has told of it"] if not self.found else []
        for one in self.found:
            said += self._lines_of(one)
        said.append(f"this node is at {', '.join(self.own) or 'no address that it knows yet'}")
        said += [self.unasked] if self.unasked else []
        said += self._alone()
        said += [*self.strangers, *self.turned_away]
        said += [f"{counted(n, 'datagram')} {why}: refused" for why, n in self.refused.items()]
        for seed in self.seeds:
            asked = "not asked yet" if seed.asked is None else f"asked {seed.asked:.1f} s ago"
            said.append(f"seed {seed.seed}: {asked}, {len(seed.addresses)} addresses")
            said += [f"  {words}" for words in (seed.silence, seed.error) if words]
            said += [f"  {address}: {why}" for address, why in seed.tried if why]
        return said

    def _alone(self) -> list[str]:
        """Say that this node may be the one that is cut off, if none of the others is there."""
        gone = [one for one in self.others if one.state in (State.UNREACHABLE, State.FORGOTTEN)]
        if not gone or any(one.state in (State.ALIVE, State.SUSPECT) for one in self.others):
            return []
        heard = [one.heard for one in self.others if one.heard is not None]
        last = f"{max(self.now - max(heard), 0):.1f} s ago" if heard else "never"
        return [
            f"{counted(len(gone), 'other node')}, and none can be reached: this node may be the "
            f"one that is cut off; last heard of any {last}"
        ]

    def _lines_of(self, one: Member) -> list[str]:
        record = one.record
        by = self.told_by.get(record.node_id, "")
        by = f"{by} said" if by and by != ITSELF else by
        said = [
            f"{name_of(one)}: {one.state.name} for {max(self.now - one.since, 0):.1f} s"
            + (f", as {by}" if by and one.told_by != record.node_id else ""),
            f"  at {', '.join(record.addresses) or 'no address'}, host "
            f"{name_of_host(record.host) or '-'}, zone {record.zone or '-'}",
        ]
        if one not in self.others:
            said.append("  it is this node itself")
        elif one.heard is None:
            told = "told of itself" if one.told_by == record.node_id else "was told of by others"
            said.append(f"  it {told}, and has not answered a probe of this node yet")
        else:
            said.append(f"  last heard of itself {max(self.now - one.heard, 0):.1f} s ago")
        if one.rtt is not None:
            said.append(f"  round trip {one.rtt * 1000:.2f} ms")
        if record.node_id in self.by_datagrams:
            said.append("  it is sent datagrams")
        said += [f"  {a}: {self.errors[a]}" for a in record.addresses if a in self.errors]
        for s in record.services:
            where = ", ".join(s.endpoints)
            said.append(f"  {s.name} ({s.role}) at {where}{_weight_of(s)}")
            said += [f"    {why}" for e in s.endpoints if (why := self._why_not(e, record.host))]
        return said

    def _why_not(self, endpoint: str, theirs: str) -> str:
        """Say why sockets here do not connect to what a node offers; "": no reason is known."""
        far = unusable(endpoint, theirs, self.host) if self.host else ""
        return far or self.errors.get(endpoint, "")

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _weight_of(service: Service) -> str:
    """Say the weight of a service, if it is not that of most."""
    if service.weight == WEIGHT:
        return ""
    nobody = ": nobody who is new connects to it" if service.weight == 0 else ""
    return f", weight {service.weight}{nobody}"


def matching(members: Sequence[Member], node: str) -> tuple[Member, ...]:
    """Return the nodes that a name, the beginning of an id, or an address may mean."""
    address = f"{PLAIN}{node.removeprefix(PROTECTED).removeprefix(PLAIN)}"  # as of seeds
    exact = [m for m in members if node == m.record.name or address in m.record.addresses]
    if exact or len(node) < ID_MIN:
        return tuple(exact)
    return tuple(m for m in members if m.record.node_id.hex().startswith(node.lower()))


ID_MIN = 4
"""Characters of an id that say which one is meant."""
