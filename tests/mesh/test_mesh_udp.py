"""A mesh whose probes and news are datagrams: found, killed, left, mixed; strangers at its port."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.making import make_secret
from meshmsg._mesh.keys.sealing import DATAGRAM_MAX, Sealing
from meshmsg._mesh.messages import HEAD, KINDS
from meshmsg._mesh.octets import cluster_tag
from meshmsg.mesh import EventKind, Mesh, Watch
from tests.support.meshes import WAIT_S, Process, eventually, node, until

LOOPBACK = "tcp://127.0.0.1:0"
COUNT = 5


@pytest.fixture(params=["secret", "plain"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """How each node is opened: with a secret, and without one on loopback."""
    found: dict[str, Any] = {"bind": LOOPBACK, "transport": "udp"}
    if request.param == "secret":
        if not mm.has("tls"):
            pytest.skip("no OpenSSL 3 here")
        make_secret(str(tmp_path / "cluster"))
        found["secret"] = str(tmp_path / "cluster.secret")
    return found


@pytest.fixture
def nodes(options: dict[str, Any]) -> Iterator[list[Mesh]]:
    """Nodes that know each other."""
    with ExitStack() as opened:
        made = [opened.enter_context(node("0", **options))]
        for number in range(1, COUNT):
            made.append(opened.enter_context(node(str(number), made[0].endpoint, **options)))
        for one in made:
            one.wait_for(count=COUNT, timeout=WAIT_S)
        yield made


def port_of(mesh: Mesh) -> Any:
    """Its port for datagrams."""
    assert mesh._driver.port is not None
    return mesh._driver.port


def secrets_of(mesh: Mesh) -> Any:
    """What its datagrams are sealed and opened by."""
    return port_of(mesh)._sealing._secrets


def all_by_datagrams(nodes: list[Mesh]) -> bool:
    """Whether each speaks to each by datagrams."""
    return all(
        port_of(one).by_datagrams(other.node_id)
        for one in nodes
        for other in nodes
        if other is not one
    )


def watching(nodes: list[Mesh]) -> list[Watch]:
    """What each is told from now on."""
    return [one.watch() for one in nodes]


def test_nodes_find_each_other_and_then_speak_by_datagrams(nodes: list[Mesh]) -> None:
    """Which are not refused, and the port is that of the connections."""
    eventually(lambda: all_by_datagrams(nodes))
    for one in nodes:
        assert not port_of(one).counts
        assert not one._driver.core.here.counts["malformed message"]  # type: ignore[attr-defined]
        port = port_of(one)._socket.getsockname()[1]
        assert one.endpoint.endswith(f":{port}")
    text = str(nodes[0].explain("1"))
    assert "it is sent datagrams" in text
    assert nodes[0].explain("1").by_datagrams == {nodes[1].node_id}


def test_one_that_is_killed_is_unreachable_and_one_that_leaves_has_left(nodes: list[Mesh]) -> None:
    """As over connections."""
    eventually(lambda: all_by_datagrams(nodes))
    watches = watching(nodes[:3])
    nodes[4].close()
    for watch in watches:
        until(watch, EventKind.UNREACHABLE, "4")
    nodes[3].leave()
    for watch in watches:
        until(watch, EventKind.LEFT, "3")


def test_a_process_that_is_killed_is_noticed(options: dict[str, Any]) -> None:
    """It says nothing any more."""
    with node("a", **options) as a, a.watch() as watch:
        with Process("b", a.endpoint, **options) as b:
            until(watch, EventKind.UP, "b")
            [record] = [one.record for one in a.members() if one.record.name == "b"]
            eventually(lambda: port_of(a).by_datagrams(record.node_id))
            b.kill()
            until(watch, EventKind.UNREACHABLE, "b")
            assert not port_of(a).by_datagrams(record.node_id)


def test_one_that_a_connection_was_lost_to_is_asked_over_another(nodes: list[Mesh]) -> None:
    """That is refused, if it is gone; a datagram would only be silent."""
    a, b = nodes[:2]
    eventually(lambda: port_of(a).by_datagrams(b.node_id))
    with a._driver.lock:
        a._driver.lost([b.node_id])
        assert not port_of(a).by_datagrams(b.node_id)
    eventually(lambda: port_of(a).by_datagrams(b.node_id))


def test_a_service_is_announced_and_followed(nodes: list[Mesh]) -> None:
    """News of it go by datagrams; what is too long for one by a connection."""
    eventually(lambda: all_by_datagrams(nodes))
    security = nodes[1].security
    bind = "tcp://127.0.0.1:0" if security is None else "tls+tcp://127.0.0.1:0"
    with mm.Pull(bind=bind, security=security) as pull:
        nodes[1].announce("s", pull, meta={"long": "x" * 200})
        with nodes[4].connect("s", mm.Push) as push:
            push.send(b"x", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"x"


def test_a_node_of_connections_only_is_a_member_like_others(options: dict[str, Any]) -> None:
    """It answers no datagram, so it is sent none but the question whether it does."""
    tcp = {**options, "transport": "tcp"}
    with node("a", **options) as a, node("b", a.endpoint, **options) as b:
        with node("c", a.endpoint, **tcp) as c, a.watch() as watch:
            for one in (a, b, c):
                one.wait_for(count=3, timeout=WAIT_S)
            eventually(lambda: all_by_datagrams([a, b]))
            eventually(lambda: [m for m in a.members() if m.record.name == "c" and m.rtt])
            assert not port_of(a).by_datagrams(c.node_id)
            assert "it is sent datagrams" not in str(a.explain("c"))
            c.close()
            until(watch, EventKind.UNREACHABLE, "c")


def strange(mesh: Mesh) -> Iterator[bytes]:
    """Datagrams of somebody who is none of the cluster, or pretends to be."""
    rng = random.Random(7)
    stranger = Sealing("test", b"s" * 16, [b"k" * 32])
    other = Sealing("other", b"o" * 16, [])
    head = HEAD.pack(1, KINDS[1], cluster_tag("test"), b"s" * 8)
    for size in (0, 1, 44, 45, 100, DATAGRAM_MAX, DATAGRAM_MAX + 1, 9_000):
        yield rng.randbytes(size)
    for sealing in (stranger, other):
        yield sealing.seal(head + b"x" * 12, mesh.node_id) or b""
        yield sealing.seal(head, b"n" * 16) or b""


def test_strangers_at_the_port_are_counted_and_answered_nothing(nodes: list[Mesh]) -> None:
    """However large, and whatever they pretend."""
    eventually(lambda: all_by_datagrams(nodes))
    to = ("127.0.0.1", port_of(nodes[0])._socket.getsockname()[1])
    secret = nodes[0].security is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for datagram in strange(nodes[0]):
            stranger.sendto(datagram, to)
        eventually(lambda: sum(port_of(nodes[0]).counts.values()) >= 12)
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.recv(DATAGRAM_MAX)
    text = str(nodes[0].explain("1"))
    assert "datagrams of a wrong size: refused" in text
    assert "datagrams of another cluster: refused" in text
    why = (
        "that no secret of ours sealed for this node" if secret else "sealed, and we have no secret"
    )
    assert f"2 datagrams {why}: refused" in text
    assert {one.record.name for one in nodes[0].members()} == {str(n) for n in range(COUNT)}
    eventually(lambda: all_by_datagrams(nodes))


@pytest.mark.parametrize("bind", ["tcp://*:0", "tcp://0.0.0.0:0", "tcp://[::1]:0"])
def test_nodes_at_all_addresses_or_of_ipv6_speak_by_datagrams(bind: str, tmp_path: Path) -> None:
    """At the addresses that they are seen at."""
    if not mm.has("tls") or ("::" in bind and not there("::1")):
        pytest.skip("no OpenSSL 3, or no IPv6 here")
    make_secret(str(tmp_path / "cluster"))
    options = {"secret": str(tmp_path / "cluster.secret"), "bind": bind, "transport": "udp"}
    with node("a", **options) as a, node("b", a.endpoint, **options) as b:
        eventually(lambda: all_by_datagrams([a, b]))


def there(host: str) -> bool:
    """Whether this machine has that address."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as made:
            made.bind((host, 0))
    except OSError:
        return False
    return True


