"""`explain`: by whose word a node is what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._mesh.octets import Rumour, statement_raw
from meshmsg._mesh.told import Member, Service, State
from meshmsg.mesh import Mesh, _opening
from meshmsg.mesh._explain import ITSELF, Explanation
from tests.support.mesh_nodes import record
from tests.support.meshes import WAIT_S, eventually, node


@pytest.mark.parametrize(
    ("state", "by", "words"),
    [
        (State.UNREACHABLE, "node-2 (1234abcd)", ", as node-2 (1234abcd) said"),
        (State.SUSPECT, "1234abcd", ", as 1234abcd said"),
        (State.UNREACHABLE, ITSELF, ", as this node found"),
        (State.ALIVE, None, ""),
    ],
)
def test_it_is_said_by_whom_a_node_is_taken_for_that(
    state: State, by: str | None, words: str
) -> None:
    """Another node, this one; of what it says of itself nothing."""
    of = record(1)
    told_by = of.node_id if by is None else record(2).node_id
    member = Member(of, state, 1.0, None, None, told_by)
    told = {of.node_id: "node-1" if by is None else by}
    explained = Explanation("node-1", (member,), (member,), 3.0, told, {}, (), (), 0)
    assert explained.lines()[0].endswith(f": {state.name} for 2.0 s{words}")


def accused(mesh: Mesh, by: Mesh, of: Mesh) -> None:
    """Have a node hear another one's word of a third, which it has not heard itself for long."""
    driver, me = mesh._driver, of._driver.core.here.me  # type: ignore[attr-defined]
    said = by._driver.core.here.state(  # type: ignore[attr-defined]
        Rumour.SUSPECT, me.handle, me.record.incarnation
    )
    driver.core.here.table.rows[me.handle].heard = None  # type: ignore[attr-defined]
    driver.core.opinions.hear_statement(  # type: ignore[attr-defined]
        driver.clock(), Rumour.SUSPECT, statement_raw(said)
    )


def test_a_mesh_explains_whose_word_it_has() -> None:
    """By the name of who said it first, and the beginning of its id."""
    with node("a") as a, node("b", a.endpoint) as b, node("c", a.endpoint) as c:
        a.wait_for(count=3, timeout=WAIT_S)

        def said() -> str:
            accused(a, c, b)
            return a.explain("b").lines()[0]

        line = a._driver.do(said)
        assert line.endswith(f" s, as c ({c.node_id.hex()[:8]}) said")
        assert ": SUSPECT for " in line


def test_it_is_said_why_a_service_cannot_be_connected_to(short_path: Path) -> None:
    """The node is well, and nobody listens there: here the file of its socket was removed."""
    path = short_path / "gone"
    with node("a") as a, node("b", a.endpoint) as b, mm.Pull(bind=f"ipc://{path}") as pull:
        a.announce("s", pull)
        b.wait_for("s", timeout=WAIT_S)
        path.unlink()
        with b.connect("s", mm.Push) as push:
            eventually(lambda: "    connection refused" in b.explain("a").lines())
            with pytest.raises(mm.TimedOutError, match="'s' at ipc://.*: connection refused"):
                push.send(b"x", timeout=0.01)
            with mm.Pull(bind=f"ipc://{path}"):
                push.wait_for_peers(1, timeout=WAIT_S)
                eventually(lambda: "    connection refused" not in b.explain("a").lines())


LOCAL = "for nodes of its own machine and network namespace only; to be reached from others, bind"
"""How it is told of what cannot be reached from elsewhere."""


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("tcp://127.0.0.1:5", f"it is on loopback, {LOCAL} tcp://*"),
        ("tls+tcp://[::1]:5", f"it is on loopback, {LOCAL} tls+tcp://*"),
        ("ipc:///a/b", f"it is of ipc, {LOCAL} tcp://*"),
        ("tcp://169.254.1.1:5", "it is link-local: where clouds keep"),
        ("tcp://10.0.0.1:5", ""),
    ],
)
def test_it_is_said_why_what_is_offered_cannot_be_reached_from_here(
    endpoint: str, words: str
) -> None:
    """Of a node elsewhere; of one of this machine nothing is said of loopback and ipc. What a
    socket found at the same endpoint, which is another one, is not said of it."""
    service = Service("s", "pull", "zmtp", (endpoint,))
    for host in ("there#1", "here#1"):
        of = record(1, host=host, services=(service,))
        member = Member(of, State.ALIVE, 1.0, None, None, of.node_id)
        told = Explanation(
            *("node-1", (member,), (member,), 3.0, {of.node_id: "node-1"}),
            *({endpoint: "refused"}, (), (), 0),
            host="here#1",
        ).lines()
        behind = told[told.index(f"  s (pull) at {endpoint}") + 1]
        if words and (host != "here#1" or "link-local" in words):
            assert behind.startswith(f"    {words}")
        else:
            assert behind == "    refused"


def test_who_follows_what_is_for_another_machine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `explain` of its mesh, and by the error of a send; not if another node can be reached."""
    with node("a") as a, mm.Pull(bind="tcp://127.0.0.1:0") as pull, a.connect("s", mm.Push) as push:
        monkeypatch.setattr(_opening, "here", lambda: "elsewhere#1")
        with node("b", a.endpoint) as b:
            b.announce("s", pull)
            a.wait_for("s", timeout=WAIT_S)
            assert a.endpoints("s") == {}
            assert f"    it is on loopback, {LOCAL} tcp://*" in a.explain("b").lines()
            assert LOCAL not in str(b.explain("b"))
            with pytest.raises(mm.TimedOutError) as caught:
                push.send(b"x", timeout=0.01)
            where = f"'s' is offered by b ({b.node_id.hex()[:8]}) at {pull.endpoint}: it is on loop"
            assert where in str(caught.value)
            a.announce("s", pull)
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"
