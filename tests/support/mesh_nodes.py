"""Nodes of a mesh for tests of single parts: cores without a network.

Not here: a network (tests/sim/mesh/world.py). Law: time is what the test says.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from meshmsg._mesh.core import Core
from meshmsg._mesh.octets import node_id_of, record_octets, signed_of
from meshmsg._mesh.signing import Ed25519Signer, ed25519_verify
from meshmsg._mesh.told import Answer, Arrival, Record, Send, Service

SERVICE = Service(
    "orders", "pull", "zmtp", ("tcp://10.0.0.5:5555",), (("version", "2"),), 3, b"k" * 32
)


def signer(number: int) -> Ed25519Signer:
    """One of many keys."""
    return Ed25519Signer(number.to_bytes(32, "big"))


def record(number: int, **changes: object) -> Record:
    """What a node says, not signed."""
    key = signer(number).key
    made = Record(
        node_id=node_id_of(key, number),
        name=f"node-{number}",
        cluster="test",
        boot_epoch=number,
        incarnation=1,
        seq=1,
        sign_key=key,
        addresses=(f"tcp://10.0.0.{number}:7450",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def signed_octets(number: int, **changes: object) -> bytes:
    """The octets of a record that its node signed."""
    data = record_octets(record(number, **changes))
    return data + signer(number).sign(data)


def knows(core: Core, *numbers: int) -> None:
    """Have a core know these nodes."""
    for number in numbers:
        raw = signed_octets(number)
        handle = signed_of(raw).handle
        assert core.opinions.hear_record(0.0, raw, "tcp://10.0.0.9:1", handle)


def handle(number: int) -> bytes:
    """How messages name that node."""
    return record(number).node_id[:8]


def core(number: int = 100, *, cluster: str = "test", **changes: object) -> Core:
    """A node that knows nobody."""
    options: dict[str, object] = {"addresses": (f"tcp://10.0.0.{number}:7450",), **changes}
    return Core(
        name=f"node-{number}",
        cluster=cluster,
        boot_epoch=number,
        signer=signer(number),
        verify=ed25519_verify,
        rng=Random(number),
        now=0.0,
        **options,  # type: ignore[arg-type]
    )


def arrival(data: bytes, number: int = 1, reply: int = 1) -> Arrival:
    """A message from that node's host."""
    return Arrival(f"tcp://10.0.0.{number}:50000", data, reply)


def exchange(now: float, *cores: Core, rounds: int = 50) -> int:
    """Carry what these cores say to each other until they are silent; return how much it was."""
    by_address = {one.me().addresses[0]: one for one in cores if one.me().addresses}
    carried = 0
    for _ in range(rounds):
        waiting = [(one, item) for one in cores for item in one.take()]
        for source, item in waiting:
            if isinstance(item, Send):
                target = by_address.get(item.to)
            else:
                target = cores[item.reply - 1]
            if target is not None and target is not source:
                carried += 1
                own = source.me().addresses
                seen = own[0] if own else "tcp://10.9.9.9:1"
                target.arrived(now, Arrival(seen, item.data, cores.index(source) + 1))
        if not waiting:
            break
    return carried


def answers(core: Core) -> list[Answer]:
    """What a core answered, since it was asked last."""
    return [item for item in core.take() if isinstance(item, Answer)]
