"""Addresses: what is one, what is not connected to, and what others are told."""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg.mesh import Record, Service
from meshmsg.mesh._addresses import (
    address_of,
    advertised,
    denied,
    here,
    ip_of,
    is_wildcard,
    joined,
    parts_of,
    reachable,
    sent_from,
    usable,
)
from meshmsg.mesh._place import OBSERVERS_MAX, Place


@pytest.mark.parametrize(
    "given", ["10.0.0.5:7450", "tcp://10.0.0.5:7450", "tls+tcp://10.0.0.5:7450"]
)
def test_an_address_has_one_form(given: str) -> None:
    """Whatever scheme it was given with."""
    assert address_of(given, "a seed") == "tcp://10.0.0.5:7450"


@pytest.mark.parametrize(
    "given", ["", "host", "host:", ":1", "host:0", "host:65536", "ipc:///x:1", "a b:1", "a\n:1"]
)
def test_what_is_no_address_is_refused_by_name(given: str) -> None:
    """The error says what was given."""
    with pytest.raises(mm.UsageError, match="a seed is"):
        address_of(given, "a seed")


def test_a_port_at_its_limit_is_one() -> None:
    """And one above is none."""
    assert parts_of("tcp://h:65535") == ("tcp", "h", 65535)
    assert parts_of("tcp://h:65536") == ("tcp", "h", 0)


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "fe80::1", "[fe80::1%eth0]", "::ffff:169.254.1.1", "0.0.0.0", "224.0.0.1"],
)
def test_what_clouds_keep_secrets_at_is_denied(host: str) -> None:
    """Also where loopback is allowed."""
    assert denied(host, loopback=True)


@pytest.mark.parametrize(
    "host", ["0", "0177.0.0.1", "0x7f000001", "2130706433", "2852039166", "127.1", "127.0.0.1."]
)
def test_an_ip_in_another_spelling_is_denied(host: str) -> None:
    """The system would connect to this machine, or to where clouds keep secrets."""
    assert "in a form that hides it" in denied(host, loopback=True)


@pytest.mark.parametrize("given", ["*:1", "tcp://*:1", "a/b:1", "a;b:1", "a b:1", "[::1:1", "é:1"])
def test_what_is_no_host_is_no_address(given: str) -> None:
    """Whoever gives it."""
    with pytest.raises(mm.UsageError, match="or tcp://host:port: its host is no name and no IP"):
        address_of(given, "a seed")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("10.0.0.5", "it has no port"),
        ("tcp://h:", "it has no port"),
        ("", "it is empty"),
        (":7450", "it has no host"),
        ("h:0", "its port is 1 to 65535"),
        ("tcp://h:1/x", "its port is 1 to 65535"),
        ("ipc:///x", "a mesh port is of TCP, not of ipc"),
    ],
)
def test_what_is_wrong_with_an_address_is_told(given: str, why: str) -> None:
    """Beside what it should be."""
    with pytest.raises(mm.UsageError) as raised:
        address_of(given, "a seed")
    told = f"a seed is {given!r}; it is host:port or tcp://host:port: {why}"
    assert str(raised.value) == told


def test_loopback_is_denied_unless_it_is_meant() -> None:
    """As a poisoned record would say it."""
    for host in ("127.0.0.1", "[::1]", "localhost", "LOCALHOST", "localhost.", "a.localhost"):
        assert denied(host, loopback=False) == (
            'it is this machine, and this node is not on loopback: bind="tcp://127.0.0.1:0" '
            "(mesh.bind of Spark) takes it, or have that node advertise= what others reach"
        )
        assert denied(host, loopback=True) == ""
    assert denied("10.1.2.3", loopback=False) == ""


def test_a_socket_on_all_addresses_is_told_at_that_of_the_node() -> None:
    """One on loopback stays there; inproc is nobody else's."""
    own = ["tcp://10.0.0.5:7450"]
    bound = ["tcp://0.0.0.0:1", "tls+tcp://*:2", "tcp://127.0.0.1:3", "ipc:///x", "inproc://y"]
    assert advertised(bound, own) == (
        "tcp://10.0.0.5:1",
        "tls+tcp://10.0.0.5:2",
        "tcp://127.0.0.1:3",
        "ipc:///x",
    )
    assert advertised(["tcp://0.0.0.0:1"], []) == ()


def test_loopback_of_another_machine_is_not_connected_to() -> None:
    """The others are, in the order that its node has them."""
    endpoints = ["tcp://127.0.0.1:3", "ipc:///x", "tcp://10.0.0.5:1"]
    assert usable(endpoints, "a#1", "a#1") == endpoints
    assert usable(endpoints, "b#1", "a#1") == ["tcp://10.0.0.5:1"]
    assert usable(endpoints[:2], "b#1", "a#1") == []
    assert usable(["tcp://169.254.169.254:80", "inproc://x", "junk"], "b#1", "a#1") == []


def test_this_machine_has_the_same_name_each_time() -> None:
    """And no octet that a name may not have."""
    assert here() == here()
    assert here().isascii()
    assert joined("::1", 5) == "tcp://[::1]:5"


def test_a_node_on_one_address_is_there() -> None:
    """Whatever others see."""
    place = Place("tcp://10.0.0.5:7450", "auto")
    assert place.addresses == ("tcp://10.0.0.5:7450",)
    assert not place.seen_at("tcp://10.9.9.9:1", b"a")


