"""The mesh port by itself: what it keeps of connections, and which events it looks at."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import pytest

import meshmsg as mm
from meshmsg._socket.peers import addresses_of
from meshmsg.mesh import _link
from meshmsg.mesh._link import Link, Seen
from tests.support.meshes import eventually

NODE = b"n" * 16


class Port(Link):
    """One that counts how often it would wake its node."""

    def __init__(self) -> None:
        self.rings = 0
        super().__init__("tcp://127.0.0.1:0", None, False, b"salt", self._rung)

    def _rung(self) -> None:
        self.rings += 1


@pytest.fixture
def ports() -> Iterator[list[Port]]:
    """Two of them."""
    made = [Port(), Port()]
    yield made
    for one in made:
        one.router.close()


def event(endpoint: str, reason: mm.Reason, kind: mm.EventKind = mm.EventKind.PEER_UP) -> mm.Event:
    """One of a connection."""
    return mm.Event(
        seq=1,
        time=0.0,
        kind=kind,
        reason=reason,
        peer=1,
        count=0,
        endpoint=endpoint,
        address="tcp://127.0.0.1:1",
        detail="",
        retry_in=None,
    )


def up(port: Port, url: str) -> list[Seen]:
    """What happened, as the connection to an address is up."""
    return eventually(lambda: [one for one in port.happened() if one.url == url])


def test_connections_that_others_make_wake_nobody(ports: list[Port]) -> None:
    """A member of a thousand has three a second; those that it makes itself are looked at."""
    a, b = ports
    a.send(0.0, b.address, b"x", NODE)
    assert up(a, b.address)
    assert a.rings > 0
    assert eventually(b.came)
    assert eventually(lambda: [e for e in b.router.events() if e.kind == mm.EventKind.PEER_UP])
    for reason in (mm.Reason.NONE, mm.Reason.EOF):
        b.note(event(b.router.endpoint, reason))
    a.note(event(b.address, mm.Reason.LOCAL, mm.EventKind.PEER_DOWN))
    assert (b.happened(), b.rings, a.happened()) == ([], 0, [])


def test_who_is_dialed_where_this_node_is_bound_is_looked_at(ports: list[Port]) -> None:
    """A former life of it was there: that another node answers now is to be seen."""
    a, _ = ports
    a.send(0.0, a.address, b"x", NODE)
    assert up(a, a.address)
    [came] = eventually(a.came)
    assert came.frames == (b"x",)


def test_where_others_come_from_is_forgotten_once_many_have_left(
    ports: list[Port], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not all are looked at as each comes."""
    looks: list[int] = []

    def look(handle: int, known: Mapping[bytes, str]) -> dict[bytes, str]:
        looks.append(handle)
        return addresses_of(handle, known)

    monkeypatch.setattr(_link, "addresses_of", look)
    a, b = ports
    b._sources_most = 3
    for number in range(6):
        a.send(time.monotonic(), b.address, b"%d" % number, NODE)
        assert up(a, b.address)
        [came] = eventually(b.came)
        assert came.source.startswith("tcp://127.0.0.1:")
        assert len(b._sources) <= b._sources_most
        a.hang_up_all()
        eventually(lambda: not b.router.peers())
    assert len(looks) == 1


def test_a_connection_to_who_is_held_unreachable_has_its_time(ports: list[Port]) -> None:
    """It brings something by then, or the message behind that makes another one."""
    a, b = ports
    a.send(0.0, b.address, b"x", NODE)
    assert up(a, b.address)
    [came] = eventually(b.came)
    first = a._open[b.address].identity
    for answers in (True, False):
        a.prove(1.0, [b.address], NODE)
        a.prove(4.0, [], NODE)  # it is told of again, and has the time of the first
        if answers:
            b.answer(came.reply, [b"y"])
            assert [one.frames for one in eventually(a.came)] == [(b"y",)]
        for now in (1.0, 1.0 + _link.PROVE_S, 1.1 + _link.PROVE_S):
            stays = answers or now <= 1.0 + _link.PROVE_S
            a.send(now, b.address, b"z", NODE)
            assert (a._open[b.address].identity == first) is stays
    assert up(a, b.address)
    assert a._to_prove == {}


def test_a_connection_that_comes_up_is_not_to_prove_any_more(ports: list[Port]) -> None:
    """Nor is one that was hung up, or of another node."""
    a, b = ports
    a.send(0.0, b.address, b"x", NODE)
    a.prove(0.0, [b.address], NODE)
    assert up(a, b.address)
    assert a._to_prove == {}
    a.prove(0.0, [], b"o" * 16)
    assert a._to_prove == {}
    a.prove(0.0, [], NODE)
    assert list(a._to_prove) == [a._open[b.address].identity]
    a.hang_up_all()
    assert a._to_prove == {}
