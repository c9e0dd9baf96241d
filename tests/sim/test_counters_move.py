"""Every field of stats() shown to move for its own reason.

A field that no scene moves is a field that nobody tested: the last test checks that the scenes
are complete.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.support.room import UP, Room, all_there, pipeline, room
from tests.support.stalled import FRAME_COST, PATIENCE_S, stalled

Moved = dict[str, int]
FAN_OUT = (
    "a_subscriber_leaves_with_its_queue",
    "sp_has_no_words_for_three_frames",
    "a_publisher_is_not_heard",
    "a_publisher_retains",
)
"""Scenes of a publisher: it counts a message once, and each copy."""
SCENES: dict[str, Callable[[], mm.Stats]] = {}
WANTED: dict[str, Moved] = {}


def scene(**wanted: int) -> Callable[[Callable[[], mm.Stats]], Callable[[], mm.Stats]]:
    """Register a scene and what its counters must be at its end."""

    def register(play: Callable[[], mm.Stats]) -> Callable[[], mm.Stats]:
        SCENES[play.__name__] = play
        WANTED[play.__name__] = wanted
        return play

    return register


@scene(sent_messages=3, sent_bytes=60, written_messages=3, confirmed_messages=3, queued_out_bytes=0)
def three_messages_of_twenty_bytes_are_sent() -> mm.Stats:
    """Counted when accepted, when written, and when confirmed."""
    with room() as r:
        push, _ = pipeline(r)
        for _ in range(3):
            push.send(bytes(20), timeout=1)
        push.drain(timeout=PATIENCE_S).raise_for_loss()
        return push.stats()


@scene(parsed_messages=3, received_messages=2, received_bytes=50, queued_in_messages=1,
       queued_in_bytes=30 + FRAME_COST)  # fmt: skip
def two_of_three_messages_are_received() -> mm.Stats:
    """The third waits."""
    with room() as r:
        push, pull = pipeline(r)
        for size in (20, 30, 30):
            push.send(bytes(size), timeout=1)
        push.drain(timeout=PATIENCE_S).raise_for_loss()
        pull.recv(timeout=1)
        pull.recv(timeout=1)
        return pull.stats()


@scene(sent_messages=5, written_messages=3, acked_messages=1, unacked_messages=2,
       queued_out_messages=2, confirmed_messages=1)  # fmt: skip
def one_of_three_messages_is_done_and_two_wait_for_credit() -> mm.Stats:
    """The receiver takes three at a time, and would have room for one more."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pull = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=2)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(5):
            push.send(b"work", timeout=1)
        assert pull.recv(timeout=PATIENCE_S).ack()
        r.world.run(1)
        return push.stats()


@scene(redelivered_messages=2, acked_messages=0, unacked_messages=1, written_messages=3)
def one_is_given_back_and_one_comes_back_with_its_receiver() -> mm.Stats:
    """By a NACK, and by a close."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pull = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        push.send(b"work", timeout=PATIENCE_S)
        assert pull.recv(timeout=PATIENCE_S).nack()
        r.world.run(1)
        pull.close()
        other = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        assert other.recv(timeout=PATIENCE_S).attempt == 2
        return push.stats()


@scene(parsed_messages=3, received_messages=1, unacked_messages=3)
def three_came_and_none_is_done() -> mm.Stats:
    """One of them was given out."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pull = r.open("Pull", connect=push.endpoint, ack="manual")
        for _ in range(3):
            push.send(b"work", timeout=PATIENCE_S)
        pull.recv(timeout=PATIENCE_S)
        r.world.run(1)
        return pull.stats()


@scene(queued_out_messages=4, queued_out_bytes=4 * (10_000 + FRAME_COST), written_messages=0)
def four_messages_wait_for_a_peer_that_is_cut_off() -> mm.Stats:
    """None of them fits whole into what the kernel takes."""
    with stalled("Push") as pair:
        for _ in range(4):
            pair.send(bytes(10_000))
        pair.settle()
        return pair.sender.stats()


@scene(written_messages=5, confirmed_messages=0, in_doubt_messages=5, disconnects=1)
def a_connection_ends_with_five_messages_unconfirmed() -> mm.Stats:
    """Written is not received."""
    with room() as r:
        push, pull = pipeline(r)
        r.world.partition(r.hub, pull._engine, 10)
        for _ in range(5):
            push.send(b"x", timeout=1)
        r.world.run(0.5)
        r.world.reset_all()
        r.world.run(0.5)
        return push.stats()


