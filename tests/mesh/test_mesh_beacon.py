"""The seed by multicast: what is said, what is believed, what is counted; on loopback only."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import write_secret
from meshmsg.mesh import Beacon
from meshmsg.mesh._finding.datagrams import (
    ALWAYS,
    DATAGRAM_MAX,
    ENOUGH,
    EVERY_S,
    HEAD,
    KEPT_OF_SOURCE,
    KEPT_S,
    MAC_SIZE,
    MAGIC,
    OF_SOURCE_MAX,
    SENDER,
    SKEW_MAX_MS,
    Heard,
    keys_of,
    signed,
)
from meshmsg.mesh._finding.seeds import ADDRESSES_MAX, Node
from meshmsg.mesh._finding.unreached import TRIES
from tests.support.meshes import WAIT_S, eventually, node

KEY, OTHER = keys_of([b"s" * 32, b"t" * 32])
WALL = 1_700_000_000_000
IP = "10.0.0.9"


def heard(number: int = 0, cluster: str = "test") -> Heard:
    """What one of many nodes keeps."""
    return Heard(cluster, number.to_bytes(SENDER, "big"), Random(number))


def said(number: int, *, address: str = "", key: bytes = KEY, wall: int = WALL) -> bytes:
    """The first datagram of that node."""
    data = heard(number).say(0.0, wall, address or f"tcp://10.0.0.{number}:7450", key)
    assert data is not None
    return data


def test_what_one_says_others_keep_for_some_time() -> None:
    """And as long as it is said again."""
    one = heard()
    one.take(0.0, WALL, said(1), IP, [KEY])
    one.take(10.0, WALL, said(2), IP, [KEY])
    assert one.addresses(10.0) == ["tcp://10.0.0.1:7450", "tcp://10.0.0.2:7450"]
    one.take(20.0, WALL, said(1), IP, [KEY])
    assert one.addresses(10.0 + KEPT_S) == ["tcp://10.0.0.1:7450"]
    assert one.addresses(20.0 + KEPT_S) == []
    assert one.words() == ""


def test_a_node_does_not_hear_itself() -> None:
    """Though its own datagrams come back."""
    one = heard(1)
    one.take(0.0, WALL, said(1), IP, [KEY])
    assert one.addresses(0.0) == []
    assert one.words() == ""


def test_any_secret_of_the_file_may_have_signed_it() -> None:
    """As while one takes the place of another."""
    one = heard()
    one.take(0.0, WALL, said(1, key=OTHER), IP, [KEY, OTHER])
    assert one.addresses(0.0) == ["tcp://10.0.0.1:7450"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "of a wrong size"),
        (b"x" * (HEAD.size + MAC_SIZE), "of a wrong size"),
        (b"x" * (DATAGRAM_MAX + 1), "of a wrong size"),
        (b"x" * DATAGRAM_MAX, "of something else"),
        (said(1)[:-1] + b"\0", "of another secret"),
        (said(1).replace(b":7450", b":7451"), "of another secret"),
        (said(1, key=OTHER), "of another secret"),
        (said(1, key=keys_of([])[0]), "of another secret"),
        (said(1, wall=WALL - SKEW_MAX_MS - 1), "of another time"),
        (said(1, wall=WALL + SKEW_MAX_MS + 1), "of another time"),
        (said(1, address="junk"), "without an address"),
        (said(1, address="tcp://h:0"), "without an address"),
    ],
)
def test_what_is_not_good_is_counted_and_changes_nothing(data: bytes, why: str) -> None:
    """And its reason is told."""
    one = heard()
    one.take(0.0, WALL, data, IP, [KEY])
    assert one.addresses(0.0) == []
    assert one.counts == {why: 1}
    assert one.words() == f"refused 1 datagram: 1 {why}"


def test_octets_that_are_no_text_are_no_address() -> None:
    """Also with the secret's signature."""
    one = heard()
    one.take(0.0, WALL, signed(said(1)[: HEAD.size] + b"\xff\xfe", KEY), IP, [KEY])
    assert one.counts == {"without an address": 1}


def test_datagrams_of_another_cluster_are_told_of() -> None:
    """Two clusters may have one group."""
    one = heard(cluster="other")
    one.take(0.0, WALL, said(1), IP, [KEY])
    assert one.counts == {"of another cluster": 1}


def test_clocks_may_differ_by_minutes() -> None:
    """In both directions."""
    one = heard()
    for number, wall in ((1, WALL - SKEW_MAX_MS), (2, WALL + SKEW_MAX_MS)):
        one.take(0.0, WALL, said(number, wall=wall), IP, [KEY])
    assert len(one.addresses(0.0)) == 2


