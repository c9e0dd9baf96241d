"""Runs the peer program of a test file that has a fixture ``command``, and ends it.

Not here: what is tested with it (foreign.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pairs import endpoint_for
from tests.support.peerproc import Peer

pytest.register_assert_rewrite("tests.interop.foreign")


@pytest.fixture(scope="module")
def running(command: list[str]) -> Iterator[Peer]:
    """Run the peer program for all tests of a file; it ends well when it is told to."""
    with Peer(command) as peer:
        yield peer
        assert peer.leave() == 0


@pytest.fixture
def theirs(running: Peer) -> Iterator[Peer]:
    """Give a test the peer program, and close its socket afterwards."""
    yield running
    running.shut()


@pytest.fixture(params=["tcp", "ipc"])
def url(request: pytest.FixtureRequest, short_path: Path) -> str:
    """Return an endpoint of each transport the program has."""
    if request.param not in request.cls.transports:
        pytest.skip(f"this peer has no {request.param} that others can connect to")
    return endpoint_for(request.param, short_path)
