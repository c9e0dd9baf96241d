"""Which seeds a node that knows nobody tries, in what order, and how many at once."""

from __future__ import annotations

from math import ceil

from meshmsg._mesh.core import Core
from meshmsg._mesh.joining.dialing import AT_ONCE, REFUSED_MAX, SIDE_BY_SIDE, TRIES
from meshmsg._mesh.messages import Kind
from meshmsg._mesh.told import State
from tests.support.mesh_nodes import core, exchange, handle, knows, signed_octets

LIVE = "tcp://10.0.0.1:7450"


def addresses(count: int, first: int = 1) -> list[str]:
    """Where nobody is."""
    return [f"tcp://10.9.0.{number}:7450" for number in range(first, first + count)]


def dials(node: Core) -> list[str]:
    """Whom it says hello to now."""
    return [item.to for item in node.take() if item.data[1] == Kind.HELLO]


def handful(node: Core, *, refused: bool) -> list[str]:
    """What it dials in one tick of the dialer, and as those refuse at once, if they do."""
    now = node.dialer.next_at
    node.dialer.tick(now)
    found = new = dials(node)
    while refused and new:
        for address in new:
            node.missed(now, address)
        new = dials(node)
        found = found + new
    return found


def round_of(node: Core, *, refused: bool) -> list[str]:
    """What it dials until it pauses."""
    found = handful(node, refused=refused)
    while node.dialer._begun:
        found += handful(node, refused=refused)
    return found


def test_all_that_refuse_at_once_are_tried_in_the_first_round() -> None:
    """Once each: a refusal frees its place for who was not tried."""
    node, dead = core(), addresses(40)
    node.seeds(0.0, dead)
    found = round_of(node, refused=True)
    assert sorted(found) == sorted(dead)


