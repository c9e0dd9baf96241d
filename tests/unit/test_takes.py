"""Messages that are more than a peer says it takes (`message_size_max`, `frames_max`): who shares
out gives them to a peer that takes them, and what none takes waits, or is refused.

Not here: roles that share nothing out (test_takes_roles.py), the word itself (test_takes_wire.py).
Law: no connection ends for such a message, and nothing else waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import meshmsg as mm
from tests.support.featured import saying
from tests.support.feeding import UP, World, nothing, told
from tests.support.grouped import info, joined, member, until
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing

COUNT = 100
"""Small messages beside one that is too large: enough for segments."""


class Limit(NamedTuple):
    """What a peer takes at most, a message that is just that, and one that is more."""

    options: dict[str, Any]
    most: list[bytes]
    over: list[bytes]
    words: str


LIMITS = {
    "small": Limit({"message_size_max": 1000}, [b"m" * 1000], [b"o" * 1001], "1001 bytes"),
    "segment": Limit({"message_size_max": 20_000}, [b"m" * 20_000], [b"o" * 20_001], "20001 bytes"),
    "large": Limit({"message_size_max": 50_000}, [b"m" * 50_000], [b"o" * 50_001], "50001 bytes"),
    "split": Limit({"message_size_max": 10}, [b"m" * 9, b"m"], [b"o" * 9, b"oo"], "11 bytes in 2"),
    "frames": Limit({"frames_max": 3}, [b"m"] * 3, [b"o"] * 4, "4 bytes in 4 frames"),
}


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


@pytest.fixture(params=sorted(LIMITS))
def limit(request: pytest.FixtureRequest) -> Limit:
    """Each limit."""
    return LIMITS[request.param]


def small(count: int = COUNT) -> list[bytes]:
    """Bodies that everybody takes."""
    return [b"%d" % i for i in range(count)]


def taken(pull: Any, count: int) -> list[list[bytes]]:
    """The frames of so many messages."""
    return [[bytes(f) for f in pull.recv_frames(timeout=WAIT_S)] for _ in range(count)]


def ended(socket: Any) -> list[Any]:
    """Its events that say that a connection ended."""
    return [event for event in socket.events() if event.kind is mm.EventKind.PEER_DOWN]


def test_with_a_spool_it_waits_for_who_takes_it_and_holds_up_nothing(
    world: World, limit: Limit, tmp_path: Path
) -> None:
    """It is told, with both sizes; and its receipt comes when somebody has it."""
    with world.life(tmp_path / "s") as (_, push):
        with world.socket("Pull", connect=push.endpoint, **limit.options) as pull:
            push.wait_for_peers(timeout=WAIT_S)
            receipt = push.send_frames(limit.over, confirm=True)
            push.send_frames(limit.most)
            for body in small():
                push.send(body)
            assert taken(pull, 1 + COUNT) == [limit.most, *([body] for body in small())]
            detail = told(push, mm.EventKind.UNSENDABLE).detail
            assert f"of {limit.words}" in detail
            peer = push.peers()[0]
            assert f"take {peer.takes_bytes} in {peer.takes_frames} at most" in detail
            nothing(pull)
            wait_until(lambda: push.drain(timeout=0).unconfirmed == 0)
            assert push.drain(timeout=0).queued == 1
            assert receipt.outcome is None
            assert not ended(pull)
        with world.socket("Pull", connect=push.endpoint) as other:
            assert taken(other, 1) == [limit.over]
            nothing(other)
            world.wait(receipt)
        stats = push.stats()
        assert (stats.dropped_unencodable, stats.dead_messages, stats.redelivered_messages) == (
            0,
            0,
            0,
        )


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
def test_without_a_spool_the_send_is_refused_and_nothing_is_lost(
    world: World, limit: Limit, delivery: str
) -> None:
    """The error says that it is the peer's limit, and which."""
    with (
        world.socket("Push", bind=UP, delivery=delivery) as push,
        world.socket("Pull", connect=push.endpoint, **limit.options) as pull,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        for body in small(20):
            push.send(body)
        size, frames = push.peers()[0].takes_bytes, push.peers()[0].takes_frames
        with pytest.raises(mm.TooLargeError, match=rf"its peer takes {size:,} bytes in {frames:,}"):
            push.send_frames(limit.over)
        push.send_frames(limit.most)
        assert taken(pull, 21) == [*([body] for body in small(20)), limit.most]
        assert not ended(pull)
        assert push.stats().sent_messages == 21
        assert push.stats().dropped_unencodable == 0


def test_it_is_refused_as_well_while_others_wait_for_room(world: World) -> None:
    """Else it would wait with them, for a peer that never has it."""
    with (
        world.socket("Push", bind=UP, delivery="at_least_once") as push,
        world.socket("Pull", connect=push.endpoint, prefetch=1, message_size_max=1000) as pull,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        for body in small(COUNT):
            push.send(body)
        with pytest.raises(mm.TooLargeError, match="its peer takes 1,000 bytes"):
            push.send(b"o" * 1001)
        assert taken(pull, COUNT) == [[body] for body in small(COUNT)]
        nothing(pull)


def test_of_many_at_once_the_one_that_is_too_large_is_named(world: World) -> None:
    """Those in front of it are sent, as of any other that is refused."""
    with (
        world.socket("Push", bind=UP) as push,
        world.socket("Pull", connect=push.endpoint, message_size_max=1000) as pull,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match="its peer takes 1,000 bytes"):
            push.send_many([*small(), b"o" * 1001, b"behind"])
        assert taken(pull, COUNT) == [[body] for body in small()]
        nothing(pull)
        assert not ended(pull)


@pytest.mark.parametrize("spooled", [True, False])
def test_of_two_peers_the_one_that_takes_it_gets_it(
    world: World, limit: Limit, spooled: bool, tmp_path: Path
) -> None:
    """Each of them; what both take goes to both."""
    own = {"spool": world.spool(tmp_path / "s")} if spooled else {"delivery": "at_least_once"}
    with (
        world.socket("Push", bind=UP, **own) as push,
        world.socket("Pull", connect=push.endpoint, prefetch=4, **limit.options) as pull,
        world.socket("Pull", connect=push.endpoint, prefetch=4) as other,
    ):
        push.wait_for_peers(2, timeout=WAIT_S)
        bodies = small(40)
        for body in bodies:
            push.send(body)
            push.send_frames([*limit.over[:-1], limit.over[-1] + body])
        got: list[list[list[bytes]]] = [[], []]
        while sum(map(len, got)) < 80:
            for one, own_got in zip((pull, other), got, strict=True):
                try:
                    frames = one.recv_frames(timeout=0.01)
                except mm.TimedOutError:
                    continue
                own_got.append([bytes(frame) for frame in frames])
        large = [f for f in got[1] if len(f) > 1 or len(f[0]) > 3]
        assert sorted(large) == sorted([*limit.over[:-1], limit.over[-1] + body] for body in bodies)
        assert all(frames in [[b] for b in bodies] for frames in got[0])
        assert got[0]
        assert not ended(pull)
        assert not [e for e in push.events() if e.kind is mm.EventKind.UNSENDABLE]


MIXED = [b"%d" % i + b"." * (1500 if i % 7 == 3 else 10) for i in range(200)]
"""Small ones, which stand in segments, and between them some that are over 1,000."""


@pytest.mark.parametrize("spooled", [True, False])
def test_what_was_sent_before_it_came_is_looked_at_one_by_one(
    world: World, spooled: bool, tmp_path: Path
) -> None:
    """Also what stands in segments, that were made for a peer that takes all of it."""
    own = {"spool": world.spool(tmp_path / "s")} if spooled else {"delivery": "at_least_once"}
    with world.socket("Push", bind=UP, **own) as push:
        with world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=1):
            push.wait_for_peers(timeout=WAIT_S)
            receipts = [push.send(body, confirm=i % 50 == 0) for i, body in enumerate(MIXED)]
        wait_until(lambda: push.stats().peers == 0)
        fit = [body for body in MIXED if len(body) <= 1000]
        with world.socket("Pull", connect=push.endpoint, message_size_max=1000) as pull:
            got = [bytes(frames[0]) for frames in taken(pull, len(fit))]
            assert sorted(got) == sorted(fit)
            nothing(pull)
            assert not ended(pull)
        wait_until(lambda: push.stats().peers == 0)
        over = [body for body in MIXED if len(body) > 1000]
        with world.socket("Pull", connect=push.endpoint) as other:
            got = [bytes(frames[0]) for frames in taken(other, len(over))]
            assert sorted(got) == sorted(over)
            nothing(other)
            for receipt in receipts[::50]:
                world.wait(receipt)
        assert push.stats().dropped_unencodable == 0


def test_what_is_not_acknowledged_is_dropped_and_told_where_nobody_takes_it() -> None:
    """It was accepted while somebody was there who would have."""
    with mm.Push(bind=UP, delivery="at_most_once") as push:
        with saying("1"), mm.Pull(connect=push.endpoint, recv_queue_messages=1) as busy:
            push.wait_for_peers(timeout=WAIT_S)
            body, sent = b"o" * 200_000, 0
            while True:
                try:
                    push.send(body, timeout=0.2)
                    sent += 1
                except mm.TimedOutError:
                    break
            busy.recv(timeout=WAIT_S)
        wait_until(lambda: push.stats().peers == 0)
        waits = push.stats().queued_out_messages
        assert waits > 1
        with mm.Pull(connect=push.endpoint, message_size_max=1000) as pull:
            push.wait_for_peers(timeout=WAIT_S)
            push.send(b"behind")
            assert bytes(pull.recv(timeout=WAIT_S)) == b"behind"
            assert not ended(pull)
        assert push.stats().dropped_unencodable == waits
        told_of: list[str] = []

        def why() -> bool:
            told_of.extend(e.detail for e in push.events() if e.kind is mm.EventKind.DROPPED)
            return any("larger than the peer says it takes" in detail for detail in told_of)

        wait_until(why)


def test_with_keys_it_goes_to_another_peer_than_others_of_its_key(
    world: World, limit: Limit
) -> None:
    """The owner of a key is, of those that take the message, always the same."""
    with (
        world.socket("Push", bind=UP, routing="hash", delivery="at_least_once") as push,
        world.socket("Pull", connect=push.endpoint, **limit.options) as pull,
        world.socket("Pull", connect=push.endpoint) as other,
    ):
        push.wait_for_peers(2, timeout=WAIT_S)
        for i in range(30):
            push.send_frames(limit.over, key=b"k%d" % i)
            push.send(b"%d" % i, key=b"k%d" % i)
        got: list[list[bytes]] = []
        mine: list[list[bytes]] = []
        while len(got) + len(mine) < 60:
            for one, to in ((other, got), (pull, mine)):
                try:
                    to.append([bytes(f) for f in one.recv_frames(timeout=0.01)])
                except mm.TimedOutError:
                    continue
        assert sum(frames == limit.over for frames in got) == 30
        assert mine
        assert limit.over not in mine
        assert not ended(pull)


def test_in_a_group_it_waits_for_a_member_that_takes_it(
    world: World, limit: Limit, tmp_path: Path
) -> None:
    """The group goes on behind it, and its place stays in front of it."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with member(world, pub, **limit.options) as sub:
            joined(pub, 1)
            pub.send_frames(limit.over)
            pub.send_frames(limit.most)
            for body in small():
                pub.send(body)
            assert taken(sub, 1 + COUNT) == [limit.most, *([body] for body in small())]
            nothing(sub)
            until(pub, lambda one: one.acked == 1 + COUNT)
            assert info(pub).floor == 0
            assert not ended(sub)
            with member(world, pub) as other:
                joined(pub, 2)
                assert taken(other, 1) == [limit.over]
                nothing(other)
                until(pub, lambda one: one.floor == 2 + COUNT)
        assert pub.stats().dropped_unencodable == 0


def test_the_end_of_a_socket_does_not_wait_for_it(world: World, tmp_path: Path) -> None:
    """What waits in the spool is there in the next life; drain and finish say that it waits."""
    over = b"o" * 1001
    with world.life(tmp_path / "s") as (_, push):
        with world.socket("Pull", connect=push.endpoint, message_size_max=1000) as pull:
            push.wait_for_peers(timeout=WAIT_S)
            push.send(over)
            push.send(b"fits")
            assert taken(pull, 1) == [[b"fits"]]
            nothing(pull)
            push.finish()
            with pytest.raises(mm.TimedOutError):
                pull.recv(timeout=0.05)  # no end is told while it waits
            wait_until(lambda: push.drain(timeout=0).unconfirmed == 0)
            assert push.drain(timeout=0.05).queued == 1
    with (
        world.life(tmp_path / "s") as (_, push),
        world.socket("Pull", connect=push.endpoint) as pull,
    ):
        assert taken(pull, 1) == [[over]]
        nothing(pull)
        wait_until(lambda: push.drain(timeout=0).queued == 0)


def test_it_is_no_attempt_and_no_dead_letter(world: World, tmp_path: Path) -> None:
    """Peers come and go that do not take it: `max_attempts` counts none of them."""
    with world.life(tmp_path / "s", push_max_attempts=1) as (_, push):
        push.send(b"o" * 1001)
        for _ in range(3):
            with world.socket("Pull", connect=push.endpoint, message_size_max=1000) as pull:
                push.wait_for_peers(timeout=WAIT_S)
                push.send(b"fits")
                assert taken(pull, 1) == [[b"fits"]]
                nothing(pull)
        assert push.stats().dead_messages == 0
        with world.socket("Pull", connect=push.endpoint) as other:
            assert taken(other, 1) == [[b"o" * 1001]]
            nothing(other)


def test_a_peer_that_does_not_say_it_is_as_ever(tmp_path: Path) -> None:
    """An older meshmsg: it ends the connection, and the message comes back."""
    with (
        mm.Push(bind=UP, delivery="at_least_once", max_attempts=2) as push,
        saying("1 refuse stop ack meta") as old,
        mm.Pull(connect=push.endpoint, engine=old, message_size_max=1000) as pull,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        assert (push.peers()[0].takes_bytes, push.peers()[0].takes_frames) == (None, None)
        push.send(b"o" * 1001)
        wait_until(lambda: push.stats().dropped_attempts == 1)
        reasons = {event.reason for event in ended(pull)}
        assert mm.Reason.MESSAGE_SIZE in reasons
