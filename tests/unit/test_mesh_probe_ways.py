"""A member with several addresses is asked at each, and is gone only if it answers at none."""

from __future__ import annotations

import pytest

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import HEAD, NUMBER, PROBE, REFUSAL, Kind
from meshmsg._mesh.octets import cluster_tag, signed_of
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.told import Send, State
from tests.support.mesh_nodes import answers, arrival, core, handle, knows, record, signed_octets

FOUR = tuple(f"tcp://10.0.1.{number}:7450" for number in range(1, 5))
NODE = record(1).node_id


def meeting(addresses: tuple[str, ...] = FOUR, *others: int) -> Core:
    """A node that knows one at these addresses, and others; whose turn never comes."""
    node = core()
    raw = signed_octets(1, addresses=addresses)
    assert node.opinions.hear_record(0.0, raw, "tcp://10.0.0.9:1", signed_of(raw).handle)
    knows(node, *others)
    node.prober.next_at = node.syncer.next_at = float("inf")
    node.take()
    return node


def pings(node: Core) -> dict[str, int]:
    """Where it asks that one, and by which numbers."""
    return {
        one.to: PROBE.unpack_from(one.data, HEAD.size)[0]
        for one in node.take()
        if isinstance(one, Send) and one.data[1] == Kind.PING and one.node == NODE
    }


def message(kind: Kind, body: bytes, by: int = 1) -> bytes:
    """What a member says."""
    return HEAD.pack(1, kind, cluster_tag("test"), handle(by)) + body


def answer(node: Core, now: float, number: int) -> None:
    """Have that one answer."""
    node.arrived(now, arrival(message(Kind.ACK, NUMBER.pack(number))))


def elsewhere(node: Core, now: float, number: int, by: int = 7) -> None:
    """Have another node say that it is at that address."""
    node.arrived(now, arrival(message(Kind.NACK, REFUSAL.pack(number, 1), by), by))


def state(node: Core) -> State:
    """What that one is taken for."""
    return node.here.table.rows[handle(1)].state


def begin(node: Core, now: float) -> dict[str, int]:
    """Ask it, and be silent for the first half; return where it was asked then, too."""
    node.prober.begin(now, node.here.table.rows[handle(1)])
    first = pings(node)
    assert len(first) == 1
    node.prober.tick(now + Times().direct + 0.001)
    return {**first, **pings(node)}


@pytest.mark.parametrize("count", [2, 3, 4])
def test_who_is_silent_is_asked_at_all_its_addresses(count: int) -> None:
    """Each by a number of its own; who answers at any of them is alive."""
    for at in range(count):
        node = meeting(FOUR[:count])
        asked = begin(node, 1.0)
        assert list(asked) == list(FOUR[:count])
        assert len(set(asked.values())) == count
        answer(node, 1.3, asked[FOUR[at]])
        assert node.prober.probes == {}
        assert node.prober._helped == {}
        assert state(node) == State.ALIVE


def test_who_answers_nowhere_is_suspect() -> None:
    """As before, and in the same time."""
    node = meeting()
    begin(node, 1.0)
    node.prober.tick(1.0 + Times().direct + Times().indirect + 0.01)
    assert state(node) == State.SUSPECT
    assert node.prober._helped == {}


def test_one_is_spoken_to_where_it_answered_last() -> None:
    """Probes, and all else; until it answers at its first address again."""
    node = meeting()
    row = node.here.table.rows[handle(1)]
    answer(node, 1.3, begin(node, 1.0)[FOUR[2]])
    assert node.here.address_of(row) == FOUR[2]
    node.here.send(row, node.here.head(Kind.NEWS))
    assert [one.to for one in node.take() if isinstance(one, Send)] == [FOUR[2]]
    asked = begin(node, 2.0)
    assert list(asked) == [FOUR[2], FOUR[0], FOUR[1], FOUR[3]]
    answer(node, 2.3, asked[FOUR[0]])
    assert node.here.address_of(row) == FOUR[0]
    assert node.here._ways == {}


def test_where_one_answered_is_forgotten_with_its_addresses_and_with_itself() -> None:
    """So that nothing grows."""
    node = meeting(FOUR, 2)
    row = node.here.table.rows[handle(1)]
    node.here.answered(row, FOUR[1])
    node.here.table.replace(row, signed_of(signed_octets(1, addresses=FOUR[2:], seq=2)))
    assert node.here.address_of(row) == FOUR[2]
    for number in range(3, 40):
        other = signed_of(signed_octets(number, addresses=FOUR))
        row.signed = other
        node.here.answered(row, FOUR[3])
    assert len(node.here._ways) <= len(node.here.table.rows) + 1


def test_nobody_listens_there_only_if_so_at_all_addresses() -> None:
    """One that refuses has the others asked at once."""
    node = meeting(FOUR[:3], 2, 3, 4, 5)
    node.prober.begin(1.0, node.here.table.rows[handle(1)])
    node.take()
    node.saw(1.0, NODE, Evidence.REFUSED, FOUR[0])
    assert list(pings(node)) == list(FOUR[1:3])
    (probe,) = node.prober.probes.values()
    node.saw(1.0, NODE, Evidence.REFUSED, FOUR[1])
    assert probe.refused == set()
    node.saw(1.0, NODE, Evidence.REFUSED, FOUR[2])
    assert probe.refused == {node.here.me.handle}


