"""A libzmq sender that wrote all, and ended: what its system still has of it arrives.

Octets of ours would be answered with a reset, and take what was not read with them; so there are
none while there is something to read. A peer that sends nothing has a PING at each beat: with those
the tests know that time has passed.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

HEART: dict[str, Any] = {"heartbeat_interval": 0.05, "heartbeat_timeout": 0.2}
PATIENT = {**HEART, "heartbeat_timeout": WAIT_S}
COUNT, SIZE = 150, 10_000
BEATS = 6
"""More than the time-out has."""
SENDER = f"""
import sys, zmq
context = zmq.Context()
sender = context.socket(getattr(zmq, sys.argv[2]))
sender.connect(sys.argv[1])
if sys.argv[2] == "XPUB":
    sender.recv()  # the subscription
for number in range({COUNT}):
    sender.send(b"%d:" % number + bytes({SIZE}))
sender.close()
context.term()
"""
ROLES: dict[str, tuple[type[Any], str, bytes, dict[str, Any]]] = {
    "pull": (mm.Pull, "PUSH", b"PUSH", {}),
    "sub": (mm.Sub, "XPUB", b"PUB", {"topics": [b""]}),
    "dealer": (mm.Dealer, "DEALER", b"DEALER", {}),
    "pair": (mm.Pair, "PAIR", b"PAIR", {}),
}


def beats(peer: RawPeer, count: int) -> list[bytes]:
    """Wait for so many PINGs."""
    found: list[bytes] = []
    while len(found) < count:
        _, body = peer.frame(pings=True)
        if body.startswith(b"\x04PING"):
            found.append(body)
    return found


@pytest.mark.parametrize("role", list(ROLES))
def test_all_that_an_ended_sender_wrote_is_received(role: str) -> None:
    """However slowly it is taken, and however many beats come meanwhile."""
    kind, theirs, name, options = ROLES[role]
    with (
        kind(bind="tcp://127.0.0.1:0", recv_queue_messages=10, **options, **HEART) as receiver,
        kind(bind="tcp://127.0.0.1:0", **options, **PATIENT) as other,
        RawPeer(other.endpoint) as clock,
    ):
        clock.shake(name)
        command = [sys.executable, "-c", SENDER, receiver.endpoint, theirs]
        assert subprocess.run(command, timeout=WAIT_S, check=False).returncode == 0
        for number in range(COUNT):
            if number % 30 == 0:
                beats(clock, BEATS)
            assert bytes(receiver.recv(timeout=WAIT_S)).startswith(b"%d:" % number)
        assert receiver.stats().dropped == 0


def test_who_sends_no_pings_is_promised_nothing() -> None:
    """Of a PING it could believe that silence for that long means something."""
    with (
        mm.Pull(bind="tcp://127.0.0.1:0", **PATIENT) as pull,
        RawPeer(pull.endpoint) as quiet,
        RawPeer(pull.endpoint) as beating,
    ):
        quiet.shake(b"PUSH")
        beating.shake(b"PUSH")
        assert {body[5:7] for body in beats(quiet, 3)} == {bytes(2)}  # its ttl
        beating.send(b"\x04\x07\x04PING\x00\x64")
        while not beating.frame()[1].startswith(b"\x04PONG"):
            continue  # behind it no PING is of before
        assert int.from_bytes(beats(beating, 1)[0][5:7], "big") == 10 * WAIT_S  # its time-out
