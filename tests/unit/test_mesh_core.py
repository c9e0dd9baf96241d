"""The core behind its seam: probes, syncs, addresses, leaving, and what arrives broken."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import SYNC_MAX, SYNCS_MAX, Times
from meshmsg._mesh.messages import (
    BUCKETS,
    DIGEST,
    HEAD,
    NUMBER,
    PROBE,
    REFUSAL,
    VERSION_ENTRY,
    Kind,
    bits_of,
    buckets_of,
)
from meshmsg._mesh.octets import MalformedError, cluster_tag
from meshmsg._mesh.packing import unpacked
from meshmsg._mesh.seam import Evidence, MeshCore
from meshmsg._mesh.told import Answer, EventKind, Send, State
from tests.support.mesh_nodes import (
    SERVICE,
    answers,
    arrival,
    core,
    exchange,
    handle,
    knows,
    record,
)


def message(kind: Kind, body: bytes, number: int = 1, cluster: str = "test") -> bytes:
    """What that node sends."""
    return HEAD.pack(1, kind, cluster_tag(cluster), handle(number)) + body


def kinds_of(items: list[Send | Answer]) -> list[int]:
    """Of messages, also of those that are compressed."""
    kinds = [item.data[1] for item in items]
    return [
        unpacked(item.data)[0] if kind == Kind.PACKED else kind
        for kind, item in zip(kinds, items, strict=True)
    ]


def state(node: Core, number: int) -> State:
    """What it takes a member for."""
    return node.here.table.rows[handle(number)].state


def sends(node: Core) -> list[Send]:
    """What it said, other than answers."""
    return [item for item in node.take() if isinstance(item, Send)]


def run(node: Core, since: float, until: float) -> list[Send | Answer]:
    """Tick whenever it is due."""
    out: list[Send | Answer] = []
    now = since
    while (now := max(now, node.due())) <= until:
        node.tick(now)
        out += node.take()
    return out


def test_a_core_is_what_the_seam_wants() -> None:
    """Checked by types, and by what it has."""
    node: MeshCore = core()
    assert node.me().name == "node-100"
    assert [member.state for member in node.members()] == [State.ALIVE]


def test_two_nodes_meet_by_a_seed() -> None:
    """Each tells its user of the other."""
    one, two = core(1), core(2)
    two.seeds(0.0, ["tcp://10.0.0.1:7450"])
    two.tick(0.0)
    exchange(0.0, one, two)
    for node, other in ((one, "node-2"), (two, "node-1")):
        assert [(e.kind, e.member.record.name) for e in node.events()] == [(EventKind.UP, other)]
    assert one.here.table.digest == two.here.table.digest


def test_seeds_are_tried_less_and_less_often_until_somebody_answers() -> None:
    """Bounded both ways."""
    node = core()
    node.seeds(0.0, ["tcp://10.9.9.9:1"])
    tries = [item for item in run(node, 0.0, 120.0) if item.data[1] == Kind.HELLO]
    assert 120 / Times().join_max <= len(tries) <= 40


def test_a_node_is_no_seed_of_its_own() -> None:
    """Nothing is sent to its own address."""
    node = core()
    node.seeds(0.0, node.me().addresses)
    assert run(node, 0.0, 10.0) == []


def test_a_ping_is_answered_and_one_that_is_for_another_is_refused() -> None:
    """A node that has the address of one that is gone says so."""
    node = core()
    knows(node, 1)
    node.arrived(0.0, arrival(message(Kind.PING, PROBE.pack(7, node.here.me.handle))))
    node.arrived(0.0, arrival(message(Kind.PING, PROBE.pack(8, b"somebody"))))
    first, second = answers(node)
    assert first.data[1] == Kind.ACK
    assert NUMBER.unpack_from(first.data, HEAD.size) == (7,)
    assert second.data[1] == Kind.NACK
    assert REFUSAL.unpack_from(second.data, HEAD.size) == (8, 1)


def test_who_pings_and_is_not_known_is_asked_for_its_record() -> None:
    """By an answer that is smaller than the question."""
    node = core()
    question = message(Kind.PING, PROBE.pack(7, node.here.me.handle))
    node.arrived(0.0, arrival(question))
    items = answers(node)
    assert kinds_of(list(items)) == [Kind.ACK, Kind.WANT]
    assert all(len(item.data) <= len(question) for item in items)


def silent(node: Core, number: int) -> float:
    """Begin a probe of a member that does not answer; return when that was."""
    node.prober.begin(10.0, node.here.table.rows[handle(number)])
    return 10.0


def test_silence_is_answered_by_three_others_and_then_by_suspicion() -> None:
    """Not before the times are over."""
    times = Times()
    node = core()
    knows(node, 1, 2, 3, 4, 5)
    node.prober.next_at = 1e9
    node.take()
    began = silent(node, 1)
    assert kinds_of(node.take()) == [Kind.PING]
    node.prober.tick(began + times.direct + 0.001)
    assert sorted(kinds_of(node.take())) == [Kind.PING, *[Kind.INDIRECT] * 3]
    node.prober.tick(began + times.direct + times.indirect + 0.01)
    assert state(node, 1) == State.SUSPECT


def test_a_relay_asks_and_brings_the_answer_back() -> None:
    """Or says that there was none."""
    helper = core()
    knows(helper, 1, 2)
    helper.take()
    asked = arrival(message(Kind.INDIRECT, PROBE.pack(7, handle(2))), reply=5)
    helper.arrived(1.0, asked)
    (ping,) = sends(helper)
    assert ping.node == record(2).node_id
    (number, _) = PROBE.unpack_from(ping.data, HEAD.size)
    helper.arrived(1.1, arrival(message(Kind.ACK, NUMBER.pack(number), 2), 2))
    (ack,) = answers(helper)
    assert (ack.reply, ack.data[1]) == (5, Kind.ACK)
    helper.arrived(2.0, asked)
    helper.take()
    helper.prober.tick(2.0 + Times().direct + 0.01)
    (nack,) = answers(helper)
    assert (nack.data[1], nack.data[-1]) == (Kind.NACK, 0)


def test_an_answer_that_was_not_asked_for_is_ignored() -> None:
    """Numbers are random: nobody can answer for one that is gone."""
    node = core()
    knows(node, 1)
    node.arrived(0.0, arrival(message(Kind.ACK, NUMBER.pack(12345))))
    assert node.members()[1].heard is None


def test_an_answer_gives_the_time_of_a_round_trip() -> None:
    """Smoothed; and the member was heard."""
    node = core()
    knows(node, 1)
    node.take()
    began = silent(node, 1)
    (number, _) = PROBE.unpack_from(sends(node)[0].data, HEAD.size)
    node.arrived(began + 0.02, arrival(message(Kind.ACK, NUMBER.pack(number))))
    member = node.members()[1]
    assert member.rtt == pytest.approx(0.02)
    assert member.heard == began + 0.02


def test_a_connection_that_ended_asks_three_others_at_once() -> None:
    """No direct time is waited for; and three who were refused end it, this node among them."""
    node = core()
    knows(node, 1, 2, 3, 4, 5)
    node.take()
    node.saw(5.0, record(1).node_id, Evidence.LOST)
    asked = [item for item in sends(node) if item.data[1] == Kind.INDIRECT]
    assert len(asked) == 3
    for item in asked:
        (number, _) = PROBE.unpack_from(item.data, HEAD.size)
        helper = next(n for n in range(2, 6) if record(n).node_id == item.node)
        node.arrived(5.01, arrival(message(Kind.NACK, REFUSAL.pack(number, 1), helper), helper))
        assert state(node, 1) == State.ALIVE, "the words of others are not enough"
    node.saw(5.02, record(1).node_id, Evidence.REFUSED)
    assert state(node, 1) == State.UNREACHABLE


def test_a_relay_that_says_no_twice_counts_once() -> None:
    """Whatever names it has: its number is its own, and says who it is."""
    node = core()
    knows(node, 1, 2, 3, 4, 5)
    node.take()
    node.saw(5.0, record(1).node_id, Evidence.LOST)
    asked = [item for item in sends(node) if item.data[1] == Kind.INDIRECT]
    numbers = [PROBE.unpack_from(item.data, HEAD.size)[0] for item in asked]
    assert len(set(numbers)) == 3
    node.saw(5.01, record(1).node_id, Evidence.REFUSED)
    for sender in (2, 3, 4, 5, 1, 77):
        node.arrived(5.01, arrival(message(Kind.NACK, REFUSAL.pack(numbers[0], 1), sender)))
    assert state(node, 1) == State.ALIVE
    node.arrived(5.02, arrival(message(Kind.NACK, REFUSAL.pack(numbers[1], 1), 77)))
    assert state(node, 1) == State.UNREACHABLE


def test_a_relay_that_is_refused_says_so_at_once() -> None:
    """And accuses by its own name."""
    helper = core()
    knows(helper, 1, 2, 3, 4)
    helper.take()
    helper.arrived(1.0, arrival(message(Kind.INDIRECT, PROBE.pack(7, handle(2))), reply=5))
    helper.saw(1.0, record(2).node_id, Evidence.REFUSED)
    (nack,) = answers(helper)
    assert REFUSAL.unpack_from(nack.data, HEAD.size) == (7, 1)
    assert state(helper, 2) == State.SUSPECT


def test_a_node_that_was_frozen_blames_nobody_for_it() -> None:
    """What was not answered meanwhile is dropped, and suspicions get that time."""
    node = core()
    knows(node, 1, 2, 3, 4)
    run(node, 0.0, 2.0)
    node.events()
    suspects = {h for h, row in node.here.table.rows.items() if row.state == State.SUSPECT}
    ends = {h: node.here.table.rows[h].suspicion.deadline for h in suspects}  # type: ignore[union-attr]
    assert suspects
    node.tick(62.0)
    for one in suspects:
        suspicion = node.here.table.rows[one].suspicion
        assert suspicion is not None
        assert suspicion.deadline > ends[one] + 59
    assert not [e for e in node.events() if e.kind == EventKind.UNREACHABLE]


def test_a_slow_node_waits_longer() -> None:
    """Its own failures raise its times, answers lower them, and both have an end."""
    node = core()
    for _ in range(20):
        node.here.feel(1)
    assert node.here.slowness == 1 + Times().health_max
    for _ in range(20):
        node.here.feel(-1)
    assert node.here.slowness == 1


def test_what_is_offered_and_where_it_is_reaches_others_as_one_change() -> None:
    """And what is beyond a limit changes nothing."""
    one, two = core(1), core(2)
    two.seeds(0.0, ["tcp://10.0.0.1:7450"])
    two.tick(0.0)
    exchange(0.0, one, two)
    one.events()
    two.offer(1.0, [SERVICE])
    with pytest.raises(MalformedError):
        two.offer(1.0, [replace(SERVICE, name="../x")])
    with pytest.raises(MalformedError):
        two.moved(1.0, ["no endpoint"])
    two.offer(1.0, [SERVICE])
    two.tick(1.0)
    exchange(1.0, one, two)
    (event,) = one.events()
    assert (event.kind, event.member.record.services) == (EventKind.CHANGED, (SERVICE,))
    assert two.me().seq == 2


def test_who_leaves_is_left_with_others_and_says_nothing_more() -> None:
    """It answers nobody."""
    one, two = core(1), core(2)
    two.seeds(0.0, ["tcp://10.0.0.1:7450"])
    two.tick(0.0)
    exchange(0.0, one, two)
    one.events()
    two.leave(1.0)
    exchange(1.0, one, two)
    assert [event.kind for event in one.events()] == [EventKind.LEFT]
    two.arrived(2.0, arrival(message(Kind.PING, PROBE.pack(7, two.here.me.handle))))
    run(two, 2.0, 30.0)
    assert two.due() == float("inf")
    assert two.members()[0].state == State.LEFT


def test_messages_of_another_cluster_or_version_are_counted_and_dropped() -> None:
    """And those that are too long or too short."""
    node = core()
    body = PROBE.pack(7, node.here.me.handle)
    node.arrived(0.0, arrival(message(Kind.PING, body, cluster="other")))
    node.arrived(0.0, arrival(b"\2" + message(Kind.PING, body)[1:]))
    node.arrived(0.0, arrival(message(Kind.PING, body)[:13]))
    node.arrived(0.0, arrival(bytes(SYNC_MAX + 1)))
    assert node.take() == []
    assert node.here.counts == {
        "message of another cluster": 1,
        "message of another version": 1,
        "message of a wrong size": 2,
    }


@given(st.sampled_from(list(Kind)), st.binary(max_size=300), st.integers(0, 1))
def test_whatever_arrives_nothing_is_raised_and_no_datagram_is_answered_by_a_larger_one(
    kind: Kind, body: bytes, reply: int
) -> None:
    """A hostile member, or a source that is not its own."""
    node = core()
    knows(node, 1, 2, 3)
    node.take()
    question = arrival(message(kind, body), reply=reply)
    node.arrived(1.0, question)
    for item in node.take():
        if isinstance(item, Send) and item.node is None:
            assert len(item.data) <= len(question.data)
    assert len(node.members()) == 4


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6), st.randoms())
def test_true_messages_with_octets_changed_raise_nothing(
    changes: list[tuple[int, int]], rng: Random
) -> None:
    """Every message of a meeting, harmed on its way."""
    one, two = core(1), core(2)
    two.seeds(0.0, ["tcp://10.0.0.1:7450"])
    two.tick(0.0)
    for step in range(6):
        for source, target in ((one, two), (two, one)):
            for item in source.take():
                data = bytearray(item.data)
                for at, value in changes[: step % 3]:
                    data[HEAD.size + at % (len(data) - HEAD.size + 1) - 1] = value
                target.arrived(0.0, arrival(bytes(data), reply=1))
    for node in (one, two):
        assert len(node.members()) <= 2


def test_no_more_than_sixteen_syncs_are_answered_at_once() -> None:
    """The others are told so, and whom else they may ask."""
    node = core()
    knows(node, *range(1, 7))
    node.take()
    for number in range(1, 31):
        node.arrived(0.0, arrival(message(Kind.HELLO, DIGEST.pack(1), number)))
    found = kinds_of(list(answers(node)))
    assert found.count(Kind.DIGEST) == SYNCS_MAX
    assert found.count(Kind.BUSY) == 30 - SYNCS_MAX


def test_what_syncs_are_given_in_a_second_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often one asks."""
    monkeypatch.setattr("meshmsg._mesh.sync.SYNC_PER_SECOND", 5_000.0)
    monkeypatch.setattr("meshmsg._mesh.sync.SYNC_TOTAL_MAX", 5_000)
    node = core()
    knows(node, *range(1, 30))
    node.take()
    wanted = b"".join(handle(number) for number in range(1, 30))
    for _ in range(100):
        node.arrived(10.0, arrival(message(Kind.WANT, wanted)))
    own = len(node.here.me.raw) + HEAD.size + 3
    assert sum(len(item.data) - own for item in answers(node)) <= 5_000


