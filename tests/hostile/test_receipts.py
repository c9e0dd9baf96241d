"""Receipts under a peer that answers late, once for several PINGs, or with what was never asked."""

from __future__ import annotations

import struct
import threading

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

PING = b"\x04PING"


def next_ping(peer: RawPeer) -> bytes:
    """Read on to a PING; return its context."""
    while not (body := peer.frame(pings=True)[1]).startswith(PING):
        continue
    return body[len(PING) + 2 :]


def test_one_pong_for_several_pings_confirms_everything() -> None:
    """A slow peer answers only the latest: drain() must not wait for the first for ever."""
    with mm.Push(
        bind="tcp://127.0.0.1:0", heartbeat_interval=0.05, heartbeat_timeout=WAIT_S
    ) as push:
        with RawPeer(push.endpoint).shake(b"PULL") as peer:
            push.send(b"x", timeout=WAIT_S)
            reports: list[mm.DrainReport] = []
            draining = threading.Thread(target=lambda: reports.append(push.drain(timeout=WAIT_S)))
            draining.start()
            while peer.frame() != (0, b"x"):
                continue  # PINGs of before
            while next_ping(peer) != struct.pack(">Q", 1):
                continue
            latest = next_ping(peer)
            peer.send(ref.pong(latest))
            draining.join(WAIT_S)
            assert reports[0].delivered == 1
            assert reports[0].unconfirmed == 0


@pytest.mark.parametrize(
    "context", [struct.pack(">Q", 7), struct.pack(">Q", 2**64 - 1), b"short", b"x" * 16]
)
def test_a_pong_for_what_was_never_written_confirms_nothing(context: bytes) -> None:
    """It is ignored, and the right one still counts."""
    with mm.Push(bind="tcp://127.0.0.1:0") as push, RawPeer(push.endpoint).shake(b"PULL") as peer:
        push.send(b"x", timeout=WAIT_S)
        assert push.drain(timeout=0).delivered == 0
        right = next_ping(peer)
        peer.send(ref.pong(context) + ref.ping(0, b"mark"))
        while peer.frame()[1] != b"\x04PONGmark":
            continue
        assert push.stats().confirmed_messages == 0
        peer.send(ref.pong(right))
        assert push.drain(timeout=WAIT_S).delivered == 1