def test_of_one_machine_so_many_are_looked_at_in_one_look() -> None:
    """Others are not held back, and the next look begins anew."""
    one = heard()
    for _ in range(OF_SOURCE_MAX + 5):
        one.take(0.0, WALL, b"junk", "10.6.6.6", [KEY])
    one.take(0.0, WALL, said(1), IP, [KEY])
    assert one.counts == {"of a wrong size": OF_SOURCE_MAX, "beyond those of one machine": 5}
    one.look()
    one.take(0.0, WALL, said(2), "10.6.6.6", [KEY])
    assert len(one.addresses(0.0)) == 2


def test_so_many_addresses_are_kept_and_those_that_were_first_stay() -> None:
    """A member that lies in the name of thousands takes nobody's place."""
    one = heard()
    for number in range(ADDRESSES_MAX + 3):
        data = said(1, address=f"tcp://h{number}:1")
        one.take(0.0, WALL, data, f"10.1.{number % ADDRESSES_MAX >> 4}.1", [KEY])
    assert len(one.addresses(0.0)) == ADDRESSES_MAX
    assert one.counts == {"of more nodes than are kept": 3}
    one.look()
    one.take(1.0, WALL, said(1, address="tcp://h0:1"), IP, [KEY])
    assert one.addresses(KEPT_S) == ["tcp://h0:1"]


def test_one_machine_has_not_all_the_room() -> None:
    """Whatever it makes up, without a secret; others are heard beside it."""
    one = heard()
    for number in range(40):
        one.take(0.0, WALL, said(1, address=f"tcp://h{number}:1"), IP, [KEY])
    assert len(one.addresses(0.0)) == KEPT_OF_SOURCE
    one.take(0.0, WALL, said(1, address="tcp://other:1"), "10.9.9.9", [KEY])
    assert "tcp://other:1" in one.addresses(0.0)
    for number in range(ADDRESSES_MAX):
        of = f"10.2.{number // KEPT_OF_SOURCE}.1"
        one.take(0.0, WALL, said(1, address=f"tcp://m{number}:1"), of, [KEY])
    assert len(one.addresses(0.0)) == ADDRESSES_MAX
    one.take(0.0, WALL, said(1, address="tcp://late:1"), "10.3.0.1", [KEY])
    assert "tcp://late:1" in one.addresses(0.0)
    assert len(one.addresses(0.0)) == ADDRESSES_MAX


def test_an_address_that_another_machine_says_again_counts_as_one_of_that_machine() -> None:
    """So nobody has more room by saying what others said."""
    one = heard()
    for number in range(2 * KEPT_OF_SOURCE):
        of = f"10.2.{number // KEPT_OF_SOURCE}.1"
        one.take(0.0, WALL, said(1, address=f"tcp://m{number}:1"), of, [KEY])
    for number in range(2 * KEPT_OF_SOURCE):
        one.take(1.0, WALL, said(2, address=f"tcp://m{number}:1"), IP, [KEY])
    assert len(one.addresses(1.0)) == 2 * KEPT_OF_SOURCE
    assert one.counts["of more nodes than are kept"] == KEPT_OF_SOURCE
    late = one.addresses(KEPT_S)  # what there was no room for is as old as it was
    assert late == [f"tcp://m{number}:1" for number in range(KEPT_OF_SOURCE)]


def test_a_node_alone_says_it_each_time_and_not_more_often() -> None:
    """Whoever asks the seed how often."""
    one = heard()
    times = [tick * EVERY_S / 4 for tick in range(40)]
    sent = [at for at in times if one.say(at, WALL, "tcp://h:1", KEY) is not None]
    assert sent == times[::2]


def test_where_many_speak_each_is_silent_most_of_the_time() -> None:
    """But for its first words: a network of hundreds does not hear hundreds each time."""
    one, sent = heard(), 0
    for tick in range(1_000):
        now = tick * EVERY_S
        one.look()
        for number in range(100):
            data = said(1, address=f"tcp://h{number}:1")
            one.take(now, WALL, data, f"10.1.{number}.1", [KEY])
        data = one.say(now, WALL, "tcp://h:1", KEY)
        sent += data is not None
        assert tick >= ALWAYS or data is not None
    expected = 1_000 * ENOUGH / 100
    assert expected / 2 < sent < expected * 2


