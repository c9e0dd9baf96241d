"""The last look: nobody becomes unreachable by words, but by what a node itself has found."""

from __future__ import annotations

import pytest

from meshmsg._mesh import probe
from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import LOOKS_MAX, Times
from meshmsg._mesh.messages import HEAD, NUMBER, PROBE, Kind
from meshmsg._mesh.octets import (
    Rumour,
    Statement,
    cluster_tag,
    statement_octets,
    statement_raw,
)
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.told import EventKind, Send, State
from tests.support.mesh_nodes import arrival, core, handle, knows, record, signed_octets, signer

SOURCE = "tcp://10.0.0.9:1"
LOOK_S = Times().direct + Times().indirect
"""Seconds that a last look takes."""


def meeting(*numbers: int, **changes: object) -> Core:
    """A node that knows these, whose turns never come, and whose user was told so."""
    node = core(**changes)  # type: ignore[arg-type]
    knows(node, *numbers)
    node.prober.next_at = node.syncer.next_at = float("inf")
    node.prober._answered = float("inf")  # that it hears is proven
    node.events()
    node.take()
    return node


def state(node: Core, number: int) -> State:
    """What it takes a member for."""
    return node.here.table.rows[handle(number)].state


def accuse(node: Core, now: float, subject: int, *by: int, kind: Rumour = Rumour.REFUSED) -> None:
    """Have it hear that these accuse a member."""
    for number in by:
        tag = cluster_tag("test")
        signed = signer(number).sign(
            statement_octets(kind, tag, handle(subject), 1, handle(number))
        )
        raw = statement_raw(Statement(kind, handle(subject), 1, handle(number), signed))
        node.opinions.hear_statement(now, kind, raw)
    node.prober.look(now)


def pings(node: Core) -> list[tuple[bytes | None, int]]:
    """Whom it asks, and the numbers of that; each is taken once."""
    sent = [item for item in node.take() if isinstance(item, Send) and item.data[1] == Kind.PING]
    return [(item.node, PROBE.unpack_from(item.data, HEAD.size)[0]) for item in sent]


def answer(node: Core, now: float, number: int, by: int) -> None:
    """Have a member answer."""
    body = HEAD.pack(1, Kind.ACK, cluster_tag("test"), handle(by)) + NUMBER.pack(number)
    node.arrived(now, arrival(body, by))


def silence(node: Core, since: float) -> float:
    """Have nobody answer for as long as a last look takes; return when that is over."""
    now = since
    for _ in range(3):
        now += LOOK_S
        node.tick(now)
    return now


@pytest.mark.parametrize("kind", [Rumour.REFUSED, Rumour.SUSPECT])
def test_who_answers_a_last_look_is_alive_whatever_others_say(kind: Rumour) -> None:
    """However many they are, and however long they go on."""
    node, now = meeting(*range(1, 20)), 1.0
    for _ in range(50):
        accuse(node, now, 1, *range(2, 12), kind=kind)
        node.tick(now)
        for asked, number in pings(node):
            if asked == record(1).node_id:
                answer(node, now + 0.001, number, 1)
        now += 0.1
    assert state(node, 1) == State.ALIVE
    assert node.events() == []


def test_a_silent_member_is_asked_twice_and_then_is_unreachable() -> None:
    """Three say that nobody listens there: it is asked at once, and nobody else is about it."""
    node = meeting(*range(1, 10))
    accuse(node, 1.0, 1, 2, 3, 4)
    sent = [item for item in node.take() if isinstance(item, Send)]
    node.tick(1.0 + Times().direct)
    sent += [item for item in node.take() if isinstance(item, Send)]
    to = [item.node for item in sent if item.data[1] in (Kind.PING, Kind.INDIRECT)]
    assert to == [record(1).node_id] * 2
    assert state(node, 1) == State.SUSPECT
    node.tick(1.0 + LOOK_S + 0.01)
    assert state(node, 1) == State.UNREACHABLE