def test_a_copy_of_a_datagram_is_refused(tmp_path: Path) -> None:
    """Whoever is on the way sends it again."""
    if not mm.has("tls"):
        pytest.skip("no OpenSSL 3 here")
    make_secret(str(tmp_path / "cluster"))
    options = {"secret": str(tmp_path / "cluster.secret"), "bind": LOOPBACK, "transport": "udp"}
    with node("a", **options) as a, node("b", a.endpoint, **options) as b:
        sent: list[tuple[bytes, Any]] = []
        port = port_of(b)

        class Copied:
            """The socket of b, and somebody who keeps what it sends."""

            def __init__(self, real: socket.socket) -> None:
                self.real = real

            def sendto(self, data: bytes, to: Any) -> int:
                """Keep it, and send it."""
                sent.append((data, to))
                return self.real.sendto(data, to)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.real, name)

        port._socket = Copied(port._socket)
        eventually(lambda: all_by_datagrams([a, b]) and len(sent) > 3)
        datagram, _ = sent[0]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thief:
            thief.sendto(datagram, ("127.0.0.1", port_of(a)._socket.getsockname()[1]))
        eventually(lambda: port_of(a).counts)
        assert port_of(a).counts == {"that came before, or too late": 1}


def test_the_secret_may_be_changed_while_nodes_speak_by_datagrams(tmp_path: Path) -> None:
    """They go on with the new one."""
    if not mm.has("tls"):
        pytest.skip("no OpenSSL 3 here")
    for name in ("cluster", "new"):
        make_secret(str(tmp_path / name))
    path, new = tmp_path / "cluster.secret", (tmp_path / "new.secret").read_bytes()
    options = {"secret": str(path), "bind": LOOPBACK, "transport": "udp"}
    with node("a", **options) as a, node("b", a.endpoint, **options) as b:
        eventually(lambda: all_by_datagrams([a, b]))
        old = secrets_of(a)
        (tmp_path / "both").write_bytes(new + path.read_bytes())
        (tmp_path / "both").chmod(0o600)
        os.replace(tmp_path / "both", path)
        eventually(lambda: all(len(secrets_of(one)) == 2 for one in (a, b)))
        os.replace(tmp_path / "new.secret", path)
        eventually(lambda: all(len(secrets_of(one)) == 1 for one in (a, b)))
        assert secrets_of(a) != old
        for mesh, other in ((a, b), (b, a)):
            port_of(mesh).forget(other.node_id)
        eventually(lambda: all_by_datagrams([a, b]))


