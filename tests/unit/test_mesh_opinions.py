"""What a node thinks of others, and why: records, statements, time."""

from __future__ import annotations

import pytest

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import JUMP_MAX, Times
from meshmsg._mesh.octets import (
    Rumour,
    Statement,
    cluster_tag,
    statement_octets,
    statement_raw,
)
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.table import Row
from meshmsg._mesh.told import EventKind, State
from tests.support.mesh_nodes import SERVICE, core, handle, knows, record, signed_octets, signer

SOURCE = "tcp://10.0.0.9:1"


def row_of(node: Core, number: int) -> Row:
    """A member."""
    return node.here.table.rows[handle(number)]


def said(
    kind: Rumour, subject: int, by: int, incarnation: int = 1, *, signed_by: int | None = None
) -> bytes:
    """A statement; signed by another than who says it, if wanted."""
    data = statement_octets(kind, cluster_tag("test"), handle(subject), incarnation, handle(by))
    signature = signer(by if signed_by is None else signed_by).sign(data)
    return statement_raw(Statement(kind, handle(subject), incarnation, handle(by), signature))


def suspect(node: Core, subject: int, *by: int, incarnation: int = 1, now: float = 0.0) -> None:
    """Have it hear that these accuse a member."""
    for number in by:
        raw = said(Rumour.SUSPECT, subject, number, incarnation)
        node.opinions.hear_statement(now, Rumour.SUSPECT, raw)


def over(node: Core, now: float) -> float:
    """Let the time of all suspicions end, with no answer to a last look; return when that was."""
    times = Times()
    node.prober.next_at = float("inf")  # whose turn it is does not matter
    for _ in range(3):
        node.opinions.expire(now)
        node.prober.look(now)
        now += times.direct + times.indirect
        node.prober.tick(now)
    node.opinions.expire(now)
    node.take()
    return now


def hear(node: Core, number: int, now: float = 1.0, **changes: object) -> bool:
    """Have it hear a record; return whether it was new."""
    raw = signed_octets(number, **changes)
    return node.opinions.hear_record(now, raw, SOURCE, handle(number))


def kinds(node: Core) -> list[EventKind]:
    """Of what its user is told."""
    return [event.kind for event in node.events()]


def meeting(*numbers: int, **changes: object) -> Core:
    """A node that knows these, and whose user was told so."""
    node = core(**changes)  # type: ignore[arg-type]
    knows(node, *numbers)
    node.events()
    return node


def test_a_record_makes_a_member_and_the_same_record_does_nothing() -> None:
    """One event."""
    node = core()
    assert hear(node, 1)
    assert not hear(node, 1)
    assert kinds(node) == [EventKind.UP]
    assert [member.record.name for member in node.members()] == ["node-100", "node-1"]


def test_an_older_record_is_ignored() -> None:
    """A replay, of an incarnation or of a seq."""
    node = meeting(1)
    assert hear(node, 1, incarnation=3, seq=5)
    assert not hear(node, 1, incarnation=2, seq=9)
    assert not hear(node, 1, incarnation=3, seq=4)
    assert row_of(node, 1).signed.record.seq == 5


def test_a_record_that_another_signed_is_refused() -> None:
    """A member cannot speak for another: the id is made of the key."""
    node = meeting(1)
    raw = signed_octets(1, seq=2)
    forged = raw[:-64] + signer(2).sign(raw[:-64])
    assert not node.opinions.hear_record(1.0, forged, SOURCE, handle(2))
    assert node.here.counts["record that is not signed"] == 1
    assert row_of(node, 1).signed.record.seq == 1


def test_a_record_of_another_cluster_is_refused() -> None:
    """Though its signature is good."""
    node = core()
    assert not hear(node, 1, cluster="other")
    assert len(node.members()) == 1


