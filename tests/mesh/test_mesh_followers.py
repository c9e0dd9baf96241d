"""Those who follow a node: it is killed, it leaves, its mesh or theirs is closed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.mesh import EventKind, Mesh
from tests.support.feeding import World
from tests.support.meshes import WAIT_S, Process, eventually, following, node, until, urls
from tests.support.numbered import Numbers
from tests.support.pairs import of_its_own

FOLLOWERS = 20
PART = 300
"""Messages between two things that happen, at least."""


def test_twenty_sockets_follow_one_that_is_killed_to_its_next_life(
    world: World, seed: Mesh, a: Any
) -> None:
    """All lose it at once, by themselves; all find it where it is then, and leave the old place."""
    with ExitStack() as stack, seed.watch() as watch:
        pushes = [stack.enter_context(following(world, a, "s", "Push")) for _ in range(FOLLOWERS)]

        def all_send(worker: Process) -> None:
            for number, push in enumerate(pushes):
                push.send(b"%d" % number, timeout=WAIT_S)
            got = sorted(int(worker.do("recv")) for _ in pushes)
            assert got == list(range(FOLLOWERS))

        with Process("b", seed.endpoint) as b:
            b.do("announce", "s", "tcp://127.0.0.1:0")
            for push in pushes:
                push.wait_for_peers(1, timeout=WAIT_S)
            all_send(b)
        eventually(lambda: not any(push.peers() for push in pushes))
        until(watch, EventKind.UNREACHABLE, "b")
        with Process("b", seed.endpoint) as b:
            there = b.do("announce", "s", "tcp://127.0.0.1:0")
            eventually(lambda: all(urls(push) == [there] for push in pushes))
            all_send(b)


def test_one_that_leaves_with_messages_in_flight_loses_none_that_it_took(
    world: World, seed: Mesh, a: Any
) -> None:
    """What it acknowledged comes to nobody else, and the rest does; they are sent all the time."""
    with ExitStack() as stack:
        options: dict[str, Any] = {"bind": "tcp://127.0.0.1:0", "ack": "manual", "prefetch": 50}
        b, c = (stack.enter_context(node(name, seed.endpoint)) for name in "bc")
        leaves, stays = (stack.enter_context(mm.Pull(**options)) for _ in range(2))
        b.announce("s", leaves)
        push = stack.enter_context(following(world, a, "s", "Push", delivery="at_least_once"))
        with Numbers(push) as numbers:
            numbers.more(PART, leaves)
            c.announce("s", stays)
            numbers.more(PART, stays, leaves)
            numbers.more(1, leaves, stays)
            acked = set(numbers.got)
            eventually(lambda: push.stats().acked_messages >= len(acked))
            b.leave()
            eventually(lambda: urls(push) == [stays.endpoint])
            later = len(numbers.got)
            numbers.more(PART, stays)
        numbers.rest(stays)
        assert not acked & set(numbers.got[later:])
        eventually(lambda: push.stats().acked_messages == numbers.sent)
        assert push.stats().dropped == 0


def test_one_that_stops_receiving_and_leaves_gives_out_all_that_was_its(
    world: World, seed: Mesh, a: Any
) -> None:
    """Without acknowledgements: each message comes once, to it or to the one that stays."""
    with ExitStack() as stack:
        b, c = (stack.enter_context(node(name, seed.endpoint)) for name in "bc")
        leaves, stays = (stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0")) for _ in range(2))
        b.announce("s", leaves)
        c.announce("s", stays)
        push = stack.enter_context(following(world, a, "s", "Push"))
        with Numbers(push) as numbers:
            numbers.more(PART, leaves, stays)
            leaves.stop_receiving()
            with pytest.raises(mm.ClosedError):
                numbers.until([leaves, stays], lambda: False)
            assert leaves.stop_receiving().clean
            b.leave()
            eventually(lambda: urls(push) == [stays.endpoint])
            numbers.more(PART, stays)
        numbers.rest(stays)
        assert numbers.came_once()
        assert push.stats().dropped == 0


@pytest.mark.parametrize("whose", ["theirs", "its own"])
def test_a_mesh_that_is_closed_leaves_its_sockets_connected(
    world: World, seed: Mesh, a: Any, whose: str
) -> None:
    """Of who follows, or of who is followed: each message comes, over the same connection."""
    with node("b", seed.endpoint) as b, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        b.announce("s", pull)
        with following(world, a, "s", "Push") as push, seed.watch() as watch:
            with Numbers(push) as numbers:
                numbers.more(PART, pull)
                (b if whose == "theirs" else a).close()
                until(watch, EventKind.UNREACHABLE, "b" if whose == "theirs" else "a")
                numbers.more(PART, pull)
            numbers.rest(pull)
            assert numbers.came_once()
            assert push.stats().disconnects == 0
            assert urls(push) == [pull.endpoint]


def test_a_socket_whose_mesh_is_closed_dials_on_where_it_was(
    world: World, seed: Mesh, a: Any
) -> None:
    """As any socket does: the next that is bound there is connected; nobody else is."""
    with node("b", seed.endpoint) as b, following(world, a, "s", "Push") as push:
        with mm.Pull(bind=of_its_own()) as pull:
            b.announce("s", pull)
            push.wait_for_peers(1, timeout=WAIT_S)
            where = pull.endpoint
        eventually(lambda: not push.peers())
        a.close()
        with mm.Pull(bind=where) as again, mm.Pull(bind="tcp://127.0.0.1:0") as other:
            b.announce("s", other)
            push.wait_for_peers(1, timeout=WAIT_S)
            push.send(b"x", timeout=WAIT_S)
            assert again.recv(timeout=WAIT_S) == b"x"
            assert urls(push) == [where]


def test_a_follower_that_is_closed_is_let_go_of_by_its_mesh(
    world: World, seed: Mesh, a: Any
) -> None:
    """Its mesh goes on, and so do the others that follow."""
    with node("b", seed.endpoint) as b, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        with following(world, a, "s", "Push") as stays:
            for _ in range(FOLLOWERS):
                following(world, a, "s", "Push").close()
            b.announce("s", pull)
            stays.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"
            driver = getattr(a, "_real", a)._driver
            eventually(lambda: len(driver._listeners) == 2)  # of questions, and the one that stays
