"""What a lost peer gives back goes to the next, over real sockets, with queues below one message.

Not here: every moment at which a peer may end (tests/sim/test_tiny_queues.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, endpoint_for, wait_until

BODY = bytes(20_000)
ROLES = [("Push", "Pull"), ("Dealer", "Dealer"), ("Pair", "Pair")]
VISITS = 15
MOMENT_S = 0.01


def visit(sender: Any, takes: Any) -> None:
    """A worker that comes, and goes with some in its queue and some in the sender's."""
    with takes(connect=sender.endpoint, recv_queue_messages=1):
        sender.wait_for_peers(timeout=WAIT_S)
        try:
            for _ in range(200):
                sender.send(BODY, timeout=MOMENT_S)
        except mm.TimedOutError:
            pass


@pytest.mark.parametrize("overflow", ["block", "drop_newest"])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
@pytest.mark.parametrize("roles", ROLES, ids=lambda roles: roles[0])
def test_workers_that_go_leave_no_message_that_fits_nowhere(
    roles: tuple[str, str], transport: str, overflow: Any, short_path: Path
) -> None:
    """Whatever is over the limits of every queue goes to the next worker, and it goes on."""
    sends, takes = (getattr(mm, role) for role in roles)
    url = endpoint_for(transport, short_path)
    with sends(bind=url, overflow=overflow, send_queue_bytes=16_384) as sender:
        for _ in range(VISITS):
            visit(sender, takes)
        wait_until(lambda: not sender.peers())
        with takes(connect=sender.endpoint) as worker:
            sender.wait_for_peers(timeout=WAIT_S)
            assert sender.drain(timeout=WAIT_S).queued == 0
            sender.send(b"last", timeout=WAIT_S)
            while worker.recv(timeout=WAIT_S) != b"last":
                pass