def test_what_changed_of_a_record_is_told_with_what_was_before() -> None:
    """Services and addresses."""
    node = meeting(1)
    assert hear(node, 1, seq=2, services=(SERVICE,))
    assert hear(node, 1, seq=3, services=(SERVICE,), addresses=("tcp://10.7.7.7:1",))
    assert hear(node, 1, seq=4, services=(SERVICE,), addresses=("tcp://10.7.7.7:1",))
    first, second = node.events()
    assert first.kind == second.kind == EventKind.CHANGED
    assert first.before is not None
    assert (first.before.services, first.member.record.services) == ((), (SERVICE,))
    assert second.member.record.addresses == ("tcp://10.7.7.7:1",)


def test_two_nodes_of_one_name_are_both_listed_and_that_is_told() -> None:
    """While the older one is there."""
    node = meeting(1)
    hear(node, 2, name="node-1")
    assert kinds(node) == [EventKind.UP, EventKind.CONFLICT]
    assert len(node.members()) == 3


def test_a_later_start_of_that_name_ends_one_that_is_not_there() -> None:
    """Whether it is suspect when the new one comes, or its silence is noticed afterwards."""
    node = meeting(1, 3, 4, 5)
    suspect(node, 1, 3)
    hear(node, 2, name="node-1")
    assert kinds(node) == [EventKind.UP]
    over(node, 1.0)
    assert kinds(node) == [EventKind.UNREACHABLE, EventKind.FORGOTTEN]
    other = meeting(1, 3, 4, 5)
    hear(other, 2, name="node-1")
    other.events()
    suspect(other, 1, 3, 4, 5)
    over(other, 1e6)
    assert kinds(other) == [EventKind.UNREACHABLE, EventKind.FORGOTTEN]


def test_an_earlier_start_of_that_name_ends_nobody() -> None:
    """Only the newer one wins."""
    node = meeting(2, 3, 4, 5)
    suspect(node, 2, 3)
    hear(node, 1, name="node-2")
    assert row_of(node, 2).state == State.SUSPECT


def test_one_accuser_alone_makes_nobody_unreachable() -> None:
    """Its time over, the member is asked; without a failure of that, it stays suspect."""
    node = meeting(1, 2, 3, 4, 5)
    suspect(node, 1, 2)
    for now in (1e3, 1e4, 1e5):
        node.opinions.expire(now)
    assert row_of(node, 1).state == State.SUSPECT
    assert list(node.opinions.looks_later) == [handle(1)]
    over(node, 1e6)
    assert row_of(node, 1).state == State.UNREACHABLE


def test_three_accusers_make_a_silent_member_unreachable_after_the_least_time() -> None:
    """And not before; it is asked so early that this is known by then."""
    node, times = meeting(*range(1, 10)), Times()
    node.prober.next_at = float("inf")
    suspect(node, 1, 2, 3, 4)
    asked = times.suspicion - times.direct - times.indirect
    node.opinions.expire(asked - 0.001)
    assert not node.opinions.looks_later
    for now in (asked, asked + times.direct, times.suspicion):
        assert row_of(node, 1).state == State.SUSPECT
        node.opinions.expire(now)
        node.prober.look(now)
        node.prober.tick(now)
    assert row_of(node, 1).state == State.SUSPECT
    node.opinions.expire(times.suspicion)
    assert row_of(node, 1).state == State.UNREACHABLE
    assert kinds(node) == [EventKind.UNREACHABLE]


def test_one_member_that_speaks_for_others_accuses_nobody() -> None:
    """A flood of accusations, all signed by one: none counts but its own."""
    node = meeting(*range(1, 10))
    for by in (3, 4, 5, 6):
        raw = said(Rumour.SUSPECT, 1, by, signed_by=2)
        node.opinions.hear_statement(0.0, Rumour.SUSPECT, raw)
    assert row_of(node, 1).state == State.ALIVE
    assert node.here.counts["statement that is not signed"] == 4


