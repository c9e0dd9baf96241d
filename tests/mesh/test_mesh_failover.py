"""A service at several endpoints: the next is dialed if one does not answer, and one at a time."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Thread

import pytest

import meshmsg as mm
from meshmsg._mesh.told import State
from meshmsg.mesh import _offers
from meshmsg.mesh._addresses import advertised
from meshmsg.mesh._follow import Follower
from tests.mesh.test_mesh_follow import Members
from tests.support.meshes import WAIT_S, eventually, node
from tests.support.pairs import free_endpoints, of_its_own
from tests.support.proxy import proxied

MESSAGES = 50
"""Of each part of a test."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is closed after a test."""
    with ExitStack() as made:
        yield made


@pytest.fixture
def push(stack: ExitStack) -> mm.Push:
    """A socket that follows."""
    return stack.enter_context(mm.Push())


@pytest.fixture
def pull(stack: ExitStack) -> mm.Pull:
    """One that is followed."""
    return stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0"))


def refuses(stack: ExitStack) -> str:
    """An endpoint where nobody listens, and nobody else can begin to."""
    taken = stack.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))
    return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


def drops(stack: ExitStack) -> str:
    """One whose queue is full and that never accepts: the system drops who dials it."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    host, port = listener.getsockname()
    stack.enter_context(socket.create_connection((host, port)))
    return f"tcp://{host}:{port}"


def says_nothing(stack: ExitStack) -> str:
    """One whose system accepts, and that never says a word."""
    host, port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()
    return f"tcp://{host}:{port}"


def speaks_otherwise(stack: ExitStack) -> str:
    """One of a socket that a Push has nothing to say to."""
    return stack.enter_context(mm.Pub(bind="tcp://127.0.0.1:0")).endpoint


BAD = [refuses, drops, says_nothing, speaks_otherwise]


def at(follows: mm.Push | mm.Sub) -> list[str]:
    """Where it has peers."""
    return [one.endpoint for one in follows.peers()]


def connected(follower: Follower, follows: mm.Push | mm.Sub, url: str) -> None:
    """Have it look until it has one peer, there; it never dials two."""

    def look() -> bool:
        assert follower.told([])
        assert len(follows._connected) <= 1
        return at(follows) == [url]

    eventually(look)


@pytest.mark.parametrize("bad", BAD)
def test_the_next_endpoint_is_dialed_if_the_first_does_not_answer(
    push: mm.Push, pull: mm.Pull, stack: ExitStack, bad: Callable[[ExitStack], str]
) -> None:
    """Whatever is wrong there; and who waits to send something sends it there."""
    members, first = Members(), bad(stack)
    follower = members.follow(push)
    follower.told([members.put("a", first, pull.endpoint)])
    assert push._connected == [first]
    sender = Thread(target=push.send, args=(b"waits",), kwargs={"timeout": WAIT_S})
    sender.start()
    members.look(follower, lambda: at(push) == [pull.endpoint])
    sender.join()
    assert push._connected == [pull.endpoint]
    assert pull.recv(timeout=WAIT_S) == b"waits"
    assert first in follower.errors


def test_all_four_are_tried(push: mm.Push, pull: mm.Pull, stack: ExitStack) -> None:
    """In their order, each of another kind of silence."""
    members = Members()
    several = [*(bad(stack) for bad in BAD[:3]), pull.endpoint]
    follower = members.follow(push)
    follower.told([members.put("a", *several)])
    dialed = [list(push._connected)]

    def there() -> bool:
        dialed.append(list(push._connected))
        return at(push) == [pull.endpoint]

    members.look(follower, there)
    assert list(dict.fromkeys(url for one in dialed for url in one)) == several
    assert max(map(len, dialed)) == 1
    assert set(follower.errors) == set(several[:3])
    assert follower.why_nobody().startswith(f"'s' at {several[0]}: ")


def test_all_are_tried_again_until_one_answers(push: mm.Push, stack: ExitStack) -> None:
    """Here of three where nobody listens: at the first one somebody does after some rounds."""
    members, taken = Members(), socket.socket()
    host = of_its_own().removeprefix("tcp://").removesuffix(":0")
    taken.bind((host, 0))
    first = f"tcp://{host}:{taken.getsockname()[1]}"
    several = [first, refuses(stack), refuses(stack)]
    follower = members.follow(push)
    follower.told([members.put("a", *several)])
    dialed = list(push._connected)

    def rounds() -> bool:
        follower.told([])
        (url,) = push._connected
        if url != dialed[-1]:
            dialed.append(url)
        return dialed.count(first) == 3

    eventually(rounds)
    assert dialed == [*several, *several, first]
    taken.close()
    stack.enter_context(mm.Pull(bind=first))
    connected(follower, push, first)


def test_the_first_is_dialed_again_as_the_connection_is_lost(
    push: mm.Push, pull: mm.Pull, stack: ExitStack
) -> None:
    """It is the best one; before that a connection that is well stays."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", refuses(stack), pull.endpoint)])
    connected(follower, push, pull.endpoint)
    first = stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0"))
    follower.told([members.put("a", first.endpoint, pull.endpoint)])
    assert push._connected == [pull.endpoint]
    assert at(push) == [pull.endpoint]
    pull.close()
    connected(follower, push, first.endpoint)


