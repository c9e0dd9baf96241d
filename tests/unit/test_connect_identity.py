"""A Router names the peer it dials: `connect(url, identity=)`, sync and asyncio.

Not here: libzmq at the other end (tests/interop/test_connect_identity.py).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.testing import SimWorld
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, endpoint_for, of_its_own, told, wait_until
from tests.support.rawpeer import RawPeer


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
@pytest.mark.parametrize("own", [b"", b"bert"], ids=["nameless", "named"])
@pytest.mark.parametrize("kind", [mm.Dealer, mm.Router, mm.Req])
def test_the_peer_has_the_name_it_was_dialed_by(
    kind: Callable[..., Any], own: bytes, transport: str, short_path: Path
) -> None:
    """In peers(), to send to, and of what comes; whatever it calls itself."""
    url = endpoint_for(transport, short_path)
    with kind(bind=url, identity=own) as peer, mm.Router(identity=b"us") as router:
        router.connect(peer.endpoint, identity=b"anna")
        router.wait_for_peers(timeout=WAIT_S)
        peer.wait_for_peers(timeout=WAIT_S)
        assert [p.identity for p in router.peers()] == [b"anna"]
        if own:
            with pytest.raises(mm.PeerError, match=r"known: \[b'anna'\]"):
                router.send(b"x", to=own)
        if kind is mm.Req:
            return
        router.send(b"out", to=b"anna")
        assert peer.recv(timeout=WAIT_S) == b"out"
        peer.send_frames([b"us", b"back"] if kind is mm.Router else [b"back"])
        message = router.recv(timeout=WAIT_S)
        assert (message, message.peer) == (b"back", b"anna")


def test_the_name_stays_when_the_peer_comes_again() -> None:
    """Another process, another identity of its own: what is meant is who is at that endpoint."""
    with mm.Router(reconnect_max=0.05) as router:
        url = of_its_own()
        for turn in range(3):
            with mm.Dealer(bind=url, identity=b"%d" % turn) as dealer:
                url = dealer.endpoint
                if turn == 0:
                    router.connect(url, identity=b"there")
                router.wait_for_peers(timeout=WAIT_S)
                router.send(b"%d" % turn, to=b"there")
                assert dealer.recv(timeout=WAIT_S) == b"%d" % turn
            wait_until(lambda: not router.peers())
        router.disconnect(url)
        router.connect(url, identity=b"there")  # the name is free again


def test_asyncio_names_them_too() -> None:
    """With the same call."""

    async def run() -> None:
        async with aio.Dealer(bind="tcp://127.0.0.1:0") as one, aio.Router() as router:
            router.connect(one.endpoint, identity=b"one")
            await router.wait_for_peers(timeout=WAIT_S)
            await router.send(b"x", to=b"one")
            assert await one.recv(timeout=WAIT_S) == b"x"

    asyncio.run(run())


def test_one_name_is_of_one_endpoint() -> None:
    """Refused at once, before anything is dialed."""
    with mm.Router() as router:
        router.connect("inproc://a", identity=b"x")
        with pytest.raises(mm.UsageError, match=re.escape("has the identity b'x'")) as error:
            router.connect("inproc://b", identity=b"x")
        assert error.value.address == "inproc://b"
        assert router.stats().dialers == 1
        router.connect("inproc://b", identity=b"y")
        router.connect("inproc://c")
        router.connect("inproc://c")


@pytest.mark.parametrize("handover", [False, True])
def test_a_name_that_a_peer_took_before_is_told(handover: bool) -> None:
    """As of any two peers of one name; handover= decides who stays."""
    with (
        mm.Router(bind=of_its_own(), handover=handover) as router,
        mm.Dealer(bind="inproc://second") as second,
        RawPeer(router.endpoint) as first,  # which does not come back to take the name again
    ):
        first.send(ref.greeting() + ref.ready(b"DEALER", (b"Identity", b"x")))
        router.wait_for_peers(timeout=WAIT_S)
        router.connect(second.endpoint, identity=b"x")
        if handover:
            wait_until(lambda: [p for p in router.peers() if p.outgoing])
            router.send(b"for the second", to=b"x")
            assert second.recv(timeout=WAIT_S) == b"for the second"
        else:
            told(router, "a connected peer has this identity")


@pytest.mark.parametrize(
    ("bad", "error"),
    [(bytes(256), mm.UsageError), (b"\0x", mm.UsageError), ("x", TypeError), (5, TypeError)],
)
def test_what_is_no_identity_is_refused(bad: Any, error: type[Exception]) -> None:
    """As in the constructor."""
    with mm.Router() as router:
        with pytest.raises(error, match="identity"):
            router.connect("inproc://x", identity=bad)
        with pytest.raises(mm.AddressError, match="the port is missing"):
            router.connect("tcp://x", identity=b"x")
        with pytest.raises(mm.UsageError, match="speaks no SP"):
            router.connect("sp+tcp://127.0.0.1:1", identity=b"x")
        assert router.stats().dialers == 0
        router.connect("inproc://x", identity=b"y" * 255)


def test_only_a_router_can_name_whom_it_dials() -> None:
    """What a role cannot do is absent."""
    with mm.Dealer() as dealer, pytest.raises(TypeError, match="identity"):
        dealer.connect("inproc://x", identity=b"x")  # type: ignore[call-arg]


@pytest.mark.parametrize("seed", range(5))
def test_names_hold_through_faults(seed: int) -> None:
    """Of ten peers, each gets what was sent to its name, whatever breaks in between."""
    with SimWorld(seed) as world:
        dealers = [
            mm.Dealer(engine=world.engine(), bind=f"tcp://127.0.0.1:{5000 + i}") for i in range(10)
        ]
        router = mm.Router(engine=world.engine(), reconnect_max=0.1)
        for i, dealer in enumerate(dealers):
            router.connect(dealer.endpoint, identity=b"d%d" % i)
        for _ in range(5):
            router.wait_for_peers(10, timeout=WAIT_S)
            for i, dealer in enumerate(dealers):
                router.send(b"%d" % i, to=b"d%d" % i)
                assert dealer.recv(timeout=WAIT_S) == b"%d" % i
            world.reset_all()
            world.run(1)
        for socket in (router, *dealers):
            socket.close()