def test_of_one_accuser_others_are_asked_in_a_last_look() -> None:
    """A network may have harmed the way from here."""
    node = meeting(*range(1, 10))
    accuse(node, 1.0, 1, 2, kind=Rumour.SUSPECT)
    now = 1.0 + Times().suspicion * Times().suspicion_max
    node.tick(now)
    node.tick(now + Times().direct)
    kinds = [item.data[1] for item in node.take() if isinstance(item, Send)]
    assert kinds.count(Kind.INDIRECT) == Times().helpers
    silence(node, now)
    assert state(node, 1) == State.UNREACHABLE


def test_a_refusal_in_a_last_look_ends_it_at_once() -> None:
    """It was found by this node itself."""
    node = meeting(*range(1, 10))
    accuse(node, 1.0, 1, 2, 3, 4)
    node.saw(1.001, record(1).node_id, Evidence.REFUSED)
    assert [event.kind for event in node.events()] == [EventKind.UNREACHABLE]


def test_only_so_many_last_looks_are_under_way_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next begins as one is over."""
    monkeypatch.setattr(probe, "LOOKS_MAX", 2)
    node = meeting(*range(1, 10))
    for subject in (1, 2, 3):
        accuse(node, 1.0, subject, 4, 5, 6)
    asked = pings(node)
    assert [one for one, _ in asked] == [record(1).node_id, record(2).node_id]
    answer(node, 1.01, asked[0][1], 1)
    assert [one for one, _ in pings(node)] == [record(3).node_id]
    silence(node, 1.01)
    assert [state(node, n) for n in (1, 2, 3)] == [
        State.ALIVE,
        State.UNREACHABLE,
        State.UNREACHABLE,
    ]


def test_who_was_frozen_in_a_last_look_begins_it_again() -> None:
    """The silence of that time says nothing."""
    node = meeting(*range(1, 10))
    accuse(node, 1.0, 1, 2, 3, 4)
    node.tick(1.0)
    pings(node)
    for now in (61.0, 61.3):
        node.tick(now)
        assert state(node, 1) == State.SUSPECT
    ((asked, number),) = pings(node)
    assert asked == record(1).node_id
    answer(node, 61.31, number, 1)
    assert state(node, 1) == State.ALIVE


def hold(node: Core, number: int, **changes: object) -> None:
    """Have it hear in a sync that a member which it does not know is unreachable."""
    raw = signed_octets(number, **changes)
    node.opinions.hear_record(1.0, raw, SOURCE, handle(2), held=True)
    node.prober.look(1.0)


def test_who_is_told_of_as_unreachable_is_asked_at_once() -> None:
    """And is up, if it answers: that was another one's opinion."""
    node = meeting(2, 3)
    hold(node, 1)
    assert state(node, 1) == State.UNREACHABLE
    ((asked, number),) = pings(node)
    assert asked == record(1).node_id
    answer(node, 1.01, number, 1)
    assert [event.kind for event in node.events()] == [EventKind.UP]


def test_a_former_life_that_is_told_of_is_forgotten_once_it_was_silent() -> None:
    """Not by its name alone: who made that of the later one is not known."""
    node = meeting(2, 3)
    node.opinions.hear_record(1.0, signed_octets(9, name="node-1"), SOURCE, handle(9))
    hold(node, 1)
    assert state(node, 1) == State.UNREACHABLE
    silence(node, 1.0)
    assert state(node, 1) == State.FORGOTTEN


def test_who_was_not_asked_yet_is_forgotten_for_no_name() -> None:
    """Others say that it is unreachable, and a later start of its name is there or comes."""
    node = meeting(2, 3)
    hold(node, 1)
    node.opinions.hear_record(1.0, signed_octets(9, name="node-1"), SOURCE, handle(9))
    node.opinions.sweep(1.1)
    assert state(node, 1) == State.UNREACHABLE
    ((_, number),) = pings(node)
    answer(node, 1.2, number, 1)
    assert EventKind.FORGOTTEN not in [event.kind for event in node.events()]