def test_an_address_that_it_has_no_more_refuses_nothing() -> None:
    """A connection to where it was before says nothing of where it is."""
    node = meeting(FOUR[:1], 2, 3, 4)
    node.prober.begin(1.0, node.here.table.rows[handle(1)])
    node.saw(1.0, NODE, Evidence.REFUSED, FOUR[3])
    (probe,) = node.prober.probes.values()
    assert probe.refused == set()
    node.saw(1.0, NODE, Evidence.REFUSED, FOUR[0])
    assert probe.refused == {node.here.me.handle}


def test_another_node_at_one_of_its_addresses_is_no_end_of_it() -> None:
    """At all of them it is."""
    node = meeting(FOUR[:2], 2, 3, 4, 7)
    asked = begin(node, 1.0)
    (probe,) = node.prober.probes.values()
    elsewhere(node, 1.3, asked[FOUR[1]])
    assert probe.refused == set()
    elsewhere(node, 1.3, asked[FOUR[0]])
    assert probe.refused == {node.here.me.handle}


def test_a_refusal_that_begins_a_probe_has_all_other_addresses_asked() -> None:
    """Also the first one, if it was lost at another."""
    node = meeting(FOUR[:3], 2, 3)
    node.here.answered(node.here.table.rows[handle(1)], FOUR[1])
    node.saw(1.0, NODE, Evidence.REFUSED, FOUR[1])
    assert list(pings(node)) == [FOUR[0], FOUR[2]]


def test_a_connection_that_ends_has_it_asked_at_all_and_there_once_more() -> None:
    """As a new one may go where the old one went."""
    node = meeting(FOUR[:2], 2, 3)
    node.saw(1.0, NODE, Evidence.LOST, FOUR[0])
    assert list(pings(node)) == list(FOUR[:2])
    node.saw(1.01, NODE, Evidence.LOST, FOUR[1])
    again = pings(node)
    assert list(again) == [FOUR[1]]
    answer(node, 1.1, again[FOUR[1]])
    assert node.prober.probes == {}


def test_news_go_with_the_first_question_only() -> None:
    """The others are as small as they can be: a record may name somebody else's address."""
    node = meeting(FOUR, 2, 3)
    node.here.spread_me()
    node.prober.begin(1.0, node.here.table.rows[handle(1)])
    first = [len(one.data) for one in node.take() if isinstance(one, Send)]
    node.prober.tick(1.0 + Times().direct + 0.001)
    others = [one for one in node.take() if isinstance(one, Send) and one.node == NODE]
    assert max(len(one.data) for one in others) == HEAD.size + PROBE.size < first[0]


class Helping:
    """A node that is asked for another one, at several addresses."""

    def __init__(self, addresses: tuple[str, ...] = FOUR[:3]) -> None:
        self.node = meeting(addresses, 2)
        body = PROBE.pack(77, handle(1))
        self.node.arrived(1.0, arrival(message(Kind.INDIRECT, body, 2), 2))
        self.asked = pings(self.node)

    def said(self) -> list[tuple[int, ...]]:
        """What it told who asked: kinds and, of a NACK, whether nobody listens there."""
        return [
            (one.data[1], *REFUSAL.unpack_from(one.data, HEAD.size)[1:])
            if one.data[1] == Kind.NACK
            else (one.data[1],)
            for one in answers(self.node)
        ]


@pytest.mark.parametrize("at", range(3))
def test_a_helper_asks_at_each_address(at: int) -> None:
    """And passes the first answer on, once."""
    helping = Helping()
    assert list(helping.asked) == list(FOUR[:3])
    answer(helping.node, 1.1, helping.asked[FOUR[at]])
    assert (Kind.ACK,) in helping.said()
    assert helping.node.prober.relays == {}
    answer(helping.node, 1.1, helping.asked[FOUR[(at + 1) % 3]])
    assert helping.said() == []


def test_a_helper_is_refused_only_if_so_at_each_address() -> None:
    """By who listens not, and by who is another."""
    helping = Helping()
    helping.node.saw(1.0, NODE, Evidence.REFUSED, FOUR[0])
    elsewhere(helping.node, 1.0, helping.asked[FOUR[1]], 2)
    assert helping.said() == []
    helping.node.saw(1.0, NODE, Evidence.REFUSED, FOUR[2])
    assert helping.said() == [(Kind.NACK, 1)]
    assert helping.node.prober.relays == {}


def test_a_helper_whom_nobody_answers_says_so_once() -> None:
    """When its time is over, and at none of the addresses it was refused."""
    helping = Helping()
    helping.node.saw(1.0, NODE, Evidence.REFUSED, FOUR[0])
    helping.node.prober.tick(1.0 + Times().direct + 0.001)
    assert helping.said() == [(Kind.NACK, 0)]
    assert helping.node.prober.relays == {}
