"""The claims of docs/semantics.md about roles, each in a world where every step is known.

Each docstring quotes the claim's gist.
"""

from __future__ import annotations

import itertools

import pytest

import meshmsg as mm
from tests.support.room import UP, all_there, room
from tests.support.stalled import PATIENCE_S, stalled

SHARING = [("Push", "Pull"), ("Dealer", "Dealer")]


@pytest.mark.parametrize(("role", "peer"), SHARING)
def test_work_is_shared_out_in_turn(role: str, peer: str) -> None:
    """Claim: "share out over the peers that have room, in turn": nine to three are three each."""
    with room() as r:
        push, peers = r.around(role, peer, 3)
        for number in range(9):
            push.send(b"%d" % number, timeout=1)
        shares = [[int(body) for body in all_there(one)] for one in peers]
        assert sorted(map(len, shares)) == [3, 3, 3]
        assert sorted(share[0] for share in shares) == [0, 1, 2]
        for share in shares:
            assert [b - a for a, b in itertools.pairwise(share)] == [3, 3]


@pytest.mark.parametrize(("role", "peer"), SHARING)
def test_a_peer_without_room_is_passed_over(role: str, peer: str) -> None:
    """Claim: "over the peers that have room": who takes no more costs the others nothing."""
    with room(buffer_size=4096) as r:
        push, peers = r.around(role, peer, 2, send_queue_messages=2)
        stuck, free = peers
        r.world.partition(r.hub, stuck._engine, 10)
        for _ in range(20):
            push.send(bytes(10_000), timeout=5)
            all_there(free, 0.01)
        assert 16 <= free.stats().received_messages <= 18
        assert push.stats().dropped == 0


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair"])
def test_with_no_peer_a_send_waits_for_one(role: str) -> None:
    """Claim: "With no peer, or none with room, they block"; nothing is queued for nobody."""
    with room() as r:
        sender = r.open(role, bind=UP)
        with pytest.raises(mm.TimedOutError):
            sender.send(b"x", timeout=3600)
        assert sender.stats().sent_messages == 0
        late = r.open({"Push": "Pull"}.get(role, role), connect=sender.endpoint)
        sender.send(b"y", timeout=PATIENCE_S)
        assert late.recv(timeout=PATIENCE_S) == b"y"


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair"])
def test_what_a_lost_peer_had_not_begun_to_receive_goes_to_the_next(role: str) -> None:
    """Claim: "What a lost peer had not begun to receive goes to the next one": in order, too."""
    with stalled(role, send_queue_messages=10) as pair:
        for number in range(8):
            assert pair.try_send(b"%d" % number + bytes(10_000))
        pair.settle()
        pair.receiver.close()  # the front is partly written: it goes down with the connection
        engine = pair.world.engine()
        kind = type(pair.receiver)
        with kind(connect=pair.sender.endpoint, engine=engine) as second:
            found = all_there(second, PATIENCE_S)
            assert [int(body[:1]) for body in found] == list(range(1, 8))
            stats = pair.sender.stats()
            assert (stats.dropped_peer_gone, stats.in_doubt_messages) == (1, 0)
            assert stats.sent_messages == stats.written_messages + stats.dropped


@pytest.mark.parametrize("role", ["Pub", "XPub", "Router"])
def test_what_was_queued_for_one_that_left_is_dropped_and_counted(role: str) -> None:
    """README: "Pub, Router and Rep drop and count it"."""
    with stalled(role) as pair:
        for number in range(8):
            assert pair.try_send(b"%d" % number + bytes(10_000))
        pair.settle()
        pair.receiver.close()
        while pair.sender.peers():
            pair.world.run(1)
        stats = pair.sender.stats()
        assert (stats.dropped_peer_gone, stats.queued_out_messages) == (8, 0)


@pytest.mark.parametrize(("role", "peer"), [("Pull", "Push"), ("Dealer", "Dealer")])
def test_peers_are_received_from_in_turn(role: str, peer: str) -> None:
    """Claim: "take from their peers in turn": one that sends much does not starve the others."""
    with room() as r:
        pull, peers = r.around(role, peer, 3)
        for who, count in enumerate((50, 5, 5)):
            for _ in range(count):
                peers[who].send(b"%d" % who, timeout=1)
            peers[who].drain(timeout=PATIENCE_S).raise_for_loss()
        first = [int(pull.recv(timeout=1)) for _ in range(15)]
        assert sorted(first) == [0] * 5 + [1] * 5 + [2] * 5
        assert [int(pull.recv(timeout=1)) for _ in range(45)] == [0] * 45


@pytest.mark.parametrize(("role", "peer"), [("Pull", "Push"), ("Dealer", "Dealer"), ("Pair",) * 2])
def test_what_a_peer_had_sent_before_it_left_is_still_given_out(role: str, peer: str) -> None:
    """Claim: "What a peer had sent before it left is still given out", in order."""
    with room() as r:
        pull, (push,) = r.around(role, peer, 1)
        for number in range(20):
            push.send(b"%d" % number, timeout=1)
        push.drain(timeout=PATIENCE_S).raise_for_loss()
        push.close()
        while pull.peers():
            r.world.run(1)
        assert pull.stats().queued_in_messages == 20
        assert [int(pull.recv(timeout=0)) for _ in range(20)] == list(range(20))
        stats = pull.stats()
        assert stats.parsed_messages == stats.received_messages == 20


