"""Messages that are more than a peer says it takes, of roles that share nothing out: who is asked,
who answers, who publishes. The one that cannot have it does not; others do, and no connection ends.

Not here: Push and groups (test_takes.py), the word itself (test_takes_wire.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import UP, World, nothing
from tests.support.inloop import LoopThread
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing

LITTLE = 1000
"""Bytes that the smaller peer takes."""
KINDS = mm.EventKind


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def stays(*sockets: Any) -> None:
    """No connection of theirs ended."""
    for socket in sockets:
        assert not [event for event in socket.events() if event.kind is KINDS.PEER_DOWN]


def until_told(socket: Any, kind: mm.EventKind, words: str, count: int) -> None:
    """Wait until so many are told of with such words."""
    found: list[int] = []

    def all_told() -> bool:
        found.extend(e.count for e in socket.events() if e.kind is kind and words in e.detail)
        return sum(found) >= count

    wait_until(all_told)
    assert sum(found) == count


def test_a_pub_drops_it_for_that_subscriber_alone(world: World) -> None:
    """Counted, and told with its own words; also of many in one burst."""
    with (
        world.socket("Pub", bind=UP) as pub,
        world.socket("Sub", connect=pub.endpoint, topics="", message_size_max=LITTLE) as little,
        world.socket("Sub", connect=pub.endpoint, topics="") as other,
    ):
        pub.wait_for_subscribers("", count=2, timeout=WAIT_S)
        sizes = [LITTLE + (i % 3) - 1 for i in range(300)]
        for size in sizes:
            pub.send(b"." * size)
        assert [len(other.recv(timeout=WAIT_S)) for _ in sizes] == sizes
        fit = [size for size in sizes if size <= LITTLE]
        assert [len(little.recv(timeout=WAIT_S)) for _ in fit] == fit
        until_told(pub, KINDS.DROPPED, "larger than the peer says it takes", 100)
        assert pub.stats().dropped_unencodable == 100
        assert sorted(peer.dropped_messages for peer in pub.peers()) == [0, 100]
        stays(pub)


@pytest.mark.parametrize("kept", ["retain", "welcome"])
def test_so_is_what_a_subscriber_gets_as_it_comes(world: World, kept: str) -> None:
    """What is retained, and the welcome of an XPub."""
    body = b"." * (LITTLE + 1)
    name, own = ("Pub", {"retain": "last"}) if kept == "retain" else ("XPub", {"welcome": body})
    with world.socket(name, bind=UP, **own) as pub:
        if kept == "retain":
            pub.send_frames([b"t", body])
        with world.socket("Sub", connect=pub.endpoint, topics="", message_size_max=LITTLE) as sub:
            pub.wait_for_peers(timeout=WAIT_S)
            wait_until(lambda: pub.stats().dropped_unencodable == 1)
            pub.send(b"fits")
            assert bytes(sub.recv(timeout=WAIT_S)) == b"fits"
            until_told(pub, KINDS.DROPPED, "larger than the peer says it takes", 1)
            stays(pub)


def test_a_replay_goes_on_behind_it_and_is_told(world: World, tmp_path: Path) -> None:
    """Behind, and live: the numbers go on with the next one."""
    with publishing(world, tmp_path / "s") as (_, pub):
        sizes = [5, LITTLE + 1, LITTLE, LITTLE + 1, LITTLE + 1, 6]
        for size in sizes:
            pub.send(b"." * size)
        with world.socket(
            "Sub", connect=pub.endpoint, topics="", replay="earliest", message_size_max=LITTLE
        ) as sub:
            got = [sub.recv(timeout=WAIT_S) for _ in range(3)]
            assert [(m.seq[1], len(m)) for m in got] == [(1, 5), (3, LITTLE), (6, 6)]
            wait_until(lambda: not pub.stats().queued_out_messages)
            for size in sizes:
                pub.send(b"." * size)
            got = [sub.recv(timeout=WAIT_S) for _ in range(3)]
            assert [(m.seq[1], len(m)) for m in got] == [(7, 5), (9, LITTLE), (12, 6)]
            until_told(sub, KINDS.REPLAY_LOST, "larger than what this socket takes", 6)
            until_told(pub, KINDS.DROPPED, "larger than the peer says it takes", 6)
            assert pub.stats().dropped_unencodable == 6
            stays(pub)


def test_a_request_and_an_answer_are_refused_at_once(world: World) -> None:
    """With the envelope; another one may be given."""
    with (
        world.socket("Rep", bind=UP, message_size_max=LITTLE) as rep,
        world.socket("Req", connect=rep.endpoint, message_size_max=2 * LITTLE) as req,
    ):
        req.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match=r"its peer takes 1,000 bytes"):
            req.request(b"." * (LITTLE - 3), timeout=WAIT_S)
        asked = Later(lambda: req.request(b"." * (LITTLE - 4), timeout=WAIT_S))
        request = rep.recv(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError):
            request.reply(b"." * (LITTLE + 1))
        request.reply(b"." * (LITTLE - 4))
        assert len(asked.result()) == LITTLE - 4
        stays(req)


def test_an_answer_over_what_who_asked_takes_raises(world: World) -> None:
    """The Rep itself takes and sends more."""
    with (
        world.socket("Rep", bind=UP) as rep,
        world.socket("Req", connect=rep.endpoint, message_size_max=LITTLE) as req,
    ):
        asked = Later(lambda: req.request(b"?", timeout=WAIT_S))
        request = rep.recv(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match=r"its peer takes 1,000 bytes"):
            request.reply(b"." * (LITTLE - 3))
        request.reply(b"." * (LITTLE - 4))
        assert len(asked.result()) == LITTLE - 4
        stays(rep)


def test_of_two_reps_the_one_that_takes_it_is_asked(world: World) -> None:
    """Each time."""
    with (
        world.socket("Rep", bind=UP, message_size_max=LITTLE) as little,
        world.socket("Rep", bind=UP) as rep,
        world.socket("Req", connect=[little.endpoint, rep.endpoint]) as req,
    ):
        req.wait_for_peers(2, timeout=WAIT_S)
        for _ in range(4):
            asked = Later(lambda: req.request(b"." * LITTLE, timeout=WAIT_S))
            rep.recv(timeout=WAIT_S).reply(b"yes")
            assert bytes(asked.result()) == b"yes"
        stays(req, little, rep)


@pytest.mark.parametrize("roles", [("Dealer", "Router"), ("Pair", "Pair"), ("Dealer", "Rep")])
def test_a_send_to_an_only_peer_raises(world: World, roles: tuple[str, str]) -> None:
    """What it takes goes."""
    one, other = roles
    front = [b""] if other == "Rep" else []
    with (
        world.socket(other, bind=UP, message_size_max=LITTLE) as there,
        world.socket(one, connect=there.endpoint) as here,
    ):
        here.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match=r"its peer takes 1,000 bytes"):
            here.send_frames([*front, b"." * (LITTLE + 1)])
        here.send_frames([*front, b"." * LITTLE])
        got = there.recv(timeout=WAIT_S) if other == "Rep" else there.recv_frames(timeout=WAIT_S)
        assert len(got if other == "Rep" else got[-1]) == LITTLE
        stays(here, there)


def test_a_router_raises_and_its_peer_stays(world: World) -> None:
    """The name in front is no part of what the peer gets."""
    with (
        world.socket("Router", bind=UP) as router,
        world.socket(
            "Dealer", connect=router.endpoint, identity=b"little", message_size_max=LITTLE
        ) as dealer,
    ):
        router.wait_for_peers(timeout=WAIT_S)
        for size in (LITTLE, LITTLE + 1):
            named = [b"little", b"." * size]
            if size > LITTLE:
                with pytest.raises(mm.TooLargeError):
                    router.send_frames(named)
            else:
                router.send_frames(named)
                assert len(dealer.recv(timeout=WAIT_S)) == size
        stays(router)


def test_a_bus_leaves_out_the_one(world: World) -> None:
    """As a Pub does."""
    with (
        world.socket("Bus", bind=UP) as bus,
        world.socket("Bus", connect=bus.endpoint, message_size_max=LITTLE) as little,
        world.socket("Bus", connect=bus.endpoint) as other,
    ):
        bus.wait_for_peers(2, timeout=WAIT_S)
        bus.send(b"." * (LITTLE + 1))
        bus.send(b"." * LITTLE)
        assert [len(other.recv(timeout=WAIT_S)) for _ in range(2)] == [LITTLE + 1, LITTLE]
        assert len(little.recv(timeout=WAIT_S)) == LITTLE
        nothing(little)
        assert bus.stats().dropped_unencodable == 1
        stays(bus)


def test_a_survey_is_of_those_that_take_it() -> None:
    """It does not wait for the others; where nobody takes it, it raises."""
    with (
        mm.Surveyor(bind=UP) as surveyor,
        mm.Respondent(connect=surveyor.endpoint, message_size_max=LITTLE) as little,
    ):
        surveyor.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match=r"its peer takes 1,000 bytes"):
            list(surveyor.survey(b"." * (LITTLE - 3), deadline=WAIT_S))
        with mm.Respondent(connect=surveyor.endpoint) as other:
            surveyor.wait_for_peers(2, timeout=WAIT_S)
            asked = Later(lambda: list(surveyor.survey(b"." * (LITTLE - 3), deadline=WAIT_S)))
            other.recv(timeout=WAIT_S).reply(b"yes")
            assert [bytes(answer) for answer in asked.result()] == [b"yes"]
            nothing(little)
            stays(surveyor)
