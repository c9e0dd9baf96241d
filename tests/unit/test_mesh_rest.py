"""When a node is at rest, and what it leaves to syncs until it is."""

from __future__ import annotations

import pytest

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import (
    BUCKET_DIGESTS,
    BUCKETS,
    DIGEST,
    HEAD,
    NUMBER,
    VERSION_ENTRY,
    Kind,
)
from meshmsg._mesh.octets import Rumour, cluster_tag, rumour_octets, signed_of
from meshmsg._mesh.packing import unpacked
from meshmsg._mesh.sync import AGREE, AT, BITS, PACED, PASSED_ON_MAX, RUMOURS_ENOUGH
from tests.support.mesh_nodes import (
    answers,
    arrival,
    core,
    handle,
    knows,
    signed_octets,
)

MANY = 3 * PACED
EMPTY = BUCKET_DIGESTS.pack(*[0xFFFF_FFFF] * BUCKETS)
"""The digests of a directory that differs in all."""


def message(kind: Kind, body: bytes = b"", number: int = 1) -> bytes:
    """What that node sends."""
    return HEAD.pack(1, kind, cluster_tag("test"), handle(number)) + body


def at_rest(node: Core) -> None:
    """Have so many peers agree as are enough."""
    for _ in range(AGREE):
        node.arrived(0.0, arrival(message(Kind.SAME)))
    assert node.syncer.agreed == AGREE


def beside(node: Core, number: int, **changes: object) -> None:
    """Bring a record beside something else."""
    raw = signed_octets(number, **changes)
    node.arrived(1.0, arrival(message(Kind.NEWS, rumour_octets(Rumour.RECORD, raw))))
    assert handle(number) in node.here.table.rows


def in_a_sync(node: Core, *numbers: int) -> None:
    """Bring records by a sync."""
    data = b"".join(rumour_octets(Rumour.RECORD, signed_octets(number)) for number in numbers)
    node.arrived(1.0, arrival(message(Kind.RECORDS, data)))


def versions(node: Core) -> int:
    """How many versions it tells to one whose directory differs in all."""
    return told(node, EMPTY)


def told(node: Core, digests: bytes) -> int:
    """How many versions it tells to one that has these digests, as it asked that one."""
    node.syncer.send_hello("tcp://10.0.0.1:7450")
    node.take()
    node.arrived(1.0, arrival(message(Kind.DIGEST, digests)))
    (answer,) = answers(node)
    kind, data = unpacked(answer.data)
    assert kind == Kind.VERSIONS
    return (len(data) - AT - BITS) // VERSION_ENTRY.size


def test_a_node_at_rest_passes_on_who_is_new() -> None:
    """One that is not leaves it to its syncs."""
    node = core()
    beside(node, 1)
    assert len(node.here.rumours) == 0
    at_rest(node)
    beside(node, 2)
    assert len(node.here.rumours) == 1


def test_who_refutes_is_passed_on_at_once() -> None:
    """Also by a node that is not at rest, and whatever else waits."""
    node = core()
    beside(node, 1)
    beside(node, 1, incarnation=2)
    assert len(node.here.rumours) == 1
    at_rest(node)
    for number in range(2, 2 + RUMOURS_ENOUGH + 5):
        beside(node, number)
    assert len(node.here.rumours) == RUMOURS_ENOUGH
    assert node.syncer.agreed == 0, "so much is new that it has to sync"
    assert node.syncer.next_at <= 1.0 + Times().sync_restless
    beside(node, 2, incarnation=2)
    beside(node, 1 + RUMOURS_ENOUGH + 5, incarnation=2)
    assert len(node.here.rumours) == RUMOURS_ENOUGH + 1


@pytest.mark.parametrize("count", [PASSED_ON_MAX, PASSED_ON_MAX + 1])
def test_few_that_a_sync_brings_are_passed_on_and_many_are_not(count: int) -> None:
    """Whether the node is at rest or not."""
    node = core()
    in_a_sync(node, *range(1, 1 + count))
    assert len(node.here.rumours) == (count if count <= PASSED_ON_MAX else 0)


