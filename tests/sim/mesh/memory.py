"""What the members of a large mesh take of the memory of one node: records, rows and the table.

Not here: what they may take (targets.py). Law: they are the objects of the library, made as those
are that come by the network: each record of octets of its own.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from hashlib import blake2b
from random import Random

from meshmsg._mesh.octets import node_id_of, record_octets, signed_of
from meshmsg._mesh.table import Row, Table
from meshmsg._mesh.told import Record, Service, State

SERVICE = Service("orders", "pull", "zmtp", ("tcp://10.20.30.40:5555",), key=b"\x01")
BEGAN = 1_800_000_000_000
"""Milliseconds: when the first node started."""


def raw_record(number: int, services: Sequence[Service] = ()) -> bytes:
    """The octets of a record, as the network brings them; its signature is none."""
    key = blake2b(b"%d" % number, digest_size=32).digest()
    record = Record(
        node_id=node_id_of(key, BEGAN + number),
        name=f"worker-{number}",
        cluster="production",
        boot_epoch=BEGAN + number,
        incarnation=1,
        seq=1 + len(services),
        sign_key=key,
        addresses=(f"tcp://10.{number >> 16}.{number >> 8 & 255}.{number & 255}:7450",),
        services=tuple(services),
    )
    return record_octets(record) + blake2b(key, digest_size=64).digest()


def table_octets(raws: Sequence[bytes]) -> float:
    """Octets that a table of these takes, with all that its rows hold, each of them heard once."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    table = Table(Random(1))
    for number, raw in enumerate(raws):
        signed = signed_of(bytes(bytearray(raw)))
        now = number * 0.001
        row = Row(signed, State.ALIVE, now, signed.handle)
        row.heard, row.rtt = now + 5.0, now / 7
        table.add(row)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert table.here == len(raws)
    return taken


def table_mib(members: int, services: Sequence[Service] = ()) -> float:
    """MiB that a table of so many takes."""
    return table_octets([raw_record(number, services) for number in range(members)]) / 2**20
