"""A connection that we end ourselves: its peer reads all that was written, and we hear how much.

Here a peer without heartbeats of its own stands for libzmq, see test_liveness.
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld
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


def test_a_socket_that_lingers_confirms_nothing_that_it_throws_away() -> None:
    """Nobody is to have what comes after close(): whoever sent it is not told that it arrived."""
    with SimWorld(1, buffer_size=4096) as world:
        one, two = world.engine(), world.engine()
        closed = mm.Pair(bind=UP, engine=one, linger=3600)
        other = mm.Pair(connect=closed.endpoint, engine=two, recv_queue_messages=1)
        closed.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(COUNT):
            closed.send(BODY, timeout=0)
        closed.close()
        other.send(b"too late", timeout=0)
        assert other.drain(timeout=0).unconfirmed == 1  # and asks for a receipt
        for _ in range(COUNT):
            assert other.recv(timeout=PATIENCE_S) == BODY
        world.run(1)
        report = other.drain(timeout=0)
        assert (report.delivered, report.in_doubt) == (0, 1)
        other.close()


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


@pytest.mark.parametrize("quiet", [True, False])
def test_what_is_left_of_a_connection_does_not_stay_for_ever(quiet: bool) -> None:
    """A peer that reads no further for five minutes (MMI_PART_MS), whatever it says."""
    options = QUIET if quiet else {"recv_queue_messages": 1}
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **options)
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
        assert world.open_streams < before
        pull.close()


def parted(world: SimWorld, push: mm.Push, pull: mm.Pull) -> None:
    """Connect, send what is not read, and disconnect."""
    push.connect(pull.endpoint)
    push.wait_for_peers(timeout=PATIENCE_S)
    for _ in range(3):
        push.send(b"unread", timeout=0)
    world.run(0.01)
    push.disconnect(pull.endpoint)
    world.run(0.01)


def test_a_peer_that_reads_on_for_ever_has_an_hour_for_it() -> None:
    """Always a little, so that it seems worth waiting for (MMI_PART_LIFE_MS)."""
    body = bytes(400_000)  # more than a read takes
    with SimWorld(1, buffer_size=COUNT * len(body) * 2) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(connect=pull.endpoint, engine=one, linger=0)
        push.wait_for_peers(timeout=PATIENCE_S)
        for _ in range(COUNT):
            push.send(body, timeout=PATIENCE_S)
        world.run(1)
        assert push.stats().written_messages == COUNT
        push.disconnect(pull.endpoint)
        world.run(1)
        before = world.open_streams
        for _ in range(35):
            world.run(100)
            pull.recv(timeout=0)
            assert world.open_streams == before
        world.run(120)
        assert world.open_streams == before - 1
        stats = push.stats()
        assert stats.in_doubt_messages == stats.written_messages - stats.confirmed_messages > 0
        push.close()
        pull.close()


def test_of_too_many_such_connections_the_oldest_are_given_up() -> None:
    """An engine keeps 4,096 of them (MMI_PARTING_MAX)."""
    kept, more, at_once = 4096, 4, 100
    with SimWorld(1, latency=(0.0, 0.0)) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(engine=one, linger=0)
        before = world.open_streams
        for count in range(at_once, kept + more + 1, at_once):
            for _ in range(at_once):
                push.connect(pull.endpoint)
            push.wait_for_peers(count, timeout=PATIENCE_S)
        push.send_many([b"unread"] * 3 * (kept + more), timeout=0)
        world.run(1)
        push.close()
        world.run(1)
        assert world.open_streams == before + kept + (kept + more)
        pull.close()


def test_the_oldest_such_connection_makes_room_when_there_are_no_descriptors() -> None:
    """One at each attempt that finds none."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two, **QUIET)
        push = mm.Push(engine=one, bind=UP, linger=0)
        before = world.open_streams
        for _ in range(3):
            parted(world, push, pull)
        assert world.open_streams == before + 6
        world.set_faults(SimFaults(accept_emfile=1.0))
        other = mm.Pull(connect=push.endpoint, engine=two, **QUIET)
        world.run(1)
        world.heal()
        push.wait_for_peers(timeout=PATIENCE_S)
        assert world.open_streams == before + 3 + 2
        other.close()
        push.close()
        pull.close()


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_what_was_written_over_sp_stays_unconfirmable_when_its_connection_is_gone(how: str) -> None:
    """It may be lost, and SP has nothing that could say so: drain() goes on to tell of it."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        pull = mm.Pull(bind=UP, engine=two)
        push = mm.Push(connect=f"sp+{pull.endpoint}", engine=one)
        for visit in (1, 2):
            push.wait_for_peers(timeout=PATIENCE_S)
            push.send_many([BODY] * COUNT, timeout=0)
            assert push.drain(timeout=PATIENCE_S).unconfirmable == visit * COUNT
            if how == "reset":
                world.reset_all()
                world.run(0.01)
        pull.close()
        world.run(1)
        assert push.peers() == []
        report = push.drain(timeout=0)
        assert (report.delivered, report.unconfirmable, report.in_doubt) == (0, 2 * COUNT, 0)
        push.close()
