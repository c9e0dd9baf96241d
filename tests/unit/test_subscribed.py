"""wait_for_subscribed: which publishers have the topics, for certain or probably."""

from __future__ import annotations

import asyncio
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, endpoint_for, wait_until
from tests.support.room import UP, room
from tests.support.stalled import PATIENCE_S


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
@pytest.mark.parametrize("role", ["Sub", "XSub"])
def test_what_is_published_afterwards_arrives(role: str, transport: str, short_path: Path) -> None:
    """A thousand topics, one more each time: the first message under it is not missed."""
    with (
        mm.Pub(bind=endpoint_for(transport, short_path)) as pub,
        getattr(mm, role)(connect=pub.endpoint) as sub,
    ):
        for number in range(1000):
            sub.subscribe(f"{number}.")
        for number in range(20):
            sub.subscribe(f"more {number}")
            known = sub.wait_for_subscribed(timeout=WAIT_S)
            assert known == len(known.certain) == 1
            assert known.certain[0].meshmsg
            pub.send(b"x", topic=f"more {number}")
            assert sub.recv(timeout=WAIT_S).topic == f"more {number}"


@pytest.mark.parametrize("seed", range(5))
def test_every_peer_has_to_know_and_count_is_the_least_of_them(seed: int) -> None:
    """Simulated: three publishers at once, latency, and beats of the heart in between."""
    with room(seed, latency=(0.001, 0.3)) as r:
        pubs = [r.open("Pub", bind=UP) for _ in range(3)]
        sub = r.open("Sub", engine=r.hub, connect=[pub.endpoint for pub in pubs], topics="t")
        assert sub.wait_for_subscribed(3, timeout=PATIENCE_S) == 3
        for number in range(10):
            r.world.run(seed + 0.9 * number)
            topic = f"late {number}"
            sub.subscribe(topic)
            assert sub.wait_for_subscribed(timeout=PATIENCE_S) == 3
            assert [pub.subscribers(topic) for pub in pubs] == [1, 1, 1]
        with pytest.raises(mm.TimedOutError, match="3 of 4 peers known to have all topics"):
            sub.wait_for_subscribed(4, timeout=1)
        with pytest.raises(mm.UsageError, match="count is -1"):
            sub.wait_for_subscribed(-1)


def test_a_full_queue_is_told_of_where_the_answer_is_behind_it() -> None:
    """Nothing is read until somebody receives; then the same call comes back."""
    with (
        mm.Pub(bind="tcp://127.0.0.1:0", overflow="block") as pub,
        mm.Sub(connect=pub.endpoint, recv_queue_messages=10, topics="a") as sub,
    ):
        pub.wait_for_subscribers("a", count=1, timeout=WAIT_S)
        with ThreadPoolExecutor(1) as more:
            sent = more.submit(lambda: [pub.send(b"x" * 4096, topic="a") for _ in range(5000)])
            wait_until(lambda: sub.stats().queued_in_messages >= 10)
            sub.subscribe("b")
            with pytest.raises(
                mm.TimedOutError, match=r"\d+ messages wait to be received"
            ) as error:
                sub.wait_for_subscribed(timeout=0.2)
            assert "receive queue is full" in str(error.value)
            got = 0
            while got < 5000:
                got += len(sub.recv_many(timeout=WAIT_S))
            assert len(sent.result()) == 5000
        assert sub.wait_for_subscribed(timeout=WAIT_S) == 1


def test_nobody_is_there() -> None:
    """It waits for the first peer, and says so in vain."""
    with mm.Sub(bind="tcp://127.0.0.1:0", topics="t") as sub:
        with pytest.raises(mm.WouldBlockError, match="0 of 1 peer known"):
            sub.wait_for_subscribed(timeout=0)
        assert sub.wait_for_subscribed(0, timeout=0) == 0
        with mm.Pub(connect=sub.endpoint):
            assert sub.wait_for_subscribed(timeout=WAIT_S) == 1


