"""XPub by hand: its application decides what a peer gets; and the welcome of new subscribers."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.hostile.test_hostile_roles import pong
from tests.interop.zmqside import zmq_socket
from tests.sim.scenes import check_counters
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, endpoint_for
from tests.support.rawpeer import RawPeer
from tests.support.room import UP, all_there, room
from tests.support.stalled import PATIENCE_S

LOOPBACK = "tcp://127.0.0.1:0"
transports = pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])


@transports
def test_a_peer_gets_what_the_application_says_and_not_what_it_asked_for(
    transport: str, short_path: Path
) -> None:
    """Two peers ask for the same; one is given another topic in its place, the other nothing."""
    with (
        mm.XPub(bind=endpoint_for(transport, short_path), manual=True) as xpub,
        mm.XSub(connect=xpub.endpoint) as one,
        mm.XSub(connect=xpub.endpoint) as two,
    ):
        one.send(b"\x01secret")
        asked = xpub.recv(timeout=WAIT_S)
        two.send(b"\x01secret")
        other = xpub.recv(timeout=WAIT_S)
        assert asked == other == b"\x01secret"
        assert asked.peer != other.peer
        assert xpub.subscribers("secret") == 0
        assert isinstance(asked.peer, int)
        assert xpub.subscribe("public", peer=asked.peer)
        assert xpub.subscribe("public", peer=asked.peer)
        assert (xpub.subscribers("secret"), xpub.subscribers("public")) == (0, 1)
        for topic in ("secret", "public"):
            xpub.send(b"x", topic=topic)
        assert one.recv(timeout=WAIT_S).topic == "public"
        assert xpub.unsubscribe("public", peer=asked.peer)
        assert not xpub.unsubscribe("public", peer=asked.peer)
        xpub.send(b"y", topic="public")
        xpub.drain(timeout=WAIT_S).raise_for_loss()
        for sub in (one, two):
            with pytest.raises(mm.WouldBlockError):
                sub.recv(timeout=0)


def test_who_waits_for_subscribers_is_told_of_what_is_given() -> None:
    """From another thread; and what was given ends with the peer, whose cancellation is heard."""
    with mm.XPub(bind=LOOPBACK, manual=True) as xpub:
        with mm.Sub(connect=xpub.endpoint, topics="t") as sub:
            asked = xpub.recv(timeout=WAIT_S)
            assert isinstance(asked.peer, int)
            giving = threading.Thread(
                target=xpub.subscribe, args=("t",), kwargs={"peer": asked.peer}
            )
            giving.start()
            xpub.wait_for_subscribers("t", timeout=WAIT_S)
            giving.join(WAIT_S)
            xpub.send(b"x", topic="t")
            assert sub.recv(timeout=WAIT_S) == b"x"
        gone = xpub.recv(timeout=WAIT_S)
        assert (gone, gone.peer) == (b"\x00t", asked.peer)
        assert xpub.subscribers("t") == 0
        assert not xpub.subscribe("t", peer=asked.peer)
        assert not xpub.unsubscribe("t", peer=asked.peer)


def changes_its_mind(sub: mm.Sub | RawPeer) -> None:
    """Subscribe, cancel and subscribe; the publisher has read it on return."""
    if isinstance(sub, mm.Sub):
        sub.subscribe("t")
        sub.unsubscribe("t")
        sub.subscribe("t")
        sub.wait_for_subscribed(timeout=WAIT_S)
    else:
        sub.send(ref.subscription(True, b"t"))
        sub.send(ref.subscription(False, b"t") + ref.subscription(True, b"t"))
        pong(sub)


@pytest.mark.parametrize("raw", [False, True], ids=["ours", "raw"])
def test_who_changed_its_mind_before_anybody_looked_gets_what_it_asked_for_last(raw: bool) -> None:
    """The application does as each notice says; the last one is what is so."""
    with ExitStack() as ends:
        xpub = ends.enter_context(mm.XPub(bind=LOOPBACK, manual=True))
        sub: mm.Sub | RawPeer
        if raw:
            sub = ends.enter_context(RawPeer(xpub.endpoint).shake(b"SUB"))
        else:
            sub = ends.enter_context(mm.Sub(connect=xpub.endpoint, topics=()))
            xpub.wait_for_peers(timeout=WAIT_S)
        changes_its_mind(sub)
        notice = xpub.recv(timeout=WAIT_S)
        assert notice == b"\x01t"
        assert isinstance(notice.peer, int)
        assert xpub.subscribe("t", peer=notice.peer)
        assert all_there(xpub) == []
        assert xpub.subscribers("t") == 1
        xpub.send(b"x", topic="t")
        if isinstance(sub, mm.Sub):
            assert sub.recv(timeout=WAIT_S) == b"x"


@pytest.mark.parametrize("kind", [{}, {"verbose": True}, {"manual": True}])
def test_one_topic_that_flaps_costs_no_more_than_two_notices(kind: dict[str, bool]) -> None:
    """However often one peer does it."""
    with mm.XPub(bind=LOOPBACK, **kind) as xpub, RawPeer(xpub.endpoint).shake(b"SUB") as peer:
        for _ in range(20):
            peer.send((ref.subscription(True, b"t") + ref.subscription(False, b"t")) * 100)
            pong(peer)
        assert all_there(xpub) == [b"\x01t", b"\x00t"]
        assert xpub.subscribers("t") == 0


@pytest.mark.parametrize("seed", range(5))
def test_what_is_given_and_what_is_asked_for_are_apart(seed: int) -> None:
    """Simulated: each peer of three gets its own letter; its requests say so, to the last."""
    with room(seed, latency=(0.001, 0.1)) as r:
        xpub = r.open("XPub", engine=r.hub, bind=UP, manual=True, welcome=b"w")
        subs = [r.open("XSub", connect=xpub.endpoint) for _ in range(3)]
        for number, sub in enumerate(subs):
            for _ in range(2):
                sub.send(b"\x01%d" % number)
        asked = [xpub.recv(timeout=PATIENCE_S) for _ in subs]
        assert sorted(asked) == [b"\x010", b"\x011", b"\x012"]
        for notice in asked:
            assert xpub.subscribe("all", peer=notice.peer)
            assert xpub.subscribe(b"only" + notice[1:], peer=notice.peer)
        for number in range(3):
            xpub.send(b"x", topic=f"only{number}")
        xpub.send(b"x", topic="all")
        for number, sub in enumerate(subs):
            found = sub.recv_many(timeout=PATIENCE_S)
            while len(found) < 3:
                found += sub.recv_many(timeout=PATIENCE_S)
            assert [(m.topic, m) for m in found] == [
                ("", b"w"), (f"only{number}", b"x"), ("all", b"x")
            ]  # fmt: skip
        subs[0].close()
        assert all_there(xpub) == [b"\x000"]
        assert xpub.subscribers("all") == 2
        check_received(xpub)
        for sub in subs[1:]:
            check_counters(sub)


def check_received(xpub: mm.XPub) -> None:
    """The identity of what came in."""
    stats = xpub.stats()
    assert stats.parsed_messages == stats.received_messages + stats.queued_in_messages


@transports
@pytest.mark.parametrize("role", ["Sub", "XSub"])
def test_a_new_subscriber_is_welcomed_before_anything_else(
    role: str, transport: str, short_path: Path
) -> None:
    """Once, at its first subscription, beside a flood of messages; and again if it comes back."""
    endpoint = endpoint_for(transport, short_path)
    with mm.XPub(bind=endpoint, welcome=b"hello") as xpub:
        for _ in range(2):
            with getattr(mm, role)(connect=xpub.endpoint) as sub:
                sub.wait_for_peers(timeout=WAIT_S)
                xpub.send(b"early")
                sub.subscribe("")
                sub.subscribe("hello")
                for number in range(100):
                    xpub.send(b"%d" % number)
                sub.wait_for_subscribed(timeout=WAIT_S)
                xpub.send(b"last")
                found = [sub.recv(timeout=WAIT_S)]
                while found[-1] != b"last":
                    found.append(sub.recv(timeout=WAIT_S))
                assert found.count(b"hello") == 1
                assert found[0] == b"hello"


def test_the_books_of_a_welcome_balance() -> None:
    """It is sent once to each."""
    with room() as r:
        xpub = r.open("XPub", engine=r.hub, bind=UP, welcome=b"hello")
        subs = [r.open("Sub", connect=xpub.endpoint, topics="h") for _ in range(3)]
        for sub in subs:
            assert sub.recv(timeout=PATIENCE_S) == b"hello"
            check_counters(sub)
        xpub.drain(timeout=PATIENCE_S).raise_for_loss()
        stats = xpub.stats()
        assert (stats.sent_messages, stats.written_messages, stats.sent_bytes) == (3, 3, 15)


def test_libzmq_subscribers_are_welcomed_and_run_by_hand() -> None:
    """A SUB of libzmq subscribed to the welcome's topic, and gets what the application says."""
    with (
        mm.XPub(bind=LOOPBACK, welcome=b"Welcome", manual=True) as xpub,
        zmq_socket(zmq.SUB) as theirs,
    ):
        for topic in (b"W", b"A"):
            theirs.setsockopt(zmq.SUBSCRIBE, topic)
        theirs.connect(xpub.endpoint)
        assert theirs.recv() == b"Welcome"
        asked = sorted((xpub.recv(timeout=WAIT_S) for _ in range(2)), key=bytes)
        assert asked == [b"\x01A", b"\x01W"]
        assert isinstance(asked[0].peer, int)
        assert xpub.subscribe("A", peer=asked[0].peer)
        xpub.send(b"no", topic="W")
        xpub.send(b"yes", topic="A")
        assert theirs.recv_multipart() == [b"A", b"yes"]