@scene(dropped_overflow=3, dropped_no_peer=0)
def a_full_queue_drops_the_newest() -> mm.Stats:
    """Two have room."""
    with stalled("Push", overflow="drop_newest", send_queue_messages=2) as pair:
        for _ in range(5):
            pair.send(bytes(10_000))
        return pair.sender.stats()


@scene(dropped_no_peer=2, sent_messages=2)
def nobody_is_there_and_nothing_may_block() -> mm.Stats:
    """With a policy that drops, no peer is as good as a full one."""
    with room() as r:
        push = r.open("Push", overflow="drop_oldest")
        push.send(b"1")
        push.send(b"2")
        return push.stats()


@scene(dropped_peer_gone=6, queued_out_messages=0)
def a_subscriber_leaves_with_its_queue() -> mm.Stats:
    """What was meant for it is for nobody else."""
    with stalled("Pub") as pair:
        for _ in range(6):
            pair.send(bytes(10_000))
        pair.settle()
        pair.receiver.close()
        pair.world.run(15)
        return pair.sender.stats()


@scene(dropped_late=1, parsed_messages=1)
def an_answer_comes_after_its_time() -> mm.Stats:
    """The request was given up."""
    with room() as r:
        rep, (req,) = r.around("Rep", "Req", 1)
        with pytest.raises(mm.TimedOutError):
            req.request(b"q", timeout=0.5)
        rep.recv(timeout=1).reply(b"late")
        r.world.run(1)
        return req.stats()


@scene(dropped_filtered=4, received_messages=1, parsed_messages=5)
def messages_under_way_when_their_topic_was_given_up() -> mm.Stats:
    """They had left before the publisher knew."""
    with room() as r:
        pub, (sub,) = r.around("Pub", "Sub", 1)
        sub.subscribe("a")
        sub.subscribe("b")
        pub.wait_for_subscribers("b", timeout=PATIENCE_S)
        for _ in range(4):
            pub.send(b"x", topic="a")
        pub.send(b"y", topic="b")
        pub.drain(timeout=PATIENCE_S)
        sub.unsubscribe("a")
        assert all_there(sub) == [b"y"]
        return sub.stats()


@scene(dropped_malformed=2, parsed_messages=3, received_messages=1)
def requests_without_an_envelope() -> mm.Stats:
    """There would be no way back."""
    with room() as r:
        rep, (dealer,) = r.around("Rep", "Dealer", 1)
        dealer.send_frames([b"no delimiter"])
        dealer.send_frames([b"a", b"b"])
        dealer.send_frames([b"", b"fine"])
        assert rep.recv(timeout=1) == b"fine"
        return rep.stats()


@scene(listeners=2, dialers=0, accepts=3, connects=0, handshakes=3, peers=3, half_open=0)
def three_peers_connect_to_two_listeners() -> mm.Stats:
    """Accepted, shaken hands, there."""
    with room() as r:
        pull = r.open("Pull", bind=[UP, "inproc://second"])
        for at in (0, 1, 1):
            r.open("Push", connect=pull.endpoints[at], engine=pull._engine)
        pull.wait_for_peers(3, timeout=PATIENCE_S)
        return pull.stats()


@scene(listeners=0, dialers=2, accepts=0, connects=2, handshakes=2, peers=2)
def one_socket_connects_to_two() -> mm.Stats:
    """From the other side."""
    with room() as r:
        ends = [r.open("Pull", bind=UP).endpoint for _ in range(2)]
        push = r.open("Push", connect=ends)
        push.wait_for_peers(2, timeout=PATIENCE_S)
        return push.stats()


@scene(half_open=1, peers=0, handshakes=0)
def a_handshake_is_under_way() -> mm.Stats:
    """Whoever connected swallows everything."""
    with room(faults=SimFaults(half_open=1.0)) as r:
        pull = r.open("Pull", bind=UP)
        push = r.open("Push", connect=pull.endpoint)
        r.world.run(5)
        return push.stats()


@scene(handshakes_failed=1, handshakes=0, disconnects=0)
def two_that_cannot_talk_try_it_once() -> mm.Stats:
    """A Push and a Pub are no pair."""
    with room() as r:
        push = r.open("Push", bind=UP)
        r.open("Pub", connect=push.endpoint, reconnect_min=1000, reconnect_max=1000)
        r.world.run(5)
        return push.stats()


@scene(events_lost=300 - 256)
def more_happens_than_is_remembered() -> mm.Stats:
    """The bind is an event, too; 256 are kept."""
    with room() as r:
        pull = r.open("Pull", bind=UP)
        for number in range(299):
            pull.bind(f"inproc://many-{number}")
        assert [e.seq for e in pull.events()] == list(range(300 - 256 + 1, 300 + 1))
        return pull.stats()


