"""The mesh port for datagrams: beside the one for connections, with the same number.

A node is sent datagrams once one came back from it, and as long as its probes are answered; until
then it is asked for one, and spoken to over a connection. Not here: what a datagram is
(_mesh/keys/sealing.py), when something is said (_driver.py). Law: one thread calls this; nothing
waits here; what finds no room is dropped and counted, as the network does it.
"""

from __future__ import annotations

import os
import socket
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence

from meshmsg._binding.core import error_for, lib
from meshmsg._binding.errors import MeshError
from meshmsg._mesh.keys.sealing import DATAGRAM_MAX, Sealing
from meshmsg._mesh.keys.sealing import ROOM as ROOM
from meshmsg._mesh.limits import MEMBERS_MAX
from meshmsg._mesh.messages import HEAD, Kind
from meshmsg._mesh.octets import HANDLE
from meshmsg._security.files.secret_files import read_secrets
from meshmsg.mesh._addresses import ip_of, is_wildcard, joined, parts_of
from meshmsg.mesh._link import Came, Link

TRIES = 16
"""Ports that are tried where any free one will do: it has to be free for both."""
ASK_S = 5.0
"""Seconds between two datagrams that ask a node for one."""
LOOK_S = 1.0
"""Seconds between two looks whether the secret's file has changed."""
RECV_MAX = 1_000
"""Datagrams that one look takes; what the system has no room for meanwhile is lost."""
BUFFER = 1024 * 1024
"""Octets that the system is asked to keep of what came; it may have its own limit."""
REPLIES_MAX = 8_192
"""Datagrams that an answer may still go back to."""
SYNC_KINDS = (
    *(Kind.HELLO, Kind.SAME, Kind.DIGEST, Kind.VERSIONS, Kind.RECORDS, Kind.BUSY),
    Kind.PACKED,
)
"""Messages that always go over a connection."""
_ASK, _YES = b"?", b"!"
"""What is said of datagrams themselves: no message of the mesh is so short."""
AT = HEAD.size
"""Octets of the smallest message; it ends with the handle of who says it."""


_open: weakref.WeakSet[Port] = weakref.WeakSet()
"""Those of this process."""


class _Peer:
    """A node that datagrams may be sent to."""

    __slots__ = ("answers", "asked", "waits")

    def __init__(self) -> None:
        self.answers = False
        """Whether a datagram that we sent it was answered by one."""
        self.waits = False
        """Whether it was probed since then."""
        self.asked = float("-inf")


class _Reply:
    """Where an answer goes."""

    __slots__ = ("node", "size", "source")

    def __init__(self, node: bytes, source: tuple[str, int], size: int) -> None:
        self.node, self.source, self.size = node, source, size


