"""What strangers do to a mesh port, and what does not come of it."""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._cli.making import make_secret
from meshmsg.mesh import EventKind, Mesh, State
from meshmsg.mesh._link import QUESTION, REPLIES_MAX
from meshmsg.mesh._outside.asking import Asking
from meshmsg.mesh._outside.questions import TOKEN, WATCHERS_MAX
from tests.support.meshes import WAIT_S, eventually, node, until


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A node that strangers speak to."""
    with node("a") as made:
        yield made


def still_well(mesh: Mesh) -> None:
    """A newcomer joins as ever."""
    with node("newcomer", mesh.endpoint) as other, mesh.watch() as watch:
        until(watch, EventKind.UP, "newcomer")
        other.wait_for(count=2, timeout=WAIT_S)


def test_octets_that_are_no_greeting_harm_nobody(mesh: Mesh) -> None:
    """The connection ends."""
    port = int(mesh.endpoint.rpartition(":")[2])
    for octets in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\xff" * 100):
        with socket.create_connection(("127.0.0.1", port), WAIT_S) as stranger:
            stranger.sendall(octets)
    still_well(mesh)


def test_messages_of_random_octets_are_dropped(mesh: Mesh) -> None:
    """Also those that begin as good ones do, and in several frames."""
    rng = random.Random(7)
    with mm.Dealer(connect=mesh.endpoint) as stranger:
        for size in [0, 1, 16, 17, 64, 300, 1400, 65_536, 65_537]:
            for _ in range(20):
                frames = [rng.randbytes(size) for _ in range(rng.randrange(1, 4))]
                with suppress(mm.TooLargeError):  # more than a node takes, of which it was told
                    stranger.send_frames(frames, timeout=WAIT_S)
        for frames in (
            [b"meshmsg.seen", b"tcp://6.6.6.6:1"],
            [b"meshmsg.seen", b"\xff\xff"],
            [b"meshmsg.where", b"x" * 1000],
        ):
            stranger.send_frames(frames, timeout=WAIT_S)
        stranger.drain(timeout=WAIT_S)
    still_well(mesh)
    assert mesh.members()[0].record.addresses == (mesh.endpoint,)
    assert {one.record.name for one in mesh.members()} == {"a", "newcomer"}


def test_questions_that_cannot_be_read_get_no_answer(mesh: Mesh) -> None:
    """The next one does."""
    token = b"t" * TOKEN
    wrong = [b"", b"{", b"[]", b"5", b"{}", b"[" * 1000, b"\xff", b'{"ask":"ls"}' + b" " * 2000]
    with mm.Dealer(connect=mesh.endpoint) as stranger:
        for question in wrong:
            stranger.send_frames([QUESTION, token, question], timeout=WAIT_S)
        stranger.send_frames([QUESTION, b"short", b'{"ask":"ls"}'], timeout=WAIT_S)
        stranger.send_frames([QUESTION, token, b'{"ask":"nothing"}'], timeout=WAIT_S)
        [told, answer] = stranger.recv_frames(timeout=WAIT_S)
    assert told == token
    assert json.loads(answer) == {"error": "it knows no question 'nothing'"}


def test_few_watch_a_node_at_once(mesh: Mesh) -> None:
    """However often it is asked; the others are forgotten."""
    asking = [Asking(mesh.endpoint, None) for _ in range(WATCHERS_MAX + 3)]
    for one in asking:
        one.ask("watch", timeout=WAIT_S)
    questions = mesh._driver._listeners[0]
    assert len(questions._watchers) == WATCHERS_MAX  # type: ignore[attr-defined]
    for one in asking:
        one.close()
    assert REPLIES_MAX > WATCHERS_MAX


def test_another_cluster_at_the_same_port_is_not_joined(mesh: Mesh) -> None:
    """Neither side knows the other."""
    with node("b", mesh.endpoint, cluster="other") as other, node("c", mesh.endpoint) as c:
        c.wait_for(count=2, timeout=WAIT_S)
        mesh.wait_for(count=2, timeout=WAIT_S)
        assert [one.record.name for one in other.members()] == ["b"]
        assert {one.record.name for one in mesh.members()} == {"a", "c"}


def secret(folder: Path, name: str) -> str:
    """Make a secret; return its path."""
    make_secret(str(folder / name))
    return str(folder / f"{name}.secret")


def test_who_has_the_secret_is_a_member_and_its_sockets_are_protected(tmp_path: Path) -> None:
    """With nothing else configured."""
    key = secret(tmp_path, "cluster")
    with node("a", secret=key, bind="tcp://127.0.0.1:0") as a:
        with node("b", a.endpoint, secret=mm.Secret(key), bind="tcp://127.0.0.1:0") as b:
            a.wait_for(count=2, timeout=WAIT_S)
            with mm.Pull(bind="tls+tcp://127.0.0.1:0", security=b.security) as pull:
                b.announce("s", pull)
                with a.connect("s", mm.Push) as push:
                    push.send(b"x", timeout=WAIT_S)
                    assert pull.recv(timeout=WAIT_S) == b"x"
                    assert push.peers()[0].mechanism == "TLS"


def test_who_has_another_secret_or_none_is_not_let_in(tmp_path: Path) -> None:
    """And is told why; nobody may ask, either."""
    right, wrong = secret(tmp_path, "right"), secret(tmp_path, "wrong")
    loopback = {"bind": "tcp://127.0.0.1:0"}
    with node("a", secret=right, **loopback) as a:
        with node("b", a.endpoint, secret=wrong, **loopback) as b, node("c", a.endpoint) as c:
            for mesh in (b, c):
                with mesh.watch() as watch:
                    until(watch, EventKind.UP, mesh.name)
                eventually(lambda mesh=mesh: mesh.explain("a").errors)
                assert mesh.explain("a").found == ()
            assert [one.record.name for one in a.members()] == ["a"]
        for security in (mm.Secret(wrong), None):
            asking = Asking(a.endpoint, security)
            with pytest.raises(mm.TimedOutError):
                asking.ask("ls", timeout=0.5)
            asking.close()
        asking = Asking(a.endpoint, mm.Secret(right))
        assert asking.ask("ping", timeout=WAIT_S)["name"] == "a"
        asking.close()


def test_without_a_secret_nobody_makes_a_node_leave_that_others_reach() -> None:
    """On loopback anybody of this machine may."""
    with node("a", bind="tcp://*:0", insecure=True) as mesh:
        asking = Asking(f"127.0.0.1:{mesh.endpoint.rpartition(':')[2]}", None)
        with pytest.raises(mm.RefusedError, match="without a secret"):
            asking.ask("leave", timeout=WAIT_S)
        asking.close()
        assert mesh.members()[0].state == State.ALIVE
