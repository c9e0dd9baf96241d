"""Datagrams between nodes: who can open one, how often, and what is left of what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.keys.sealing import BACK, DATAGRAM_MAX, HEAD, NODE, ROOM, TAG, Sealing, Window
from meshmsg._mesh.limits import RECORD_MAX
from meshmsg._mesh.messages import HEAD as MESSAGE_HEAD
from meshmsg._mesh.octets import RUMOUR_HEAD

A, B, C = (bytes([octet]) * NODE for octet in b"abc")
ONE, TWO, THREE = (bytes([octet]) * 32 for octet in (1, 2, 3))
DATA = b"what is said"


def sealing(own: bytes, *secrets: bytes, cluster: str = "c", senders_max: int = 100) -> Sealing:
    """One node's."""
    return Sealing(cluster, own, secrets, senders_max=senders_max)


def said(by: Sealing, to: bytes, data: bytes = DATA) -> bytes:
    """A datagram of it."""
    datagram = by.seal(data, to)
    assert datagram is not None
    return datagram


@given(st.binary(max_size=ROOM), st.booleans())
def test_what_was_sealed_for_a_node_is_opened_there(data: bytes, secret: bool) -> None:
    """And who sent it is known; without a secret it goes as it is."""
    secrets = (ONE,) if secret else ()
    a, b = sealing(A, *secrets), sealing(B, *secrets)
    datagram = said(a, B, data)
    assert len(datagram) == HEAD.size + TAG + len(data) <= DATAGRAM_MAX
    assert b.open(datagram) == (A, data)
    assert secret or datagram.endswith(data)
    assert not secret or len(data) < TAG or data not in datagram
    assert not b.counts


def test_a_datagram_has_room_for_a_record_and_not_for_more_than_a_network_takes() -> None:
    """Beside the head of its message; more is not sealed."""
    assert MESSAGE_HEAD.size + RUMOUR_HEAD + RECORD_MAX <= ROOM
    assert sealing(A, ONE).seal(b"x" * (ROOM + 1), B) is None
    assert len(said(sealing(A, ONE), B, b"x" * ROOM)) == DATAGRAM_MAX


def test_the_octets_of_a_datagram_are_these() -> None:
    """A node of another version, or in another language, reads the same."""
    datagram = said(sealing(A, ONE), B)
    assert datagram[:1] == b"\xb1"
    assert datagram[5:29] == A + (1).to_bytes(8, "big")
    assert datagram[29:].hex() == "6e831d910a99ee3370131c596c0c085e6e4664d0ed46ab5cc1067bab"
    assert said(sealing(A), B) == b"\xb0" + datagram[1:29] + B + DATA


@pytest.mark.parametrize("secrets", [(ONE,), ()])
def test_a_datagram_that_is_cut_or_lengthened_is_refused(secrets: tuple[bytes, ...]) -> None:
    """At each octet; without a secret only where it has no head, as nobody vouches for the rest."""
    datagram = said(sealing(A, *secrets), B)
    for size in range(len(datagram)):
        opened = sealing(B, *secrets).open(datagram[:size])
        assert opened is None or (not secrets and opened == (A, datagram[HEAD.size + NODE : size]))
    b = sealing(B, *secrets)
    assert b.open(b"") is b.open(datagram + bytes(DATAGRAM_MAX)) is None
    assert b.counts == {"of a wrong size": 2}
    if secrets:
        assert b.open(datagram + b"\0") is None


def test_a_datagram_with_any_bit_changed_is_refused() -> None:
    """And counted, once each; the right one is taken after all of them."""
    a, b = sealing(A, ONE), sealing(B, ONE)
    datagram = said(a, B)
    for bit in range(8 * len(datagram)):
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << bit % 8
        assert b.open(bytes(changed)) is None
    assert sum(b.counts.values()) == 8 * len(datagram)
    assert b.open(datagram) == (A, DATA)


def test_a_datagram_is_for_one_node_of_one_cluster_with_the_secret() -> None:
    """Whoever else gets it counts it."""
    datagram = said(sealing(A, ONE), B)
    others = {
        "that no secret of ours sealed for this node": [sealing(C, ONE), sealing(B, TWO, THREE)],
        "of another cluster": [sealing(B, ONE, cluster="other")],
        "sealed, and we have no secret": [sealing(B)],
        "of our own": [sealing(A, ONE)],
    }
    for why, nodes in others.items():
        for node in nodes:
            assert node.open(datagram) is None
            assert node.counts == {why: 1}
    b, c = sealing(B, ONE), sealing(C)
    assert b.open(said(sealing(A), B)) is c.open(said(sealing(A), B)) is None
    assert (b.counts, c.counts) == ({"not sealed": 1}, {"for another node": 1})
    assert b.open(b"\x16" + datagram[1:]) is None


def test_a_copy_is_refused_also_of_one_that_came_late() -> None:
    """Those that come in another order are taken, as long as they are not too far behind."""
    a, b = sealing(A, ONE), sealing(B, ONE)
    datagrams = [said(a, B) for _ in range(BACK + 2)]
    for datagram in (datagrams[5], datagrams[2], datagrams[4]):
        assert b.open(datagram) == (A, DATA)
        assert b.open(datagram) is None
    assert b.open(datagrams[-1]) == (A, DATA)
    assert [b.open(one) is None for one in datagrams[:6]] == [True, True, True, False, True, True]
    assert b.counts == {"that came before, or too late": 8}


@given(st.lists(st.integers(0, 3 * BACK), max_size=60))
def test_a_window_takes_each_number_once_and_keeps_to_its_size(numbers: list[int]) -> None:
    """As a set of all that came would say, for those that are not behind it."""
    window, came = Window(), set[int]()
    for number in numbers:
        top = max(came, default=0)
        assert window.new(number) == (0 < number > top - BACK and number not in came)
        if window.new(number):
            window.came(number)
            came.add(number)
        assert window.bits < 1 << BACK


def test_the_senders_that_are_remembered_are_few() -> None:
    """Who was heard of longest ago goes first."""
    b = sealing(B, ONE, senders_max=2)
    nodes = [sealing(bytes([number]) * NODE, ONE) for number in (1, 2, 3)]
    first = said(nodes[0], B)
    for datagram in (first, said(nodes[1], B), said(nodes[0], B), said(nodes[2], B)):
        assert b.open(datagram) is not None
    assert len(b._senders) == 2
    assert b.open(first) is None


def test_a_secret_may_be_changed_while_nodes_speak() -> None:
    """New is believed everywhere, then used, then the old one goes."""
    a, b = sealing(A, ONE), sealing(B, ONE)
    assert b.open(said(a, B)) is not None
    b.use([ONE, TWO])
    a.use([ONE, TWO])
    assert b.open(said(a, B)) is not None
    a.use([TWO, ONE])
    old = said(sealing(C, ONE), B)
    assert b.open(said(a, B)) is not None
    for node in (a, b):
        node.use([TWO])
    copy = said(a, B)
    assert b.open(copy) is not None
    assert b.open(copy) is None
    assert b.open(old) is None
