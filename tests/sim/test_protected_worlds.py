"""Simulated worlds whose connections CURVE protects: under each seed nothing comes twice, nothing
is lost that was not counted, and who is removed from the list is ended.

Not here: worlds without protection (test_seeds.py); TLS, whose files need a thread that a world
has not; a look at the octets.
Law: what CURVE draws, it draws from the world: the same seed makes the same world.
"""

from __future__ import annotations

import os

import pytest

import meshmsg as mm
from meshmsg._security.keys import new_pair
from meshmsg.testing import SimWorld
from tests.sim.scenes import (
    HEALED_WITHIN_S,
    PATIENCE_S,
    UP,
    check_counters,
    heal,
    open_scene,
    partition_now_and_then,
    receive_all,
    try_send,
)

SEEDS = min(int(os.environ.get("MESHMSG_SIM_SEEDS", "100")), 2000)
CHUNK = 10
MESSAGES = 30
REVOKED_WITHIN_S = 1.0
LONG_CONNECTED_S = 0.1


def work(seed: int, pulls: mm.Curve, pushes: mm.Curve) -> int:
    """One that pushes to one that pulls, under the faults of a seed; the hash of it."""
    scene = open_scene(seed)
    with scene.world as world:
        try:
            one, two = scene.engine(), scene.engine()
            pull = scene.own(mm.Pull(bind=UP, engine=one, security=pulls))
            push = scene.own(mm.Push(connect=pull.endpoint, engine=two, security=pushes))
            sent, got = 0, list[int]()
            for number in range(MESSAGES):
                sent += try_send(push, b"%d" % number, 2.0)
                got += map(int, receive_all(pull, 0.001))
                partition_now_and_then(scene, one, two)
            heal(scene)
            assert len(push.peers()) == 1, "not connected again"
            assert push.peers()[0].mechanism == "CURVE"
            push.drain(timeout=HEALED_WITHIN_S)
            got += map(int, receive_all(pull, PATIENCE_S))
            assert len(set(got)) == len(got), "a message came twice"
            excused = push.stats().in_doubt_messages + push.stats().dropped
            assert sent - len(got) <= excused, "lost, and not counted"
            if scene.lossless:
                assert got == sorted(got), "out of order"
                assert len(got) == sent, "lost"
            check_counters(push)
            check_counters(pull)
            for engine in (one, two):
                engine.close()
            assert world.open_streams == 0, "streams are left open"
        except BaseException as error:
            error.args = (f"seed={seed}: {error}\n" + "\n".join(world.trace(60)),)
            raise
        finally:
            for socket in scene.sockets:
                socket.close()
        return world.trace_hash


def curves() -> tuple[mm.Curve, mm.Curve]:
    """Both sides of CURVE: who serves knows one key."""
    serves, asks = new_pair(), new_pair()
    return mm.Curve(key=serves, allow=mm.AllowList([asks.public])), mm.Curve(
        key=asks, server=serves.public
    )


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_work_protected_by_curve_is_done_once_under_these_seeds(first: int) -> None:
    """Safety under faults, liveness after them, what was lost is counted, nothing left open."""
    pulls, pushes = curves()
    for seed in range(first, min(first + CHUNK, SEEDS)):
        work(seed, pulls, pushes)


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_gives_the_same_world_with_curve(seed: int) -> None:
    """What CURVE draws, it draws from the world."""
    pulls, pushes = curves()
    first = work(seed, pulls, pushes)
    assert work(seed, pulls, pushes) == first
    assert work(seed + 10, pulls, pushes) != first


@pytest.mark.parametrize("at", [0.0, 0.001, 0.002, 0.003, 0.005, 0.01, LONG_CONNECTED_S])
def test_who_is_removed_early_or_late_is_out_and_the_other_is_in(at: float) -> None:
    """At moments around the handshake and behind it: one is out, the other one is in."""
    serves, stays, goes = new_pair(), new_pair(), new_pair()
    allow = mm.AllowList([stays.public, goes.public])
    policies = [mm.Curve(key=key, server=serves.public) for key in (stays, goes)]
    with SimWorld(1, latency=(0.001, 0.001)) as world:
        engines = [world.engine() for _ in range(3)]
        pull = mm.Pull(bind=UP, engine=engines[0], security=mm.Curve(key=serves, allow=allow))
        pushes = [
            mm.Push(connect=pull.endpoint, engine=engine, security=policy)
            for engine, policy in zip(engines[1:], policies, strict=True)
        ]
        world.run(at)
        if at == LONG_CONNECTED_S:
            assert len(pull.peers()) == 2
        allow.remove(goes.public)
        world.run(REVOKED_WITHIN_S)
        assert [len(push.peers()) for push in pushes] == [1, 0]
        assert len(pull.peers()) == 1
        pushes[0].send(b"still here", timeout=PATIENCE_S)
        assert pull.recv(timeout=PATIENCE_S) == b"still here"
        for socket in (*pushes, pull):
            socket.close()
