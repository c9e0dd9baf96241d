"""disconnect(): what was queued for the peer goes out, or on to the others; nothing goes unsaid.

Not here: the end of a socket (test_role_claims.py), peers that are lost (test_tiny_queues.py).
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.sim.scenes import check_counters
from tests.support.room import UP, Room, all_there, room
from tests.support.stalled import PATIENCE_S

COUNT = 60
BODY = 900
LATER: list[tuple[str, str]] = [("Pub", "Sub"), ("XPub", "Sub"), ("Bus", "Bus")]
SHARING: list[tuple[str, str]] = [("Push", "Pull"), ("Dealer", "Dealer"), ("Pair", "Pair")]


def bodies(first: int, count: int) -> list[bytes]:
    """So many messages, each other than the rest."""
    return [b"%d " % number + bytes(BODY) for number in range(first, first + count)]


def hosts(r: Room, peer: str, count: int, engine: mm.Engine | None = None) -> list[Any]:
    """Sockets to connect to."""
    options: dict[str, Any] = {"topics": [""]} if peer == "Sub" else {}
    return [r.open(peer, bind=UP, engine=engine, **options) for _ in range(count)]


@pytest.mark.parametrize("roles", SHARING[:2], ids=lambda roles: roles[0])
def test_what_is_not_begun_goes_to_the_others_at_once(roles: tuple[str, str]) -> None:
    """One of two workers is left while nothing gets through: the other gets all but what began."""
    with room(buffer_size=4096) as r:
        one, two = hosts(r, roles[1], 2)
        sender = r.open(roles[0], engine=r.hub, connect=[one.endpoint, two.endpoint])
        sender.wait_for_peers(2, timeout=PATIENCE_S)
        for body in bodies(0, COUNT):
            sender.send(body, timeout=0)
        queued = {peer.address: peer.queued_out_messages for peer in sender.peers()}
        assert min(queued.values()) > 10
        sender.disconnect(one.endpoint)
        got = [all_there(one), all_there(two)]
        assert sorted(got[0] + got[1]) == sorted(bodies(0, COUNT))
        assert len(got[0]) < 10
        assert len(sender.peers()) == 1
        check_counters(sender)


@pytest.mark.parametrize("roles", SHARING, ids=lambda roles: roles[0])
def test_without_another_peer_what_is_not_begun_is_kept_for_the_next(
    roles: tuple[str, str],
) -> None:
    """It is queued, as it was, in order, and the next peer gets it."""
    with room(buffer_size=4096) as r:
        one, two = hosts(r, roles[1], 2)
        sender = r.open(roles[0], engine=r.hub, connect=one.endpoint)
        sender.wait_for_peers(timeout=PATIENCE_S)
        for body in bodies(0, COUNT):
            sender.send(body, timeout=0)
        sender.disconnect(one.endpoint)
        first = all_there(one)
        assert sender.stats().queued_out_messages == COUNT - len(first) > 0
        assert sender.peers() == []
        sender.connect(two.endpoint)
        assert first + all_there(two) == bodies(0, COUNT)
        assert sender.drain(timeout=PATIENCE_S).queued == 0
        check_counters(sender)


@pytest.mark.parametrize("roles", SHARING, ids=lambda roles: roles[0])
def test_with_one_peer_at_a_time_order_holds_across_lost_ones(roles: tuple[str, str]) -> None:
    """What lost peers give back comes first, as it was sent, and then what is sent later."""
    with room(buffer_size=4096) as r:
        sender = r.open(roles[0], engine=r.hub, bind=UP)
        got: list[bytes] = []
        for visit in range(6):
            one = r.open(roles[1], connect=sender.endpoint)
            one.wait_for_peers(timeout=PATIENCE_S)
            for body in bodies(visit * COUNT, COUNT):
                sender.send(body, timeout=PATIENCE_S)
            got += map(bytes, one.recv_many(3, timeout=PATIENCE_S))
            one.close()
            r.world.run(2.0)
            assert sender.peers() == []
        got += all_there(r.open(roles[1], connect=sender.endpoint))
        numbers = [int(body.split(b" ", 1)[0]) for body in got]
        assert numbers == sorted(set(numbers))
        assert len(numbers) > 4 * COUNT
        check_counters(sender)


@pytest.mark.parametrize("role", ["Pull", "Dealer", "Pair"])
@pytest.mark.parametrize("how", ["cut", "left"])
def test_what_had_come_is_given_out_though_the_queue_was_full(role: str, how: str) -> None:
    """One message is in a queue of one, the next was read, and waits: both are given out."""
    with room(buffer_size=1 << 20) as r:
        sender = r.open({"Pull": "Push"}.get(role, role), engine=r.hub, bind=UP)
        one = r.open(role, connect=sender.endpoint, recv_queue_messages=1)
        sender.wait_for_peers(timeout=PATIENCE_S)
        for body in bodies(0, 5):
            sender.send(body)
        r.world.run(1.0)
        parsed = one.stats().parsed_messages
        assert parsed == 2
        if how == "cut":
            r.world.reset_all()
        else:
            one.disconnect(sender.endpoint)
        r.world.run(0.01)
        assert one.stats().dropped == 0
        assert one.recv(timeout=0) == bodies(0, 1)[0]
        assert one.recv(timeout=0) == bodies(1, 1)[0]
        check_counters(one)


@pytest.mark.parametrize("roles", LATER, ids=lambda roles: roles[0])
def test_what_is_only_that_peers_goes_out_within_linger(roles: tuple[str, str]) -> None:
    """A publisher leaves a subscriber: it still gets what was sent before, and nothing after."""
    with room(buffer_size=4096) as r:
        (one,) = hosts(r, roles[1], 1)
        sender = r.open(roles[0], engine=r.hub, connect=one.endpoint)
        sender.wait_for_peers(timeout=PATIENCE_S)
        r.world.run(1.0)
        for body in bodies(0, COUNT):
            sender.send(body, timeout=0)
        assert sender.stats().queued_out_messages > 0
        sender.disconnect(one.endpoint)
        sender.send(b"later", timeout=0)
        assert all_there(one) == bodies(0, COUNT)
        assert sender.peers() == []
        assert sender.stats().queued_out_messages == 0


def test_a_router_sends_what_is_queued_and_knows_the_peer_no_more() -> None:
    """A message to it is unroutable from the disconnect on."""
    with room(buffer_size=4096) as r:
        dealer = r.open("Dealer", bind=UP, identity=b"d")
        router = r.open("Router", engine=r.hub, connect=dealer.endpoint)
        router.wait_for_peers(timeout=PATIENCE_S)
        for body in bodies(0, COUNT):
            router.send(body, to=b"d", timeout=0)
        router.disconnect(dealer.endpoint)
        with pytest.raises(mm.PeerError):
            router.send(b"later", to=b"d", timeout=0)
        assert all_there(dealer) == bodies(0, COUNT)
        check_counters(router)


@pytest.mark.parametrize("linger", [0.0, 0.5])
@pytest.mark.parametrize("role", ["Push", "Pub"])
def test_what_does_not_go_out_within_linger_is_dropped_and_counted(
    role: str, linger: float
) -> None:
    """The peer takes nothing: at the end of linger it is left, and the books balance."""
    with room(buffer_size=4096) as r:
        away = r.world.engine()
        (one,) = hosts(r, {"Push": "Pull", "Pub": "Sub"}[role], 1, away)
        sender = r.open(role, engine=r.hub, connect=one.endpoint, linger=linger)
        sender.wait_for_peers(timeout=PATIENCE_S)
        r.world.run(1.0)
        r.world.partition(r.hub, away, 30.0)
        for body in bodies(0, COUNT):
            sender.send(body, timeout=0)
        sender.disconnect(one.endpoint)
        r.world.run(linger + 0.1)
        stats = sender.stats()
        assert sender.peers() == []
        assert stats.dropped_peer_gone > 0
        assert (stats.queued_out_messages > 0) == (role == "Push"), "kept for the next, or dropped"
        check_counters(sender)


@pytest.mark.parametrize("closes", [False, True], ids=["disconnect", "disconnect, close"])
def test_a_peer_that_is_being_left_and_is_gone_is_given_up_before_linger_is_over(
    closes: bool,
) -> None:
    """As any other: within the heartbeat's time-out and an interval."""
    with room(buffer_size=4096) as r:
        away = r.world.engine()
        one = r.open("Sub", bind=UP, engine=away, topics="", heartbeat_interval=None)
        sender = r.open("Pub", engine=r.hub, connect=one.endpoint, linger=3600.0)
        sender.wait_for_peers(timeout=PATIENCE_S)
        r.world.run(1.0)
        before = r.world.open_streams
        r.world.partition(r.hub, away, 7200.0)
        for body in bodies(0, COUNT):
            sender.send(body, timeout=0)
        sender.disconnect(one.endpoint)
        if closes:
            sender.close()
        r.world.run(21.0)
        assert r.world.open_streams == before - 1
        if not closes:
            assert sender.stats().closed == {mm.Reason.HEARTBEAT: 1}
            check_counters(sender)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_a_peer_may_be_left_at_any_moment_and_nothing_is_lost(first: int) -> None:
    """Harmless faults, three workers, disconnects and connects in between: each message once."""
    for seed in range(first, first + 20):
        dice = random.Random(seed)
        faults = SimFaults(split=0.3, short_write=dice.choice([0.0, 0.5]), eagain=0.2)
        buffer = dice.choice([4096, 1 << 20])
        with room(seed, latency=(0.0001, 0.01), faults=faults, buffer_size=buffer) as r:
            workers = hosts(r, "Pull", 3)
            push = r.open("Push", engine=r.hub, connect=[w.endpoint for w in workers], linger=60.0)
            push.wait_for_peers(3, timeout=PATIENCE_S)
            got: list[bytes] = []
            for number in range(COUNT):
                push.send_many(bodies(number * 4, 4), timeout=PATIENCE_S)
                if dice.random() < 0.3:
                    left = dice.choice(workers).endpoint
                    push.disconnect(left)
                    push.connect(left)
                got += all_there(dice.choice(workers), 0.001)
            for worker in workers:
                got += all_there(worker)
            assert sorted(got) == sorted(bodies(0, 4 * COUNT)), f"seed {seed}"
            check_counters(push)
