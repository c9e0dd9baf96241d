"""Simulated worlds whose connections TLS protects, the real one: under each seed nothing comes
twice, nothing is lost that was not counted, and nothing is plain.

Not here: CURVE (test_protected_worlds.py), policies that change (test_reload_worlds.py),
connections cut at each write (test_cut_worlds.py).
Law: OpenSSL draws its own octets, and a world hears of sizes only: the same seed makes the same
world where signatures have one size, as those of Ed25519 do, or where there are none. Dates are
judged by the clock of the world.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.sim.protected_scenes import (
    ALWAYS,
    CHUNK,
    MARK,
    SEEDS,
    UP_TLS,
    Policies,
    certificates,
    curves,
    pem,
    secrets,
    work,
)
from tests.sim.scenes import PATIENCE_S, UP
from tests.support.certificates import make
from tests.support.worlds import found, seek

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
KINDS: dict[str, Callable[[Path], Policies]] = {
    "certificates": lambda _: certificates(),
    "secret": secrets,
}
DAY_S = 86_400.0


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
@pytest.mark.parametrize("kind", KINDS)
def test_work_protected_by_tls_is_done_once_under_these_seeds(
    kind: str, first: int, tmp_path: Path
) -> None:
    """Safety under faults, liveness after them, what was lost is counted, nothing left open, and
    no body can be read on the way."""
    policies = KINDS[kind](tmp_path)
    for seed in range(first, min(first + CHUNK, SEEDS)):
        work(seed, policies, mechanism="TLS", up=UP_TLS)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_world_with_tls(kind: str, seed: int, tmp_path: Path) -> None:
    """What OpenSSL draws is of the same size each time."""
    policies = KINDS[kind](tmp_path)
    first = work(seed, policies, mechanism="TLS", up=UP_TLS)
    assert work(seed, policies, mechanism="TLS", up=UP_TLS) == first
    assert work(seed + 10, policies, mechanism="TLS", up=UP_TLS) != first


def test_dates_are_those_of_the_world() -> None:
    """A certificate is good when the clock of the world says so, and its end is told by it, too."""
    ca = make("ca", signs=True, days=ALWAYS, even=True)
    server = make("server", by=ca, names=("127.0.0.1",), days=ALWAYS, even=True)
    expires = mm.EventKind.CERT_EXPIRES
    with SimWorld(1) as world:
        serves = mm.Tls(**pem(server), ca=ca.pem())
        pull = mm.Pull(bind=UP_TLS, engine=world.engine(), security=serves)
        today = (pull.events()[0].time - time.time()) / DAY_S
        for first, last, words in ((-1, 0.9, "ends in 21 hours"), (1, 2, "is not valid before ")):
            days = (today + first, today + last)
            asks = mm.Tls(**pem(make("client", by=ca, days=days, even=True)), ca=ca.pem())
            with mm.Push(connect=pull.endpoint, engine=world.engine(), security=asks) as push:
                world.run(1.0)
                assert len(pull.peers()) == (first < 0)
                told = [one.detail for one in push.events() if one.kind is expires]
                assert len(told) == 1
                assert words in told[0]
                world.jump_wall_clock(DAY_S * 1.5)
                world.reset_all()
                world.run(30.0)
                assert len(pull.peers()) == (first > 0)
                world.jump_wall_clock(DAY_S * -1.5)
        pull.close()


def named(policies: Policies, up: str) -> int:
    """How often the name of a socket, a topic and one that is asked for can be read on the way."""
    with SimWorld(1) as world:
        seek(world, MARK)
        engines = [world.engine() for _ in range(2)]
        with (
            mm.Router(bind=up, engine=engines[0], security=policies[0]) as router,
            mm.Dealer(
                connect=router.endpoint, identity=MARK, engine=engines[1], security=policies[1]
            ) as dealer,
            mm.Pub(bind=up, engine=engines[0], security=policies[0]) as pub,
            mm.Sub(
                connect=pub.endpoint, topics=[MARK], engine=engines[1], security=policies[1]
            ) as sub,
        ):
            dealer.send(b"hi", timeout=PATIENCE_S)
            assert router.recv(timeout=PATIENCE_S).peer == MARK
            pub.wait_for_subscribers(MARK, timeout=PATIENCE_S)
            pub.send(b"news", topic=MARK, timeout=PATIENCE_S)
            assert sub.recv(timeout=PATIENCE_S) == b"news"
        return found(world)


@pytest.mark.parametrize("kind", ["curve", *KINDS])
def test_nobody_reads_names_and_topics_on_the_way(kind: str, tmp_path: Path) -> None:
    """They are as secret as bodies; without protection all three are read."""
    if kind == "curve":
        assert named(curves(), UP) == 0
    else:
        assert named(KINDS[kind](tmp_path), UP_TLS) == 0
    assert named((mm.NONE, mm.NONE), UP) == 3


def test_nobody_reads_a_password_on_the_way(tmp_path: Path) -> None:
    """Inside TLS it is secret, outside it is plain."""
    for inside in (None, secrets(tmp_path)):
        serves, asks = inside or (None, None)
        with SimWorld(1) as world:
            seek(world, MARK)
            server = mm.Plain(allow=mm.ANYBODY, inside=serves)
            client = mm.Plain(user="alice", password=MARK.decode(), inside=asks)
            up = UP if inside is None else UP_TLS
            with (
                mm.Pull(bind=up, engine=world.engine(), security=server) as pull,
                mm.Push(connect=pull.endpoint, engine=world.engine(), security=client) as push,
            ):
                push.send(b"hi", timeout=PATIENCE_S)
                assert pull.recv(timeout=PATIENCE_S) == b"hi"
            assert found(world) == (inside is None)
