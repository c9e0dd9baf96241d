"""Nodes that take nobody new (`weight=0`): who follows them is told that this is why nobody comes.

Not here: who is chosen (test_mesh_select.py).
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg._mesh.told import Member, Service, State
from meshmsg.mesh._explain import Explanation
from meshmsg.mesh._select import without_weight
from tests.support.feeding import UP
from tests.support.mesh_nodes import record
from tests.support.meshes import WAIT_S, node

ROLE = mm.Push._role


def offering(number: int, weight: int, role: str = "pull", state: State = State.ALIVE) -> Member:
    """A node that offers "s"."""
    service = Service("s", role, "zmtp", (f"tcp://10.0.0.{number}:1",), weight=weight)
    told = record(number, services=(service,))
    return Member(told, state, 0.0, None, None, told.node_id)


def named(*numbers: int) -> str:
    """How a text calls these nodes."""
    return ", ".join(f"node-{n} ({record(n).node_id.hex()[:8]})" for n in numbers)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([offering(1, 0)], f"'s' is offered by {named(1)} with weight=0: it takes nobody new"),
        (
            [offering(1, 0), offering(2, 0), offering(3, 1, "pub")],
            "'s' is offered by 2 nodes, all with weight=0: they take nobody new",
        ),
        ([offering(1, 0), offering(2, 1)], ""),
        (
            [offering(1, 0), offering(2, 1, state=State.UNREACHABLE)],
            f"'s' is offered by {named(1)} with weight=0: it takes nobody new",
        ),
        ([offering(1, 0, state=State.UNREACHABLE)], ""),
    ],
)
def test_it_is_said_that_those_who_offer_it_take_nobody_new(
    members: list[Member], words: str
) -> None:
    """If that is so of all whom the socket could talk to."""
    assert without_weight(ROLE, "s", members) == words


def lines_of(member: Member) -> list[str]:
    """What is explained of a node."""
    one = record(9)
    told = {member.record.node_id: "node-1"}
    return Explanation("s", (member,), (member,), 0.0, told, {}, (), one.addresses, 0).lines()


@pytest.mark.parametrize(
    ("weight", "words"),
    [(0, ", weight 0: nobody who is new connects to it"), (1, ""), (3, ", weight 3")],
)
def test_a_weight_that_is_not_the_usual_one_is_explained(weight: int, words: str) -> None:
    """In the line of the service."""
    assert f"  s (pull) at tcp://10.0.0.1:1{words}" in lines_of(offering(1, weight))


def test_who_sends_to_nodes_without_weight_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """By the error of the send; once one has a weight it is sent."""
    with node("a") as mesh, mm.Pull(bind=UP) as pull, mesh.connect("s", mm.Push) as push:
        mesh.announce("s", pull, weight=0)
        with pytest.raises(mm.TimedOutError, match=r"with weight=0: it takes nobody new; see mesh"):
            push.send(b"x", timeout=0.01)
        assert "weight 0: nobody who is new" in str(mesh.explain("a"))
        mesh.announce("s", pull)
        push.send(b"x", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"x"
