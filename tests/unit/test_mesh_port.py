"""Which messages go by datagrams, and which over a connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.keys.sealing import ROOM, Sealing
from meshmsg._mesh.messages import HEAD, Kind
from meshmsg._mesh.octets import HANDLE, VERSION, cluster_tag
from meshmsg.mesh._link import Came
from meshmsg.mesh._udp.port import ASK_S, REPLIES_MAX, SYNC_KINDS, Port

IDS = {name: name.encode() * 16 for name in "ab"}
SECRET = b"k" * 32


def message(kind: Kind, sender: str = "a", size: int = 0) -> bytes:
    """What a node says."""
    return HEAD.pack(VERSION, kind, cluster_tag("c"), IDS[sender][:HANDLE]) + b"x" * size


class Side:
    """A node's port."""

    def __init__(self, name: str, secrets: tuple[bytes, ...]) -> None:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        self.address = f"tcp://127.0.0.1:{made.getsockname()[1]}"
        self.node = IDS[name]
        self.port = Port(made, Sealing("c", self.node, secrets), "")

    def says(self, now: float, other: Side, data: bytes) -> bool:
        """Say it to another; tell whether it went as a datagram."""
        return self.port.send(now, other.address, data, other.node)


@pytest.fixture(params=[(SECRET,), ()], ids=["secret", "plain"])
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    """Two nodes that never spoke."""
    made = Side("a", request.param), Side("b", request.param)
    yield made
    for one in made:
        one.port.close()


def met(a: Side, b: Side, now: float = 0.0) -> None:
    """Have a know that b answers datagrams."""
    assert not a.says(now, b, message(Kind.NEWS))
    assert b.port.came(now) == []
    assert a.port.came(now) == []
    assert a.port.by_datagrams(b.node)


def test_a_node_is_asked_for_a_datagram_first(sides: tuple[Side, Side]) -> None:
    """Until one comes back messages go over a connection; it is not asked again at once."""
    a, b = sides
    for _ in range(3):
        assert not a.says(0.0, b, message(Kind.PING))
    assert a.port._sealing._number == 1
    assert not a.port.by_datagrams(b.node)
    met(a, b, ASK_S)
    assert not b.port.by_datagrams(a.node)


def test_what_is_said_comes_with_a_way_back(sides: tuple[Side, Side]) -> None:
    """A datagram, where the answer is short; a number is good for one node."""
    a, b = sides
    met(a, b)
    ping = message(Kind.PING, size=12)
    assert a.says(1.0, b, ping)
    [came] = b.port.came(1.0)
    assert came == Came(-1, a.address, [ping])
    assert b.port.answer(-1, message(Kind.ACK, "b", 4)) is None
    [answer] = a.port.came(1.0)
    assert answer.frames == [message(Kind.ACK, "b", 4)]
    assert b.port.answer(-2, message(Kind.ACK, "b")) is None
    assert b.port.dropped == 1


def test_a_probe_without_an_answer_has_the_next_one_go_over_a_connection(
    sides: tuple[Side, Side],
) -> None:
    """And all else, until a datagram comes back again; news alone say nothing of that."""
    a, b = sides
    met(a, b)
    for _ in range(3):
        assert a.says(1.0, b, message(Kind.NEWS))
    assert a.says(1.0, b, message(Kind.PING))
    assert a.says(1.0, b, message(Kind.NEWS))
    assert not a.says(1.1, b, message(Kind.PING))
    assert not a.says(1.1, b, message(Kind.NEWS))
    b.port.came(1.2)
    met(a, b, 1.1 + ASK_S)
    a.port.forget(b.node)
    assert not a.port.by_datagrams(b.node)


@pytest.mark.parametrize("kind", SYNC_KINDS)
def test_a_sync_goes_over_a_connection(sides: tuple[Side, Side], kind: Kind) -> None:
    """Also as an answer: to the address and node that asked."""
    a, b = sides
    met(a, b)
    assert not a.says(1.0, b, message(kind))
    assert a.says(1.0, b, message(Kind.WANT, size=8))
    b.port.came(1.0)
    assert b.port.answer(-1, message(kind, "b")) == (a.address, a.node)


def test_what_is_too_long_for_a_datagram_goes_over_a_connection(sides: tuple[Side, Side]) -> None:
    """One octet more than there is room for."""
    a, b = sides
    met(a, b)
    room = ROOM - HEAD.size
    assert a.says(1.0, b, message(Kind.NEWS, size=room))
    assert not a.says(1.0, b, message(Kind.NEWS, size=room + 1))
    assert [len(one.frames[0]) for one in b.port.came(1.0)] == [ROOM]


def test_a_longer_answer_is_sent_only_to_who_sealed_the_question(sides: tuple[Side, Side]) -> None:
    """Who did not may lie about where he is."""
    a, b = sides
    met(a, b)
    assert a.says(1.0, b, message(Kind.PING, size=12))
    b.port.came(1.0)
    over = b.port.answer(-1, message(Kind.ACK, "b", 100))
    assert over == (None if b.port._sealing.sealed else (a.address, a.node))


def test_who_says_another_name_than_it_seals_by_is_refused(sides: tuple[Side, Side]) -> None:
    """And counted; so is what is too short for a message."""
    a, b = sides
    met(a, b)
    assert a.says(1.0, b, message(Kind.NEWS, "b"))
    a.port._put(b"?!", b.node, ("127.0.0.1", int(b.address.rpartition(":")[2])))
    assert b.port.came(1.0) == []
    assert b.port.counts == {"that says another sender": 2}


@pytest.mark.parametrize("to", ["tcp://some.host:7450", "tcp://127.0.0.1:0", "udp"])
def test_an_address_that_is_no_ip_goes_over_a_connection(to: str) -> None:
    """Names are looked up there."""
    a = Side("a", (SECRET,))
    assert not a.port.send(0.0, to, message(Kind.PING), IDS["b"])
    assert not a.port.send(0.0, "tcp://127.0.0.1:1", message(Kind.PING), None)
    assert not a.port._peers
    a.port.close()


@given(st.binary(max_size=60), st.integers(0, 255))
def test_whatever_a_member_sends_is_a_message_or_is_counted(data: bytes, kind: int) -> None:
    """Nothing is raised, and only what begins as a message with its sender is given on."""
    a, b = Side("a", (SECRET,)), Side("b", (SECRET,))
    try:
        whole = bytearray(message(Kind.NEWS) + data)
        whole[1] = kind
        to = ("127.0.0.1", int(b.address.rpartition(":")[2]))
        for one in (data, bytes(whole)):
            assert a.port._put(one, b.node, to)
        came = [one.frames[0] for one in b.port.came(0.0)]
        assert came[-1:] == [bytes(whole)]
        assert len(came) + sum(b.port.counts.values()) == 2 or data in (b"?", b"!")
    finally:
        a.port.close()
        b.port.close()


def test_ways_back_are_few(sides: tuple[Side, Side]) -> None:
    """The oldest goes first."""
    a, b = sides
    met(a, b)
    data, source = message(Kind.NEWS), ("127.0.0.1", 1)
    for _ in range(REPLIES_MAX + 3):
        b.port._take(a.node, data, source)
    assert len(b.port._replies) == REPLIES_MAX
    assert -3 not in b.port._replies
