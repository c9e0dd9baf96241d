"""Whose messages were dropped: a drop is in the counter of its peer, and in one of the socket.

Not here: what is dropped when (test_drops_told.py, tests/sim/test_overflow_exact.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
NO_REQUEST = ref.frame(b"no empty frame in front of it")


@pytest.mark.parametrize(
    ("role", "peer", "sent"),
    [
        ("Rep", b"REQ", NO_REQUEST),
        ("Rep", b"DEALER", NO_REQUEST),
        ("Push", b"PULL", NO_REQUEST),
        ("Pub", b"SUB", ref.subscription(True, b"") + NO_REQUEST),
        ("Respondent", b"SURVEYOR", NO_REQUEST),
    ],
)
def test_what_a_role_does_not_expect_is_counted_at_who_sent_it(
    role: str, peer: bytes, sent: bytes
) -> None:
    """And at nobody else."""
    with (
        getattr(mm, role)(bind=UP) as socket,
        RawPeer(socket.endpoint).shake(peer),
        RawPeer(socket.endpoint).shake(peer) as bad,
    ):
        socket.wait_for_peers(2, timeout=WAIT_S)
        bad.send(sent)

        def dropped() -> Any:
            if role in ("Rep", "Respondent"):
                with pytest.raises(mm.WouldBlockError):
                    socket.recv(timeout=0)
            return socket.stats().dropped_malformed

        wait_until(dropped)
        assert sorted(one.dropped_messages for one in socket.peers()) == [0, 1]
        assert socket.stats().dropped == 1
