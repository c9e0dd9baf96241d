"""Sockets that a mesh connects: each end knows which node the other one is, and takes no other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.making import make_secret
from meshmsg._mesh.told import NODE_KEY
from meshmsg.mesh import EventKind, Mesh
from tests.support.meshes import WAIT_S, eventually, node, until
from tests.support.pairs import of_its_own

pytestmark = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
LOOPBACK = "tcp://127.0.0.1:0"
ANYWHERE = "tls+tcp://127.0.0.1:0"


@pytest.fixture
def secret(tmp_path: Path) -> str:
    """The path of the cluster's secret."""
    make_secret(str(tmp_path / "cluster"))
    return str(tmp_path / "cluster.secret")


@pytest.fixture
def a(secret: str) -> Iterator[Mesh]:
    """The node that follows."""
    with node("a", secret=secret, bind=LOOPBACK) as made:
        yield made


def joined(name: str, a: Mesh, secret: str) -> Mesh:
    """Open another node of its mesh."""
    made = node(name, a.endpoint, secret=secret, bind=LOOPBACK)
    made.wait_for(count=2, timeout=WAIT_S)
    return made


def known(mesh: Mesh, name: str) -> str:
    """What sockets know that node by, as this one sees it."""
    [found] = [one.record for one in mesh.members() if one.record.name == name]
    return found.user_id


def refused(socket: Any, *words: str) -> mm.Event:
    """Wait until a handshake of the socket failed so; return the event."""

    def look() -> Any:
        failed = [e for e in socket.events() if e.kind is mm.EventKind.HANDSHAKE_FAILED]
        return [e for e in failed if all(word in e.detail for word in words)]

    found: list[mm.Event] = eventually(look)
    return found[0]


def test_both_ends_know_which_node_the_other_is(a: Mesh, secret: str) -> None:
    """By the name and the key of its record, with nothing configured but the secret."""
    with joined("b", a, secret) as b, mm.Pull(bind=ANYWHERE, security=b.security) as pull:
        b.announce("s", pull)
        with a.connect("s", mm.Push) as push:
            push.send(b"x", timeout=WAIT_S)
            message = pull.recv(timeout=WAIT_S)
            assert message.peer.user_id == known(b, "a") == pull.peers()[0].user_id
            assert push.peers()[0].user_id == known(a, "b")
            assert [one.key for one in b.members()[0].record.services] == [NODE_KEY]


def test_a_member_at_the_address_of_another_is_refused_and_both_are_told(
    a: Mesh, secret: str
) -> None:
    """It has the secret, and even the name: not the key."""
    b = joined("b", a, secret)
    pull = mm.Pull(bind=of_its_own(ANYWHERE), security=b.security)
    b.announce("s", pull)
    with a.connect("s", mm.Push, reconnect_max=0.1) as push:
        push.wait_for_peers(1, timeout=WAIT_S)
        port = pull.endpoint
        pull.close()
        b.close()
        with node("b", secret=secret, bind=LOOPBACK) as thief:  # another mesh, of the same secret
            with mm.Pull(bind=port, security=thief.security) as theirs:
                refused(theirs, "it expects another node here")
                refused(push, "another node is most likely there now")
                eventually(lambda: "another node is most likely there now" in str(a.explain("b")))
                assert theirs.peers() == []
        with mm.Pull(bind=port, security=mm.Secret(secret)) as plain:  # and it is no node at all
            refused(plain, "it expects another node here")
            assert plain.peers() == []


def test_a_member_that_names_the_endpoint_of_another_closes_no_connection_to_it(
    a: Mesh, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is connected is known by its key, and stays; as it ends, the other's key is asked for."""
    with joined("b", a, secret) as b, mm.Pull(bind=ANYWHERE, security=b.security) as pull:
        b.announce("s", pull)
        with a.connect("s", mm.Push, reconnect_max=0.1) as push, a.watch("s") as watch:
            push.wait_for_peers(1, timeout=WAIT_S)
            with joined("c", a, secret) as c:
                claim = b.members()[0].record.services
                monkeypatch.setattr(c._driver.offers, "services", lambda own: list(claim))
                with c._driver.lock:
                    c._driver.changed()
                c._driver.ring()
                until(watch, EventKind.UP, "c")
                push.send(b"x", timeout=WAIT_S)
                assert pull.recv(timeout=WAIT_S).peer.user_id == known(b, "a")
                assert [one.user_id for one in push.peers()] == [known(a, "b")]
                b.leave()
                refused(pull, "it expects another node here")
                assert push.peers() == []


def test_a_node_that_starts_again_at_the_same_place_is_known_by_its_new_key(
    a: Mesh, secret: str
) -> None:
    """The follower hears of it by the mesh, and expects that one."""
    b = joined("b", a, secret)
    pull = mm.Pull(bind=of_its_own(ANYWHERE), security=b.security)
    b.announce("s", pull)
    with a.connect("s", mm.Push, reconnect_max=0.1) as push, a.watch() as watch:
        push.wait_for_peers(1, timeout=WAIT_S)
        before = push.peers()[0].user_id
        port = pull.endpoint
        pull.close()
        b.close()
        until(watch, EventKind.UNREACHABLE, "b")
        with joined("b", a, secret) as again, mm.Pull(bind=port, security=again.security) as new:
            again.announce("s", new)
            push.send(b"again", timeout=WAIT_S)
            assert new.recv(timeout=WAIT_S) == b"again"
            after = push.peers()[0].user_id
            assert after == again.members()[0].record.user_id != before


def test_a_socket_with_a_policy_of_its_own_is_taken_by_that(a: Mesh, secret: str) -> None:
    """The record says of it that it proves no key of a node, and nobody asks for one."""
    with joined("b", a, secret) as b, mm.Pull(bind=ANYWHERE, security=mm.Secret(secret)) as pull:
        b.announce("s", pull)
        assert [one.key for one in b.members()[0].record.services] == [b""]
        with a.connect("s", mm.Push) as push:
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S).peer.user_id == ""
            assert push.peers()[0].user_id == ""


def test_who_has_the_secret_and_is_no_node_is_let_in_and_known_as_nobody(
    a: Mesh, secret: str
) -> None:
    """Such as a socket that follows with a policy of its own, or a reader of Spark."""
    with joined("b", a, secret) as b, mm.Pull(bind=ANYWHERE, security=b.security) as pull:
        b.announce("s", pull)
        with a.connect("s", mm.Push, security=mm.Secret(secret)) as push:
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S).peer.user_id == ""


def test_the_secret_may_be_changed_while_nodes_know_each_other(a: Mesh, secret: str) -> None:
    """Those who came by the old one come again by the new, and prove the same keys."""
    with joined("b", a, secret) as b, mm.Pull(bind=ANYWHERE, security=b.security) as pull:
        b.announce("s", pull)
        with a.connect("s", mm.Push, reconnect_max=0.1) as push:
            push.wait_for_peers(1, timeout=WAIT_S)
            first = push.peers()[0].id
            make_secret(f"{secret}.new")
            os.replace(f"{secret}.new.secret", secret)
            eventually(lambda: [one for one in push.peers() if one.id != first])
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S).peer.user_id == known(b, "a")
            assert push.peers()[0].user_id == known(a, "b")


def test_the_policy_of_a_node_shows_no_key(a: Mesh) -> None:
    """Nor is it pickled."""
    assert repr(a.security).startswith("NodeSecret(path='")
    assert repr(a.security).endswith("cluster.secret')")