@scene(filtered_messages=2, parsed_messages=3, received_messages=1, topics=1)
def a_publisher_of_sp_sends_what_nobody_asked_for() -> mm.Stats:
    """It sends everything; what is not subscribed to goes no further."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        sub = r.open("Sub", connect=f"sp+{pub.endpoint}", topics="b")
        pub.wait_for_subscribers("b", timeout=PATIENCE_S)
        for topic in ("a", "b", "c"):
            pub.send(b"x", topic=topic)
        assert all_there(sub) == [b"bx"]
        return sub.stats()


@scene(dropped_unencodable=1, sent_messages=1, written_messages=0)
def sp_has_no_words_for_three_frames() -> mm.Stats:
    """They cannot be told apart there."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        r.open("Sub", connect=f"sp+{pub.endpoint}")
        pub.wait_for_subscribers("", timeout=PATIENCE_S)
        pub.send_frames([b"a", b"b", b"c"])
        return pub.stats()


@scene(dropped_conflated=4, parsed_messages=5, received_messages=0, queued_in_messages=1)
def only_the_newest_is_kept() -> mm.Stats:
    """Four older ones are dropped, as was asked for."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        sub = r.open("Sub", connect=pub.endpoint, topics="", conflate=True)
        pub.wait_for_subscribers("", timeout=PATIENCE_S)
        for _ in range(5):
            pub.send(b"x")
        pub.drain(timeout=PATIENCE_S)
        return sub.stats()


@scene(dropped_expired=3, sent_messages=4, written_messages=1, queued_out_messages=0)
def the_time_of_some_is_over_before_anybody_comes() -> mm.Stats:
    """Of three; the fourth has no end."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pull = r.open("Pull", connect=push.endpoint, prefetch=1, ack="manual")
        push.send(b"x", timeout=PATIENCE_S)
        message = pull.recv(timeout=PATIENCE_S)
        for ttl in (1, 2, 1):
            push.send(b"x", ttl=ttl, timeout=PATIENCE_S)
        r.world.run(5)
        assert message.ack()
        return push.stats()


@scene(finished_peers=2)
def two_are_told_that_there_is_no_more() -> mm.Stats:
    """Once each."""
    with room() as r:
        push, _ = r.around("Push", "Pull", 2)
        push.finish()
        push.wait_for_finished(2, timeout=PATIENCE_S)
        stats: mm.Stats = push.stats()
        return stats


def given_back(r: Room, **options: Any) -> Any:
    """A Push whose message is given back twice."""
    push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once", **options)
    pull = r.open("Pull", connect=push.endpoint, ack="manual")
    push.send(b"x", timeout=PATIENCE_S)
    for _ in range(2):
        assert pull.recv(timeout=PATIENCE_S).nack()
    r.world.run(1)
    return push


@scene(stale_acks=1, redelivered_messages=1, acked_messages=0, unacked_messages=1)
def an_acknowledgement_comes_when_another_one_has_the_message() -> mm.Stats:
    """It counts for nothing, and in the books of the message nothing changes."""
    with room() as r:
        options: dict[str, Any] = {"delivery": "at_least_once", "ack_timeout": 4.0}
        push = r.open("Push", engine=r.hub, bind=UP, **options)
        late = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        push.wait_for_peers(timeout=PATIENCE_S)
        push.send(b"work", timeout=1)
        message = late.recv(timeout=PATIENCE_S)
        other = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        assert other.recv(timeout=PATIENCE_S) == message
        assert message.ack()
        r.world.run(1)
        return push.stats()


@scene(delayed_messages=2, delayed_bytes=2 * (1 + FRAME_COST), sent_messages=2,
       redelivered_messages=1, written_messages=1,
       queued_out_messages=0)  # fmt: skip
def one_goes_later_and_one_was_given_back_for_later() -> mm.Stats:
    """They are in no queue."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pull = r.open("Pull", connect=push.endpoint, ack="manual")
        push.send(b"x", timeout=PATIENCE_S)
        assert pull.recv(timeout=PATIENCE_S).nack(delay=60)
        push.send(b"y", delay=60)
        r.world.run(1)
        return push.stats()


@scene(missing_peers=1, peers=1)
def fewer_are_there_than_it_waits_for() -> mm.Stats:
    """So it hands out nothing yet."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, routing="hash", peers_min=2)
        r.open("Pull", connect=push.endpoint)
        push.wait_for_peers(timeout=PATIENCE_S)
        stats: mm.Stats = push.stats()
        return stats


@scene(dropped_attempts=1, redelivered_messages=2, written_messages=2, sent_messages=1)
def nobody_wants_it() -> mm.Stats:
    """Twice is often enough."""
    with room() as r:
        stats: mm.Stats = given_back(r, max_attempts=2).stats()
        return stats


