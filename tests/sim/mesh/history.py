"""What may happen to a mesh for long, one thing after another, and whether it is whole after that.

Not here: single things (scenes.py). Law: a history is a function of its size, its length and its
seed; each thing that may happen comes up in any order, and beside any other one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import scenes
from .world import Host, World

PAUSE_S = (0.2, 5.0, 60.0, 300.0)
"""Seconds between two things at most, each as often as the others: most delays of a node lie
between two of these."""
FROZEN_S = 90.0
"""Seconds that a process is frozen at most."""
LOSS = (0.0, 0.01, 0.1, 0.3)
"""Shares of the messages that are lost at a time."""
LEAVES_S = 0.6
"""Seconds that one which leaves is there, so that what it says is passed on."""
SEEDS = 2
"""Nodes that a process which starts knows of, beside the first one."""
CALM_LOSS = 0.01
"""Loss once all is over."""


class History:
    """A mesh, and what happens to it.

    The first node is a seed of all, and is always where it is: else there may be nobody left who
    knows where anybody is.
    """

    def __init__(self, size: int, seed: int) -> None:
        """Begin with a mesh in which all know all."""
        self.rng = Random(f"history {seed}")
        self.world = scenes.formed(size, seed)
        self.first = self.world.hosts[0]
        for host in self.world.hosts[1:]:
            host.core.seeds(self.world.clock(host), (self.first.address,))
            self.world.acted(host)
        self.log: list[str] = []
        """What happened, for who reads a failure."""
        self.things: tuple[Callable[[], str], ...] = (
            *(self.part, self.part, self.join_parts, self.cut_one, self.lose, self.turn_deaf),
            *(self.crash, self.leave, self.restart, self.restart, self.move, self.freeze),
        )

    def run(self, seconds: float) -> None:
        """Have things happen for so long."""
        world, until = self.world, self.world.now + seconds
        while world.now < until:
            world.run(world.now + self.rng.random() * self.rng.choice(PAUSE_S))
            self.log.append(f"{world.now:.1f} {self.rng.choice(self.things)()}")

    def calm(self) -> None:
        """End all that is wrong, as nobody is frozen any more: who is down stays so."""
        until = self.world.now + LEAVES_S
        self.world.run(max([until, *(host.frozen for host in self._up())]))
        self.world.network.loss = CALM_LOSS
        for host in self.world.hosts:
            host.group, host.deaf = 0, False

    # What may happen; each returns what it did

    def _up(self) -> list[Host]:
        return [host for host in self.world.hosts if host.up]

    def _others(self) -> list[Host]:
        return [host for host in self.world.hosts if host.up and host is not self.first]

    def part(self) -> str:
        """The network is parted in up to three."""
        count = self.rng.choice((2, 2, 3))
        for host in self.world.hosts:
            host.group = self.rng.randrange(count)
        return f"parted: {[host.group for host in self._up()]}"

    def cut_one(self) -> str:
        """One is cut off."""
        one = self.rng.choice(self._up())
        one.group = 10 + one.index
        return f"{one.name} is cut off"

    def join_parts(self) -> str:
        """The network is whole."""
        for host in self.world.hosts:
            host.group = 0
        return "whole"

    def crash(self) -> str:
        """One is gone, with or without its machine."""
        up = self._others()
        if not up:
            return "nobody is left to crash"
        one = self.rng.choice(up)
        self.world.crash(one, silent=self.rng.random() < 0.5)
        return f"{one.name} at {one.address} crashed"

    def leave(self) -> str:
        """One leaves, says so, and ends."""
        up = [host for host in self._others() if not host.core.here.left]
        if not up:
            return "nobody is left to leave"
        one = self.rng.choice(up)
        one.core.leave(self.world.clock(one))
        self.world.acted(one)
        self.world.call(self.world.now + LEAVES_S, self.world.crash, one)
        return f"{one.name} at {one.address} leaves"

    def restart(self) -> str:
        """One that is gone starts again: where it was, or elsewhere. Its seeds may be out of reach,
        as its group may be another one."""
        names = {host.name for host in self._up()}
        gone = [host for host in self.world.hosts if host.name not in names]
        if not gone:
            return "nobody is gone"
        old, up = self.rng.choice(gone), self._up()
        free = old.address not in {host.address for host in up}
        address = old.address if free and self.rng.random() < 0.5 else ""
        known = [self.first, *self.rng.sample(up, min(SEEDS, len(up)))]
        seeds = tuple(host.address for host in known)
        one = self.world.host(old.name, address=address, seeds=seeds)
        one.group = self.rng.choice(up).group
        return f"{one.name} is back at {one.address}, with {[host.name for host in known]}"

    def move(self) -> str:
        """One has another address."""
        if not (up := self._others()):
            return "nobody is left to move"
        one = self.rng.choice(up)
        self.world.move(one, f"tcp://10.90.{len(self.log) >> 8}.{len(self.log) & 255}:7450")
        return f"{one.name} moved to {one.address}"

    def freeze(self) -> str:
        """One does nothing for a while."""
        one = self.rng.choice(self._up())
        one.frozen = self.world.now + self.rng.random() * FROZEN_S
        return f"{one.name} is frozen until {one.frozen:.1f}"

    def lose(self) -> str:
        """More or fewer messages are lost."""
        self.world.network.loss = self.rng.choice(LOSS)
        return f"loss {self.world.network.loss}"

    def turn_deaf(self) -> str:
        """Nothing reaches one, or it hears again."""
        one = self.rng.choice(self._up())
        one.deaf = not one.deaf
        return f"{one.name} is {'deaf' if one.deaf else 'not deaf'}"


def exact(world: World) -> bool:
    """Whether all that are up see exactly those that are up: by who they are, not how many."""
    up = {host.core.here.me.handle for host in world.hosts if host.up}
    for host in world.hosts:
        if not host.up:
            continue
        table = host.core.here.table
        there = {handle for handle, row in table.rows.items() if handle not in table.absent}
        if there | {host.core.here.me.handle} != up:
            return False
    return True
