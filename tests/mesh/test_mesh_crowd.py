"""Many processes on several machines, which are network namespaces: what becomes of a mesh as some
are killed or stand still, as a link goes down, and as a machine gets another address.

20 processes here; MESHMSG_MESH_PROCESSES says how many, and `make crash PARTS=mesh` has 100. It
prints how long each took, and asserts none of that. Not here: few processes on loopback
(test_mesh_processes.py), messages that are under way as an address changes (tests/fault).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.crowd import Crowd
from tests.support.spaces import side_of

PROCESSES = int(os.environ.get("MESHMSG_MESH_PROCESSES", "20"))
MACHINES = 4 if PROCESSES < 50 else 5
KILLED = max(2, PROCESSES // 20)
AT_ONCE = 20
"""Processes that join at once: each uses a part of a processor for it."""
SEED = "tcp://10.78.0.1:7450"
MESSAGES = 50


class Story:
    """A crowd, who is in it, and what happens to it."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.names = [f"n{number}" for number in range(PROCESSES)]
        print(f"\n{PROCESSES} processes on {MACHINES} machines, {KILLED} are killed:", flush=True)

    def on(self, machine: int) -> list[str]:
        """Who is on a machine, of those that live."""
        return [name for name in self.names if int(name[1:]) % MACHINES == machine]

    def but(self, some: list[str]) -> list[str]:
        """The others that live."""
        return [name for name in self.names if name not in some]

    def note(self, what: str, seconds: float) -> None:
        """Print that something took so long."""
        print(f"{seconds:8.2f} s  {what}", flush=True)

    def begin(self) -> None:
        """They start, some at once, with one seed; all see all, and the next do."""
        there = list[str]()
        for number, name in enumerate(self.names, 1):
            bind = {"bind": "tcp://0.0.0.0:7450"} if number == 1 else {}
            began = self.crowd.start(name, int(name[1:]) % MACHINES, SEED, **bind)
            there.append(name)
            if number % AT_ONCE == 0 or number == PROCESSES:
                known = self.crowd.when(there, there, "ALIVE") - began
        self.note(f"all see all, as the last {AT_ONCE} were started", known)
        for name in self.names:
            self.crowd.tell(name, "cost")
        told, words = self.crowd.told, {(name, "cost") for name in self.names}
        self.crowd.until(lambda: words <= told.keys(), "they say what they cost")
        self.sizes = sorted(told[word][0] for word in words)
        self.note("of a processor they used for that, together", sum(told[w][1] for w in words))

    def kill(self) -> None:
        """Some are killed; all others see that."""
        gone = self.names[2 :: PROCESSES // KILLED][:KILLED]
        at = {name: self.crowd.signal(name, "SIGKILL") for name in gone}
        self.names = self.but(gone)
        known = [self.crowd.when(self.names, [name], "UNREACHABLE") - at[name] for name in gone]
        self.note(f"all know of a kill, of {KILLED} at once", max(known))

    def stand_still(self) -> None:
        """One is stopped, and goes on: it is the same node, and sees all."""
        one = self.names[-1]
        others = self.but([one])
        at = self.crowd.signal(one, "SIGSTOP")
        self.note("all know of one that stands still", self.known(others, [one], at))
        at = self.crowd.signal(one, "SIGCONT")
        back = self.crowd.when(others, [one], "ALIVE")
        self.note("all see it again, once it goes on", back - at)
        self.crowd.when([one], others, "ALIVE")
        assert self.crowd.nodes(one) == {self.crowd.ids[one]}

    def known(self, who: list[str], whom: list[str], at: float) -> float:
        """Seconds until each of these saw each of those as UNREACHABLE."""
        return self.crowd.when(who, whom, "UNREACHABLE") - at

    def part(self) -> None:
        """The link of the switches is down, and up again: both halves know, then all see all."""
        halves = [[], []]
        for machine in range(MACHINES):
            halves[side_of(machine, MACHINES)] += self.on(machine)
        left, right = halves
        self.crowd.disturbed.update(self.names)
        at = self.crowd.at("cut")
        known = [self.known(left, right, at), self.known(right, left, at)]
        self.note(f"{len(left)} and {len(right)} know of a cut between them", max(known))
        for side in halves:
            self.crowd.when(side, side, "ALIVE")
        at = self.crowd.at("mend")
        healed = self.crowd.when(self.names, self.names, "ALIVE")
        self.note("all see all, once the link is up", healed - at)

    def move(self) -> None:
        """A machine gets another address: all see its nodes there, and a socket follows one."""
        crowd, moved = self.crowd, self.on(1)
        boss, worker = self.on(0)[0], moved[0]
        crowd.tell(worker, "offer", "work")
        crowd.tell(boss, "follow", "work", {})
        crowd.until(lambda: "//10.78.1.1:" in str(crowd.peers[boss]), "the Push is connected")
        self.passes(boss, worker, 0)
        crowd.disturbed.update(moved)
        at = crowd.at("move", 1)
        there = crowd.do("address", 1)
        crowd.until(lambda: f"//{there}:" in str(crowd.peers[boss]), "the Push has followed")
        self.note("a Push is connected to the new address", crowd.changed[boss] - at)
        crowd.until(lambda: len(crowd.peers[boss]) == 1, "the Push has left the old address")
        self.passes(boss, worker, MESSAGES)
        self.note("all see its nodes there", crowd.when_at(self.names, moved, there) - at)
        crowd.when(self.names, self.names, "ALIVE")

    def passes(self, boss: str, worker: str, first: int) -> None:
        """Numbers are sent, and each comes, once."""
        self.crowd.tell(boss, "push", "work", first, MESSAGES)
        got = self.crowd.got[worker, "work"]
        self.crowd.until(lambda: len(got) >= first + MESSAGES, "the messages are there")
        assert got == [str(number) for number in range(first + MESSAGES)]

    def told(self) -> None:
        """Print what else was seen."""
        print(f"{self.sizes[PROCESSES // 2] / 2**20:8.1f} MiB of its own has a process")
        print(f"{len(self.crowd.gone_wrongly):8} times somebody was taken for gone who was not")


@pytest.fixture
def story() -> Iterator[Story]:
    """Nobody yet."""
    with Crowd(MACHINES) as crowd:
        yield Story(crowd)


def test_a_mesh_of_many_processes_sees_what_becomes_of_them(story: Story) -> None:
    """Each sees it of each, by itself: nothing asks them."""
    story.begin()
    story.kill()
    story.stand_still()
    story.part()
    story.move()
    story.told()