def test_a_record_of_a_former_life_is_asked_before_it_counts() -> None:
    """It may be a copy that somebody sends again; one that answers is there, and that is told."""
    node = meeting(2, 3)
    for number in (9, 1):
        raw = signed_octets(number, name="x")
        node.opinions.hear_record(1.0, raw, SOURCE, handle(2))
    node.prober.look(1.0)
    assert [event.kind for event in node.events()] == [EventKind.UP]
    ((asked, number),) = pings(node)
    assert asked == record(1).node_id
    answer(node, 1.01, number, 1)
    assert [event.kind for event in node.events()] == [EventKind.UP, EventKind.CONFLICT]


def test_a_former_life_of_this_node_is_asked_as_well() -> None:
    """And is forgotten, as it is silent: nobody was told that it was there."""
    node = meeting(2, 3)
    node.opinions.hear_record(1.0, signed_octets(1, name="node-100"), SOURCE, handle(2))
    node.prober.look(1.0)
    silence(node, 1.0)
    assert state(node, 1) == State.FORGOTTEN
    assert [event.kind for event in node.events()] == [EventKind.FORGOTTEN]


def test_who_said_it_first_is_known() -> None:
    """Of one that is unreachable, for `explain`."""
    node = meeting(*range(1, 10))
    accuse(node, 1.0, 1, 3, 4, 5)
    silence(node, 1.0)
    (member,) = [one for one in node.members() if one.record.name == "node-1"]
    assert (member.state, member.told_by) == (State.UNREACHABLE, record(3).node_id)


def test_what_its_services_say_keeps_a_suspect_alive() -> None:
    """But not one at whose mesh port nobody listens: its mesh is over."""
    node = meeting(*range(1, 10))
    accuse(node, 1.0, 1, 2, kind=Rumour.SUSPECT)
    assert node.suspects() == [record(1).node_id]
    node.saw(1.5, record(1).node_id, Evidence.HEARD)
    assert (node.suspects(), state(node, 1)) == ([], State.ALIVE)
    node.saw(5.0, record(1).node_id, Evidence.REFUSED)
    silence(node, 5.0)
    assert node.suspects() == [record(1).node_id]
    node.saw(7.0, record(1).node_id, Evidence.HEARD)
    assert state(node, 1) == State.SUSPECT


def test_a_life_that_answers_is_the_later_one_though_its_clock_was_set_back() -> None:
    """The one before is forgotten as it is unreachable, not ten minutes later."""
    node = meeting(2, 3, 4, 9)
    accuse(node, 1.0, 9, 2, 3, 4)
    now = silence(node, 1.0)
    assert state(node, 9) == State.UNREACHABLE
    node.opinions.hear_record(now, signed_octets(5, name="node-9"), SOURCE, handle(5))
    node.opinions.sweep(now + 1)
    assert state(node, 9) == State.UNREACHABLE, "the record of a life that is over, for all we know"
    node.opinions.heard(now + 2, node.here.table.rows[handle(5)])
    node.opinions.sweep(now + 3)
    assert state(node, 9) == State.FORGOTTEN
    assert state(node, 5) == State.ALIVE


def test_who_answered_once_is_asked_a_last_time_before_those_who_never_did() -> None:
    """However many of these wait, and since when."""
    many = 2 * LOOKS_MAX
    node = core(900)
    knows(node, *range(1, many + 2))
    node.take()
    last = many + 1
    node.saw(0.0, record(last).node_id, Evidence.HEARD)
    for number in range(1, many + 2):
        node.opinions.accuse(5.0, node.here.table.rows[handle(number)], Rumour.SUSPECT)
        node.opinions._look(5.0, node.here.table.rows[handle(number)])
    node.prober.look(5.0)
    asked = {probe.handle for probe in node.prober.probes.values() if probe.last}
    assert len(asked) == LOOKS_MAX
    assert handle(last) in asked
