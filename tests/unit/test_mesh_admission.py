"""Who is let into the table of members: what one source may tell of, and who gives way."""

from __future__ import annotations

import pytest

from meshmsg._mesh.core import Core
from meshmsg._mesh.joining.admission import Room
from meshmsg._mesh.limits import (
    MEMBERS_KEPT_FREE,
    MEMBERS_MAX,
    NEW_BURST,
    SOURCES_MAX,
    UNHEARD_MAX,
    Times,
)
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.told import EventKind, State
from tests.support.mesh_nodes import core, handle, record, signed_octets

ONE, OTHER, OWN = "tcp://10.0.0.1:5", "tcp://10.0.0.2:5", "tcp://10.0.0.3:5"
SMALL = Room(members=10, kept_free=4, unheard=5, few=2)


def node_of(room: Room) -> Core:
    """A node with so much room."""
    node = core()
    node.opinions.admission.room = room
    return node


def told(
    node: Core,
    number: int,
    source: str,
    *,
    itself: bool = False,
    held: bool = False,
    now: float = 0,
) -> bool:
    """Have a source tell of a member; return whether it is known from now on."""
    by = handle(number) if itself else handle(99)
    return node.opinions.hear_record(now, signed_octets(number), source, by, held=held)


def known(node: Core) -> set[str]:
    """The names of all members but the node itself."""
    return {member.record.name for member in node.members()[1:]}


def unreachable(node: Core, number: int, now: float = 0.0) -> None:
    """Have it find that nobody listens there."""
    node.opinions.gone(now, node.here.table.rows[handle(number)])
    assert node.here.table.rows[handle(number)].state == State.UNREACHABLE


def test_one_source_tells_of_so_many_new_members_at_once_and_no_more() -> None:
    """A bomb of members: the rest is counted; another source is not held back by it."""
    admission = core().opinions.admission
    admitted = sum(admission.admits(0.0, ONE) for _ in range(NEW_BURST + 9))
    assert admitted == NEW_BURST
    assert not admission.admits(0.0, "tcp://10.0.0.1:6"), "another port of the same host"
    assert admission.admits(0.0, OTHER)
    assert admission.admits(1.0, ONE)


def test_the_rates_of_so_many_sources_are_kept() -> None:
    """The one that told of somebody longest ago goes first."""
    admission = core().opinions.admission
    for number in range(SOURCES_MAX + 5):
        assert admission.admits(0.0, f"tcp://10.1.{number >> 8}.{number & 255}:5")
    assert len(admission._rates) == SOURCES_MAX


def test_the_room_of_a_table_is_that_of_the_limits() -> None:
    """One source leaves room for others, and others leave some for who comes itself."""
    room = Room()
    assert (room.members, room.kept_free) == (MEMBERS_MAX, MEMBERS_KEPT_FREE) == (20_000, 1_024)
    assert room.unheard == UNHEARD_MAX <= room.members - room.kept_free - 8_000
    assert room.few < room.kept_free / 10


def test_one_source_tells_of_so_many_that_never_answered_and_no_more() -> None:
    """Also slowly; the one beyond it is counted, and other sources go on."""
    node = node_of(SMALL._replace(members=100))
    found = [told(node, number, ONE, now=number * 10.0) for number in range(1, 8)]
    assert found == [True] * 5 + [False] * 2
    assert node.here.counts["new member over the limit"] == 2
    assert told(node, 8, OTHER)


@pytest.mark.parametrize("answered", [True, False])
def test_a_member_that_answered_counts_against_its_source_no_more(answered: bool) -> None:
    """It is real, whoever told of it."""
    node = node_of(SMALL._replace(members=100))
    for number in range(1, 6):
        told(node, number, ONE)
    if answered:
        node.saw(0.0, record(3).node_id, Evidence.HEARD)
        node.saw(0.0, record(3).node_id, Evidence.HEARD)
    assert told(node, 6, ONE) == answered
    assert not told(node, 7, ONE)
    assert sum(node.opinions.admission.unheard.values()) == 5


def test_the_last_places_are_for_who_comes_itself() -> None:
    """Of one host so many; nobody else may tell of it, nor say that one who is gone is known."""
    node = node_of(SMALL)
    for number in range(1, 7):
        assert told(node, number, ONE if number % 2 else OTHER)
    assert not told(node, 7, OWN)
    assert not told(node, 7, OWN, itself=True, held=True)
    assert not told(node, 7, ONE, itself=True), "three that it told of did not answer yet"
    assert [told(node, number, OWN, itself=True) for number in (7, 8, 9)] == [True, True, False]
    for number, host in enumerate(("4", "5", "6"), 10):
        full = len(node.here.table.rows) >= SMALL.members
        assert told(node, number, f"tcp://10.0.0.{host}:5", itself=True) == (not full)
    assert len(node.here.table.rows) == SMALL.members


def test_who_is_known_is_heard_of_in_a_full_table_as_well() -> None:
    """Only newcomers wait."""
    node = node_of(SMALL._replace(members=1, kept_free=0))
    assert told(node, 1, ONE)
    raw = signed_octets(1, seq=2)
    assert node.opinions.hear_record(0.0, raw, ONE, handle(1))
    assert not told(node, 2, ONE, itself=True)


def test_who_never_answered_and_is_gone_gives_way_as_the_table_fills_up() -> None:
    """Its user is told that it is forgotten; who answered once stays."""
    node = node_of(SMALL)
    for number in range(1, 7):
        told(node, number, ONE if number % 2 else OTHER)
    node.saw(0.0, record(1).node_id, Evidence.HEARD)
    for number in (1, 2, 3):
        unreachable(node, number)
    node.events()
    node.opinions.sweep(1.0)
    assert known(node) == {"node-1", "node-4", "node-5", "node-6"}
    events = [(one.kind, one.member.record.name) for one in node.events()]
    assert events == [(EventKind.FORGOTTEN, "node-2"), (EventKind.FORGOTTEN, "node-3")]
    assert told(node, 7, OTHER)
    assert node.here.table.rows[handle(1)].state == State.UNREACHABLE


def test_who_is_gone_for_longest_gives_way_first_and_no_more_do_than_is_kept_free() -> None:
    """So a table that has room enough loses nobody."""
    node = node_of(SMALL._replace(members=20, kept_free=2, unheard=20))
    for number in range(1, 19):
        told(node, number, ONE)
    for number in (5, 3, 4):
        unreachable(node, number, float(number))
    node.opinions.sweep(10.0)
    assert {"node-3", "node-4"} & known(node) == set()
    assert "node-5" in known(node)
    node.opinions.sweep(11.0)
    assert "node-5" in known(node)


def test_who_is_known_no_more_counts_against_its_source_no_more() -> None:
    """Whichever way it went."""
    node, times = node_of(SMALL._replace(members=100)), Times()
    for number in range(1, 6):
        told(node, number, ONE)
        unreachable(node, number)
    assert not told(node, 6, ONE)
    node.opinions.sweep(times.forget_unheard)
    node.opinions.sweep(times.forget_unheard + times.forgotten_kept)
    assert known(node) == set()
    assert node.opinions.admission.unheard == {}
    assert told(node, 6, ONE, now=1e6)


def test_who_cannot_be_told_where_it_is_from_is_of_one_source() -> None:
    """As a driver says it of a connection that is over."""
    node = node_of(SMALL._replace(members=100))
    assert [told(node, number, "") for number in range(1, 7)] == [True] * 5 + [False]
    node.saw(0.0, record(3).node_id, Evidence.HEARD)
    assert told(node, 6, "")
