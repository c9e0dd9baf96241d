"""Protected connections that end at each of their writes, by a reset or because one side is gone
and another one comes in its place: both meet again, nothing comes twice, what was lost is counted.

Not here: a cut at each octet of the handshake (tests/c/test_curve.c, test_tls_sockets.c), faults
by chance (test_protected_worlds.py, test_tls_worlds.py).
Law: the writes of a world are counted, so each step of the handshake is cut, and the messages
behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.sim.protected_scenes import (
    MARK,
    UP_TLS,
    Policies,
    certificates,
    curves,
    marked,
    numbers,
    secrets,
)
from tests.sim.scenes import HEALED_WITHIN_S, PATIENCE_S, UP, check_counters, receive_all, try_send
from tests.support.worlds import found, reset_in, resets, seek

KINDS: dict[str, Callable[[Path], Policies]] = {
    "curve": lambda _: curves(),
    "certificates": lambda _: certificates(),
    "secret": secrets,
}
LATENCY_S = 0.001
STEP_S = LATENCY_S / 2
STEPS = 30
"""In which they shake hands and send some messages, if nothing is cut."""
AWAY_S = 0.05
"""Seconds until somebody comes in place of who is gone."""
LAST = 1_000
"""The message that is sent at the end."""
WRITES = 20
"""There are more of them, if nothing is cut: of a handshake 8 or so, and one a message."""


@dataclass
class Cut:
    """A world whose n-th write finds its connection reset."""

    world: SimWorld
    policies: Policies
    pull: Any = None
    push: Any = None
    engines: dict[str, mm.Engine] = field(default_factory=dict)
    sent: int = 0
    got: list[int] = field(default_factory=list)
    excused: int = 0
    """Messages that are not there any more, and counted."""

    def open(self, side: str, place: str) -> None:
        """Open one side on an engine of its own."""
        engine = self.engines[side] = self.world.engine()
        if side == "pull":
            self.pull = mm.Pull(bind=place, engine=engine, security=self.policies[0])
        else:
            self.push = mm.Push(connect=place, engine=engine, security=self.policies[1])

    def step(self) -> None:
        """Send one if there is room, and let the world go on a little."""
        self.sent += try_send(self.push, marked(self.sent), 0)
        self.world.run(STEP_S)  # less than it takes, so that some are on their way
        with suppress(mm.WouldBlockError):
            self.got += numbers(self.pull.recv_many(100, timeout=0))

    def replace(self, side: str) -> None:
        """One side is gone at once, without a word, and another one comes in its place."""
        place = self.pull.endpoint
        others = [engine for name, engine in self.engines.items() if name != side]
        self.world.partition(self.engines[side], others[0], AWAY_S)
        self.excuse(getattr(self, side))
        self.engines[side].close(timeout=0)
        self.world.run(AWAY_S)
        self.open(side, place)

    def ends(self) -> None:
        """What must hold once nothing goes wrong any more."""
        assert len(self.push.peers()) == 1, "they do not meet again"
        self.push.send(marked(LAST), timeout=PATIENCE_S)
        self.got += numbers(receive_all(self.pull, PATIENCE_S))
        assert self.got[-1] == LAST
        assert self.got == sorted(set(self.got)), "twice, or out of order"
        self.excuse(self.push)
        assert self.sent + 1 - len(self.got) <= self.excused, "lost, and not counted"
        check_counters(self.push)
        check_counters(self.pull)

    def excuse(self, socket: Any) -> None:
        """Count what it has lost, or takes with it."""
        stats = socket.stats()
        self.excused += stats.in_doubt_messages + stats.dropped
        self.excused += stats.queued_out_messages + stats.queued_in_messages


def play(nth: int, gone: str | None, policies: Policies, up: str) -> bool:
    """Cut the n-th write; tell whether there were so many."""
    with SimWorld(nth, latency=(LATENCY_S, LATENCY_S)) as world:
        seek(world, MARK)
        reset_in(world, nth)
        cut = Cut(world, policies)
        cut.open("pull", up)
        cut.open("push", cut.pull.endpoint)
        for _ in range(STEPS):
            before = resets(world)
            cut.step()
            if gone is not None and before == 0 and resets(world) > 0:
                cut.replace(gone)
        reached = resets(world) > 0
        world.heal()
        world.run(HEALED_WITHIN_S)
        cut.ends()
        assert found(world) == 0, "a body is plain to read"
        for engine in cut.engines.values():
            engine.close()
        assert world.open_streams == 0, "streams are left open"
    return reached


@pytest.mark.parametrize("gone", [None, "pull", "push"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_may_end_at_each_write(kind: str, gone: str | None, tmp_path: Path) -> None:
    """Of the handshake, of either side, and of the first messages."""
    if kind != "curve" and not mm.has("tls"):
        pytest.skip("no OpenSSL 3 here")
    policies, up = KINDS[kind](tmp_path), UP if kind == "curve" else UP_TLS
    nth = 1
    while play(nth, gone, policies, up):
        nth += 1
    assert nth > WRITES
