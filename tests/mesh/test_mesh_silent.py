"""Seeds that say nothing: packets to them are dropped, and nothing tells that nobody is there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from meshmsg._mesh import core
from meshmsg._mesh.limits import Times
from tests.support.meshes import WAIT_S, node

COUNT = 30


@pytest.fixture
def silent() -> Iterator[list[str]]:
    """Ports whose queue is full: the system drops who dials them."""
    found = []
    with ExitStack() as stack:
        for _ in range(COUNT):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
            host, port = listener.getsockname()
            stack.enter_context(socket.create_connection((host, port)))
            found.append(f"tcp://{host}:{port}")
        yield found


def test_a_live_seed_among_thirty_silent_ones_is_found_before_the_first_pause(
    silent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait until the others are given up: no pause ends in this test."""
    monkeypatch.setattr(core, "Times", lambda: Times(join=100 * WAIT_S))
    with node("a") as live, node("b", *silent, live.endpoint) as other:
        assert len(other.wait_for(count=2, timeout=WAIT_S)) == 2
        assert live.wait_for(count=2, timeout=WAIT_S)
