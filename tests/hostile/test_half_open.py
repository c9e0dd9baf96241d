"""Who says nothing, from one address or several, against those who do: CURVE, TLS, and neither.

Not here: who goes of many (tests/c/test_half_open.c), thousands (test_storms.py).
"""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer
from tests.support.ways import WAYS

PART = 64
"""Unfinished handshakes that an address keeps though a listener has too many."""
LIMIT = 80


def silent(endpoint: str, source: str) -> RawPeer:
    """Connect from an address of this machine, and say nothing."""
    port = int(endpoint.rpartition(":")[2])
    return RawPeer.of(
        socket.create_connection(("127.0.0.1", port), WAIT_S, source_address=(source, 0))
    )


@pytest.mark.parametrize("way", ["plain", "curve", "tls"])
def test_an_address_with_many_unfinished_handshakes_takes_no_place_of_others(way: str) -> None:
    """Those of another address, which came first, stay; a peer of ours gets in all the while."""
    if way != "plain" and WAYS[way].missing:
        pytest.skip(WAYS[way].missing)
    served, called = (None, None) if way == "plain" else WAYS[way].policies()
    scheme = "" if way == "plain" else WAYS[way].scheme
    with (
        ExitStack() as stack,
        mm.Pull(bind=f"{scheme}tcp://127.0.0.1:0", half_open_max=LIMIT, security=served) as pull,
    ):
        few = LIMIT - PART - 1  # and one who speaks
        first = [stack.enter_context(silent(pull.endpoint, "127.0.0.2")) for _ in range(few)]
        flood = [stack.enter_context(silent(pull.endpoint, "127.0.0.3")) for _ in range(200)]
        wait_until(lambda: pull.stats().accepts == few + 200)
        assert flood[0].until_closed() == b""
        with mm.Push(connect=pull.endpoint, security=called) as push:
            push.send(b"legit", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"legit"
        evicted = [e.address for e in pull.events() if e.reason is mm.Reason.EVICTED]
        assert evicted
        assert {address.rpartition(":")[0] for address in evicted} == {"tcp://127.0.0.3"}
        assert pull.stats().half_open <= LIMIT
        for peer in first:
            peer.socket.setblocking(False)
            with pytest.raises(BlockingIOError):
                peer.socket.recv(1)