def test_what_is_wrong_is_said() -> None:
    """Not by hand; a topic or a welcome that is too large, or no bytes; a closed socket."""
    for module in (mm, aio):
        xpub = module.XPub(topic_size_max=3)
        try:
            with pytest.raises(mm.UsageError, match="open it with manual=True"):
                xpub.subscribe("t", peer=1)
        finally:
            xpub.close()
        bad: Any = "text"
        with pytest.raises(TypeError, match="welcome is str; it is bytes"):
            module.XPub(welcome=bad)
        with pytest.raises(mm.TooLargeError, match="7 bytes"):
            module.XPub(welcome=b"welcome", message_size_max=6)
    with mm.XPub(manual=True, topic_size_max=3) as by_hand:
        with pytest.raises(mm.TooLargeError):
            by_hand.subscribe("long", peer=1)
        assert not by_hand.subscribe("t", peer=12345)
    with pytest.raises(mm.ClosedError):
        by_hand.unsubscribe("t", peer=1)


def test_asyncio_runs_it_by_hand_as_well() -> None:
    """subscribe never waits, so it is an ordinary function there too."""

    async def scene() -> None:
        async with (
            aio.XPub(bind=LOOPBACK, manual=True, welcome=b"t: hello") as xpub,
            aio.Sub(connect=xpub.endpoint, topics="t") as sub,
        ):
            asked = await xpub.recv(timeout=WAIT_S)
            assert asked == b"\x01t"
            assert isinstance(asked.peer, int)
            waiting = asyncio.ensure_future(xpub.wait_for_subscribers("t", timeout=WAIT_S))
            assert xpub.subscribe("t", peer=asked.peer)
            await waiting
            await xpub.send(b"x", topic="t")
            assert [await sub.recv(timeout=WAIT_S) for _ in range(2)] == [b"t: hello", b"x"]

    asyncio.run(scene())


@pytest.mark.parametrize("name", ["subscribe", "unsubscribe"])
def test_what_is_no_number_of_a_peer_is_refused_in_words(name: str) -> None:
    """Not by an error of the C binding."""
    with mm.XPub(manual=True) as xpub:
        decide = getattr(xpub, name)
        for bad in (-1, 0, 2**64):
            with pytest.raises(mm.UsageError, match=f"peer is {bad}; peers have numbers from 1"):
                decide("t", peer=bad)
        for wrong in ("1", b"1", None, 1.0, True):
            with pytest.raises(TypeError, match="peer is .*; it is a number, as in message.peer"):
                decide("t", peer=wrong)
        assert not decide("t", peer=2**64 - 1)