def test_a_publication_reaches_who_asked_for_a_prefix_of_its_first_frame() -> None:
    """Claim: "to each peer with a subscription that is a prefix of its first frame"; once each."""
    topics = [b"", b"a", b"ab", b"abc", b"abd", b"b"]
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        subs = {t: r.open("Sub", connect=pub.endpoint, topics=[t, t]) for t in topics}
        pub.wait_for_subscribers("abc", 4, timeout=PATIENCE_S)
        pub.wait_for_subscribers("abd", 4, timeout=PATIENCE_S)
        pub.wait_for_subscribers("b", 2, timeout=PATIENCE_S)
        pub.send(b"1", topic="abc")
        pub.send(b"ab 2")
        pub.send_frames([b"b", b"3", b"4"])
        for topic, sub in subs.items():
            wanted = [b for f, b in ((b"abc", b"1"), (b"ab 2", b"ab 2"), (b"b", b"4"))
                      if f.startswith(topic)]  # fmt: skip
            assert all_there(sub) == wanted
        assert pub.subscribers("abcdef") == 4
        assert pub.stats().dropped == 0


def test_a_message_nobody_asked_for_is_sent_and_goes_nowhere() -> None:
    """Claim: "A message nobody asked for is sent and goes nowhere": it is no drop either."""
    with room() as r:
        pub, (sub,) = r.around("Pub", "Sub", 1)
        sub.subscribe("wanted")
        pub.wait_for_subscribers("wanted", timeout=PATIENCE_S)
        pub.send(b"x", topic="other")
        pub.send(b"y", topic="wanted")
        assert all_there(sub) == [b"y"]
        stats = pub.stats()
        assert (stats.sent_messages, stats.written_messages, stats.dropped) == (2, 1, 0)


@pytest.mark.parametrize("policy", ["block", "error"])
def test_a_publisher_that_may_not_drop_sends_to_all_or_to_nobody(policy: str) -> None:
    """Claim: "block and error send to all or to nobody": one full queue holds back the message."""
    with room(buffer_size=4096) as r:
        pub = r.open("Pub", engine=r.hub, bind=UP, overflow=policy, send_queue_messages=3)
        stuck, free = (r.open("Sub", connect=pub.endpoint, topics="") for _ in range(2))
        pub.wait_for_subscribers("", 2, timeout=PATIENCE_S)
        r.world.partition(r.hub, stuck._engine, 10)
        taken = 0
        for number in range(10):
            try:
                pub.send(b"%d" % number + bytes(10_000), timeout=0)
            except mm.WouldBlockError:
                continue
            taken += 1
            assert len(free.recv(timeout=1)) == 10_001
        assert taken == 3
        assert all_there(free) == []
        r.world.heal()
        assert len(all_there(stuck, 20)) == 3
        assert pub.stats().dropped == 0


def test_subscriptions_are_counted() -> None:
    """Claim: "Sub subscriptions are counted": the last of as many takes it back."""
    with room() as r:
        pub, (sub,) = r.around("Pub", "Sub", 1)
        for _ in range(3):
            sub.subscribe("t")
        pub.wait_for_subscribers("t", timeout=PATIENCE_S)
        for left in (2, 1, 0):
            sub.unsubscribe("t")
            r.world.run(1)
            assert pub.subscribers("t") == (1 if left else 0)
        with pytest.raises(mm.UsageError, match="not subscribed"):
            sub.unsubscribe("t")


def test_subscriptions_are_sent_again_after_every_reconnect() -> None:
    """Claim: "and sent again after every reconnect": also those made and taken back meanwhile."""
    with room() as r:
        pub, (sub,) = r.around("Pub", "Sub", 1)
        sub.subscribe("kept")
        sub.subscribe("gone")
        for round_number in range(5):
            pub.wait_for_subscribers("kept", timeout=PATIENCE_S)
            r.world.reset_all()
            sub.subscribe(f"new{round_number}")
            if round_number == 0:
                sub.unsubscribe("gone")
            r.world.run(30)
            assert pub.subscribers("gone") == 0
            for number in range(round_number + 1):
                assert pub.subscribers(f"new{number}") == 1
        assert pub.peers()[0].subscriptions == 6


def test_subscriptions_do_not_compete_with_messages_for_room() -> None:
    """Claim: "they never compete with messages for room": 2,000 through a queue of one message."""
    with room(buffer_size=4096) as r:
        pub = r.open("Pub", engine=r.hub, bind=UP, recv_queue_messages=1)
        sub = r.open("Sub", connect=pub.endpoint, send_queue_messages=1, send_queue_bytes=1)
        sub.wait_for_peers(timeout=PATIENCE_S)
        r.world.partition(r.hub, sub._engine, 5)
        for number in range(2000):
            sub.subscribe(f"topic {number:04}")
        pub.wait_for_subscribers("topic 1999", timeout=PATIENCE_S)
        assert pub.peers()[0].subscriptions == 2000


def test_a_pair_refuses_a_third_until_its_peer_leaves() -> None:
    """Claim: "Pair: one peer; others are refused while it is there"; then the next gets in."""
    with room() as r:
        pair, (first,) = r.around("Pair", "Pair", 1)
        second = r.open("Pair", connect=pair.endpoint)
        r.world.run(30)
        assert (len(pair.peers()), second.peers()) == (1, [])
        assert pair.stats().closed[mm.Reason.ROLE_REFUSED] >= 2  # it tries again and again
        told = [event.detail for event in second.events() if event.reason]
        assert set(told) == {"the peer refused: this socket takes no more peers"}
        first.close()
        while not (pair.peers() and second.peers()):
            r.world.run(1)
        second.send(b"mine", timeout=PATIENCE_S)
        assert pair.recv(timeout=PATIENCE_S) == b"mine"
