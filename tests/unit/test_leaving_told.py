"""What is told of a worker of others that ends its connection: how much it may not have read.

Not here: ends in the handshake, what a reset cut and what may be why (test_ends_told.py).
"""

from __future__ import annotations

import logging
import socket

import pytest

import meshmsg as mm
from tests.support import refsp
from tests.support.pairs import WAIT_S, told_all
from tests.support.rawpeer import RawPeer
from tests.unit.test_ends_told import NO_LINGER, UP, first


class SpPull:
    """A PULL of SP that is driven by hand."""

    def __init__(self, push: mm.Push) -> None:
        host, _, port = push.endpoint.removeprefix("tcp://").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=WAIT_S)
        self.socket.sendall(refsp.hello(refsp.PULL))
        assert self._read(8) == refsp.hello(refsp.PUSH)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the connection was closed"
            data += more
        return data

    def body(self) -> bytes:
        """Read one message."""
        return self._read(int.from_bytes(self._read(8), "big"))


def leaves_after_three(push: mm.Push, wire: str, *, by_reset: bool) -> mm.Event:
    """A worker of others reads three messages, and ends its connection; what is told of it."""
    peer: RawPeer | SpPull
    if wire == "sp":
        peer = SpPull(push)
    else:
        peer = RawPeer(push.endpoint).shake(b"PULL")
    push.wait_for_peers(timeout=WAIT_S)
    for number in b"abc":
        push.send(bytes([number]))
        read = peer.body() if isinstance(peer, SpPull) else peer.frame()[1]
        assert read == bytes([number])
    if by_reset:
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    peer.socket.close()
    return first(push, mm.EventKind.PEER_DOWN)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
@pytest.mark.parametrize("by_reset", [True, False])
@pytest.mark.parametrize("wire", ["zmtp", "sp"])
def test_the_end_of_a_worker_tells_what_it_may_not_have_read(
    wire: str, by_reset: bool, delivery: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that leaves in order; of SP nobody knows how much of it was read. A Push that keeps
    what it sends has a warning of it."""
    with caplog.at_level(logging.INFO, "meshmsg"):
        with mm.Push(bind=UP, delivery=delivery) as push:  # type: ignore[arg-type]
            down = leaves_after_three(push, wire, by_reset=by_reset)
            report = push.drain(timeout=WAIT_S)
        told_all()
    assert down.reason is (mm.Reason.RESET if by_reset else mm.Reason.EOF)
    how = "connection reset" if by_reset else "closed by the peer"
    left = "3 sent may be lost" if wire == "zmtp" else "3 written, unknown how many it read"
    assert down.detail == f"{how}; {left}"
    assert (report.in_doubt, report.unconfirmable) == ((3, 0) if wire == "zmtp" else (0, 3))
    loud = [one.levelname for one in caplog.records if down.detail in one.getMessage()]
    assert loud == (["WARNING"] if by_reset or delivery == "at_least_once" else [])


def test_who_leaves_with_nothing_in_doubt_is_told_as_ever() -> None:
    """As nothing was sent."""
    with mm.Push(bind=UP) as push, RawPeer(push.endpoint).shake(b"PULL") as peer:
        push.wait_for_peers(timeout=WAIT_S)
        peer.socket.close()
        assert first(push, mm.EventKind.PEER_DOWN).detail == "closed by the peer"
