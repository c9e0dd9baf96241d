"""As another node is the better choice a socket goes over to it, and loses nothing at the old one.

Not here: what each role waits for there (tests/unit/test_handing_over.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.peer_info import PeerInfo
from meshmsg._mesh.told import State
from meshmsg._socket.peers import all_peers
from meshmsg.mesh import Mesh, _follow
from tests.mesh.test_mesh_follow import Members
from tests.support.feeding import World
from tests.support.later import Later
from tests.support.meshes import WAIT_S, eventually, following, node, node_of, peers_at, urls

HEAVY = 65_535
"""The weight of a node that every hash chooses."""
WEIGHTS = (1, 16, 256, 4_096, HEAVY)
"""Of nodes in the order that they join: each is likely chosen, and it is nearly never the first."""

PAUSE_S = 0.05
"""Seconds that a request waits for its answer, if nobody else asks."""


@pytest.fixture
def reps() -> Iterator[list[mm.Rep]]:
    """Two that answer."""
    made = [mm.Rep(bind="tcp://127.0.0.1:0") for _ in range(2)]
    yield made
    for one in made:
        one.close()


@pytest.fixture
def req() -> Iterator[mm.Req]:
    """It follows; its linger is nothing."""
    with mm.Req(linger=0) as made:
        yield made


def test_a_request_under_way_is_answered_where_it_was_sent(req: mm.Req, reps: list[mm.Rep]) -> None:
    """The next goes to the better one; that one is alone as soon as the answer is there."""
    members = Members()
    follower = members.follow(req, "hash")
    follower.told([members.put("a", reps[0].endpoint, role="rep")])
    first = Later(lambda: req.request(b"?", timeout=WAIT_S))
    asked = reps[0].recv(timeout=WAIT_S)
    follower.told([members.put("b", reps[1].endpoint, role="rep", weight=HEAVY)])
    members.look(follower, lambda: urls(req) == [reps[1].endpoint])
    second = Later(lambda: req.request(b"?", timeout=WAIT_S))
    reps[1].recv(timeout=WAIT_S).reply(b"b")
    assert bytes(second.result()) == b"b"
    assert peers_at(req) == sorted(one.endpoint for one in reps)
    asked.reply(b"a")
    assert bytes(first.result()) == b"a"
    eventually(lambda: peers_at(req) == [reps[1].endpoint])
    assert members.lost == []


def test_the_old_one_is_the_choice_again_as_the_better_one_goes(
    req: mm.Req, reps: list[mm.Rep]
) -> None:
    """Also while it owes an answer; that comes, and so do others."""
    members = Members()
    follower = members.follow(req, "hash")
    follower.told([members.put("a", reps[0].endpoint, role="rep")])
    first = Later(lambda: req.request(b"?", timeout=WAIT_S))
    asked = reps[0].recv(timeout=WAIT_S)
    better = reps[1].endpoint
    follower.told([members.put("b", better, role="rep", weight=HEAVY)])
    members.look(follower, lambda: urls(req) == [reps[1].endpoint])
    reps[1].close()
    follower.told([members.put("b", better, role="rep", weight=HEAVY, state=State.LEFT)])
    assert urls(req) == [reps[0].endpoint]
    second = Later(lambda: req.request(b"?", timeout=WAIT_S))
    reps[0].recv(timeout=WAIT_S).reply(b"again")
    assert bytes(second.result()) == b"again"
    asked.reply(b"a")
    assert bytes(first.result()) == b"a"
    eventually(lambda: len(peers_at(req)) == 1)


def test_a_subscriber_stays_until_the_other_publisher_has_its_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connected is not enough: nothing would come from there yet."""
    waiting, members = set[str](), Members()

    def peers(handle: int) -> tuple[int, list[PeerInfo]]:
        count, found = all_peers(handle)
        late = [replace(o, subscribed="waiting") if o.endpoint in waiting else o for o in found]
        return count, late

    monkeypatch.setattr(_follow, "all_peers", peers)
    here = "tcp://127.0.0.1:0"
    with mm.Sub(topics="t") as sub, mm.Pub(bind=here) as old, mm.Pub(bind=here) as new:
        follower = members.follow(sub, "hash")
        follower.told([members.put("a", old.endpoint, role="pub")])
        old.wait_for_subscribers("t", timeout=WAIT_S)
        waiting.add(new.endpoint)
        follower.told([members.put("b", new.endpoint, role="pub", weight=HEAVY)])
        new.wait_for_subscribers("t", timeout=WAIT_S)
        assert follower.told([])
        assert urls(sub) == sorted([old.endpoint, new.endpoint])
        waiting.clear()
        eventually(lambda: follower.told([]) and urls(sub) == [new.endpoint])


def test_no_request_fails_while_nodes_only_join(world: World) -> None:
    """Of those that are under way all the time: each is answered, whoever is chosen meanwhile."""
    over, errors, answers = threading.Event(), list[BaseException](), list[bytes]()
    with ExitStack() as stack:
        seed = stack.enter_context(node("seed"))
        a = stack.enter_context(node_of(world, "a", seed.endpoint))
        offer(stack, seed, WEIGHTS[0])
        req = stack.enter_context(following(world, a, "s", "Req", select="hash", linger=0))

        def ask() -> None:
            while not over.is_set():
                try:
                    answers.append(bytes(req.request(b"?", timeout=WAIT_S)))
                except BaseException as error:
                    errors.append(error)

        asking = [Later(ask) for _ in range(4)]
        for number, weight in enumerate(WEIGHTS[1:], 2):
            joins = stack.enter_context(node(f"n{number}", seed.endpoint))
            offer(stack, joins, weight)
            a.wait_for("s", number, timeout=WAIT_S)
            before = len(answers)
            eventually(lambda: len(answers) >= before + 20)  # noqa: B023
        over.set()
        for one in asking:
            one.result()
        assert errors == []
        assert len(set(answers)) > 1, "it went nowhere else"


def offer(stack: ExitStack, mesh: Mesh, weight: int) -> None:
    """Offer a Rep that answers who it is, each time as the next one asks, or nobody does."""
    rep = stack.enter_context(mm.Rep(bind="tcp://127.0.0.1:0"))

    def answer() -> None:
        held: list[Any] = []
        while not rep.closed:
            last = len(held)
            with suppress(mm.TimedOutError, mm.ClosedError):
                held.append(rep.recv(timeout=PAUSE_S))
            answered, held = held[:last], held[last:]
            for request in answered:
                request.reply(rep.endpoint.encode())

    threading.Thread(target=answer, daemon=True).start()
    mesh.announce("s", rep, weight=weight)
