"""`select=` over real connections: who is connected to as members come and go.

Not here: the rule itself (test_mesh_select.py), another choice that nobody answers at
(test_mesh_follow.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import meshmsg as mm
from meshmsg.mesh import Mesh
from tests.support.crowd import Crowd
from tests.support.feeding import World
from tests.support.meshes import (
    WAIT_S,
    Process,
    eventually,
    following,
    node,
    node_of,
    peers_at,
    urls,
)

SEED = "tcp://10.78.0.1:7450"
THREE = 3
OFFERS = 6
NAMES = [f"name-{number}" for number in range(12)]


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    """Three machines."""
    with Crowd(3) as made:
        yield made


@pytest.mark.parametrize("loop", [False, True], ids=["threads", "asyncio"])
def test_the_nearest_is_the_same_machine_else_the_same_zone_else_another(
    crowd: Crowd, loop: bool
) -> None:
    """As each is killed the next is taken; as one comes again that is nearer, it is taken back."""
    places = {"near": (0, "z1"), "zoned": (1, "z1"), "far": (2, "z2")}

    def offers(name: str) -> None:
        machine, zone = places[name]
        crowd.start(name, machine, SEED, zone=zone)
        crowd.tell(name, "offer", "work")

    def goes_to(name: str) -> None:
        """The next messages are all that one's, and it is the only one that is connected."""
        here = f"//{crowd.do('address', places[name][0])}:"
        so = lambda: len(crowd.peers["boss"]) == 1 and here in str(crowd.peers["boss"])  # noqa: E731
        crowd.until(so, f"{name} is connected, and nobody else")
        got = crowd.got[name, "work"]
        before = len(got)
        crowd.tell("boss", "push", "work", 0, 20)
        crowd.until(lambda: len(got) == before + 20, f"{name} has what was sent")

    bind = {"bind": "tcp://0.0.0.0:7450"}
    crowd.start("boss", 0, zone="z1", asyncio=loop, **bind)
    crowd.tell("boss", "follow", "work", {"select": "nearest"})
    offers("far")
    goes_to("far")
    offers("zoned")
    goes_to("zoned")
    offers("near")
    goes_to("near")
    crowd.signal("near", "SIGKILL")
    goes_to("zoned")
    crowd.signal("zoned", "SIGKILL")
    goes_to("far")
    offers("near")
    goes_to("near")


class Workers:
    """Nodes of this process that offer a Pull."""

    def __init__(self, stack: ExitStack, seed: str) -> None:
        self._stack, self._seed = stack, seed
        self._nodes: dict[str, tuple[str, Mesh]] = {}

    def come(self, name: str) -> str:
        """Begin one; return its endpoint."""
        mesh = self._stack.enter_context(node(name, self._seed))
        pull = self._stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0"))
        mesh.announce("s", pull)
        self._nodes[pull.endpoint] = (name, mesh)
        return pull.endpoint

    def go(self, url: str) -> None:
        """One leaves."""
        self._nodes.pop(url)[1].leave()

    @property
    def urls(self) -> set[str]:
        """Of those that are there."""
        return set(self._nodes)


@pytest.fixture
def seed() -> Iterator[Mesh]:
    """A node that offers nothing."""
    with node("seed") as made:
        yield made


def test_three_stay_three_while_members_come_and_go(world: World, seed: Mesh) -> None:
    """Who is connected stays; one that goes is replaced; with too few, all are."""
    with ExitStack() as stack:
        workers = Workers(stack, seed.endpoint)
        a = stack.enter_context(node_of(world, "a", seed.endpoint))
        push = stack.enter_context(following(world, a, "s", "Push", select="n=3"))
        for number in range(OFFERS):
            workers.come(f"w{number}")
            eventually(lambda: len(peers_at(push)) == min(len(workers.urls), THREE))
        before = set(peers_at(push))
        workers.come("late")
        a.wait_for("s", OFFERS + 1, timeout=WAIT_S)
        assert set(peers_at(push)) == before, "nobody's place is taken"
        while len(workers.urls) > 1:
            gone = sorted(before)[0]
            workers.go(gone)
            there = min(len(workers.urls), THREE)
            eventually(lambda: len(after := peers_at(push)) == there and gone not in after)  # noqa: B023
            assert before - {gone} <= set(peers_at(push)) <= workers.urls
            before = set(peers_at(push))
        for number in range(THREE):
            workers.come(f"again{number}")
        eventually(lambda: len(peers_at(push)) == THREE)
        assert before <= set(peers_at(push)) <= workers.urls
        assert set(urls(push)) == set(peers_at(push)), "nobody else is dialed"


def test_a_hash_is_the_same_in_two_processes_and_under_each_form(seed: Mesh, world: World) -> None:
    """By the name of who follows: two of one name choose the same, whatever the process."""
    with ExitStack() as stack:
        workers = Workers(stack, seed.endpoint)
        for number in range(OFFERS):
            workers.come(f"w{number}")

        def here(name: str) -> list[str]:
            with node_of(world, name, seed.endpoint) as mesh:
                mesh.wait_for("s", OFFERS, timeout=WAIT_S)
                with following(world, mesh, "s", "Push", select="hash") as push:
                    push.wait_for_peers(1, timeout=WAIT_S)
                    return peers_at(push)

        chosen = {name: here(name) for name in NAMES}
        assert all(len(one) == 1 for one in chosen.values())
        assert len({one[0] for one in chosen.values()}) > 1, "the names do not all go to one"
        for name in NAMES[:2]:
            with Process(name, seed.endpoint) as other:
                other.do("wait", "s", OFFERS)
                assert other.do("follow", "s", "hash") == chosen[name]


def test_a_hash_changes_only_as_the_one_it_names_goes(world: World, seed: Mesh) -> None:
    """Then it is another one; what comes back comes under another id, and is a choice anew."""
    with ExitStack() as stack:
        workers = Workers(stack, seed.endpoint)
        for number in range(OFFERS):
            workers.come(f"w{number}")
        a = stack.enter_context(node_of(world, "a", seed.endpoint))
        a.wait_for("s", OFFERS, timeout=WAIT_S)
        push = stack.enter_context(following(world, a, "s", "Push", select="hash"))
        while len(workers.urls) > 1:
            eventually(lambda: len(peers_at(push)) == len(urls(push)) == 1)
            (chosen,) = set(peers_at(push))
            other = next(iter(workers.urls - {chosen}))
            left = len(workers.urls) - 1
            if left > 1:
                workers.go(other)
                eventually(lambda: len(a.services()["s"]) == left)  # noqa: B023
                assert set(peers_at(push)) == {chosen}
            workers.go(chosen)
            eventually(lambda: chosen not in urls(push) and len(peers_at(push)) == 1)  # noqa: B023
            assert set(peers_at(push)) <= workers.urls
