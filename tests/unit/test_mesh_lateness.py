"""A node waits longer where answers are late, and only so: beyond what their way takes."""

from __future__ import annotations

import pytest

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import HEAD, NUMBER, PROBE, Kind
from meshmsg._mesh.octets import cluster_tag, signed_of
from meshmsg._mesh.table import Row
from meshmsg._mesh.told import State
from meshmsg._mesh.waiting.lateness import NEWEST, Lateness
from tests.support.mesh_nodes import arrival, core, handle, knows, signed_octets

TIMES = Times()
NEAR, FAR, LATE = 0.001, 0.3, 0.5
"""Seconds: the way to a member, to one that is far, and what an answer takes of who has no time."""


def row(number: int) -> Row:
    """A member that has not answered yet."""
    return Row(signed_of(signed_octets(number)), State.ALIVE, 0.0, b"")


def after(*answers: tuple[Row, float], surely: bool = True) -> Lateness:
    """What is known after these."""
    lateness = Lateness(TIMES)
    for one, seconds in answers:
        lateness.answered(one, seconds, surely=surely)
    return lateness


def test_answers_in_time_have_nothing_waited_for_longer() -> None:
    """Beyond what is waited for anyway."""
    assert after(*[(row(n), NEAR) for n in range(1, 9)]).factor < 1.0


def test_where_most_answers_are_late_all_is_waited_for_as_much_longer() -> None:
    """`patience` times what they took beyond their way."""
    rows = [row(n) for n in range(1, NEWEST + 1)]
    lateness = after(*[(one, NEAR) for one in rows], *[(one, LATE) for one in rows])
    assert lateness.factor == pytest.approx(TIMES.patience * (LATE - NEAR) / TIMES.direct)


def test_fewer_than_five_answers_say_nothing() -> None:
    """Of the first nobody knows how long the way is."""
    rows = [row(n) for n in range(1, NEWEST)]
    assert after(*[(one, LATE) for one in rows]).factor == 0.0


def test_two_of_five_that_are_late_change_nothing() -> None:
    """However late they are: a few may be slow, or lie."""
    rows = [row(n) for n in range(1, NEWEST + 1)]
    calm = [(one, NEAR) for one in rows]
    assert after(*calm, *calm[:3], (rows[3], 60.0), (rows[4], 60.0)).factor < 1.0


def test_it_ends_as_soon_as_most_are_in_time_again_and_never_exceeds_that_of_health() -> None:
    """So a crash is noticed as fast as before right after."""
    rows = [row(n) for n in range(1, NEWEST + 1)]
    lateness = after(*[(one, NEAR) for one in rows], *[(one, 60.0) for one in rows])
    assert lateness.factor == 1 + TIMES.health_max
    for one in rows[: NEWEST // 2 + 1]:
        lateness.answered(one, NEAR, surely=True)
    assert lateness.factor < 1.0


def test_a_long_way_is_not_late_also_of_who_has_not_answered_before() -> None:
    """All in another part of the world: of the first one alone it is not known."""
    rows = [row(n) for n in range(1, 4 * NEWEST)]
    assert after(*[(one, FAR) for one in rows]).factor < 1.0


def test_one_who_went_further_away_is_late_for_some_answers_only() -> None:
    """The quickest that is remembered counts less with each."""
    one = row(1)
    lateness = after((one, NEAR), *[(one, FAR)] * NEWEST)
    assert lateness.factor > 1.0
    for _ in range(5 * NEWEST):
        lateness.answered(one, FAR, surely=True)
    assert lateness.factor < 1.0


def test_an_answer_that_may_be_to_the_first_question_says_nothing_of_the_way() -> None:
    """It would seem shorter than it is."""
    one = row(1)
    lateness = after(*[(one, NEAR)] * NEWEST, surely=False)
    assert one.quickest == float("inf")
    for _ in range(NEWEST):
        lateness.answered(one, LATE, surely=True)
    lateness.answered(one, LATE, surely=True)
    assert one.quickest == LATE


def answers(node: Core, number: int, took: float) -> None:
    """A member is asked, and answers so much later."""
    node.take()
    node.prober.begin(0.0, node.here.table.rows[handle(number)])
    (ping,) = [one for one in node.take() if one.data[1] == Kind.PING]
    (probe, _) = PROBE.unpack_from(ping.data, HEAD.size)
    ack = HEAD.pack(1, Kind.ACK, cluster_tag("test"), handle(number)) + NUMBER.pack(probe)
    node.arrived(took, arrival(ack, number))


def test_a_node_whose_answers_are_late_asks_more_rarely_and_waits_longer() -> None:
    """And is as slow as its health says, if that is more."""
    node = core()
    knows(node, *range(1, NEWEST + 1))
    for took in (NEAR, LATE):
        for number in range(1, NEWEST + 1):
            answers(node, number, took)
    slow = node.here.slowness
    assert slow == node.here.lateness.factor > 1.0
    node.prober.next_at = 10.0
    node.prober.tick(10.0)
    assert node.prober.next_at >= 10.0 + 0.9 * slow * TIMES.period
    (probe,) = node.prober.probes.values()
    assert probe.deadline == pytest.approx(10.0 + slow * TIMES.direct)
    for _ in range(TIMES.health_max):
        node.here.feel(1)
    assert node.here.slowness == 1 + TIMES.health_max


@pytest.mark.parametrize("missing", [1, 4])
def test_an_answer_takes_back_half_of_what_one_that_is_missing_adds(missing: int) -> None:
    """So that a node of whose questions one of three fails is as slow as can be."""
    node = core()
    node.here.feel(missing)
    for _ in range(2 * missing):
        assert node.here.health > 0
        node.here.feel(-TIMES.recovery)
    assert node.here.health == 0