def test_a_sync_of_a_node_that_is_not_at_rest_tells_of_few() -> None:
    """Of whole buckets; one at rest tells of all, so that who joins alone has all at once."""
    node = core(1_000)
    knows(node, *range(1, 1 + MANY))
    node.take()
    assert PACED / 2 < versions(node) <= PACED
    at_rest(node)
    assert versions(node) == MANY + 1


def test_a_larger_mesh_compares_more_in_a_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a little more than in proportion to its size, which it learns only as it goes."""
    monkeypatch.setattr("meshmsg._mesh.sync.PACED_AT", MANY // 2)
    node = core(1_000)
    knows(node, *range(1, 1 + MANY))
    node.take()
    assert 2 * PACED < versions(node) <= 2.4 * PACED


def test_a_bucket_larger_than_that_is_told_of_alone() -> None:
    """Else it would never be."""
    node = core(1_000)
    numbers = [number for number in range(1, 40_000) if handle(number)[0] == 7][: PACED + 5]
    for number in numbers:
        signed = signed_of(signed_octets(number))
        assert node.opinions.hear_record(0.0, signed.raw, "tcp://10.0.0.9:1", signed.handle)
    digests = list(node.here.table.buckets)
    digests[7] ^= 1
    assert told(node, BUCKET_DIGESTS.pack(*digests)) == len(numbers) > PACED


def test_peers_have_to_agree_one_after_the_other() -> None:
    """Who differs has a node that is not at rest count anew; one at rest stays so."""
    differs = message(Kind.HELLO, DIGEST.pack(1))
    node = core()
    for data in (message(Kind.SAME), differs):
        node.arrived(0.0, arrival(data))
    assert node.syncer.agreed == 0
    node.arrived(0.0, arrival(message(Kind.SAME)))
    node.arrived(0.0, arrival(message(Kind.DIGEST, EMPTY)))
    assert node.syncer.agreed == 0
    at_rest(node)
    node.arrived(0.0, arrival(differs))
    assert node.syncer.agreed == AGREE


@pytest.mark.parametrize(("gone", "soon"), [((1, 2), True), ((1,), False)])
@pytest.mark.parametrize("says", [True, False], ids=["it is new", "it answers"])
def test_who_is_back_has_a_node_sync_soon_if_others_are_gone(
    gone: tuple[int, ...], soon: bool, says: bool
) -> None:
    """They may all be back, where a node was cut off: it does not wait half a minute to ask."""
    node, times = core(), Times()
    knows(node, 1, 2, 3)
    for number in gone:
        node.opinions.gone(0.0, node.here.table.rows[handle(number)])
    at_rest(node)
    rest = node.syncer.next_at = 50.0
    if says:
        beside(node, 1, incarnation=2)
    else:
        node.prober.begin(1.0, node.here.table.rows[handle(1)])
        (number,) = node.prober.probes
        node.arrived(1.0, arrival(message(Kind.ACK, NUMBER.pack(number))))
    assert handle(1) not in node.here.table.absent
    assert node.syncer.next_at == (1.0 + times.sync_restless if soon else rest)
    assert node.syncer.agreed == (0 if soon else AGREE)


def test_the_pauses_of_a_node_at_rest_get_longer() -> None:
    """From 1 s to 30 s: who was missed in a join is found soon."""
    node, times, waits = core(), Times(), []
    for agreed in (0, *range(AGREE, AGREE + 8)):
        node.syncer.agreed = agreed
        node.syncer.plan(100.0)
        waits.append(node.syncer.next_at - 100.0)
    expected = [times.sync_restless, 1, 2, 4, 8, 16, *[times.sync_idle] * 3]
    for wait, middle in zip(waits, expected, strict=True):
        assert 0.75 * middle <= wait <= 1.25 * middle
