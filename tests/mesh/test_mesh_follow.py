"""A socket that follows a service: connected as nodes come, and left alone by rumours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

import meshmsg as mm
from meshmsg._mesh.told import Event, EventKind, Member, Record, Service, State
from meshmsg._socket.base import SocketBase
from meshmsg._socket.state import Followed
from meshmsg.mesh._follow import Follower
from meshmsg.mesh._select import choice_of
from tests.support.meshes import WAIT_S, eventually

HOST = "here#1"


class Members:
    """What a core would tell of; a test changes it."""

    def __init__(self) -> None:
        self.now: dict[str, Member] = {}
        self.put("me")
        self.lost: list[bytes] = []
        self.suspects: set[bytes] = set()
        self.heard: list[bytes] = []
        self.rung = threading.Event()

    def put(
        self,
        name: str,
        *endpoints: str,
        state: State = State.ALIVE,
        weight: int = 1,
        role: str = "pull",
    ) -> Event:
        """Have a node so; return the event of it."""
        services = (Service("s", role, "zmtp", endpoints, weight=weight),) if endpoints else ()
        node = name.encode().ljust(16, b"\0")
        record = Record(node, name, "c", 1, 1, 1, b"k" * 32, (), HOST, "", services)
        before = self.now.get(name)
        member = Member(record, state, 0.0, None, None, b"")
        self.now[name] = member
        return Event(EventKind.CHANGED, member, before.record if before else None)

    def follow(self, socket: SocketBase, select: str = "all") -> Follower:
        """Have a socket follow them."""
        members = lambda: list(self.now.values())  # noqa: E731
        me = lambda: self.now["me"]  # noqa: E731
        return Follower(
            "s",
            socket,
            choice_of(select),
            me,
            members,
            ring=self.rung.set,
            lost=self.lost.extend,
            suspects=lambda: self.suspects,
            heard=self.heard.extend,
        )

    def look(self, follower: Follower, until: Callable[[], bool]) -> None:
        """Have it look as often as it rings, until something is so."""
        while follower.told([]) and not until():
            assert self.rung.wait(WAIT_S), "it did not ring"
            self.rung.clear()


@pytest.fixture
def push() -> Iterator[mm.Push]:
    """A socket that follows."""
    with mm.Push() as made:
        yield made


@pytest.fixture
def pulls() -> Iterator[list[mm.Pull]]:
    """Sockets that are followed."""
    made = [mm.Pull(bind="tcp://127.0.0.1:0") for _ in range(4)]
    yield made
    for one in made:
        one.close()


def test_a_socket_is_connected_as_nodes_come(push: mm.Push, pulls: list[mm.Pull]) -> None:
    """Also to those that were there before."""
    members = Members()
    members.put("a", pulls[0].endpoint)
    follower = members.follow(push)
    assert follower.told([])
    follower.told([members.put("b", pulls[1].endpoint)])
    push.wait_for_peers(2, timeout=WAIT_S)
    assert {peer.endpoint for peer in push.peers()} == {one.endpoint for one in pulls[:2]}


@pytest.mark.parametrize("state", [State.SUSPECT, State.UNREACHABLE])
def test_a_rumour_closes_no_connection(push: mm.Push, pulls: list[mm.Pull], state: State) -> None:
    """Whatever is said of the node."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    push.wait_for_peers(1, timeout=WAIT_S)
    peer = push.peers()[0].id
    follower.told([members.put("a", pulls[0].endpoint, state=state)])
    push.send(b"all the same", timeout=WAIT_S)
    assert pulls[0].recv(timeout=WAIT_S) == b"all the same"
    assert [one.id for one in push.peers()] == [peer]


def test_who_is_unreachable_is_not_dialed_anew(push: mm.Push, pulls: list[mm.Pull]) -> None:
    """But once it is there again."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint, state=State.UNREACHABLE)])
    assert push._connected == []
    follower.told([members.put("a", pulls[0].endpoint)])
    assert push._connected == [pulls[0].endpoint]


def test_who_left_is_disconnected(push: mm.Push, pulls: list[mm.Pull]) -> None:
    """By its own word; and nobody else is."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint), members.put("b", pulls[1].endpoint)])
    push.wait_for_peers(2, timeout=WAIT_S)
    follower.told([members.put("a", pulls[0].endpoint, state=State.LEFT)])
    assert push._connected == [pulls[1].endpoint]


