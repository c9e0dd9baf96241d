"""A node whose process holds the interpreter's lock: its mesh is silent, and its sockets are not.

Not here: sockets without a mesh (tests/fault/test_faults_still.py).
"""

from __future__ import annotations

import meshmsg as mm
from meshmsg.mesh import EventKind
from tests.support.meshes import WAIT_S, Process, node, until

UP = "tcp://127.0.0.1:0"


def test_f27_a_node_whose_interpreter_is_held_is_unreachable_and_comes_back() -> None:
    """It is the same node; its connection stays, and what was sent meanwhile arrives."""
    with node("a") as mesh, Process("b", mesh.endpoint) as other:
        other.do("announce", "s", UP)
        with mesh.connect("s", mm.Push) as push, mesh.watch() as watch:
            push.wait_for_peers(1, timeout=WAIT_S)
            before = until(watch, EventKind.UP, "b").member.record.node_id
            assert other.do("hold") == "held"
            until(watch, EventKind.UNREACHABLE, "b")
            [peer] = push.peers()
            push.send(b"x", timeout=WAIT_S)
            other.let_go()
            assert until(watch, EventKind.UP, "b").member.record.node_id == before
            assert other.do("recv") == "x"
            assert [one.id for one in push.peers()] == [peer.id]
            assert push.stats().disconnects == 0
