"""A mesh of real processes on loopback: they come, are killed, leave, and come again."""

from __future__ import annotations

import queue
from contextlib import ExitStack

import pytest

import meshmsg as mm
from meshmsg.mesh import EventKind
from tests.support.meshes import WAIT_S, Process, eventually, node, until
from tests.support.pairs import of_its_own


def test_ten_processes_join_by_one_seed_and_a_push_follows_their_pulls() -> None:
    """Each knows all; each gets messages of a Push that knows none of their endpoints."""
    with ExitStack() as stack:
        mesh = stack.enter_context(node("first"))
        workers = [stack.enter_context(Process(f"w{i}", mesh.endpoint)) for i in range(9)]
        names = sorted(["first", *(f"w{i}" for i in range(9))])
        assert [worker.do("wait", None, 10) for worker in workers] == [names] * 9
        push = stack.enter_context(mesh.connect("work", mm.Push))
        for worker in workers:
            worker.do("announce", "work", "tcp://127.0.0.1:0")
        push.wait_for_peers(9, timeout=WAIT_S)
        push.send_many([b"job"] * 9, timeout=WAIT_S)
        assert [worker.do("recv") for worker in workers] == ["job"] * 9


def test_a_process_that_is_killed_is_noticed_by_all() -> None:
    """As UNREACHABLE; and what it offered is no more counted."""
    with node("a") as a, Process("b", a.endpoint) as b, Process("c", a.endpoint) as c:
        c.do("announce", "s", "tcp://127.0.0.1:0")
        assert b.do("wait", "s", 1) == ["c"]
        a.wait_for("s", timeout=WAIT_S)
        with a.watch() as watch:
            c.kill()
            until(watch, EventKind.UNREACHABLE, "c")
        b.do("until", "UNREACHABLE", "c")
        assert a.services() == {}
        assert "refused" in str(a.explain("c"))


def test_the_end_of_a_users_connection_has_the_node_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the node that was killed, by its id."""
    with node("a") as a, Process("b", a.endpoint) as b:
        told: queue.SimpleQueue[list[bytes]] = queue.SimpleQueue()
        monkeypatch.setattr(a._driver, "lost", told.put)
        b.do("announce", "s", "tcp://127.0.0.1:0")
        with a.connect("s", mm.Push) as push:
            push.wait_for_peers(1, timeout=WAIT_S)
            [member] = a.services()["s"]
            b.kill()
            assert told.get(timeout=WAIT_S) == [member.record.node_id]


def test_a_process_that_leaves_is_told_of_and_one_that_comes_again_is_another() -> None:
    """At the same port, under the same name."""
    with node("a") as a, a.watch() as watch:
        with Process("b", a.endpoint, bind=of_its_own()) as b:
            first = until(watch, EventKind.UP, "b").member.record
            b.do("leave")
            until(watch, EventKind.LEFT, "b")
        with Process("b", a.endpoint, bind=b.endpoint):
            again = until(watch, EventKind.UP, "b").member.record
            assert again.addresses == (b.endpoint,)
            assert again.node_id != first.node_id


def test_a_seed_that_comes_later_is_joined_all_the_same() -> None:
    """It is tried for as long as it takes."""
    with Process("first", bind=of_its_own()) as first:
        endpoint = first.endpoint
    with node("a", endpoint) as a, a.watch() as watch:
        eventually(lambda: a.explain("x").errors)
        with Process("first", bind=endpoint):
            until(watch, EventKind.UP, "first")


def test_the_seed_may_be_killed_once_the_others_know_each_other() -> None:
    """No node is a server."""
    with Process("seed") as seed, node("a", seed.endpoint) as a:
        with Process("b", seed.endpoint) as b:
            a.wait_for(count=3, timeout=WAIT_S)
            b.do("wait", None, 3)
            seed.kill()
            b.do("until", "UNREACHABLE", "seed")
            with Process("c", a.endpoint) as c:
                assert "b" in c.do("wait", None, 3)