class Port:
    """Sends and takes datagrams of one node."""

    def __init__(self, made: socket.socket, sealing: Sealing, path: str) -> None:
        """Begin.

        Args:
            made: As of `beside`; it is closed with this.
            sealing: Of this node.
            path: The file of the secret; "": there is none.
        """
        self._socket, self._six = made, made.family == socket.AF_INET6
        self._sealing, self._path = sealing, path
        self._stamp: tuple[int, ...] = ()
        self._look_at = float("-inf")
        self._peers: OrderedDict[bytes, _Peer] = OrderedDict()
        self._replies: OrderedDict[int, _Reply] = OrderedDict()
        self._last_reply = 0
        _open.add(self)
        self.dropped = 0
        """Datagrams that the system had no room for, or no way."""

    def fileno(self) -> int:
        """Return the descriptor, which is readable when something came."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close it. Again: nothing."""
        self._socket.close()

    @property
    def counts(self) -> dict[str, int]:
        """Datagrams that came and were refused, and why."""
        return dict(self._sealing.counts)

    def by_datagrams(self, node: bytes) -> bool:
        """Whether that node is sent datagrams now. Thread-safe: yes."""
        peer = self._peers.get(node)
        return peer is not None and peer.answers

    # Sending

    def send(self, now: float, to: str, data: bytes, node: bytes | None) -> bool:
        """Send a message by a datagram; false: it is to go over a connection.

        Args:
            now: The time, in seconds of the mesh's clock.
            to: The address of a mesh port.
            data: The message.
            node: Who is thought to be there.
        """
        _, host, port = parts_of(to)
        if node is None or not port or ip_of(host) is None:
            return False
        place = (host.strip("[]"), port)
        peer = self._peer(node)
        if data[1] == Kind.PING:  # without an answer to the one before: maybe none come
            peer.answers, peer.waits = peer.answers and not peer.waits, peer.answers
        if peer.answers:
            return data[1] not in SYNC_KINDS and self._put(data, node, place)
        if now - peer.asked >= ASK_S:
            peer.asked = now
            self._put(_ASK, node, place)
        return False

    def answer(self, reply: int, data: bytes) -> tuple[str, bytes] | None:
        """Send back by a datagram; or return to which address, and node, a connection is to do it.

        That is so of syncs, and where nobody sealed the question and the answer is longer: else
        whoever lies about where he is could have others sent more than he sends.
        """
        back = self._replies.get(reply)
        if back is None:
            self.dropped += 1
            return None
        larger = len(data) > back.size and not self._sealing.sealed
        if data[1] in SYNC_KINDS or larger or not self._put(data, back.node, back.source):
            return joined(back.source[0], back.source[1]), back.node
        return None

    def _put(self, data: bytes, node: bytes, to: tuple[str, int]) -> bool:
        """Send it, if it is not too long; what the system has no room for is lost on the way."""
        datagram = self._sealing.seal(data, node)
        if datagram is None:
            return False
        host, port = to
        if self._six and ":" not in host:
            host = f"::ffff:{host}"
        try:
            self._socket.sendto(datagram, (host, port))
        except OSError:
            self.dropped += 1
        return True

    def _peer(self, node: bytes) -> _Peer:
        peer = self._peers.get(node)
        if peer is None:
            peer = self._peers[node] = _Peer()
            while len(self._peers) > MEMBERS_MAX:
                self._peers.popitem(last=False)
        return peer

    def forget(self, node: bytes) -> None:
        """Speak to a node over a connection at first: it is UNREACHABLE, or may be gone."""
        self._peers.pop(node, None)

    # What came

    def came(self, now: float) -> list[Came]:
        """Return messages that came, some at most."""
        self._look(now)
        found: list[Came] = []
        for _ in range(RECV_MAX):
            try:
                datagram, source = self._socket.recvfrom(DATAGRAM_MAX + 1)
            except OSError:  # there is none, or one of ours came to nobody
                break
            opened = self._sealing.open(datagram)
            if opened is not None:
                found += self._take(*opened, (_plain(source[0]), source[1]))
        return found

    def _take(self, node: bytes, data: bytes, source: tuple[str, int]) -> Sequence[Came]:
        peer = self._peers.get(node)
        if data == _ASK:
            self._put(_YES, node, source)
        answer = len(data) >= AT and data[1] in (Kind.ACK, Kind.NACK)
        if peer is not None and (answer or data == _YES):
            peer.answers, peer.waits = True, False
            self._peers.move_to_end(node)
        if len(data) < AT or data[AT - HANDLE : AT] != node[:HANDLE]:
            if data not in (_ASK, _YES):
                self._sealing.counts["that says another sender"] += 1
            return ()
        self._last_reply -= 1  # those of connections are above 0
        self._replies[self._last_reply] = _Reply(node, source, len(data))
        if len(self._replies) > REPLIES_MAX:
            self._replies.popitem(last=False)
        return (Came(self._last_reply, joined(*source), [data]),)

    def _look(self, now: float) -> None:
        """Take other secrets, if the file has others; what is wrong with it changes nothing."""
        if not self._path or now < self._look_at:
            return
        self._look_at = now + LOOK_S
        try:
            state = os.stat(self._path)
            stamp = (state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)
            if stamp != self._stamp:
                self._sealing.use(read_secrets(self._path))
                self._stamp = stamp
        except (OSError, MeshError):  # the policy of the connections tells of it
            return


def _plain(host: str) -> str:
    """Return an IP as records have it: IPv4 not in the form that IPv6 has for it."""
    return host.removeprefix("::ffff:").partition("%")[0]


def port_of(made: socket.socket | None, cluster: str, node: bytes, path: str) -> Port | None:
    """Return the port of a node, by the secrets of that file; None: it has none.

    Raises:
        UsageError, OSError: The file has no secret, or cannot be read.
    """
    if made is None:
        return None
    return Port(made, Sealing(cluster, node, read_secrets(path) if path else ()), path)


def beside(link: Callable[[], Link], bind: str) -> tuple[Link, socket.socket]:
    """Bind both: the port for connections, and one for datagrams with the same number.

    Args:
        link: Binds the first, anew each time.
        bind: Where, as "tcp://host:port"; with port 0 several are tried.

    Raises:
        AddressError: The second cannot be bound.
    """
    tries = 1 if parts_of(bind)[2] else TRIES
    while True:
        made, tries = link(), tries - 1
        _, host, port = parts_of(made.address)
        try:
            return made, _opened(host, port)
        except OSError as error:
            made.router.close()
            if not tries:
                raise error_for(
                    lib.MM_EADDRINUSE,
                    f'binding a Mesh to {bind} for datagrams, too (transport="udp"): {error}',
                    address=bind,
                ) from None


def _opened(host: str, port: int) -> socket.socket:
    ip = ip_of(host)
    both = is_wildcard(host) and (ip is None or ip.version == 6) and socket.has_ipv6
    six = both or (ip is not None and ip.version == 6)
    made = socket.socket(
        socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
    )
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        if six:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if both else 1)
        made.bind((("::" if six else "0.0.0.0") if is_wildcard(host) else host.strip("[]"), port))
    except OSError:
        made.close()
        raise
    return made


def _after_fork_in_child() -> None:
    """A child that lives on is not to hold the port."""
    for port in list(_open):
        port.close()
    _open.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
