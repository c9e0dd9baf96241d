"""A socket closes, or stops receiving, with unread messages of several peers: its engine goes on.

Not here: what is still to be sent (test_leaving.py); what is told of it (tests/unit).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import Room, all_there, pipeline, room
from tests.support.stalled import PATIENCE_S

PEERS = 3
EACH = 4
PAIRS = [
    ("Pull", "Push"),
    ("Sub", "Pub"),
    ("Sub", "XPub"),
    ("XSub", "Pub"),
    ("Dealer", "Dealer"),
    ("Router", "Dealer"),
    ("Rep", "Dealer"),
    ("Bus", "Bus"),
]
WAYS = {
    "close": (),
    "stop": ("Pull", "Sub", "XSub", "Rep"),
    "one is read": (),
    "unsubscribed": ("Sub", "XSub"),
}
"""What is done just before, and the roles that can; none: all."""
CASES = [
    (role, peer, how) for role, peer in PAIRS for how, can in WAYS.items() if not can or role in can
]


def say(peer: Any, role: str, number: int) -> None:
    """A peer sends its next message, in the way of its role."""
    if role == "Dealer":
        peer.send_frames([b"", b"q%d" % number])
    else:
        peer.send(b"t%d" % number)


def crowd(r: Room, role: str, peer: str, **options: Any) -> tuple[Any, list[Any]]:
    """A socket of a role and its peers; what publishers say is wanted."""
    hub = r.open(role, engine=r.hub, **options)
    peers = [r.open(peer, bind="tcp://127.0.0.1:0") for _ in range(PEERS)]
    for one in peers:
        hub.connect(one.endpoint)
    hub.wait_for_peers(PEERS, timeout=PATIENCE_S)
    if role in ("Sub", "XSub"):
        hub.subscribe("")
        hub.wait_for_subscribed(PEERS, timeout=PATIENCE_S)
    return hub, peers


@pytest.mark.parametrize("queue", [1000, 1])
@pytest.mark.parametrize(("role", "peer", "how"), CASES, ids=lambda name: name)
def test_an_engine_goes_on_when_one_of_its_sockets_closes_unread(
    role: str, peer: str, queue: int, how: str
) -> None:
    """Full queues or not, and whatever was done with it just before."""
    with room() as r:
        beside, pull = pipeline(r)
        hub, peers = crowd(r, role, peer, recv_queue_messages=queue)
        for number in range(EACH):
            for one in peers:
                say(one, peer, number)
        r.world.run(1.0)
        assert hub.stats().queued_in_messages >= (2 if queue > 1 else 1)
        if how == "stop":
            hub.stop_receiving(deadline=0)
        elif how == "one is read":
            hub.recv(timeout=PATIENCE_S)
        elif how == "unsubscribed":
            hub.unsubscribe("")
        hub.close()
        r.world.run(1.0)
        with pytest.raises(mm.ClosedError):
            hub.stats()
        beside.send(b"goes on", timeout=PATIENCE_S)
        assert all_there(pull) == [b"goes on"]