@pytest.mark.parametrize("incarnation", [0, 2 + JUMP_MAX, 2**32 - 1])
def test_an_accusation_of_another_time_is_ignored(incarnation: int) -> None:
    """Older than what is known, or so far above it that nobody could refute it."""
    node = meeting(1, 2)
    suspect(node, 1, 2, incarnation=incarnation)
    assert row_of(node, 1).state == State.ALIVE


def test_a_member_refutes_by_a_higher_incarnation() -> None:
    """Of a suspicion, and when it is held unreachable; not by a higher seq alone."""
    node = meeting(1, 2, 3, 4)
    suspect(node, 1, 2)
    hear(node, 1, seq=2)
    assert row_of(node, 1).state == State.SUSPECT
    hear(node, 1, incarnation=2, seq=3)
    assert row_of(node, 1).state == State.ALIVE
    suspect(node, 1, 2, 3, 4, incarnation=2)
    over(node, 1e6)
    node.events()
    hear(node, 1, incarnation=3, seq=4)
    assert kinds(node) == [EventKind.UP]


@pytest.mark.parametrize("state", ["UNREACHABLE", "FORGOTTEN"])
def test_who_is_gone_is_not_there_by_a_newer_record_of_who_holds_it_for_gone_too(
    state: str,
) -> None:
    """It refuted something before it was gone: it was up again for a node that was cut off then."""
    node = meeting(1, 2, 3, 4)
    suspect(node, 1, 2, 3, 4)
    over(node, 1e6)
    node.here.table.change(row_of(node, 1), State[state], 1e6, handle(2))
    node.events()
    node.opinions.checks.clear()
    raw = signed_octets(1, incarnation=3, seq=4)
    assert node.opinions.hear_record(1e6, raw, "tcp://10.0.0.9:1", handle(2), held=True)
    assert row_of(node, 1).state == State[state]
    assert row_of(node, 1).signed.raw == raw
    assert not node.events()
    assert node.opinions.checks == [handle(1)]
    node.take()
    hear(node, 1, incarnation=4, seq=5)
    assert kinds(node) == [EventKind.UP]


@pytest.mark.parametrize("suspected", [True, False])
def test_who_is_there_is_asked_if_a_newer_record_comes_of_who_holds_it_for_gone(
    suspected: bool,
) -> None:
    """What it refuted is over; what the other one holds it for may be true."""
    node = meeting(1, 2, 3, 4)
    if suspected:
        suspect(node, 1, 2)
    node.opinions.checks.clear()
    raw = signed_octets(1, incarnation=3, seq=4)
    assert node.opinions.hear_record(0.0, raw, "tcp://10.0.0.9:1", handle(2), held=True)
    assert row_of(node, 1).state == State.ALIVE
    assert node.opinions.checks == [handle(1)]


def test_who_was_heard_just_now_is_not_suspected_but_warned() -> None:
    """A live connection wins over a rumour."""
    node = meeting(1, 2, 3, 4)
    node.saw(10.0, record(1).node_id, Evidence.HEARD)
    node.take()
    suspect(node, 1, 2, 3, 4, now=10.5)
    assert row_of(node, 1).state == State.ALIVE
    assert node.take()
    suspect(node, 1, 2, now=10.0 + 2 * Times().fresh)
    assert row_of(node, 1).state == State.SUSPECT
    node.saw(13.0, record(1).node_id, Evidence.HEARD)
    assert row_of(node, 1).state == State.ALIVE


def test_who_is_heard_again_is_up_again() -> None:
    """Without a new record."""
    node = meeting(1, 2, 3, 4)
    suspect(node, 1, 2, 3, 4)
    assert over(node, 1e6) < 1e6 + 5
    node.events()
    node.saw(1e6 + 5, record(1).node_id, Evidence.HEARD)
    assert kinds(node) == [EventKind.UP]


