"""What happens in a simulated world whose connections are protected, and what must hold there.

Not here: what goes wrong under a seed (scenes.py), who is taken by which policy.
Law: each body is marked, and the mark is sought in every octet that is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from meshmsg._security.keys import new_pair
from tests.sim.scenes import (
    HEALED_WITHIN_S,
    PATIENCE_S,
    UP,
    Scene,
    check_counters,
    heal,
    open_scene,
    partition_now_and_then,
    receive_all,
    try_send,
)
from tests.support.certificates import Entity, make
from tests.support.worlds import found, seek

SEEDS = min(int(os.environ.get("MESHMSG_SIM_SEEDS", "100")), 2000)
CHUNK = 10
MESSAGES = 30
UP_TLS = f"tls+{UP}"
MARK = b"a marked body, that nobody else may read: "
ALWAYS = (-9000.0, 9000.0)
"""Days from now in which the clock of a world is, too."""
Policies = tuple[Any, Any]
"""Of who binds, and of who connects."""


def marked(number: int) -> bytes:
    """A body to send."""
    return MARK + b"%d" % number


def numbers(bodies: list[bytes]) -> list[int]:
    """Which they are; each is whole."""
    assert all(body.startswith(MARK) for body in bodies), "a body came that nobody sent"
    return [int(body.removeprefix(MARK)) for body in bodies]


def curves() -> Policies:
    """Both sides of CURVE: who serves knows one key."""
    serves, asks = new_pair(), new_pair()
    return mm.Curve(key=serves, allow=mm.AllowList([asks.public])), mm.Curve(
        key=asks, server=serves.public
    )


def pem(entity: Entity) -> dict[str, bytes]:
    """A certificate and its key as arguments of a policy."""
    return {"cert": entity.pem(), "key": entity.key_pem()}


def even(name: str, by: Entity | None = None, *names: str) -> Entity:
    """A certificate that is good in any world, and signs as many octets in each; without `by` it
    signs others."""
    return make(name, by=by, names=names, signs=by is None, days=ALWAYS, even=True)


def certificates() -> Policies:
    """Both sides of TLS, in memory, each with a certificate of one CA."""
    ca = even("ca")
    serves, asks = even("server", ca, "127.0.0.1"), even("client", ca)
    return mm.Tls(**pem(serves), ca=ca.pem()), mm.Tls(**pem(asks), ca=ca.pem())


def secrets(folder: Path) -> Policies:
    """Both sides of TLS, with a shared secret."""
    file = write_secret(folder / "secret")
    return mm.Secret(file), mm.Secret(file)


def work(
    seed: int,
    policies: Policies,
    *,
    mechanism: str,
    up: str = UP,
    meanwhile: Callable[[Scene, int], None] | None = None,
) -> int:
    """One that pushes to one that pulls, under the faults of a seed; the hash of it.

    meanwhile: Called before each message, with its number; it may end connections.
    """
    scene = open_scene(seed)
    with scene.world as world:
        seek(world, MARK)
        try:
            one, two = scene.engine(), scene.engine()
            pull = scene.own(mm.Pull(bind=up, engine=one, security=policies[0]))
            push = scene.own(mm.Push(connect=pull.endpoint, engine=two, security=policies[1]))
            sent, got = 0, list[int]()
            for number in range(MESSAGES):
                if meanwhile is not None:
                    meanwhile(scene, number)
                sent += try_send(push, marked(number), 2.0)
                got += numbers(receive_all(pull, 0.001))
                partition_now_and_then(scene, one, two)
            heal(scene)
            assert len(push.peers()) == 1, "not connected again"
            assert push.peers()[0].mechanism == mechanism
            push.drain(timeout=HEALED_WITHIN_S)
            got += numbers(receive_all(pull, PATIENCE_S))
            assert len(set(got)) == len(got), "a message came twice"
            excused = push.stats().in_doubt_messages + push.stats().dropped
            assert sent - len(got) <= excused, "lost, and not counted"
            if scene.lossless:
                assert got == sorted(got), "out of order"
                assert len(got) == sent or meanwhile is not None, "lost"
            check_counters(push)
            check_counters(pull)
            for engine in (one, two):
                engine.close()
            assert world.open_streams == 0, "streams are left open"
            assert found(world) == 0, "a body is plain to read"
        except BaseException as error:
            error.args = (f"seed={seed}: {error}\n" + "\n".join(world.trace(60)),)
            raise
        finally:
            for socket in scene.sockets:
                socket.close()
        return world.trace_hash
