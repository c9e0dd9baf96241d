"""A seed for one network: nodes say by multicast where they are.

Not here: what a datagram has, and which are refused (datagrams.py). Law: nothing is opened before
a mesh asks; one look takes `LOOK_MAX` datagrams and never waits.
"""

from __future__ import annotations

import os
import socket
import time
from ipaddress import AddressValueError, IPv4Address
from random import SystemRandom

from meshmsg._binding.errors import UsageError
from meshmsg._security.files.secret_files import read_secrets
from meshmsg.mesh._addresses import LOOPBACK, PORT_MAX, is_loopback, joined, parts_of
from meshmsg.mesh._finding.datagrams import DATAGRAM_MAX, EVERY_S, SENDER, Heard, keys_of
from meshmsg.mesh._finding.seeds import Found, Node, Seed

GROUP, PORT = "239.192.74.50", 7450
"""Where nodes say it: a group of one organisation (RFC 2365)."""
HOPS = 1
"""Networks that a datagram goes through: no router passes it on."""
LOOK_MAX = 1_024
"""Datagrams that one look takes; what the system has no room for meanwhile is lost."""
ANY = "0.0.0.0"


class Beacon(Seed):
    """Nodes of one network, which say by UDP multicast where they are.

    Not where multicast does not go: most clouds and containers. Each node sends its address every
    2 s, fewer of them where there are many, and keeps those of up to 256 others for 30 s. With
    the cluster's secret a datagram is signed by it, and others are refused; without one whoever is
    on the network can say where nodes may be, and no more than that. What was refused is in
    `explain()`. No datagram is answered.

    Thread-safe: yes. Of one Mesh.

    Args:
        group: Of IPv4 multicast.
        port: Of UDP.
        interface: The IP of the interface that it is said on; "": the system's choice, and for
            a node on loopback loopback.

    Raises:
        UsageError: An argument is no such address or port.
    """

    def __init__(self, *, group: str = GROUP, port: int = PORT, interface: str = "") -> None:
        if not _ipv4("group", group).is_multicast:
            raise UsageError(f"group is {group!r}; it is one of IPv4 multicast, such as {GROUP}")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= PORT_MAX:
            raise UsageError(f"port is {port!r}; it is 1 to {PORT_MAX}")
        if interface != "":
            _ipv4("interface", interface)
        self._group, self._port, self._interface = group, port, interface
        self._node: Node | None = None
        self._heard: Heard | None = None
        self._socket: socket.socket | None = None

    def _joins(self, node: Node) -> None:
        if self._node is not None:
            raise UsageError(f"{self!r} is of another Mesh already; make one for each")
        self._node = node
        self._heard = Heard(node.cluster, os.urandom(SENDER), SystemRandom())

    def _find(self, own: str) -> Found:
        node, heard = self._node, self._heard
        if node is None or heard is None:
            raise UsageError(f"{self!r} is of no Mesh yet")
        if self._socket is None:
            self._socket = self._open(node)
        keys = keys_of(read_secrets(node.secret) if node.secret else ())
        now, wall_ms = time.monotonic(), time.time_ns() // 1_000_000
        self._look(self._socket, heard, keys, now, wall_ms)
        data = heard.say(now, wall_ms, own or self._address(self._socket, node), keys[0])
        words, trouble = heard.words(), ""
        if data is not None:
            try:
                self._socket.sendto(data, (self._group, self._port))
            except OSError as error:  # who may not speak can listen
                trouble = f"nothing can be sent: {error}"
                words = f"{trouble}; {words}" if words else trouble
        return Found(heard.addresses(now), EVERY_S, words, trouble)

    def _look(
        self, opened: socket.socket, heard: Heard, keys: list[bytes], now: float, wall_ms: int
    ) -> None:
        heard.look()
        for _ in range(LOOK_MAX):
            try:
                data, source = opened.recvfrom(DATAGRAM_MAX + 1)
            except BlockingIOError:
                break
            heard.take(now, wall_ms, data, source[0], keys)

    def _on(self, node: Node) -> str:
        """Return the IP of the interface."""
        local = is_loopback(parts_of(node.endpoint())[1])
        return self._interface or (LOOPBACK if local else ANY)

    def _open(self, node: Node) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            ip = socket.inet_aton(self._on(node))
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, HOPS)
            made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip)
            made.bind((self._group, self._port))
            member = socket.inet_aton(self._group) + ip
            made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        except OSError:
            made.close()
            raise
        return made

    def _address(self, opened: socket.socket, node: Node) -> str:
        """Return where this node is, if nobody has seen it: the IP that its datagrams come from."""
        port = parts_of(node.endpoint())[2]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            ip = opened.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, 4)
            asked.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip)
            asked.connect((self._group, self._port))
            return joined(asked.getsockname()[0], port)

    def _gone(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def __repr__(self) -> str:
        return f"Beacon(group={self._group!r}, port={self._port}, interface={self._interface!r})"


def _ipv4(name: str, given: object) -> IPv4Address:
    if not isinstance(given, str):
        raise TypeError(f"{name} is {given!r}; it is a str")
    try:
        return IPv4Address(given)
    except AddressValueError:
        raise UsageError(f"{name} is {given!r}; it is an address of IPv4") from None
