"""A socket that follows a service, and that its user connects and disconnects by hand as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.making import make_secret
from meshmsg.mesh import Mesh
from tests.support.feeding import World
from tests.support.meshes import WAIT_S, eventually, node, peers_at, urls

SELECTS = ("all", "nearest", "n=2", "hash")
ORDERS = {
    "the user, the mesh": "uml",
    "the mesh, the user": "mul",
    "the mesh only": "ml",
}
"""Who connects when: u the user, m the mesh; l: the user leaves."""


def follow(mesh: Any, service: str, socket: Any, select: str = "all") -> None:
    """Have an open socket follow a service, for threads or for a loop."""
    mesh.connect(service, getattr(socket, "_real", socket), select=select)


def seen(a: Any, service: str, url: str) -> None:
    """Wait until the node knows that this is offered."""
    eventually(lambda: url in a.endpoints(service))


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_what_the_user_leaves_is_connected_as_long_as_the_mesh_wants_it(
    world: World, seed: Mesh, a: Any, order: str, select: str
) -> None:
    """Whoever connected first; a message comes, over one connection."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, world.socket("Push") as push:
        url = pull.endpoint
        seed.announce("s", pull)
        seen(a, "s", url)
        steps: dict[str, Callable[[], object]] = {
            "u": lambda: push.connect(url),
            "m": lambda: follow(a, "s", push, select),
            "l": lambda: push.disconnect(url),
        }
        for number, step in enumerate(order, 1):
            steps[step]()
            if step != "l":
                eventually(lambda: url in urls(push))
                push.wait_for_peers(1, timeout=WAIT_S)
            if order[:number] == "mu":
                assert urls(push) == [url, url]
        eventually(lambda: urls(push) == [url])
        eventually(lambda: peers_at(push) == [url])
        push.send(b"x", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"x"


def test_of_two_services_at_one_endpoint_each_keeps_it_connected(
    world: World, seed: Mesh, a: Any
) -> None:
    """One connection, for as long as either is offered there."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, world.socket("Push") as push:
        url = pull.endpoint
        for service in ("s", "t"):
            seed.announce(service, pull)
            seen(a, service, url)
            follow(a, service, push)
        push.wait_for_peers(1, timeout=WAIT_S)
        push.disconnect(url)
        eventually(lambda: peers_at(push) == [url])
        seed.withdraw("s")
        eventually(lambda: url not in a.endpoints("s"))
        eventually(lambda: peers_at(push) == [url])
        push.send(b"x", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"x"
        seed.withdraw("t")
        eventually(lambda: urls(push) == [])


@pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
def test_what_the_user_leaves_is_connected_with_the_key_of_its_node(tmp_path: Path) -> None:
    """The user's own connection knew the secret only; that of the mesh knows the node."""
    make_secret(str(tmp_path / "cluster"))
    its = {"secret": str(tmp_path / "cluster.secret"), "bind": "tcp://127.0.0.1:0"}
    with node("b", **its) as b, node("a", b.endpoint, **its) as a:
        pull = mm.Pull(bind="tls+tcp://127.0.0.1:0", security=b.security)
        with pull, mm.Push(connect=pull.endpoint, security=a.security) as push:
            push.wait_for_peers(1, timeout=WAIT_S)
            b.announce("s", pull)
            seen(a, "s", pull.endpoint)
            a.connect("s", push)
            push.disconnect(pull.endpoint)
            name = b.members()[0].record.user_id
            eventually(lambda: [peer.user_id for peer in push.peers()] == [name])
