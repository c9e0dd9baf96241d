"""Nodes whose mesh ports alone are cut off: that costs no connection and no message."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import pytest

import meshmsg as mm
from meshmsg._mesh.limits import Times
from meshmsg.mesh import EventKind, Mesh, State
from tests.support.meshes import WAIT_S, eventually, node, until
from tests.support.proxy import Proxy, _address, proxied

FORGET_S = 0.1
"""In place of ten minutes."""
LONG_S = 1_000.0
"""That a suspicion lasts, where it is to go on until something is heard."""
MESSAGES = 200
"""Of each part of a test."""


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Proxy]]:
    """What stands in front of two mesh ports; who is gone is forgotten soon, and tried often."""
    short = partial(Times, forget=FORGET_S, forget_unheard=FORGET_S, heal=FORGET_S)
    monkeypatch.setattr("meshmsg._mesh.core.Times", short)
    with ExitStack() as stack:
        yield [stack.enter_context(proxied("tcp://127.0.0.1:1")) for _ in range(2)]


def behind(cut: Proxy, name: str, *seeds: str) -> Mesh:
    """A node that others reach by a proxy alone."""
    made = node(name, *seeds, advertise=cut.endpoint)
    cut._target = _address(made._driver.link.address)
    return made


def passes(push: mm.Push, pull: mm.Pull, part: bytes) -> None:
    """Send many messages, and have each of them arrive, in order."""
    sent = [b"%s %d" % (part, number) for number in range(MESSAGES)]
    push.send_many(sent, timeout=WAIT_S)
    assert [bytes(pull.recv(timeout=WAIT_S)) for _ in sent] == sent


def test_no_message_is_lost_and_no_connection_closed_as_mesh_ports_are_cut_off(
    cuts: list[Proxy],
) -> None:
    """Each is unreachable and then forgotten to the other one, and comes back."""
    a = behind(cuts[0], "a")
    with a, behind(cuts[1], "b", cuts[0].endpoint) as b, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        b.announce("s", pull)
        with a.connect("s", mm.Push) as push, a.watch() as watch:
            push.wait_for_peers(1, timeout=WAIT_S)
            peer = push.peers()[0].id
            passes(push, pull, b"before")
            for cut in cuts:
                cut.freeze()
            until(watch, EventKind.UNREACHABLE, "b")
            passes(push, pull, b"unreachable")
            until(watch, EventKind.FORGOTTEN, "b")
            passes(push, pull, b"forgotten")
            for cut in cuts:
                cut.thaw()
            until(watch, EventKind.UP, "b")
            passes(push, pull, b"after")
            assert [one.id for one in push.peers()] == [peer]
            kinds = {one.kind for one in push.events(since=0)}
            assert mm.EventKind.PEER_DOWN not in kinds
            stats = push.stats()
            assert (stats.disconnects, stats.dropped) == (0, 0)


def test_a_node_whose_mesh_is_over_keeps_its_connections_until_they_end(
    cuts: list[Proxy],
) -> None:
    """Then its endpoint is left: nobody dials it for ever."""
    with node("a") as a, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        b = node("b", a.endpoint)
        b.announce("s", pull)
        with a.connect("s", mm.Push) as push, a.watch() as watch:
            push.wait_for_peers(1, timeout=WAIT_S)
            b.close()
            until(watch, EventKind.FORGOTTEN, "b")
            passes(push, pull, b"forgotten")
            assert push.stats().disconnects == 0
            pull.close()
            eventually(lambda: push._connected == [])


def test_what_comes_over_a_socket_that_follows_keeps_its_node_alive(
    cuts: list[Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is suspect, as its mesh port is cut off; then something comes, and it is alive."""
    monkeypatch.setattr("meshmsg._mesh.core.Times", partial(Times, suspicion=LONG_S))
    a = behind(cuts[0], "a")
    with a, behind(cuts[1], "b", cuts[0].endpoint) as b, mm.Router(bind="tcp://127.0.0.1:0") as far:
        told: queue.SimpleQueue[tuple[Sequence[bytes], State]] = queue.SimpleQueue()
        heard = a._driver.heard

        def note(nodes: Sequence[bytes]) -> None:
            with a._driver.lock:
                heard(nodes)
                told.put((nodes, a.members()[1].state))

        monkeypatch.setattr(a._driver, "heard", note)
        b.announce("s", far)
        with a.connect("s", mm.Dealer) as near:

            def goes_on() -> bool:
                near.send(b"?", timeout=WAIT_S)
                far.send_frames(far.recv_frames(timeout=WAIT_S), timeout=WAIT_S)
                near.recv(timeout=WAIT_S)
                return not told.empty()

            assert not goes_on(), "nobody is suspect"
            for cut in cuts:
                cut.freeze()
            eventually(lambda: a.members()[1].state == State.SUSPECT)
            assert eventually(goes_on)
            assert told.get() == ([b.node_id], State.ALIVE)
