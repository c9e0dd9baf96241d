"""A connection that we end ourselves: its peer reads all that was written, and we hear how much.

Here a peer without heartbeats of its own stands for libzmq, see test_liveness.
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.sim.test_liveness import BODY, COUNT, PATIENCE_S, QUIET, UP


def receive_all(pull: mm.Pull) -> int:
    """Take everything that still comes, and take ten seconds for each; how many."""
    count = 0
    while True:
        try:
            count += len(pull.recv_many(1, timeout=PATIENCE_S))
        except mm.TimedOutError:
            return count


@pytest.mark.parametrize("buffer_size", [4096, 256 * 1024], ids=["window closed", "window open"])
@pytest.mark.parametrize("silent_for", [0.0, 60.0])
def test_a_disconnect_leaves_to_a_slow_peer_what_was_written(
    buffer_size: int, silent_for: float
) -> None:
    """It answers PINGs on the way; each takes from what is in doubt; in the end nothing is."""
    with SimWorld(1, buffer_size=buffer_size) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(connect=pull.endpoint, engine=one)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(COUNT):
            push.send(BODY, timeout=0)
        world.run(silent_for)
        push.disconnect(pull.endpoint)
        world.run(1)
        stats = push.stats()
        assert stats.peers == 0
        assert 0 < stats.in_doubt_messages <= stats.written_messages
        assert stats.written_messages + stats.queued_out_messages + stats.dropped == COUNT
        cut = stats.dropped_peer_gone  # begun, and not all of it written
        assert cut <= 1
        assert receive_all(pull) == stats.written_messages
        world.run(10)
        stats = push.stats()
        doubt = stats.written_messages if cut else 0  # no PING goes into a message
        assert stats.in_doubt_messages <= doubt
        assert stats.confirmed_messages + stats.in_doubt_messages == stats.written_messages
        push.close()
        pull.close()


@pytest.mark.parametrize("linger", [0.0, 1.0])
def test_a_close_leaves_to_a_slow_peer_what_was_written(linger: float) -> None:
    """However long it takes to read it: no reset comes between."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(connect=pull.endpoint, engine=one, linger=linger)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(2):
            for _ in range(COUNT // 2):
                push.send(BODY, timeout=0)
            world.run(7)  # a PING lies in between, which will be answered
        written = push.stats().written_messages
        push.close()
        world.run(100)
        assert receive_all(pull) == written == COUNT
        world.run(1)
        pull.close()
        world.run(1)
        assert world.open_streams == 0


@pytest.mark.parametrize("buffer_size", [4096, 256 * 1024], ids=["window closed", "window open"])
def test_a_socket_that_lingers_hears_that_a_slow_peer_lives(buffer_size: int) -> None:
    """It reads a message every seven seconds, and says all the while that it is there."""
    with SimWorld(1, buffer_size=buffer_size) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, recv_queue_messages=1)
        push = mm.Push(connect=pull.endpoint, engine=one, linger=3600)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(COUNT):
            push.send(BODY, timeout=0)
        world.run(7)  # it has promised signs of life
        push.close()
        for _ in range(COUNT):
            world.run(7)
            assert pull.recv(timeout=0) == BODY
        pull.close()


def test_what_is_left_of_a_connection_is_gone_when_its_machine_is() -> None:
    """Within some seconds more than the heartbeat's time-out."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(connect=pull.endpoint, engine=one)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(COUNT):
            push.send(BODY, timeout=0)
        world.run(5)
        before = world.open_streams
        world.partition(one, two, 3600)
        push.close()
        world.run(25)
        assert world.open_streams == before - 1
        pull.close()


def test_what_is_left_of_a_connection_does_not_stay_for_ever() -> None:
    """A peer that neither reads nor says anything for five minutes (MMI_PART_MS)."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(connect=pull.endpoint, engine=one)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(COUNT):
            push.send(BODY, timeout=0)
        world.run(5)
        before = world.open_streams
        push.close()
        world.run(290)
        assert world.open_streams == before
        world.run(20)
        assert world.open_streams == before - 1
        pull.close()