def test_the_first_who_sees_a_node_is_believed_and_then_most_of_them() -> None:
    """One liar changes nothing any more."""
    place = Place("tcp://0.0.0.0:7450", "auto")
    assert place.addresses == ()
    assert place.seen_at("tcp://127.0.0.1:50000", b"a")
    assert place.addresses == ("tcp://127.0.0.1:7450",)
    assert place.seen_at("tcp://10.0.0.5:50000", b"b"), "nobody else is on loopback"
    assert place.addresses == ("tcp://10.0.0.5:7450",)
    assert not place.seen_at("tcp://10.0.0.5:50001", b"c")
    assert not place.seen_at("tcp://6.6.6.6:1", b"liar")
    assert place.addresses == ("tcp://10.0.0.5:7450",)
    assert not place.seen_at("junk", b"d")


def test_a_liar_that_is_asked_first_is_outvoted_by_the_next_two() -> None:
    """Any word is better than none; of three, two are believed."""
    place = Place("tcp://0.0.0.0:7450", "auto")
    assert place.seen_at("tcp://6.6.6.6:1", b"liar")
    assert not place.seen_at("tcp://10.0.0.5:1", b"a"), "one against one"
    assert not place.seen_at("tcp://6.6.6.7:1", b"liar"), "nobody has two words"
    assert place.seen_at("tcp://10.0.0.5:1", b"b")
    assert place.addresses == ("tcp://10.0.0.5:7450",)


def test_a_node_that_moved_follows_what_most_see() -> None:
    """Each observer counts with what it saw last."""
    place = Place("tcp://0.0.0.0:7450", "auto")
    for by in (b"a", b"b", b"c"):
        place.seen_at("tcp://10.0.0.5:1", by)
    assert not place.seen_at("tcp://10.0.0.6:1", b"a")
    assert place.seen_at("tcp://10.0.0.6:1", b"b")
    assert place.addresses == ("tcp://10.0.0.6:7450",)


def test_few_observers_are_remembered() -> None:
    """However many there are."""
    place = Place("tcp://0.0.0.0:7450", "auto")
    for number in range(3 * OBSERVERS_MAX):
        place.seen_at("tcp://10.0.0.5:1", bytes([number]))
    assert len(place._seen) == OBSERVERS_MAX


def test_what_the_user_advertises_stays() -> None:
    """Up to four addresses."""
    place = Place("tcp://0.0.0.0:7450", ["a:1", "b:2"])
    assert place.addresses == ("tcp://a:1", "tcp://b:2")
    assert not place.seen_at("tcp://10.0.0.5:1", b"a")
    with pytest.raises(mm.UsageError, match="advertise has 5"):
        Place("tcp://0.0.0.0:7450", ["a:1"] * 5)
    with pytest.raises(mm.UsageError, match="advertise is"):
        Place("tcp://0.0.0.0:7450", "junk")


def test_the_endpoint_of_a_wildcard_is_where_the_machine_sends_from_until_it_is_seen() -> None:
    """Then it is what most see."""
    place = Place("tcp://[::]:7450", "auto", outside={"[::]": "10.0.0.7"}.__getitem__)
    assert place.endpoint == "tcp://10.0.0.7:7450"
    assert place.addresses == (), "nobody is told what is only thought"
    place.seen_at("tcp://10.0.0.5:1", b"a")
    assert place.endpoint == "tcp://10.0.0.5:7450"
    place.seen_at("tcp://[fd00::1]:1", b"a")
    assert place.endpoint == "tcp://[fd00::1]:7450"


@pytest.mark.parametrize(
    ("bound", "advertise", "endpoint"),
    [
        ("tcp://10.0.0.5:7450", "auto", "tcp://10.0.0.5:7450"),
        ("tcp://0.0.0.0:7450", ["a:1", "b:2"], "tcp://a:1"),
        ("tcp://127.0.0.1:7450", "a:1", "tcp://a:1"),
    ],
)
def test_the_endpoint_is_what_is_advertised(
    bound: str, advertise: str | list[str], endpoint: str
) -> None:
    """The system is not asked."""
    assert Place(bound, advertise, outside={}.__getitem__).endpoint == endpoint


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "[::]", "*"])
def test_what_a_machine_sends_from_is_one_address_of_its_own(wildcard: str) -> None:
    """Of IPv4, if nothing else is listened on."""
    ip = ip_of(sent_from(wildcard))
    assert ip is not None
    assert not is_wildcard(str(ip))
    assert wildcard != "0.0.0.0" or ip.version == 4
    mm.Pull(bind=joined(str(ip), 0), insecure=True).close()


def test_a_machine_without_a_way_out_is_at_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose network is not up yet."""
    nobody = OSError("no route")

    def refused(*_: object) -> None:
        raise nobody

    monkeypatch.setattr("meshmsg.mesh._addresses.socket.socket", refused)
    assert sent_from("*") == "127.0.0.1"


def record_of(host: str, *endpoints: str) -> Record:
    """Return what a node says that offers "orders" there."""
    service = Service("orders", "spool", "zmtp", endpoints)
    return Record(b"i" * 16, "n", "c", 1, 1, 1, b"", (), host, services=(service,))


def test_an_endpoint_that_other_machines_reach_goes_first() -> None:
    """As it may be handed on; of another machine's loopback there is none."""
    both = record_of("a", "ipc:///run/s", "tcp://127.0.0.1:5", "tcp://10.0.0.5:5")
    assert reachable(both, "orders", "a") == "tcp://10.0.0.5:5"
    assert reachable(both, "other", "a") == ""
    near = record_of("a", "ipc:///run/s", "tcp://127.0.0.1:5")
    assert reachable(near, "orders", "a") == "ipc:///run/s"
    assert reachable(near, "orders", "b") == ""