@scene(dead_messages=1, redelivered_messages=2, written_messages=2, dropped_attempts=0)
def nobody_wants_it_and_it_is_kept() -> mm.Stats:
    """As a dead letter, also once it was taken."""
    with room() as r:
        push = given_back(r, max_attempts=2, dead_letter="keep")
        assert push.dead_letters() == [b"x"]
        stats: mm.Stats = push.stats()
        return stats


@scene(sent_messages=4, sent_bytes=6, written_messages=4, queued_out_messages=0)
def an_xsub_subscribes_by_message() -> mm.Stats:
    """Each is sent, and gone: as a command to every peer, also to those to come."""
    with room() as r:
        xpub = r.open("XPub", engine=r.hub, bind=UP)
        xsub = r.open("XSub", connect=xpub.endpoint)
        for text in (b"\x01t", b"\x01t", b"\x00", b"\x00"):  # the last two: never subscribed
            xsub.send(text)
        assert all_there(xpub) == [b"\x01t"]
        return xsub.stats()


@scene(parsed_messages=4, received_messages=4, received_bytes=12, queued_in_messages=0)
def an_xpub_takes_notices_and_a_message() -> mm.Stats:
    """A notice is a message from the moment it is taken; one that waits is a change to tell."""
    with room() as r:
        xpub = r.open("XPub", engine=r.hub, bind=UP)
        xsub = r.open("XSub", connect=xpub.endpoint)
        xsub.wait_for_peers(timeout=PATIENCE_S)
        for text in (b"\x01t", b"\x01u", b"\x00t", b"upward"):
            xsub.send(text, timeout=PATIENCE_S)
        xsub.drain(timeout=PATIENCE_S)
        assert sorted(all_there(xpub)) == [b"\x00t", b"\x01t", b"\x01u", b"upward"]
        return xpub.stats()


@scene(unwanted_messages=2, sent_messages=3, written_messages=1)
def a_publisher_is_not_heard() -> mm.Stats:
    """With nobody there, and with somebody there who wants something else."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        pub.send(b"x", topic="a")
        sub = r.open("Sub", connect=pub.endpoint, topics="b")
        pub.wait_for_subscribers("b", timeout=PATIENCE_S)
        pub.send(b"x", topic="a")
        pub.send(b"x", topic="b")
        assert all_there(sub) == [b"x"]
        return pub.stats()


@scene(
    sent_messages=5,
    unwanted_messages=4,
    retained_topics=2,
    retained_bytes=2 * (2 + 2 * 64) + 2,
    retained_sent=2,
    unretained_messages=1,
    written_messages=3,
)
def a_publisher_retains() -> mm.Stats:
    """The last of two topics, which a subscriber gets; a third one finds no room."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP, retain="last", retain_topics_max=2)
        for topic in ("a", "a", "b", "c"):
            pub.send(b"x", topic=topic)
        sub = r.open("Sub", connect=pub.endpoint, topics="")
        pub.wait_for_subscribers(timeout=PATIENCE_S)
        pub.send(b"y", topic="a")
        assert all_there(sub) == [b"x", b"x", b"y"]
        return pub.stats()


scenes = pytest.mark.parametrize("name", SCENES)


@scenes
def test_a_scene_moves_its_counters_and_keeps_the_books(name: str) -> None:
    """Each counter named by the scene has exactly its value; both identities hold."""
    stats = SCENES[name]()
    assert {field: getattr(stats, field) for field in WANTED[name]} == WANTED[name]
    if name in FAN_OUT:
        return
    sent_and_dropped = stats.dropped if stats.sent_messages and not stats.parsed_messages else 0
    sent_and_dropped += stats.dead_messages
    to_be_written = stats.sent_messages + stats.redelivered_messages
    waiting = stats.queued_out_messages + stats.delayed_messages
    assert to_be_written == stats.written_messages + sent_and_dropped + waiting
    received_and_dropped = stats.dropped + stats.dead_messages - sent_and_dropped
    assert (
        stats.parsed_messages
        == stats.received_messages
        + received_and_dropped
        + stats.queued_in_messages
        + stats.filtered_messages
    )


def test_the_scenes_move_every_counter() -> None:
    """But `closed` (by reason, tested everywhere), dropped_closed (only seen after the end), and
    `group_lag` (of spools, which a simulated world has none of)."""
    moved = {field for wanted in WANTED.values() for field, value in wanted.items() if value}
    unmoved = {"closed", "dropped_closed", "group_lag"}
    assert {f.name for f in dataclasses.fields(mm.Stats)} - moved == unmoved