def test_a_node_that_is_accused_says_that_it_is_alive() -> None:
    """With an incarnation above that of the accusation, signed anew."""
    node = meeting(1, 2)
    before = node.me()
    raw = said(Rumour.SUSPECT, 100, 1, incarnation=5)
    node.opinions.hear_statement(1.0, Rumour.SUSPECT, raw)
    node.tick(1.0)
    assert node.me().incarnation == 6
    assert node.me().seq == before.seq + 1
    assert hear_from(node)


def hear_from(node: Core) -> bool:
    """Whether another takes what this node says now."""
    other = core(99)
    raw = node.here.me.raw
    return other.opinions.hear_record(0.0, raw, SOURCE, node.here.me.handle)


@pytest.mark.parametrize("incarnation", [2 + JUMP_MAX, 2**32 - 1, 0])
def test_a_node_does_not_answer_an_accusation_of_another_time(incarnation: int) -> None:
    """So nobody can drive its incarnation to the end of its range."""
    node = meeting(1)
    raw = said(Rumour.SUSPECT, 100, 1, incarnation=incarnation)
    node.opinions.hear_statement(1.0, Rumour.SUSPECT, raw)
    assert node.opinions.refute_at == float("inf")


def test_refutations_have_a_pause_between_them() -> None:
    """A flood of accusations does not make a flood of signatures."""
    node = meeting(1)
    node.opinions.accused(1.0, 1)
    node.opinions.refute(1.0)
    node.opinions.accused(1.01, 2)
    assert node.opinions.refute_at == pytest.approx(1.0 + Times().refute)


def test_a_member_that_leaves_says_so_itself_and_nobody_else_can() -> None:
    """An event, and it does not come back by its old record."""
    node = meeting(1, 2)
    node.opinions.hear_statement(0.0, Rumour.LEFT, said(Rumour.LEFT, 1, 2))
    node.opinions.hear_statement(0.0, Rumour.LEFT, said(Rumour.LEFT, 1, 1, signed_by=2))
    assert row_of(node, 1).state == State.ALIVE
    node.opinions.hear_statement(0.0, Rumour.LEFT, said(Rumour.LEFT, 1, 1))
    assert kinds(node) == [EventKind.LEFT]
    assert not hear(node, 1)
    assert row_of(node, 1).state == State.LEFT


def test_three_who_were_refused_have_a_member_asked_at_once() -> None:
    """Nobody listens there for this node, either: there is nothing to wait for."""
    node = meeting(*range(1, 10))
    for by in (2, 3):
        node.opinions.hear_statement(0.0, Rumour.REFUSED, said(Rumour.REFUSED, 1, by))
    assert row_of(node, 1).state == State.SUSPECT
    assert not node.opinions.looks_later
    node.opinions.hear_statement(0.0, Rumour.REFUSED, said(Rumour.REFUSED, 1, 4))
    assert list(node.opinions.looks_later) == [handle(1)]
    node.prober.look(0.0)
    assert row_of(node, 1).state == State.SUSPECT
    node.saw(0.001, record(1).node_id, Evidence.REFUSED)
    assert row_of(node, 1).state == State.UNREACHABLE


def test_who_is_unreachable_for_long_is_forgotten_and_later_removed() -> None:
    """One that was never heard sooner."""
    times = Times()
    node = meeting(1, 2, 3, 4)
    node.saw(0.0, record(1).node_id, Evidence.HEARD)
    for subject in (1, 2):
        suspect(node, subject, *({2, 3, 4} - {subject}), now=5.0)
    since = over(node, 50.0)
    node.opinions.sweep(since + times.forget_unheard)
    assert [row_of(node, n).state for n in (1, 2)] == [State.UNREACHABLE, State.FORGOTTEN]
    node.opinions.sweep(since + times.forget)
    assert row_of(node, 1).state == State.FORGOTTEN
    node.opinions.sweep(since + times.forget + times.forgotten_kept)
    assert handle(1) not in node.here.table.rows
