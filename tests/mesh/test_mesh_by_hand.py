"""A socket that follows a service, and that its user connects and disconnects by hand as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


HANDS = {"the user, the mesh": "um", "the mesh, the user": "mu"}


@pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
@pytest.mark.parametrize("order", HANDS.values(), ids=HANDS)
def test_what_the_user_leaves_is_connected_with_the_key_of_its_node(
    its: dict[str, str], order: str
) -> None:
    """The user's own connection knows the secret only; that of the mesh knows the node."""
    with node("b", **its) as b, node("a", b.endpoint, **its) as a, offered(a, b) as pull:
        with mm.Push(security=a.security) as push:
            for step in order:
                if step == "u":
                    push.connect(pull.endpoint)
                else:
                    a.connect("s", push)
                push.wait_for_peers(1, timeout=WAIT_S)
            if order == "mu":
                eventually(lambda: {one.user_id for one in push.peers()} == {"", named(b)})
            push.disconnect(pull.endpoint)
            eventually(lambda: [one.user_id for one in push.peers()] == [named(b)])
            push.disconnect(pull.endpoint)
            eventually(lambda: [one.user_id for one in push.peers()] == [named(b)])
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"


@pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
def test_the_mesh_leaves_its_own_connection_and_not_that_of_the_user(its: dict[str, str]) -> None:
    """Whose node offers it no more is left; who connected by hand leaves by hand."""
    with node("b", **its) as b, node("a", b.endpoint, **its) as a, offered(a, b) as pull:
        with mm.Push(security=a.security) as push:
            a.connect("s", push)
            push.wait_for_peers(1, timeout=WAIT_S)
            push.connect(pull.endpoint)
            eventually(lambda: {one.user_id for one in push.peers()} == {"", named(b)})
            b.withdraw("s")
            eventually(lambda: [one.user_id for one in push.peers()] == [""])
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"


@pytest.fixture
def its(tmp_path: Path) -> dict[str, str]:
    """What nodes of a cluster with a secret are made with."""
    make_secret(str(tmp_path / "cluster"))
    return {"secret": str(tmp_path / "cluster.secret"), "bind": "tcp://127.0.0.1:0"}


@contextmanager
def offered(a: Mesh, b: Mesh) -> Iterator[mm.Pull]:
    """A Pull that one node offers and another one knows of."""
    with mm.Pull(bind="tls+tcp://127.0.0.1:0", security=b.security) as pull:
        b.announce("s", pull)
        seen(a, "s", pull.endpoint)
        yield pull


def named(mesh: Mesh) -> str:
    """What a node is known by to who has its key."""
    return mesh.members()[0].record.user_id
