"""A Push that wants acknowledgements, among receivers that know them and receivers that do not.

Not here: receivers of meshmsg alone (tests/sim/test_delivery_worlds.py).
"""

from __future__ import annotations

from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
COUNT = 300


def test_pyzmq_gets_its_share_at_most_once_and_that_is_told() -> None:
    """Beside a Pull whose share is acknowledged; nothing is lost while both are there."""
    with mm.Push(bind=UP, delivery="at_least_once") as push, zmq.Context() as context:
        other = context.socket(zmq.PULL)
        other.rcvtimeo = 1000
        other.connect(push.endpoint)
        with other, mm.Pull(connect=push.endpoint, ack="manual", prefetch=5) as pull:
            push.wait_for_peers(2, timeout=WAIT_S)
            wait_until(lambda: sorted(peer.acks for peer in push.peers()) == [False, True])
            [told] = [one for one in push.events() if one.kind is mm.EventKind.PEER_UNACKED]
            assert "does not acknowledge" in told.detail
            push.send_many([b"%d" % i for i in range(COUNT)], timeout=WAIT_S)
            got: list[int] = []
            while len(got) < COUNT:
                try:
                    found: list[Any] = list(pull.recv_many(timeout=0.05))
                except mm.TimedOutError:
                    found = []
                for message in found:
                    got.append(int(message))
                    assert message.ack()
                while other.poll(0):
                    got.append(int(other.recv()))
            assert sorted(got) == list(range(COUNT))
            assert push.drain(timeout=WAIT_S).unconfirmed == 0


@pytest.mark.parametrize("routing", ["round_robin", "least_loaded"])
def test_pyzmq_beside_a_busy_worker_has_nearly_all_and_the_event_says_the_remedy(
    routing: Any,
) -> None:
    """Nothing limits it but buffers; the other one has its prefetch."""
    options: dict[str, Any] = {"delivery": "at_least_once", "routing": routing, "linger": 0}
    with mm.Push(bind=UP, **options) as push, zmq.Context() as context:
        other = context.socket(zmq.PULL)
        other.connect(push.endpoint)
        with other, mm.Pull(connect=push.endpoint, ack="manual", prefetch=3):
            push.wait_for_peers(2, timeout=WAIT_S)
            wait_until(lambda: len(push.peers()) == 2)
            push.send_many([b"%d" % i for i in range(COUNT)], timeout=WAIT_S)
            wait_until(lambda: push.stats().written_messages == COUNT)
            sent = {p.acks: p.sent_messages for p in push.peers()}
            assert sent[True] <= 3  # fewer: what it may have was not told yet
            assert sum(sent.values()) == COUNT
            [told] = [one for one in push.events() if one.kind is mm.EventKind.PEER_UNACKED]
            assert "lost with it" in told.detail
            assert "require refuses it" in told.detail


@pytest.mark.parametrize("prefetch", [1, 50])
def test_what_a_lost_receiver_had_goes_to_pyzmq_as_well(prefetch: int) -> None:
    """Without AGAIN, which it would not know: it is a plain message there."""
    with mm.Push(bind=UP, delivery="at_least_once") as push, zmq.Context() as context:
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=prefetch) as pull:
            push.send_many([b"%d" % i for i in range(10)], timeout=WAIT_S)
            pull.recv(timeout=WAIT_S)
        other = context.socket(zmq.PULL)
        other.rcvtimeo = round(WAIT_S * 1000)
        other.connect(push.endpoint)
        with other:
            assert sorted(int(other.recv()) for _ in range(10)) == list(range(10))
