"""What a sync brings of the two that sync, and what follows from one that was held for gone."""

from __future__ import annotations

import pytest

from meshmsg._mesh.core import Core
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
from meshmsg._mesh.sync import AGREE, ASKED_MAX, TOLD_AGAIN_S, TOLD_MAX
from meshmsg._mesh.told import State
from tests.support.mesh_nodes import answers, arrival, core, handle, knows, signed_octets


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


@pytest.mark.parametrize("state", ["ALIVE", "UNREACHABLE", "FORGOTTEN", "LEFT"])
@pytest.mark.parametrize("kind", [Rumour.RECORD, Rumour.HELD])
def test_one_that_is_gone_here_and_there_for_another_is_told_so(kind: Rumour, state: str) -> None:
    """Whoever told of it saw it later, perhaps: it says itself that it is there. Not who left."""
    node = core()
    knows(node, 1, 2)
    node.take()
    row = node.here.table.rows[handle(2)]
    node.here.table.change(row, State[state], 0.0, handle(1))
    brought = rumour_octets(kind, row.signed.raw)
    node.arrived(1.0, arrival(message(Kind.RECORDS, brought)))
    told = [HEAD.unpack_from(one.data)[1] for one in node.take()]
    gone = state in ("UNREACHABLE", "FORGOTTEN")
    warns = gone if kind == Rumour.RECORD else state == "ALIVE"
    assert told == [Kind.WARN] * warns
    assert node.opinions.checks == [handle(2)] * warns


def warned(node: Core) -> int:
    """How many messages say to somebody that it is held for gone, since it was asked last."""
    return sum(HEAD.unpack_from(one.data)[1] == Kind.WARN for one in node.take())


def test_who_is_gone_here_is_told_so_once_a_second_and_not_all_at_once() -> None:
    """One record may stand in a message again and again, and a thousand may be forgotten."""
    node = core(5_000)
    numbers = range(1, TOLD_MAX + 40)
    knows(node, *numbers)
    for number in numbers:
        row = node.here.table.rows[handle(number)]
        node.here.table.change(row, State.FORGOTTEN, 0.0, handle(number))
    node.take()

    def brought(now: float, *of: int) -> int:
        body = b"".join(rumour_octets(Rumour.RECORD, signed_octets(number)) for number in of)
        node.arrived(now, arrival(message(Kind.RECORDS, body)))
        return warned(node)

    assert brought(1.0, *[1] * 50) == 1
    assert brought(1.0 + 0.9 * TOLD_AGAIN_S, 1) == 0
    assert brought(1.0 + TOLD_AGAIN_S, 1) == 1
    few = [numbers[at : at + 10] for at in range(0, len(numbers), 10)]
    assert sum(brought(9.0, *some) for some in few) == TOLD_MAX
    assert sum(brought(9.0 + TOLD_AGAIN_S, *some) for some in few) == TOLD_MAX


def test_who_says_something_new_and_is_forgotten_is_told_so() -> None:
    """What it offers now does not say that it is there."""
    node = core()
    knows(node, 1, 2)
    node.here.table.change(node.here.table.rows[handle(2)], State.FORGOTTEN, 0.0, handle(1))
    node.take()
    newer = rumour_octets(Rumour.RECORD, signed_octets(2, seq=2))
    node.arrived(1.0, arrival(message(Kind.RECORDS, newer)))
    assert warned(node) == 1


@pytest.mark.parametrize("known", [True, False])
def test_what_a_sync_brings_of_one_that_is_held_for_gone_is_not_passed_on(known: bool) -> None:
    """Others would take it for there. A record of one who is there is passed on."""
    node = core()
    knows(node, 1, 2, *([3] if known else []))
    node.syncer.agreed = AGREE
    node.here.rumours.drop(handle(3))
    brought = rumour_octets(Rumour.HELD, signed_octets(3, incarnation=2, seq=2))
    node.arrived(1.0, arrival(message(Kind.RECORDS, brought)))
    assert node.here.table.rows[handle(3)].signed.record.incarnation == 2
    assert not node.here.rumours
    brought = rumour_octets(Rumour.RECORD, signed_octets(3, incarnation=3, seq=3))
    node.arrived(1.0, arrival(message(Kind.RECORDS, brought)))
    assert node.here.rumours


@pytest.mark.parametrize("state", list(State))
def test_a_sync_says_of_each_whether_it_is_there(state: State) -> None:
    """Who left is known by its own word, which goes with it."""
    node = core()
    knows(node, 1, 2)
    node.take()
    row = node.here.table.rows[handle(2)]
    node.here.table.change(row, state, 0.0, handle(1))
    node.arrived(0.0, arrival(message(Kind.WANT, handle(2))))
    (answer,) = answers(node)
    gone = state in (State.UNREACHABLE, State.FORGOTTEN)
    kind = Rumour.HELD if gone else Rumour.RECORD
    assert answer.data[HEAD.size :] == rumour_octets(kind, row.signed.raw)


def digest_of(node: Core, number: int) -> int:
    """Have a node send its digests; return the octets that the other one answers with."""
    sent = HEAD.pack(1, Kind.DIGEST, cluster_tag("test"), handle(number))
    node.arrived(0.0, arrival(sent + BUCKET_DIGESTS.pack(*[1] * BUCKETS), number))
    return sum(len(answer.data) for answer in answers(node))


def test_digests_that_nobody_asked_for_are_not_answered() -> None:
    """An answer may be sixty times as long: who asked for nothing was sent a list of all."""
    node = core()
    knows(node, *range(1, 40))
    node.take()
    assert digest_of(node, 1) == 0
    assert node.here.counts["digest nobody asked for"] == 1
    row = node.here.table.rows[handle(1)]
    node.here.send(row, node.syncer.hello(row))
    node.take()
    assert digest_of(node, 2) == 0
    assert digest_of(node, 1) > 0
    assert digest_of(node, 1) == 0


def test_at_an_address_whoever_is_there_may_answer_by_digests_and_once() -> None:
    """Of those that were asked at once so many are answered, and no more."""
    node = core()
    knows(node, *range(1, 40))
    for number in range(ASKED_MAX + 5):
        node.syncer.send_hello(f"tcp://10.0.1.{number}:7450")
    node.take()
    found = [digest_of(node, 1 + number % 39) > 0 for number in range(ASKED_MAX + 5)]
    assert found == [True] * ASKED_MAX + [False] * 5


def test_of_many_members_that_were_asked_the_last_ones_are_remembered() -> None:
    """Who does not answer for long is asked again some time."""
    node = core()
    knows(node, *range(1, 2 + ASKED_MAX))
    for number in range(1, 2 + ASKED_MAX):
        row = node.here.table.rows[handle(number)]
        node.here.send(row, node.syncer.hello(row))
    node.take()
    found = [digest_of(node, number) > 0 for number in range(1, 2 + ASKED_MAX)]
    assert found == [False] + [True] * ASKED_MAX


def test_versions_are_taken_once_of_each_sync() -> None:
    """Each may be answered by all records; who begins a sync anew tells them anew."""
    node = core()
    knows(node, *range(1, 10))
    hello, told = (
        message(Kind.HELLO, DIGEST.pack(1)),
        message(Kind.VERSIONS, bits_of(range(BUCKETS))),
    )
    for count in (0, 1):
        node.arrived(0.0, arrival(hello))
        node.take()
        node.arrived(0.0, arrival(told))
        assert len(answers(node)) == 1
        node.arrived(0.0, arrival(told))
        assert not answers(node)
        assert node.here.counts["versions nobody asked for"] == count + 1
