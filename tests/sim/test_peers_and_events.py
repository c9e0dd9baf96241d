"""The fields of peers() and the kinds of events(), each shown to tell what it is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.support.certificates import make
from tests.support.feeding import told
from tests.support.pairs import wait_until
from tests.support.room import UP, Room, pipeline, room
from tests.support.spooled import BATCH, HEAD, fill, segments, small, turn_bit
from tests.support.stalled import FRAME_COST, PATIENCE_S, stalled


def test_a_peer_s_fields_tell_of_that_peer() -> None:
    """Two peers of one Router: each field differs where the peers differ."""
    with room(buffer_size=4096) as r:
        router = r.open("Router", engine=r.hub, bind=UP)
        one = r.open("Dealer", connect=router.endpoint, identity=b"one")
        one.send(b"1", timeout=PATIENCE_S)
        one.send(b"22", timeout=PATIENCE_S)
        one.drain(timeout=PATIENCE_S)
        r.world.run(7)  # a heartbeat later there is a round trip to tell of
        two = r.open("Dealer", connect=router.endpoint, identity=b"two")
        router.wait_for_peers(2, timeout=PATIENCE_S)
        r.world.partition(r.hub, two._engine, 2)
        for _ in range(3):
            router.send(bytes(10_000), to=b"two")
        router.send(b"x", to=b"one")
        router.recv(timeout=1)
        r.world.run(1)
        first, second = sorted(router.peers(), key=lambda peer: peer.identity)
        assert (first.identity, second.identity) == (b"one", b"two")
        assert (first.queued_in_messages, first.queued_in_bytes) == (1, 2 + FRAME_COST)
        assert (second.queued_in_messages, second.queued_in_bytes) == (0, 0)
        assert (first.queued_out_messages, second.queued_out_messages) == (0, 3)
        assert second.queued_out_bytes == 3 * (10_000 + FRAME_COST)
        assert (first.sent_messages, second.sent_messages) == (1, 0)
        assert (first.received_messages, second.received_messages) == (2, 0)
        assert first.rtt is not None
        assert 0 < first.rtt < 0.01
        assert first.since < second.since
        assert first.id != second.id
        assert first.endpoint == second.endpoint == router.endpoint
        assert first.role == second.role == "DEALER"
        assert one.peers()[0].outgoing
        assert one.peers()[0].confirmed_messages == 2
        assert not first.outgoing
        assert first.zmtp_minor == 1


@pytest.mark.parametrize("sizes", [[10] * 100, [300_000] * 3, [10] * 50 + [300_000] + [10] * 50])
def test_a_peer_s_messages_are_counted_however_they_came(sizes: list[int]) -> None:
    """Many in one read, one in many, and both."""
    with room() as r:
        pull = r.open("Pull", engine=r.hub, bind=UP)
        push = r.open("Push", connect=pull.endpoint)
        push.wait_for_peers(timeout=PATIENCE_S)
        push.send_many([bytes(size) for size in sizes], timeout=PATIENCE_S)
        for size in sizes:
            assert len(pull.recv(timeout=PATIENCE_S)) == size
        assert pull.peers()[0].received_messages == len(sizes)
        assert push.peers()[0].sent_messages == len(sizes)


def test_a_subscriber_s_topics_and_drops_are_told() -> None:
    """PeerInfo.subscriptions and dropped_messages, per peer."""
    with stalled("Pub", overflow="drop_newest", send_queue_messages=2) as pair:
        with mm.Sub(
            connect=pair.sender.endpoint, topics=["x", "y", "z"], engine=pair.world.engine()
        ) as other:
            pair.sender.wait_for_subscribers("z", 2, timeout=PATIENCE_S)
            for _ in range(5):
                pair.send(bytes(10_000))
                pair.world.run(0.1)
            told = sorted((p.subscriptions, p.dropped_messages) for p in pair.sender.peers())
            assert told == [(1, 3), (3, 0)]
            assert other.stats().received_messages == 0


NOT_OF_AN_ENDPOINT = (
    mm.EventKind.DROPPED,
    mm.EventKind.LATE_REPLY,
    mm.EventKind.CERT_EXPIRES,
    mm.EventKind.DEAD_LETTER,
    mm.EventKind.SPOOL_STOPPED,
    mm.EventKind.NOT_RETAINED,
    mm.EventKind.SPOOL_REMOVED,
    mm.EventKind.UNSENDABLE,
    mm.EventKind.SPOOL_FULL,
)
HAPPENED: dict[mm.EventKind, Callable[[Room], Any]] = {}


def happens(kind: mm.EventKind) -> Callable[[Callable[[Room], Any]], Callable[[Room], Any]]:
    """Register what makes an event of that kind."""

    def register(play: Callable[[Room], Any]) -> Callable[[Room], Any]:
        HAPPENED[kind] = play
        return play

    return register


@happens(mm.EventKind.LISTENING)
def _listening(r: Room) -> Any:
    return r.open("Pull", bind=UP)


@happens(mm.EventKind.PEER_UP)
def _peer_up(r: Room) -> Any:
    return pipeline(r)[0]


@happens(mm.EventKind.PEER_DOWN)
def _peer_down(r: Room) -> Any:
    push, pull = pipeline(r)
    pull.close()
    r.world.run(1)
    return push


@happens(mm.EventKind.CONNECT_FAILED)
def _connect_failed(r: Room) -> Any:
    push = r.open("Push", connect="tcp://127.0.0.1:1")
    r.world.run(1)
    return push


@happens(mm.EventKind.HANDSHAKE_FAILED)
def _handshake_failed(r: Room) -> Any:
    push = r.open("Push", bind=UP)
    r.open("Sub", connect=push.endpoint)
    r.world.run(1)
    return push


@happens(mm.EventKind.DROPPED)
def _dropped(r: Room) -> Any:
    push = r.open("Push", overflow="drop_newest")
    push.send(b"x")
    return push


@happens(mm.EventKind.LATE_REPLY)
def _late(r: Room) -> Any:
    rep, (req,) = r.around("Rep", "Req", 1)
    with pytest.raises(mm.TimedOutError):
        req.request(b"q", timeout=0.5)
    rep.recv(timeout=1).reply(b"late")
    r.world.run(1)
    return req


@happens(mm.EventKind.ACCEPT_PAUSED)
@happens(mm.EventKind.ACCEPT_RESUMED)
def _accept(r: Room) -> Any:
    pull = r.open("Pull", bind=UP)
    r.world.set_faults(SimFaults(accept_emfile=1.0))
    r.open("Push", connect=pull.endpoint)
    r.world.run(1)
    r.world.heal()
    pull.wait_for_peers(timeout=PATIENCE_S)
    return pull


@happens(mm.EventKind.PEER_STALLED)
@happens(mm.EventKind.PEER_RESUMED)
def _stalled(r: Room) -> Any:
    pull = r.open("Pull", bind=UP, heartbeat_interval=None, recv_queue_messages=1)
    push = r.open("Push", connect=pull.endpoint)
    for _ in range(10):
        push.send(b"x", timeout=PATIENCE_S)
    r.world.run(60)
    pull.recv_many(timeout=PATIENCE_S)
    r.world.run(10)
    return push


def test_a_time_out_names_a_peer_that_is_stalled() -> None:
    """It is connected, and that is not the whole truth."""
    with room() as r:
        pull = r.open("Pull", bind=UP, heartbeat_interval=None, recv_queue_messages=1)
        push = r.open("Push", connect=pull.endpoint)
        for _ in range(10):
            push.send(b"x", timeout=PATIENCE_S)
        r.world.run(60)
        assert push.peers()[0].stalled
        with pytest.raises(mm.TimedOutError, match=rf"; {pull.endpoint} is stalled: its system"):
            push.wait_for_peers(2, timeout=1)
        pull.recv_many(timeout=PATIENCE_S)
        r.world.run(10)
        with pytest.raises(mm.TimedOutError, match=r"1 peer\)$"):
            push.wait_for_peers(2, timeout=1)


def test_a_peer_has_all_that_came_from_it_also_what_found_no_room_in_the_queue() -> None:
    """Its figures and those of the socket agree, in messages and in bytes."""
    with room() as r:
        pull = r.open("Pull", bind=UP, recv_queue_messages=1)
        push = r.open("Push", connect=pull.endpoint)
        for _ in range(5):
            push.send(b"x" * 100, timeout=PATIENCE_S)
        r.world.run(1)
        [peer], stats = pull.peers(), pull.stats()
        assert peer.queued_in_messages == stats.queued_in_messages == stats.parsed_messages == 2
        assert peer.queued_in_bytes == stats.queued_in_bytes == 2 * (100 + 64)


@happens(mm.EventKind.PEER_SILENT)
def _silent(r: Room) -> Any:
    pull = r.open("Pull", bind=UP)
    r.world.set_faults(SimFaults(half_open=1.0))
    push = r.open("Push", connect=pull.endpoint)
    r.world.run(2)
    return push


@happens(mm.EventKind.PEER_UNREAD)
def _unread(r: Room) -> Any:
    pull = r.open("Pull", bind=UP)
    r.open("Push", connect=pull.endpoint)
    pull.wait_for_peers(timeout=PATIENCE_S)
    pull.stop_receiving(deadline=0.0)
    return pull


@happens(mm.EventKind.PEER_UNACKED)
def _unacked(r: Room) -> Any:
    push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
    r.open("Pull", connect=f"sp+{push.endpoint}")
    push.wait_for_peers(timeout=PATIENCE_S)
    return push


@happens(mm.EventKind.DEAD_LETTER)
def _dead(r: Room) -> Any:
    push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once", dead_letter="keep")
    pull = r.open("Pull", connect=push.endpoint, prefetch=1, ack="manual")
    push.send(b"x", timeout=PATIENCE_S)
    assert pull.recv(timeout=PATIENCE_S) == b"x"
    push.send(b"x", ttl=1, timeout=PATIENCE_S)
    r.world.run(2)
    return push


@happens(mm.EventKind.ACK_TIMEOUT)
def _too_long(r: Room) -> Any:
    push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once", ack_timeout=1)
    r.open("Pull", connect=push.endpoint)
    push.send(b"x", timeout=PATIENCE_S)
    r.world.run(3)
    return push


@happens(mm.EventKind.PEER_PLAIN)
def _plain(r: Room) -> Any:
    push = r.open("Push", engine=r.hub, bind=UP)
    pull = r.open("Pull", connect=f"sp+{push.endpoint}")
    push.wait_for_peers(timeout=PATIENCE_S)
    push.send(b"body", headers={"a": "b"})
    assert pull.recv(timeout=PATIENCE_S) == b"body"
    return push


@happens(mm.EventKind.CERT_EXPIRES)
def _certificate(r: Room) -> Any:
    ends = make("server", days=(-1, 13))
    policy = mm.Tls(cert=ends.pem(), key=ends.key_pem(), clients="none", allow=mm.ANYBODY)
    return r.open("Pull", bind=f"tls+{UP}", security=policy)


@happens(mm.EventKind.PEER_LIVE)
def _of_no_spool(r: Room) -> Any:
    pub = r.open("Pub", engine=r.hub, bind=UP)
    sub = r.open("Sub", connect=pub.endpoint, topics="", replay="earliest")
    sub.wait_for_peers(timeout=PATIENCE_S)
    return sub


def _spool(r: Room) -> mm.Spool:
    """A spool on a real disk: what reads there needs engines with a thread of their own."""
    return r.enter(small(r.enter(TemporaryDirectory())))


def _once_told(socket: Any, kind: mm.EventKind) -> Any:
    """What has the events of the socket, when there is one of that kind."""
    event = told(socket, kind)
    return SimpleNamespace(events=lambda: [event])


@happens(mm.EventKind.SPOOL_STOPPED)
def _stopped(r: Room) -> Any:
    spool, engine = _spool(r), r.enter(mm.Engine())
    fill(spool, 3)
    turn_bit(segments(Path(spool.path))[1], HEAD + BATCH + 100)
    push = r.open("Push", engine=engine, bind=UP, spool=spool)
    r.open("Pull", engine=engine, connect=push.endpoint)
    return _once_told(push, mm.EventKind.SPOOL_STOPPED)


@happens(mm.EventKind.REPLAY_LOST)
def _removed(r: Room) -> Any:
    spool, engine = _spool(r), r.enter(mm.Engine())
    assert spool.trim(fill(spool, 3) - 1) > 0
    pub = r.open("Pub", engine=engine, bind=UP, spool=spool)
    sub = r.open("Sub", engine=engine, connect=pub.endpoint, topics="", replay="seq:1")
    return _once_told(sub, mm.EventKind.REPLAY_LOST)


@happens(mm.EventKind.NOT_RETAINED)
def _over_its_limit(r: Room) -> Any:
    pub = r.open("Pub", engine=r.hub, bind=UP, retain="last", retain_topics_max=1)
    for topic in ("a", "b"):
        pub.send(b"v", topic=topic)
    return pub


@happens(mm.EventKind.SPOOL_REMOVED)
def _removed_unsent(r: Room) -> Any:
    spool, engine = _spool(r), r.enter(mm.Engine())
    push = r.open("Push", engine=engine, bind=UP, spool=spool)
    last = fill(spool, 3)
    wait_until(lambda: push.stats().queued_out_messages == last)
    assert spool.trim(last - 1) > 0
    return _once_told(push, mm.EventKind.SPOOL_REMOVED)


@happens(mm.EventKind.UNSENDABLE)
def _frames_where_there_is_one_body(r: Room) -> Any:
    spool, engine = _spool(r), r.enter(mm.Engine())
    push = r.open("Push", engine=engine, bind=UP, spool=spool)
    r.open("Pull", engine=engine, connect=f"sp+{push.endpoint}")
    push.wait_for_peers(timeout=PATIENCE_S)
    push.send_frames([b"one", b"two"])
    return _once_told(push, mm.EventKind.UNSENDABLE)


@happens(mm.EventKind.SPOOL_FULL)
def _no_room_in_its_spool(r: Room) -> Any:
    folder = r.enter(TemporaryDirectory())
    spool = r.enter(small(folder, max_messages=1, overflow="block"))
    push = r.open("Push", engine=r.enter(mm.Engine()), bind=UP, spool=spool)
    push.send(b"the only one")
    found: list[mm.Event] = []
    while not found:
        with pytest.raises(mm.TimedOutError):
            push.send(b"no room", timeout=0.5)
        found = [event for event in push.events() if event.kind is mm.EventKind.SPOOL_FULL]
    return SimpleNamespace(events=lambda: found)


@pytest.mark.parametrize("kind", HAPPENED, ids=lambda kind: kind.name)
def test_an_event_tells_what_happened(kind: mm.EventKind) -> None:
    """Its kind, its endpoint (but for those that have none), and why, when something failed."""
    with room() as r:
        socket = HAPPENED[kind](r)
        told = [event for event in socket.events() if event.kind is kind]
        assert told
        assert all(event.count >= 1 and event.seq >= 1 for event in told)
        if kind not in NOT_OF_AN_ENDPOINT:
            assert all(event.endpoint.startswith("tcp://127.0.0.1:") for event in told)
        failed = (
            mm.EventKind.PEER_DOWN,
            mm.EventKind.CONNECT_FAILED,
            mm.EventKind.HANDSHAKE_FAILED,
        )
        assert all((event.reason is not mm.Reason.NONE) == (kind in failed) for event in told)


def test_every_kind_of_event_is_shown_to_happen() -> None:
    """There is none that the core never tells."""
    assert set(HAPPENED) == set(mm.EventKind)