def test_who_is_forgotten_is_left_once_no_connection_lives(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """Until then messages go there; also when nobody remembers that node any more."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    push.wait_for_peers(1, timeout=WAIT_S)
    peer = push.peers()[0].id
    follower.told([members.put("a", pulls[0].endpoint, state=State.FORGOTTEN)])
    push.send(b"all the same", timeout=WAIT_S)
    assert pulls[0].recv(timeout=WAIT_S) == b"all the same"
    del members.now["a"]
    follower.told([members.put("b", pulls[1].endpoint)])
    push.wait_for_peers(2, timeout=WAIT_S)
    assert peer in [one.id for one in push.peers()]
    pulls[0].close()
    members.look(follower, lambda: push._connected == [pulls[1].endpoint])


def test_who_is_forgotten_and_not_connected_is_left_at_once(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """It is dialed no more, and what waits for it goes as the socket says."""
    members = Members()
    follower = members.follow(push)
    nobody = "tcp://127.0.0.1:1"
    follower.told([members.put("a", nobody), members.put("b", pulls[1].endpoint)])
    assert set(push._connected) == {nobody, pulls[1].endpoint}
    follower.told([members.put("a", nobody, state=State.UNREACHABLE)])
    assert set(push._connected) == {nobody, pulls[1].endpoint}
    follower.told([members.put("a", nobody, state=State.FORGOTTEN)])
    assert push._connected == [pulls[1].endpoint]
    assert set(follower._owners) == {pulls[1].endpoint}


def test_who_was_forgotten_and_is_there_again_leaves_by_its_own_word(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """It kept its connection, and withdraws the service then."""
    members = Members()
    follower = members.follow(push)
    for state in (State.ALIVE, State.FORGOTTEN, State.ALIVE):
        follower.told([members.put("a", pulls[0].endpoint, state=state)])
        push.wait_for_peers(1, timeout=WAIT_S)
    follower.told([members.put("a")])
    assert push._connected == []


def test_a_service_that_is_withdrawn_is_left(push: mm.Push, pulls: list[mm.Pull]) -> None:
    """Its node stays."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    follower.told([members.put("a")])
    assert push._connected == []


def test_a_restarted_node_at_the_same_place_stays_connected(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """The old one is forgotten, the new one has the endpoint."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    push.wait_for_peers(1, timeout=WAIT_S)
    peer = push.peers()[0].id
    members.put("a2", pulls[0].endpoint)
    follower.told([members.put("a", pulls[0].endpoint, state=State.FORGOTTEN)])
    assert [one.id for one in push.peers()] == [peer]


def test_weight_nothing_keeps_who_is_connected(push: mm.Push, pulls: list[mm.Pull]) -> None:
    """And gets nobody new: so work is taken from a node."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    follower.told([members.put("a", pulls[0].endpoint, weight=0)])
    follower.told([members.put("b", pulls[1].endpoint, weight=0)])
    assert push._connected == [pulls[0].endpoint]


@pytest.mark.parametrize("select", ["hash", "n=1", "n=2"])
def test_who_gets_nobody_new_is_left_once_another_is_chosen_in_its_place(
    push: mm.Push, pulls: list[mm.Pull], select: str
) -> None:
    """There are as many as were asked for; as long as there are too few it stays."""
    count = 2 if select == "n=2" else 1
    members = Members()
    follower = members.follow(push, select)
    for name, pull in zip("ab", pulls[:count], strict=False):
        follower.told([members.put(name, pull.endpoint)])
    push.wait_for_peers(count, timeout=WAIT_S)
    follower.told([members.put("a", pulls[0].endpoint, weight=0)])
    follower.told([])
    assert pulls[0].endpoint in push._connected
    follower.told([members.put("c", pulls[2].endpoint)])
    members.look(follower, lambda: pulls[0].endpoint not in push._connected)
    assert set(push._connected) == {one.endpoint for one in pulls[1:count] + pulls[2:3]}
    eventually(lambda: len(push.peers()) == count)


def test_another_choice_is_connected_before_the_first_is_left(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """So there is always somebody."""
    members = Members()
    follower = members.follow(push, "hash")
    follower.told([members.put("a", pulls[0].endpoint)])
    push.wait_for_peers(1, timeout=WAIT_S)
    nobody = "tcp://127.0.0.1:1"
    follower.told([members.put("b", nobody, weight=65_535)])
    assert set(push._connected) == {pulls[0].endpoint, nobody}
    follower.told([])
    assert set(push._connected) == {pulls[0].endpoint, nobody}, "nobody answers there"
    follower.told([members.put("b", pulls[1].endpoint, weight=65_535)])
    members.look(follower, lambda: push._connected == [pulls[1].endpoint])


def test_what_the_user_connected_is_left_alone(push: mm.Push, pulls: list[mm.Pull]) -> None:
    """Also when its node leaves."""
    members = Members()
    push.connect(pulls[0].endpoint)
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    follower.told([members.put("a", pulls[0].endpoint, state=State.LEFT)])
    assert push._connected == [pulls[0].endpoint]


def test_what_the_user_disconnected_is_connected_again_by_no_old_news(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """That the node leaves is no error then."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint)])
    push.disconnect(pulls[0].endpoint)
    follower.told([members.put("a", pulls[0].endpoint, state=State.LEFT)])
    assert push._connected == []


@pytest.mark.parametrize("by_hand", [True, False])
def test_what_the_user_leaves_rings_and_is_dialed_by_the_mesh(
    push: mm.Push, pulls: list[mm.Pull], by_hand: bool
) -> None:
    """Whoever had connected it; nobody is dialed who is UNREACHABLE, until it is there again."""
    members, url = Members(), pulls[0].endpoint
    if by_hand:
        push.connect(url)
    follower = members.follow(push)
    push._follows = (Followed("s", follower.why_nobody),)
    follower.told([members.put("a", url)])
    push.disconnect(url)
    assert members.rung.is_set()
    follower.told([])
    assert push._connected == [url]
    follower.told([members.put("a", url, state=State.UNREACHABLE)])
    push.disconnect(url)
    follower.told([])
    assert push._connected == []
    follower.told([members.put("a", url)])
    assert push._connected == [url]


def test_a_closed_socket_is_not_followed_for_any_more() -> None:
    """Nor one that is gone."""
    members = Members()
    push = mm.Push()
    follower = members.follow(push)
    push.close()
    assert not follower.told([])
    assert not follower.is_open
    del push
    assert not follower.told([])


def test_an_endpoint_that_the_socket_refuses_is_told_and_harms_nobody(
    push: mm.Push, pulls: list[mm.Pull], caplog: pytest.LogCaptureFixture
) -> None:
    """Here of TLS, for a socket without: one warning, and why it has no peer."""
    members = Members()
    follower = members.follow(push)
    bad, worse = "tls+tcp://127.0.0.1:1", "tls+tcp://127.0.0.1:2"
    follower.told([members.put("bad", bad)])
    assert follower.why_nobody() == f"'s' at {bad}: {follower.errors[bad]}"
    follower.told([members.put("worse", worse), members.put("a", pulls[0].endpoint)])
    (warning,) = eventually(lambda: list(caplog.records))
    words = f"Push follows the service 's': {follower.errors[bad]}"
    assert warning.getMessage() == words
    assert push._connected == [pulls[0].endpoint]
    assert "TLS" in follower.errors[bad]


def test_a_connection_that_ends_is_evidence_of_its_node(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """Of that node only; the socket dials on."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", pulls[0].endpoint), members.put("b", pulls[1].endpoint)])
    push.wait_for_peers(2, timeout=WAIT_S)
    endpoints = list(push._connected)
    pulls[0].close()
    members.look(follower, lambda: bool(members.lost))
    assert members.lost == [b"a".ljust(16, b"\0")]
    assert push._connected == endpoints


def test_what_the_user_connected_or_left_is_no_evidence(
    push: mm.Push, pulls: list[mm.Pull]
) -> None:
    """Neither an end that this side makes, nor one of an endpoint that the mesh did not dial."""
    members = Members()
    push.connect(pulls[2].endpoint)
    follower = members.follow(push)
    for name, pull in zip("abc", pulls, strict=False):
        follower.told([members.put(name, pull.endpoint)])
    own = pulls[2].endpoint
    push.wait_for_peers(3, timeout=WAIT_S)
    pulls[2].close()
    push.disconnect(pulls[0].endpoint)
    pulls[1].close()
    down = mm.EventKind.PEER_DOWN
    seen = lambda: {e.endpoint for e in push.events(since=0) if e.kind == down}  # noqa: E731
    members.look(follower, lambda: bool(members.lost) and own in seen())
    assert members.lost == [b"b".ljust(16, b"\0")]


def test_a_service_of_a_role_that_does_not_fit_is_told_once_and_not_dialed(
    push: mm.Push, pulls: list[mm.Pull], caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever offers it; a node that offers it in a role that fits is dialed all the same."""
    nodes = Members()
    follower = nodes.follow(push)
    for name in ("a", "b"):
        follower.told([nodes.put(name, f"tcp://127.0.0.1:{ord(name)}", role="pub")])
    (record,) = eventually(lambda: list(caplog.records))
    words = "PUSH cannot talk to PUB, which a (61000000) offers there"
    assert record.getMessage() == f"Push follows the service 's': {words}"
    assert follower.errors["tcp://127.0.0.1:97"] == words
    assert follower.why_nobody() == f"'s': {words}"
    assert push._connected == []
    follower.told([nodes.put("c", pulls[0].endpoint), nodes.put("d", "tcp://[::1]:9", role="new")])
    assert push._connected == [pulls[0].endpoint, "tcp://[::1]:9"]  # who knows what "new" is
    assert follower.why_nobody() == ""
    assert len(caplog.records) == 1


def test_a_socket_that_has_nobody_of_a_service_knows_why() -> None:
    """In words, for its errors."""
    nodes, push = Members(), mm.Push()
    follower = nodes.follow(push)
    assert follower.why_nobody() == "nobody offers 's', of 1 member"
    nodes.put("a", "tcp://127.0.0.1:1", state=State.UNREACHABLE)
    assert follower.why_nobody() == "'s' is offered by a (61000000), which is UNREACHABLE"
    nodes.put("b", "tcp://127.0.0.1:2", role="spool")
    assert "b (62000000) offers a SpoolServer there, which a RemoteSpool" in follower.why_nobody()
    push.close()
