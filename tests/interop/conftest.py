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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes an endpoint one of each transport the peer program has."""
    if "url" in metafunc.fixturenames:
        metafunc.parametrize("url", metafunc.cls.transports, indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest, short_path: Path) -> str:
    """Return an endpoint that nobody uses."""
    return endpoint_for(request.param, short_path)