def test_a_forked_child_does_not_hold_the_port() -> None:
    """Datagrams of its node would wait there, and nobody else could bind it."""
    made = node("a", bind=LOOPBACK, transport="udp")
    (rest, end), (born, tells) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        os.write(tells, b"!")
        os.read(rest, 1)  # until its parent is done with it
        os._exit(0)
    os.close(rest)
    try:
        assert os.read(born, 1) == b"!"
        place = port_of(made)._socket.getsockname()
        made.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
            again.bind(place)
    finally:
        for one in (end, born, tells):
            os.close(one)
        os.waitpid(child, 0)


def test_what_cannot_be_is_told_before_anything_is_opened() -> None:
    """Another transport, and a port that is taken for datagrams."""
    with pytest.raises(mm.UsageError, match='transport is \'quic\'; it is "tcp" or "udp"'):
        node("a", transport="quic")
    with node("a", bind=LOOPBACK, transport="udp") as made:  # a port that is free for both
        bind, place = made.endpoint, port_of(made)._socket.getsockname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(place)
        with pytest.raises(mm.AddressError, match="for datagrams, too"):
            node("a", bind=bind, transport="udp")
        node("a", bind=bind).close()
    with pytest.raises(mm.InsecureBindError):
        node("a", bind="tcp://*:0", transport="udp")
