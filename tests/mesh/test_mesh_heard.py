"""What connections of users say of nodes: silence, and what comes over them."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

import meshmsg as mm
from meshmsg.mesh._follow import Follower
from tests.mesh.test_mesh_follow import Members
from tests.support.meshes import WAIT_S, eventually
from tests.support.pairs import of_its_own
from tests.support.proxy import proxied
from tests.support.rawpeer import RawPeer

HEARTBEAT_S, PATIENCE_S = 0.05, 0.2


def node_of(name: str) -> bytes:
    """Its id, as `Members` has it."""
    return name.encode().ljust(16, b"\0")


class Pair:
    """A Dealer that follows a Router, and has spoken to it."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.router = mm.Router(bind=of_its_own())
        self.dealer = mm.Dealer()
        self.follower = members.follow(self.dealer)
        self.follower.told([members.put("a", self.router.endpoint, role="router")])
        self.dealer.send(b"hello", timeout=WAIT_S)
        self.identity = self.router.recv_frames(timeout=WAIT_S)[0]

    def answer(self) -> None:
        """Have something come to the Dealer."""
        self.router.send_frames([self.identity, b"here"], timeout=WAIT_S)
        assert self.dealer.recv(timeout=WAIT_S) == b"here"

    def close(self) -> None:
        """Close both."""
        self.dealer.close()
        self.router.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The two, of a mesh with one node."""
    made = Pair(Members())
    yield made
    made.close()


def test_what_comes_from_a_suspect_is_told(pair: Pair) -> None:
    """Not what came before it was suspect; nothing is told of who is not."""
    members, follower = pair.members, pair.follower
    pair.answer()
    follower.told([])
    members.suspects = {node_of("a")}
    follower.told([])
    follower.told([])
    assert members.heard == []
    pair.answer()
    follower.told([])
    assert members.heard == [node_of("a")]
    members.suspects = set()
    pair.answer()
    follower.told([])
    assert members.heard == [node_of("a")]


def test_of_an_endpoint_that_two_offer_nothing_is_told(pair: Pair) -> None:
    """One of them may be a former life: no key says whose word it is."""
    members, follower = pair.members, pair.follower
    follower.told([members.put("b", pair.router.endpoint, role="router")])
    members.suspects = {node_of("a"), node_of("b")}
    follower.told([])
    pair.answer()
    follower.told([])
    assert members.heard == []


def test_a_connection_that_is_made_while_its_node_is_suspect_says_nothing(pair: Pair) -> None:
    """Another one may listen there by now."""
    members, follower, endpoint = pair.members, pair.follower, pair.router.endpoint
    members.suspects = {node_of("a")}
    follower.told([])
    pair.router.close()
    eventually(lambda: not pair.dealer.peers())
    pair.router = mm.Router(bind=endpoint)
    pair.dealer.wait_for_peers(1, timeout=WAIT_S)
    follower.told([])
    pair.dealer.send(b"hello", timeout=WAIT_S)
    pair.identity = pair.router.recv_frames(timeout=WAIT_S)[0]
    pair.answer()
    follower.told([])
    assert members.heard == []


def beating(members: Members) -> tuple[mm.Push, Follower]:
    """A Push with fast heartbeats, and what has it follow."""
    push = mm.Push(heartbeat_interval=HEARTBEAT_S, heartbeat_timeout=PATIENCE_S)
    return push, members.follow(push)


def test_an_answer_to_a_heartbeat_is_enough() -> None:
    """Of a Pull nothing else comes."""
    members = Members()
    push, follower = beating(members)
    with push, mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        follower.told([members.put("a", pull.endpoint)])
        push.wait_for_peers(1, timeout=WAIT_S)
        members.suspects = {node_of("a")}
        assert eventually(lambda: follower.told([]) and members.heard)[0] == node_of("a")


def test_a_heartbeat_that_is_missing_is_evidence() -> None:
    """The network is cut, and no end of a connection passes it."""
    members = Members()
    push, follower = beating(members)
    with push, mm.Pull(bind="tcp://127.0.0.1:0") as pull, proxied(pull.endpoint) as cut:
        follower.told([members.put("a", cut.endpoint)])
        push.wait_for_peers(1, timeout=WAIT_S)
        members.suspects = {node_of("a")}
        cut.freeze()
        members.look(follower, lambda: bool(members.lost))
        assert members.lost == [node_of("a")]
        ends = [one for one in push.events(since=0) if one.kind == mm.EventKind.PEER_DOWN]
        assert [one.reason for one in ends] == [mm.Reason.HEARTBEAT]


def test_a_peer_whose_system_answers_and_that_does_nothing_is_evidence() -> None:
    """As a process that was stopped: it is asked by the mesh, and its connection stays."""
    members = Members()
    push, follower = beating(members)
    with push, socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        follower.told([members.put("a", endpoint)])
        listener.settimeout(WAIT_S)
        with RawPeer.of(listener.accept()[0]).shake(b"PULL"):
            push.wait_for_peers(1, timeout=WAIT_S)
            push.send(b"x", timeout=WAIT_S)
            members.look(follower, lambda: bool(members.lost))
            assert members.lost == [node_of("a")]
            stalled = [one.kind for one in push.events(since=0)][-1]
            assert (stalled, len(push.peers())) == (mm.EventKind.PEER_STALLED, 1)
