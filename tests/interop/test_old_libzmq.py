"""Against libzmq as it was before 4.3.3: ZMTP 3.0, subscriptions as messages.

The libraries come out of old pyzmq wheels. See foreign.py for the tests all peers share.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import zmq

import meshmsg as mm
from tests.interop.foreign import PeerTests
from tests.interop.test_pyzmq import both
from tests.support.fetched import OLD_PYZMQ, Unavailable, old_libzmq
from tests.support.pairs import WAIT_S
from tests.support.peerproc import Peer

PROGRAM = Path(__file__).with_name("libzmq_peer.py")


@pytest.fixture(scope="module", params=sorted(OLD_PYZMQ))
def command(request: pytest.FixtureRequest) -> list[str]:
    """Return how to run a peer of each version."""
    libraries = old_libzmq(request.param)
    if isinstance(libraries, Unavailable):
        pytest.skip(f"no libzmq {request.param}: {libraries}")
    return [sys.executable, "-I", str(PROGRAM), *map(str, libraries)]


class TestOldLibzmq(PeerTests):
    """All that every peer does."""

    def test_it_is_an_old_one(self, running: Peer) -> None:
        """Not one of this machine's own libraries, which are newer."""
        assert tuple(map(int, running.version.split("."))) < (4, 3, 3)
        assert running.version in OLD_PYZMQ

    def test_it_cannot_confirm_and_drain_says_so(self, theirs: Peer) -> None:
        """Instead of waiting for ever: ZMTP 3.0 has no PING."""
        theirs.open(zmq.PULL)
        with mm.Push(heartbeat_interval=0.02) as push:
            push.connect(theirs.bind("tcp://127.0.0.1:0"))
            push.send_many([b"x"] * 500, timeout=WAIT_S)
            report = push.drain(timeout=WAIT_S)
            assert (report.unconfirmable, report.unconfirmed, report.queued) == (500, 0, 0)
            assert [theirs.recv() for _ in range(500)] == [b"x"] * 500

    def test_its_heartbeats_are_no_offence(self, theirs: Peer) -> None:
        """T: from 4.2 on it sends PINGs when told to, though it announces 3.0."""
        if theirs.version < "4.2":
            pytest.skip("this one has no heartbeats at all")
        theirs.open(zmq.PAIR)
        theirs.setsockopt(zmq.HEARTBEAT_IVL, 10)
        theirs.setsockopt(zmq.HEARTBEAT_TIMEOUT, int(WAIT_S * 1000))
        with mm.Pair(bind="tcp://127.0.0.1:0") as pair:
            theirs.connect(pair.endpoint)
            pair.wait_for_peers(timeout=WAIT_S)
            assert theirs.poll(100) == 0  # a quiet link: nothing but PINGs
            both(pair, theirs)
            stats = pair.stats()
            assert (stats.accepts, stats.disconnects) == (1, 0)