def test_nothing_comes_twice_and_nothing_from_two_ways(stack: ExitStack) -> None:
    """Of a Pub at two endpoints, of which the first one comes and goes."""
    pub = stack.enter_context(mm.Pub(bind=["tcp://127.0.0.1:0", "tcp://127.0.0.1:0"]))
    cut = ExitStack()
    near = cut.enter_context(proxied(pub.endpoints[0]))
    members, sub = Members(), stack.enter_context(mm.Sub(topics=b""))
    follower = members.follow(sub)
    follower.told([members.put("a", near.endpoint, pub.endpoints[1], role="pub")])
    heard: list[bytes] = []
    for number, url in enumerate((near.endpoint, pub.endpoints[1])):
        connected(follower, sub, url)
        pub.wait_for_subscribers(b"", 1, timeout=WAIT_S)
        sent = [b"%d %d" % (number, one) for one in range(MESSAGES)]
        pub.send_many(sent, timeout=WAIT_S)
        heard += [bytes(sub.recv(timeout=WAIT_S)) for _ in sent]
        assert heard[-MESSAGES:] == sent
        assert len(pub.peers()) == 1
        cut.close()
    pub.send(b"last", timeout=WAIT_S)
    assert sub.recv(timeout=WAIT_S) == b"last"
    with pytest.raises(mm.WouldBlockError):
        sub.recv(timeout=0)


def test_a_node_that_is_unreachable_is_dialed_nowhere_else(
    push: mm.Push, pull: mm.Pull, stack: ExitStack
) -> None:
    """But once it is there again."""
    members, several = Members(), [refuses(stack), pull.endpoint]
    follower = members.follow(push)
    follower.told([members.put("a", *several)])
    assert push._connected == several[:1]
    follower.told([members.put("a", *several, state=State.UNREACHABLE)])
    failed = mm.EventKind.CONNECT_FAILED
    eventually(lambda: any(one.kind == failed for one in push.events(since=0)))
    members.look(follower, lambda: several[0] in follower.errors)
    assert push._connected == several[:1]
    follower.told([members.put("a", *several)])
    connected(follower, push, pull.endpoint)


def test_a_node_that_gets_nobody_new_is_dialed_nowhere_else(
    push: mm.Push, pull: mm.Pull, stack: ExitStack
) -> None:
    """Who was connected there is so still, and is where it was."""
    members, first = Members(), stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0"))
    several = [first.endpoint, pull.endpoint]
    follower = members.follow(push)
    follower.told([members.put("a", *several)])
    connected(follower, push, first.endpoint)
    follower.told([members.put("a", *several, weight=0)])
    first.close()
    members.look(follower, lambda: several[0] in follower.errors)
    follower.told([])
    assert push._connected == several[:1]


def test_one_more_endpoint_of_a_node_has_nobody_connected_twice(
    push: mm.Push, pull: mm.Pull, stack: ExitStack
) -> None:
    """In front of the one that is connected, or behind it."""
    members, other = Members(), stack.enter_context(mm.Pull(bind="tcp://127.0.0.1:0"))
    follower = members.follow(push)
    follower.told([members.put("a", pull.endpoint)])
    connected(follower, push, pull.endpoint)
    for several in ([other.endpoint, pull.endpoint], [pull.endpoint, other.endpoint]):
        follower.told([members.put("a", *several)])
        assert push._connected == [pull.endpoint]
        assert at(push) == [pull.endpoint]


def test_an_endpoint_that_the_socket_is_not_for_is_passed_over(
    push: mm.Push, pull: mm.Pull
) -> None:
    """Here of TLS, for a socket without."""
    members = Members()
    follower = members.follow(push)
    follower.told([members.put("a", "tls+tcp://127.0.0.1:1", pull.endpoint)])
    connected(follower, push, pull.endpoint)
    assert "TLS" in follower.errors["tls+tcp://127.0.0.1:1"]


@pytest.mark.parametrize("bad", [refuses, drops])
def test_a_socket_of_a_mesh_finds_the_endpoint_that_answers(
    stack: ExitStack, pull: mm.Pull, monkeypatch: pytest.MonkeyPatch, bad: Callable[..., str]
) -> None:
    """And `explain` says what was wrong with the first one."""
    wrong = bad(stack)
    told = lambda urls, own: (wrong, *advertised(urls, own))  # noqa: E731
    monkeypatch.setattr(_offers, "advertised", told)
    with node("a") as a, node("b", a.endpoint) as b:
        b.announce("jobs", pull)
        with a.connect("jobs", mm.Push) as push:
            push.send(b"job", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"job"
            assert at(push) == [pull.endpoint]
            assert "connect" in str(a.explain("b")).partition("jobs (pull)")[2]


@pytest.mark.parametrize("bad", [refuses, drops])
def test_a_member_is_asked_at_each_of_its_addresses(
    stack: ExitStack, bad: Callable[..., str]
) -> None:
    """Three that do not answer, and the fourth: it is alive, and stays so."""
    with node("a") as a:
        (own,) = free_endpoints(1)
        several = [*(bad(stack) for _ in range(3)), own]
        with node("b", a.endpoint, bind=own, advertise=several) as b:
            a.wait_for(count=2, timeout=WAIT_S)
            assert a.members()[1].record.addresses == tuple(several)
            heard = lambda: a.members()[1].heard  # noqa: E731
            before = eventually(heard)
            assert eventually(lambda: heard() > before)
            assert a.members()[1].state in (State.ALIVE, State.SUSPECT)
            core = a._driver.core
            with a._driver.lock:
                (row,) = core.here.table.rows.values()  # type: ignore[attr-defined]
                assert core.here.address_of(row) == own  # type: ignore[attr-defined]
            assert b.members()[1].state == State.ALIVE
