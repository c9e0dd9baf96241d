"""What drivers saw of a node: it is asked at once, and not as often as a connection may end."""

from __future__ import annotations

import pytest

from meshmsg._mesh import probe
from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import HEAD, NUMBER, PROBE, REFUSAL, Kind
from meshmsg._mesh.octets import cluster_tag
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.told import Send, State
from tests.support.mesh_nodes import answers, arrival, core, handle, knows, record

FLAPS_S = 10
"""Seconds that a connection breaks and comes back."""
EACH = 100
"""Times a second."""


def message(kind: Kind, body: bytes, number: int) -> bytes:
    """What that node sends."""
    return HEAD.pack(1, kind, cluster_tag("test"), handle(number)) + body


def probes_of(node: Core, number: int) -> list[int]:
    """The numbers of the PINGs to that node that wait to be sent; each is taken once."""
    sent = [item for item in node.take() if isinstance(item, Send)]
    to = [one for one in sent if one.data[1] == Kind.PING and one.node == record(number).node_id]
    return [PROBE.unpack_from(one.data, HEAD.size)[0] for one in to]


def test_a_connection_that_flaps_does_not_make_a_probe_each_time() -> None:
    """But one a second, and those of its turns. All are answered."""
    node, asked = core(), 0
    knows(node, *range(1, 6))
    for tick in range(FLAPS_S * EACH):
        now = 1.0 + tick / EACH
        node.saw(now, record(1).node_id, Evidence.LOST)
        numbers = probes_of(node, 1)
        assert tick or len(numbers) == 1, "the first is at once"
        node.tick(now)
        for number in numbers + probes_of(node, 1):
            asked += 1
            node.arrived(now, arrival(message(Kind.ACK, NUMBER.pack(number), 1)))
    turns = FLAPS_S / Times().period
    assert FLAPS_S - 1 <= asked <= FLAPS_S + turns + 2
    refused = node.here.counts["evidence that came too often"]
    assert FLAPS_S * EACH - FLAPS_S - 1 <= refused <= FLAPS_S * EACH
    assert node.here.table.rows[handle(1)].state == State.ALIVE


def test_who_is_gone_after_its_connection_flapped_is_asked_at_the_next_turn() -> None:
    """Though it was asked just now."""
    node = core()
    knows(node, *range(1, 60))
    node.saw(1.0, record(1).node_id, Evidence.LOST)
    (number,) = probes_of(node, 1)
    node.arrived(1.0, arrival(message(Kind.ACK, NUMBER.pack(number), 1)))
    node.saw(1.1, record(1).node_id, Evidence.LOST)
    assert probes_of(node, 1) == []
    node.tick(1.1 + 2 * Times().period)
    assert len(probes_of(node, 1)) == 1


def test_the_ends_of_other_connections_are_not_held_back_by_one_that_flaps() -> None:
    """Each member has its own pause; who is asked is asked once more as its connection ends."""
    node = core()
    knows(node, 1, 2)
    for number in (1, 2):
        node.saw(1.0, record(number).node_id, Evidence.LOST)
    for _ in range(3):
        node.saw(1.1, record(1).node_id, Evidence.LOST)
    sent = [item for item in node.take() if isinstance(item, Send)]
    pinged = [item.node for item in sent if item.data[1] == Kind.PING]
    assert pinged == [record(1).node_id, record(2).node_id, record(1).node_id]


def test_only_so_many_members_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the pause there is room again."""
    monkeypatch.setattr(probe, "EVIDENCE_MAX", 2)
    node = core()
    knows(node, 1, 2, 3)
    for number in (1, 2, 3):
        node.saw(1.0, record(number).node_id, Evidence.LOST)
    assert probes_of(node, 3) == []
    assert node.here.counts["evidence that came too often"] == 1
    node.saw(1.0 + Times().evidence, record(3).node_id, Evidence.LOST)
    assert len(probes_of(node, 3)) == 1
    assert len(node.prober._began) == 1


def test_a_relay_that_is_refused_says_so_also_if_it_holds_the_member_for_gone() -> None:
    """Who asked waits for it, to know that as well."""
    helper = core()
    knows(helper, 1, 2, 3, 4, 5)
    indirect = message(Kind.INDIRECT, PROBE.pack(7, handle(2)), 1)
    helper.arrived(1.0, arrival(indirect))
    helper.opinions.gone(1.0, helper.here.table.rows[handle(2)])
    helper.take()
    helper.saw(1.0, record(2).node_id, Evidence.REFUSED)
    (nack,) = answers(helper)
    assert REFUSAL.unpack_from(nack.data, HEAD.size) == (7, 1)
