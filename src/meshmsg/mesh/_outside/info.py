"""What who is no member is told of a mesh: plain values, and the JSON that they are on the way.

Not here: asking (asking.py), who answers (questions.py). Law: times are seconds ago, so that they
mean the same on another machine; what cannot be read is one error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from meshmsg._binding.errors import PeerError
from meshmsg._mesh.told import Event, Member, Service, State
from meshmsg.mesh._addresses import name_of_host


@dataclass(frozen=True)
class MemberInfo:
    """A node of a mesh, as the one that was asked sees it.

    Attributes:
        name: What people call it.
        node_id: 16 octets that no other node has, nor this one after a restart.
        state: What it is taken for.
        since: Seconds ago that this began.
        heard: Seconds ago that something of its own came last; None: never.
        rtt: Seconds of a round trip to it; None: never measured.
        addresses: Of its mesh port, the best first.
        host, zone: Where it is; "": not said.
        incarnation: How often it had to say that it is there, and more.
        services: What it offers. Their keys are not told.
    """

    name: str
    node_id: bytes
    state: State
    since: float
    heard: float | None
    rtt: float | None
    addresses: tuple[str, ...]
    host: str
    zone: str
    incarnation: int
    services: tuple[Service, ...]


@dataclass(frozen=True)
class MeshInfo:
    """What a node says of its mesh to who is no member.

    Attributes:
        cluster: The name of the mesh.
        node_id: Of the node that was asked.
        members: All nodes that it knows, itself first.
    """

    cluster: str
    node_id: bytes
    members: tuple[MemberInfo, ...]


def member_info(one: Member, now: float) -> MemberInfo:
    """Return a node as others are told of it; `now` is the time of the mesh's clock."""
    record = one.record
    return MemberInfo(
        name=record.name,
        node_id=record.node_id,
        state=one.state,
        since=round(max(now - one.since, 0.0), 3),
        heard=None if one.heard is None else round(max(now - one.heard, 0.0), 3),
        rtt=one.rtt,
        addresses=record.addresses,
        host=name_of_host(record.host),
        zone=record.zone,
        incarnation=record.incarnation,
        services=tuple(replace(service, key=b"") for service in record.services),
    )


def info_dict(info: MemberInfo) -> dict[str, Any]:
    """Return it as what JSON has."""
    services = [
        {
            "name": s.name,
            "role": s.role,
            "wire": s.wire,
            "endpoints": list(s.endpoints),
            "meta": dict(s.meta),
            "weight": s.weight,
        }
        for s in info.services
    ]
    return {
        **vars(info),
        "node_id": info.node_id.hex(),
        "state": info.state.name,
        "addresses": list(info.addresses),
        "services": services,
    }


def mesh_dict(info: MeshInfo) -> dict[str, Any]:
    """Return the answer to the question who is there, as what JSON has."""
    members = [info_dict(one) for one in info.members]
    return {"cluster": info.cluster, "me": info.node_id.hex(), "members": members}


def member_dict(one: Member, now: float) -> dict[str, Any]:
    """Return a node as what JSON has; `now` is the time of the mesh's clock."""
    return info_dict(member_info(one, now))


def event_dict(event: Event, now: float) -> dict[str, Any]:
    """Return an event as what JSON has."""
    return {"event": event.kind.name, **member_dict(event.member, now)}


def mesh_info(told: dict[str, Any], address: str) -> MeshInfo:
    """Return what a node at that address has told.

    Raises:
        PeerError: It is no such answer.
    """
    try:
        cluster, me, members = str(told["cluster"]), bytes.fromhex(told["me"]), told["members"]
    except (LookupError, TypeError, ValueError):
        raise _unreadable(address) from None
    return MeshInfo(cluster, me, members_of(members, address))


def members_of(several: Any, address: str) -> tuple[MemberInfo, ...]:
    """Return the nodes that `info_dict` made this of, as a node at that address has told.

    Raises:
        PeerError: It is no such list.
    """
    try:
        return tuple(_member(one) for one in several)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise _unreadable(address) from None


def _unreadable(address: str) -> PeerError:
    return PeerError(f"{address} gave no answer that can be read", address=address)


def _member(told: dict[str, Any]) -> MemberInfo:
    heard, rtt = told["heard"], told["rtt"]
    return MemberInfo(
        name=str(told["name"]),
        node_id=bytes.fromhex(told["node_id"]),
        state=State[told["state"]],
        since=float(told["since"]),
        heard=None if heard is None else float(heard),
        rtt=None if rtt is None else float(rtt),
        addresses=tuple(map(str, told["addresses"])),
        host=str(told["host"]),
        zone=str(told["zone"]),
        incarnation=int(told["incarnation"]),
        services=tuple(map(_service, told["services"])),
    )


def _service(told: dict[str, Any]) -> Service:
    return Service(
        name=str(told["name"]),
        role=str(told["role"]),
        wire=str(told["wire"]),
        endpoints=tuple(map(str, told["endpoints"])),
        meta=tuple((str(name), str(value)) for name, value in told["meta"].items()),
        weight=int(told["weight"]),
    )