def test_a_peer_of_sp_is_not_certain_to_have_us_among_its_peers() -> None:
    """It sends everything, once it has; nothing tells when: of NNG a while after its hello."""
    with mm.Pub(bind="tcp://127.0.0.1:0") as pub:
        with mm.Sub(connect=f"sp+{pub.endpoint}", topics="t") as sub:
            known = sub.wait_for_subscribed(timeout=WAIT_S)
            assert (int(known), len(known.written)) == (0, 1)
            assert not known.written[0].meshmsg, "SP has no words for it"


def publisher(
    minor: int, *more: tuple[bytes, bytes]
) -> tuple[socket.socket, socket.socket, mm.Sub]:
    """A raw publisher, and a Sub of one topic connected to it."""
    server = socket.create_server(("127.0.0.1", 0))
    sub = mm.Sub(connect=f"tcp://127.0.0.1:{server.getsockname()[1]}", topics="t")
    peer, _ = server.accept()
    peer.settimeout(WAIT_S)
    peer.sendall(ref.greeting(minor=minor) + ref.ready(b"PUB", *more))
    return server, peer, sub


def test_a_peer_of_zmtp_30_cannot_say() -> None:
    """It is waited for until the subscription was written, and not counted."""
    server, peer, sub = publisher(0)
    with server, peer, sub:
        known = sub.wait_for_subscribed(timeout=WAIT_S)
        assert known == 0
        assert [peer.zmtp_minor for peer in known.written] == [0]
        assert known.certain == known.probable == ()


def ping_of(peer: socket.socket) -> bytes:
    """The context of the next PING that comes; what was said before it is read over."""
    said = b""
    while len(said.partition(b"\x04PING")[2]) < 18:
        said += peer.recv(1)
    return said[-16:]


@pytest.mark.parametrize("of_meshmsg", [True, False])
def test_only_the_answer_to_a_ping_behind_the_subscription_proves_it(of_meshmsg: bool) -> None:
    """The answer to an earlier PING does not, however late or often it comes; that of a stranger
    makes it probable."""
    server, peer, sub = publisher(1, *([(b"X-Meshmsg", b"1")] if of_meshmsg else []))
    with server, peer, sub, ThreadPoolExecutor() as pool:
        sub.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.WouldBlockError, match="0 of 1 peer known"):
            sub.wait_for_subscribed(timeout=0)
        early = ping_of(peer)
        sub.subscribe("u")
        waiting = pool.submit(sub.wait_for_subscribed, timeout=WAIT_S)
        for _ in range(2):
            peer.sendall(ref.pong(early))
            late = ping_of(peer)  # it asks again, as that proved nothing
            assert not waiting.done()
        peer.sendall(ref.pong(late))
        known = waiting.result(WAIT_S)
        assert known == len(known.certain) == of_meshmsg
        assert len(known.probable) == (not of_meshmsg)
        assert pickle.loads(pickle.dumps(known)).probable == known.probable


def test_asyncio_waits_as_well() -> None:
    """The same, awaited; also for a peer that comes later, and for one that goes."""

    async def scene() -> None:
        async with aio.Sub(topics="t") as sub:
            waiting = asyncio.ensure_future(sub.wait_for_subscribed(2, timeout=WAIT_S))
            async with aio.Pub(bind="tcp://127.0.0.1:0") as one, aio.XPub(bind="inproc://x") as two:
                sub.connect(one.endpoint)
                sub.connect(two.endpoint)
                assert await waiting == 2
                sub.subscribe("u")
                known = await sub.wait_for_subscribed(2, timeout=WAIT_S)
                assert [peer.role for peer in known.certain] == ["PUB", "XPUB"]
                assert one.subscribers("u") == two.subscribers("u") == 1
            with pytest.raises(mm.WouldBlockError):
                await sub.wait_for_subscribed(3, timeout=0)

    asyncio.run(scene())