@pytest.fixture
def port() -> Iterator[int]:
    """A port of UDP that no other test has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


def joined(port: int, number: int, **changes: str) -> Beacon:
    """A beacon on loopback, of a node that no mesh drives."""
    made = Beacon(port=port, interface="127.0.0.1")
    given = {"cluster": "test", "secret": "", **changes}
    made._joins(Node(**given, endpoint=lambda: f"tcp://127.0.0.1:{number}"))
    return made


def test_two_beacons_hear_each_other(port: int) -> None:
    """Each the address that the other has, or sends from."""
    one, two = joined(port, 1), joined(port, 2)
    try:
        assert one._find("").addresses == []
        assert two._find("tcp://10.0.0.2:2").addresses == []
        assert one._find("").addresses == ["tcp://10.0.0.2:2"]
        three = joined(port, 3)
        three._find("")
        assert two._find("").addresses == ["tcp://127.0.0.1:3"]
        three._gone()
    finally:
        one._gone()
        two._gone()


def test_a_node_that_can_send_nothing_says_so_once_and_goes_on(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """As where there is no route for multicast; it hears others all the same."""
    deaf = Beacon(port=port, interface="127.0.0.1")

    class Mute(socket.socket):
        """Has no route."""

        def sendto(self, *_: object) -> int:
            """Fail."""
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    opened = deaf._open

    def mute(of: Node) -> socket.socket:
        made = opened(of)
        return Mute(made.family, made.type, made.proto, fileno=made.detach())

    deaf._open = mute  # type: ignore[method-assign]
    with node("a", deaf) as a, node("b", Beacon(port=port, interface="127.0.0.1")) as b:
        for mesh in (a, b):
            mesh.wait_for(count=2, timeout=WAIT_S)
        eventually(lambda: a._driver.seeding.tried()[0].asked.failed > TRIES)
        (record,) = eventually(lambda: list(caplog.records))
        assert "nothing can be sent: [Errno 101]" in str(a.explain("b"))
    assert len(caplog.records) == 1
    words = "failed 3 times in a row: nothing can be sent: [Errno 101] Network is unreachable"
    assert words in record.getMessage()


def test_a_beacon_with_a_secret_believes_none_without_it(port: int, tmp_path: Path) -> None:
    """And what it refused is told."""
    secret = str(write_secret(tmp_path / "a.secret"))
    one, none = joined(port, 1, secret=secret), joined(port, 2)
    two = joined(port, 3, secret=secret)
    for beacon in (one, none, two):
        beacon._find("")
    found = {beacon: beacon._find("") for beacon in (one, none)}
    for beacon in (one, none, two):
        beacon._gone()
    assert found[one].addresses == ["tcp://127.0.0.1:3"]
    assert found[none].addresses == []
    for beacon in (one, none):
        assert found[beacon].words == "refused 1 datagram: 1 of another secret"


def test_a_secret_that_cannot_be_read_is_told(port: int, tmp_path: Path) -> None:
    """And nothing is said without it."""
    path = write_secret(tmp_path / "a.secret")
    one = joined(port, 1, secret=str(path))
    os.chmod(path, 0o644)
    with pytest.raises(mm.UsageError, match="others"):
        one._find("")
    one._gone()


def test_nodes_find_each_other_by_nothing_but_a_beacon(port: int) -> None:
    """A node that is on loopback speaks on loopback; what is junk is in its explanation."""
    with node("a", Beacon(port=port)) as a, node("b", Beacon(port=port)) as b:
        for mesh in (a, b):
            mesh.wait_for(count=2, timeout=WAIT_S)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile:
            on = socket.inet_aton("127.0.0.1")
            hostile.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, on)
            for data in (b"", MAGIC, b"x" * 9_000, os.urandom(DATAGRAM_MAX)):
                hostile.sendto(data, ("239.192.74.50", port))
        eventually(lambda: "refused 4 datagrams: 3 of a wrong size" in str(a.explain("b")))


def test_a_beacon_is_of_one_mesh(port: int) -> None:
    """As it has one socket."""
    beacon = Beacon(port=port)
    with (
        node("a", beacon),
        pytest.raises(mm.UsageError, match="another Mesh"),
    ):
        node("b", beacon)
    with pytest.raises(mm.UsageError, match="of no Mesh"):
        Beacon(port=port)._find("")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group": "10.0.0.1"}, "group is '10.0.0.1'"),
        ({"group": "ff02::1"}, "an address of IPv4"),
        ({"port": 0}, "1 to 65535"),
        ({"port": True}, "port is True"),
        ({"interface": "eth0"}, "interface is 'eth0'"),
    ],
)
def test_what_is_wrong_with_a_beacon_is_said(options: dict[str, object], words: str) -> None:
    """Before anything is opened."""
    with pytest.raises(mm.UsageError, match=words):
        Beacon(**options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="it is a str"):
        Beacon(group=5)  # type: ignore[arg-type]
