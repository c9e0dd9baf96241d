"""What docs/semantics.md says in seconds, in virtual time: heartbeats, handshakes, linger, ...

Each docstring quotes the claim. A simulated hour takes a moment, so nothing here is scaled down.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld

UP = "tcp://127.0.0.1:0"
PATIENCE_S = 30.0
TICK_S = 0.25
"""How far a test lets the world run before it looks again."""


@contextmanager
def world_of_two(seed: int = 1, **options: Any) -> Iterator[tuple[SimWorld, mm.Engine, mm.Engine]]:
    """A world with two engines."""
    with SimWorld(seed, **options) as world:
        yield world, world.engine(), world.engine()


@contextmanager
def linked(
    world: SimWorld, one: mm.Engine, two: mm.Engine, **options: Any
) -> Iterator[tuple[mm.Push, mm.Pull]]:
    """A Push in one engine and a Pull in the other that see each other."""
    push = mm.Push(bind=UP, engine=one, **options)
    pull = mm.Pull(connect=push.endpoint, engine=two, **options)
    push.wait_for_peers(timeout=PATIENCE_S)
    pull.wait_for_peers(timeout=PATIENCE_S)
    yield push, pull
    push.close()
    pull.close()


def times_of(socket: Any, kind: mm.EventKind) -> list[float]:
    """When events of a kind happened."""
    return [event.time for event in socket.events() if event.kind is kind]


def run_until(world: SimWorld, happened: Any, limit_s: float) -> float:
    """Run until something happened; after how many seconds, at most so many."""
    start = world.now
    while not happened():
        assert world.now - start < limit_s, f"not within {limit_s} virtual seconds"
        world.run(TICK_S)
    return world.now - start


EASE_BYTES = 3 * 1024 * 1024
LARGE = bytes(16 * 1024)


def test_a_peer_that_stands_still_costs_a_sender_of_many_one_short_wait() -> None:
    """Limits: 3 MiB "lets half of it drain first, for up to 2 ms, and not again"."""
    with world_of_two() as (world, one, two), linked(world, one, two) as (push, pull):
        world.partition(one, two, 1)
        start = world.now
        for _ in range(3):
            push.send_many([LARGE] * 300)
        assert push.stats().queued_out_bytes > 3 * EASE_BYTES
        assert 0.002 <= world.now - start < 0.003
        got = 0
        while got < 900:
            got += len(pull.recv_many(timeout=PATIENCE_S))


def test_a_sender_of_many_lets_its_queue_drain() -> None:
    """So that what is queued stays in caches; and again once the peer has drained it."""
    with (
        world_of_two(latency=(0.00001, 0.00002)) as (world, one, two),
        linked(world, one, two) as (push, pull),
    ):
        got = 0
        for _ in range(3):
            push.send_many([LARGE] * 900)
            assert push.stats().queued_out_bytes <= EASE_BYTES + 16 * len(LARGE)
            while got < push.stats().sent_messages:
                got += len(pull.recv_many(timeout=PATIENCE_S))


@pytest.mark.parametrize("latency", [0.0001, 0.0002])
def test_letting_a_queue_drain_takes_no_longer_than_the_caller_has(latency: float) -> None:
    """`timeout` is "for all of it"."""
    with (
        world_of_two(latency=(latency, latency)) as (world, one, two),
        linked(world, one, two) as (push, _),
    ):
        start = world.now
        with pytest.raises(mm.TimedOutError) as caught:
            push.send_many([LARGE] * 9000, timeout=0.001)
        assert world.now - start <= 0.004  # the time is up, then each run looks once more
        assert len(caught.value.unsent) + caught.value.sent == 9000


def test_who_may_not_wait_queues_what_there_is_room_for() -> None:
    """With no time, or where a full queue is an error."""
    with world_of_two() as (world, one, two), linked(world, one, two) as (push, pull):
        world.partition(one, two, 1)
        start = world.now
        push.send_many([LARGE] * 900, timeout=0)
        assert push.stats().queued_out_bytes > 3 * EASE_BYTES
        assert world.now == start
        assert pull.recv(timeout=PATIENCE_S) == LARGE


@pytest.mark.parametrize("seed", range(5))
def test_a_half_open_peer_is_noticed_within_fifteen_seconds(seed: int) -> None:
    """README: "half-open peers: noticed within 15 s (heartbeats on by default)"."""
    with world_of_two(seed) as (world, one, two), linked(world, one, two) as (push, pull):
        world.partition(one, two, 3600)
        took = run_until(world, lambda: not push.peers() and not pull.peers(), 16)
        assert took <= 15 + TICK_S
        reasons = {reason for socket in (push, pull) for reason in socket.stats().closed}
        assert mm.Reason.HEARTBEAT in reasons  # whoever was second may have got the reset


def test_a_peer_that_is_only_slow_is_not_taken_for_dead() -> None:
    """A cut of 9 s between two beats is survived: the claim is about silence, not about delay."""
    with world_of_two() as (world, one, two), linked(world, one, two) as (push, pull):
        for _ in range(10):
            world.partition(one, two, 9)
            world.run(20)
        assert push.stats().disconnects == pull.stats().disconnects == 0
        push.send(b"still here", timeout=1)
        assert pull.recv(timeout=PATIENCE_S) == b"still here"


def test_without_heartbeats_silence_is_no_reason_to_part() -> None:
    """heartbeat_interval=None on both sides: an hour of nothing, and the link is still there."""
    options = {"heartbeat_interval": None}
    with world_of_two() as (world, one, two), linked(world, one, two, **options) as (push, pull):
        world.partition(one, two, 3000)
        world.run(3600)
        assert push.stats().disconnects == pull.stats().disconnects == 0
        push.send(b"x", timeout=1)
        assert pull.recv(timeout=PATIENCE_S) == b"x"


def test_the_time_out_a_peer_announces_is_kept_too() -> None:
    """One side beats each 0.5 s and is dead after 2 s; the other side, with defaults, follows."""
    with world_of_two() as (world, one, two):
        push = mm.Push(bind=UP, engine=one, heartbeat_interval=0.5, heartbeat_timeout=2)
        pull = mm.Pull(connect=push.endpoint, engine=two)
        pull.wait_for_peers(timeout=PATIENCE_S)
        world.run(5)  # it has said by now what it promises
        world.partition(one, two, 3600)
        assert run_until(world, lambda: not pull.peers(), 3) <= 2 + TICK_S
        push.close()
        pull.close()


@pytest.mark.parametrize("timeout", [0.5, 10.0])
def test_a_handshake_has_its_time_and_no_more(timeout: float) -> None:
    """Claim "handshake_timeout, all of it: 10 s": every connection is swallowed half-open here."""
    with world_of_two(faults=SimFaults(half_open=1.0)) as (world, one, two):
        push = mm.Push(bind=UP, engine=one, handshake_timeout=timeout)
        pull = mm.Pull(connect=push.endpoint, engine=two, handshake_timeout=timeout)
        run_until(world, lambda: pull.stats().closed, timeout + 1)
        assert pull.stats().closed == {mm.Reason.HANDSHAKE_TIMEOUT: 1}
        world.heal()
        push.wait_for_peers(timeout=PATIENCE_S)
        push.close()
        pull.close()


@pytest.mark.parametrize(("low", "high"), [(0.05, 10.0), (1.0, 1.0), (0.2, 3.0)])
def test_reconnecting_doubles_from_least_to_most_with_full_jitter(low: float, high: float) -> None:
    """Claim "reconnect_min, reconnect_max (doubling, full jitter)": no pause is over its cap."""
    with world_of_two(faults=SimFaults(refuse=1.0)) as (world, one, two):
        push = mm.Push(bind=UP, engine=one)
        pull = mm.Pull(connect=push.endpoint, engine=two, reconnect_min=low, reconnect_max=high)
        tries: list[float] = []
        while len(tries) < 150:
            world.run(high)
            tries += times_of(pull, mm.EventKind.CONNECT_FAILED)
        pauses = [after - before for before, after in itertools.pairwise(tries)]
        latency = 0.005
        assert max(pauses) <= high + latency
        for number, pause in enumerate(pauses[:4]):
            assert pause <= min(low * 2 ** (number + 1), high) + latency
        if low < high:
            assert len({round(pause, 3) for pause in pauses}) > len(pauses) // 4, "no jitter"
            assert min(pauses[8:]) < high / 2 < max(pauses[8:])
        push.close()
        pull.close()


def test_the_pause_starts_small_again_after_a_connection_that_worked() -> None:
    """Hours of refusals do not make the next short outage a long one."""
    with world_of_two(faults=SimFaults(refuse=1.0)) as (world, one, two):
        push = mm.Push(bind=UP, engine=one)
        pull = mm.Pull(connect=push.endpoint, engine=two)
        world.run(600)
        world.heal()
        pull.wait_for_peers(timeout=PATIENCE_S)
        world.run(2)  # it works for more than a second
        world.reset_all()
        assert run_until(world, lambda: pull.stats().connects >= 2 and pull.peers(), 2) <= 1.0
        push.close()
        pull.close()


@pytest.mark.parametrize("linger", [0.0, 1.0, 30.0])
def test_what_is_queued_has_its_linger_to_go_out_after_close(linger: float) -> None:
    """Claim "what is queued has `linger` seconds to be written": not a moment more or less."""
    with world_of_two(buffer_size=4096) as (world, one, two):
        push = mm.Push(bind=UP, engine=one, linger=linger)
        pull = mm.Pull(connect=push.endpoint, engine=two)
        pull.wait_for_peers(timeout=PATIENCE_S)
        push.wait_for_peers(timeout=PATIENCE_S)
        world.partition(one, two, 12)
        for _ in range(5):
            push.send(bytes(10_000), timeout=0)
        push.close()
        found = 0
        try:
            for _ in range(5):
                found += len(pull.recv(timeout=60)) == 10_000
        except mm.TimedOutError:
            pass
        assert found == (5 if linger > 12 else 0)
        pull.close()


def test_drops_are_told_at_once_and_then_once_a_second() -> None:
    """Claim "drops are ... told in events(), at once and then once a second"."""
    with world_of_two() as (world, one, _):
        push = mm.Push(bind=UP, engine=one, overflow="drop_newest")
        told: list[mm.Event] = []
        push.send(b"nobody is there")
        told += [e for e in push.events() if e.kind is mm.EventKind.DROPPED]
        assert [event.count for event in told] == [1]
        for _ in range(300):
            push.send(b"nobody is there")
            world.run(0.01)
        world.run(1.5)
        told += [e for e in push.events() if e.kind is mm.EventKind.DROPPED]
        assert sum(event.count for event in told) == 301 == push.stats().dropped_no_peer
        assert len(told) <= 5
        gaps = [b.time - a.time for a, b in itertools.pairwise(told)]
        assert min(gaps) >= 1.0 - 1e-6
        push.close()


def test_a_wall_clock_that_jumps_disturbs_nothing() -> None:
    """Hours back and forth: only time stamps notice; nobody is taken for dead, no wait changes."""
    with world_of_two() as (world, one, two), linked(world, one, two) as (push, pull):
        for jump in (3600, -7200, 86_400 * 365, -86_400 * 365):
            world.jump_wall_clock(jump)
            world.run(20)
            push.send(b"x", timeout=1)
            assert pull.recv(timeout=1) == b"x"
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=3)
        assert push.stats().disconnects == 0
