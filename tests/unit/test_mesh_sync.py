"""What a sync brings of the two that sync, and what follows from one that was held for gone."""

from __future__ import annotations

import pytest

from meshmsg._mesh.messages import (
    BUCKET_DIGESTS,
    BUCKETS,
    DIGEST,
    HEAD,
    VERSION_ENTRY,
    Kind,
    bits_of,
)
from meshmsg._mesh.octets import Rumour, cluster_tag, rumour_octets
from meshmsg._mesh.packing import unpacked
from tests.support.mesh_nodes import answers, arrival, core, handle, knows


def message(kind: Kind, body: bytes) -> bytes:
    """What node 1 sends."""
    return HEAD.pack(1, kind, cluster_tag("test"), handle(1)) + body


def test_a_sync_brings_only_what_the_other_side_has_not_got_by_it_already() -> None:
    """Each has the record of the other by then; a node gives its own if that is asked for."""
    node = core()
    knows(node, 1)
    node.take()
    known = b"".join(
        VERSION_ENTRY.pack(signed.handle, signed.record.incarnation, signed.record.seq, 0)
        for signed in (node.here.me, node.here.table.rows[handle(1)].signed)
    )
    node.arrived(0.0, arrival(message(Kind.HELLO, DIGEST.pack(1))))
    node.arrived(0.0, arrival(message(Kind.VERSIONS, bits_of(range(BUCKETS)) + known)))
    assert [unpacked(one.data)[0] for one in answers(node)] == [Kind.DIGEST]
    own = node.here.me.handle
    node.arrived(0.0, arrival(message(Kind.WANT, own + handle(9))))
    (answer,) = answers(node)
    assert answer.data[HEAD.size :] == rumour_octets(Rumour.RECORD, node.here.me.raw)
    node.arrived(0.0, arrival(message(Kind.WANT, handle(9))))
    assert not answers(node)


@pytest.mark.parametrize("known", [True, False])
def test_a_sync_brings_the_record_of_who_answers_if_it_is_newer_by_then(known: bool) -> None:
    """A node that is told where it is as it is dialed has an address from then on only."""
    node = core(addresses=())
    before = node.here.me.record
    node.arrived(0.0, arrival(message(Kind.HELLO, DIGEST.pack(1))))
    node.moved(0.0, ["tcp://10.0.0.100:7450"])
    entry = VERSION_ENTRY.pack(node.here.me.handle, before.incarnation, before.seq, 0)
    bits = bits_of(range(BUCKETS))
    node.arrived(0.0, arrival(message(Kind.VERSIONS, bits + (entry if known else b""))))
    _, brought = answers(node)
    own = rumour_octets(Rumour.RECORD, node.here.me.raw)
    assert brought.data == node.here.head(Kind.RECORDS) + own


@pytest.mark.parametrize("kind", [Kind.HELLO, Kind.DIGEST])
def test_one_that_is_gone_and_syncs_is_looked_for(kind: Kind) -> None:
    """It is there, whatever is said of it: it is probed at the next turn."""
    node = core()
    knows(node, 1, 2)
    row = node.here.table.rows[handle(1)]
    node.opinions.gone(0.0, row)
    node.opinions.checks.clear()
    body = DIGEST.pack(1) if kind == Kind.HELLO else BUCKET_DIGESTS.pack(*[1] * BUCKETS)
    node.arrived(1.0, arrival(message(kind, body)))
    assert node.opinions.checks == [handle(1)]
