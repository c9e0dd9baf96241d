"""Simulated worlds whose connections CURVE protects: under each seed nothing comes twice, nothing
is lost that was not counted, nothing is plain, and who is removed from the list is ended.

Not here: worlds without protection (test_seeds.py), with TLS (test_tls_worlds.py), connections cut
at each write (test_cut_worlds.py).
Law: what CURVE draws, it draws from the world: the same seed makes the same world.
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg._security.keys import new_pair
from meshmsg.testing import SimWorld
from tests.sim.protected_scenes import CHUNK, SEEDS, curves, work
from tests.sim.scenes import PATIENCE_S, UP

REVOKED_WITHIN_S = 1.0
LONG_CONNECTED_S = 0.1


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_work_protected_by_curve_is_done_once_under_these_seeds(first: int) -> None:
    """Safety under faults, liveness after them, what was lost is counted, nothing left open, and
    no body can be read on the way."""
    policies = curves()
    for seed in range(first, min(first + CHUNK, SEEDS)):
        work(seed, policies, mechanism="CURVE")


@pytest.mark.parametrize("seed", range(3))
def test_a_body_that_is_plain_is_seen_under_each_seed(seed: int) -> None:
    """However it is cut on its way: so the search can fail."""
    with pytest.raises(AssertionError, match="a body is plain to read"):
        work(seed, (mm.NONE, mm.NONE), mechanism="NULL")


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_gives_the_same_world_with_curve(seed: int) -> None:
    """What CURVE draws, it draws from the world."""
    policies = curves()
    first = work(seed, policies, mechanism="CURVE")
    assert work(seed, policies, mechanism="CURVE") == first
    assert work(seed + 10, policies, mechanism="CURVE") != first


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