def test_who_was_never_tried_comes_before_who_was() -> None:
    """None refuses: so many rounds as places need, and then each once more."""
    count = 2 * SIDE_BY_SIDE + 10
    node, silent = core(), addresses(count)
    node.seeds(0.0, silent)
    rounds = [round_of(node, refused=False) for _ in range(2 * ceil(count / SIDE_BY_SIDE))]
    first = [one for dialed in rounds[: len(rounds) // 2] for one in dialed]
    again = [one for dialed in rounds[len(rounds) // 2 :] for one in dialed]
    assert all(len(dialed) <= SIDE_BY_SIDE for dialed in rounds)
    assert sorted(first) == sorted(again) == sorted(silent)


def test_the_pause_does_not_grow_while_some_were_not_tried() -> None:
    """All silent seeds are tried within rounds of the first pause."""
    count = 3 * SIDE_BY_SIDE
    node, silent = core(), addresses(count)
    node.seeds(0.0, silent)
    for _ in range(3):
        round_of(node, refused=False)
    times = node.here.times
    handfuls = ceil(SIDE_BY_SIDE / AT_ONCE)
    assert node.dialer.next_at <= 3 * (times.join * 1.25 + handfuls * times.beside)


def test_silent_ones_are_tried_side_by_side_a_few_at_a_time() -> None:
    """All of them in less than a pause, and so that one that answers at once spares the others."""
    node, silent = core(), addresses(SIDE_BY_SIDE)
    node.seeds(0.0, silent)
    found = []
    while len(found) < SIDE_BY_SIDE:
        assert node.dialer.next_at <= node.here.times.join
        dialed = handful(node, refused=False)
        assert 0 < len(dialed) <= AT_ONCE
        found += dialed
    assert sorted(found) == sorted(silent)
    assert node.dialer.next_at >= 0.75 * node.here.times.join + 10 * node.here.times.beside


def test_once_one_answers_no_more_are_tried_beside_it() -> None:
    """The next one is a matter of a mesh that is whole."""
    node = core()
    node.seeds(0.0, addresses(20))
    handful(node, refused=False)
    knows(node, 1)
    node.dialer.met(0.01)
    assert node.dialer.next_at >= 0.75 * node.here.times.heal
    assert len(handful(node, refused=False)) == TRIES // 2
    assert not node.dialer._begun
    knows(node, *range(2, TRIES))
    assert len(handful(node, refused=False)) == 1


def test_a_live_one_among_the_dead_is_met_in_the_first_round() -> None:
    """However the order falls: all others refuse."""
    node, live = core(2), core(1)
    node.seeds(0.0, [*addresses(20), LIVE, *addresses(20, 30)])
    found = round_of(node, refused=True)
    assert LIVE in found
    node.syncer.send_hello(LIVE)
    exchange(0.0, live, node)
    assert node.here.table.here == 1
    assert live.here.table.here == 1


def test_a_new_seed_is_tried_before_those_that_were() -> None:
    """At once, though the pause of the others is long by then."""
    node = core()
    node.seeds(0.0, addresses(9))
    for _ in range(40):
        round_of(node, refused=False)
    node.seeds(node.dialer.next_at - 0.1, [*addresses(9), LIVE])
    assert LIVE in round_of(node, refused=False)


def test_refusals_free_places_up_to_a_limit() -> None:
    """A list of a thousand is not dialed at one time; the next round goes on with it."""
    node, dead = core(), [f"tcp://10.8.{i // 250}.{i % 250}:1" for i in range(500)]
    node.seeds(0.0, dead)
    most = SIDE_BY_SIDE + REFUSED_MAX
    rounds = [round_of(node, refused=True) for _ in range(ceil(500 / most))]
    assert max(map(len, rounds)) == most
    assert sorted(one for dialed in rounds for one in dialed) == sorted(dead)


def test_a_refusal_of_whom_nobody_dialed_or_beside_members_is_nothing() -> None:
    """It frees no place."""
    node = core()
    node.seeds(0.0, addresses(9))
    node.missed(0.0, "tcp://10.7.7.7:1")
    assert dials(node) == []
    (first, *_) = round_of(node, refused=False)
    knows(node, 1)
    node.take()
    node.missed(0.0, first)
    assert dials(node) == []


def test_a_node_that_has_members_tries_seeds_it_has_not_tried_first() -> None:
    """Each before any is tried again; as many at a time as the mesh is small."""
    node, silent = core(), addresses(8)
    knows(node, 1)
    node.seeds(0.0, silent)
    for _ in range(3):
        found = [one for _ in range(2) for one in round_of(node, refused=False)]
        assert sorted(found) == sorted(silent)


def test_who_went_last_is_tried_soon_however_many_went_before() -> None:
    """Most of those are for good: a thousand of them hid the other part of a mesh that was parted.

    Those whose next lives are there do not count as the last ones.
    """
    node = core(5_000)
    for number in range(1, 1_001):
        raw = signed_octets(number)
        assert node.opinions.hear_record(0.0, raw, f"tcp://{number}:1", handle(number))
    for number in range(1, 1_001):
        row = node.here.table.rows[handle(number)]
        gone = State.FORGOTTEN if number <= 990 else State.UNREACHABLE
        node.here.table.change(row, gone, float(number), handle(number))
    for number in range(20):  # later lives
        raw = signed_octets(2_000 + number, name=f"node-{1_000 - number}")
        assert node.opinions.hear_record(2e3, raw, f"tcp://{number}:1", handle(2_000 + number))
    node.take()
    node.dialer.met(2e3)
    tried = [one for _ in range(80) for one in handful(node, refused=False)]
    last = [f"tcp://10.0.0.{number}:7450" for number in range(973, 981)]
    assert set(last) <= set(tried)
    assert len(tried) == 80
    assert len(set(tried) - set(last)) > 10


def test_who_was_forgotten_later_went_no_later() -> None:
    """It counts since when one is gone, and not a node's own earlier lives, nor those of others."""
    node = core(500)
    knows(node, *range(1, 40))
    for number in range(1, 31):  # gone for ten minutes, and forgotten just now
        row = node.here.table.rows[handle(number)]
        row.heard = 0.0
        node.here.table.change(row, State.FORGOTTEN, 600.0, handle(number))
    late = node.here.table.rows[handle(31)]
    node.here.table.change(late, State.UNREACHABLE, 590.0, handle(31))
    for number in range(9):  # its own earlier lives, and those of one who is there
        raw = signed_octets(1_000 + number, name="node-500" if number % 2 else "node-39")
        assert node.opinions.hear_record(595.0, raw, "tcp://1:1", handle(1), held=True)
    last = node.dialer._last(node.dialer._gone())
    assert last[0] is late
    assert {row.signed.record.name for row in last} & {"node-500", "node-39"} == set()


def test_one_that_begins_late_is_tried_in_each_round_of_the_dead() -> None:
    """A pause is at most `join_max` by then: no more than that passes for it."""
    node = core()
    node.seeds(0.0, [*addresses(20), LIVE])
    for _ in range(10):
        assert LIVE in round_of(node, refused=True)
    assert node.here.times.join < node.dialer._wait <= node.here.times.join_max
