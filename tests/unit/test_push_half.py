"""A message of which a peer that is gone got a part: nobody has it, and somebody else gets it.

Not here: peers that acknowledge (test_delivery.py).
"""

from __future__ import annotations

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer
from tests.unit.test_dead_letters import UP

BODY = b"x" * (30 << 20)
"""More than the kernel has room for."""
READ = 100_000


def begun(push: mm.Push, *, confirm: bool) -> mm.Receipt | None:
    """Send it to one who reads its beginning, and is gone."""
    with RawPeer(push.endpoint).shake(b"PULL") as worker:
        push.wait_for_peers(1, timeout=WAIT_S)
        receipt = push.send(BODY, confirm=confirm)
        worker._need(READ)
    wait_until(lambda: not push.peers())
    return receipt


def test_what_was_begun_is_handed_on() -> None:
    """Whole, and nothing was dropped."""
    with mm.Push(bind=UP, delivery="at_least_once") as push:
        receipt = begun(push, confirm=True)
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            got = pull.recv(timeout=WAIT_S)
            assert got == BODY
            assert got.ack()
            wait_until(lambda: receipt is not None and receipt.outcome == "acked")
        assert push.stats().dropped == 0


def test_of_a_plain_push_it_is_dropped() -> None:
    """As its documentation says."""
    with mm.Push(bind=UP) as push:
        begun(push, confirm=False)
        wait_until(lambda: push.stats().dropped_peer_gone == 1)