def test_versions_that_nobody_asked_for_are_dropped() -> None:
    """As is a list of them that ends in the middle of one."""
    node = core()
    knows(node, 1)
    node.take()
    body = bits_of(range(BUCKETS)) + VERSION_ENTRY.pack(b"somebody", 1, 1, 0)
    node.arrived(0.0, arrival(message(Kind.VERSIONS, body)))
    node.arrived(0.0, arrival(message(Kind.VERSIONS, body[:-1])))
    assert node.take() == []


@given(st.sets(st.integers(0, BUCKETS - 1)))
def test_bits_of_buckets_are_read_as_they_were_written(buckets: set[int]) -> None:
    """Of any of them."""
    assert buckets_of(bits_of(buckets)) == sorted(buckets)


def test_two_directories_become_one_by_one_sync() -> None:
    """Whatever each had that the other had not."""
    one, two = core(100), core(101)
    knows(one, *range(1, 20))
    knows(two, *range(10, 40))
    one.syncer.send_hello("tcp://10.0.0.101:7450")
    one.syncer.next_at = two.syncer.next_at = 1e9
    exchange(1.0, one, two)
    assert one.here.table.digest == two.here.table.digest
    assert len(one.members()) == len(two.members()) == 41


def test_equal_directories_send_nothing_but_that_they_are() -> None:
    """A HELLO, a SAME."""
    one, two = core(100), core(101)
    for node in (one, two):
        knows(node, *range(1, 20))
    one.syncer.send_hello("tcp://10.0.0.101:7450")
    exchange(1.0, one, two)
    one.syncer.send_hello("tcp://10.0.0.101:7450")
    assert exchange(1.0, one, two) == 2


def test_one_seed_whose_service_changed_is_told_by_a_sync_without_the_rest() -> None:
    """Only the bucket that differs is sent."""
    one, two = core(100), core(101)
    for node in (one, two):
        knows(node, *range(1, 60))
    one.syncer.send_hello("tcp://10.0.0.101:7450")
    exchange(1.0, one, two)
    one.here.rumours.drop(one.here.me.handle)
    one.offer(2.0, [SERVICE])
    one.here.rumours.drop(one.here.me.handle)
    two.syncer.send_hello("tcp://10.0.0.100:7450")
    exchange(2.0, one, two)
    found = {member.record.name: member.record for member in two.members()}
    assert found["node-100"].services == (SERVICE,)
