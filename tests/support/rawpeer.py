"""A raw ZMTP peer: every octet is the test's. Bounded waits, no sleeps.

Not here: what the octets mean (refcodec).
"""

from __future__ import annotations

import socket
from types import TracebackType

from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S


def at_once(connected: socket.socket) -> None:
    """Have each write go at once: else the second waits 40 ms for the other side's system."""
    if connected.family == socket.AF_INET:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class RawPeer:
    """A TCP connection to a listener."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=WAIT_S)
        at_once(self.socket)
        self._data = b""

    @classmethod
    def of(cls, connected: socket.socket) -> RawPeer:
        """Return the peer at the end of a connection that we accepted."""
        peer = cls.__new__(cls)
        peer.socket, peer._data = connected, b""
        connected.settimeout(WAIT_S)
        at_once(connected)
        return peer

    def send(self, data: bytes) -> RawPeer:
        """Write; a connection that was closed already is no error."""
        try:
            self.socket.sendall(data)
        except OSError:
            pass
        return self

    def shake(self, role: bytes, *more: tuple[bytes, bytes], minor: int = 1) -> RawPeer:
        """Do the whole handshake; what comes after it is kept."""
        self.send(ref.greeting(minor=minor) + ref.ready(role, *more))
        self.greeted()
        assert self.frame()[1].startswith(b"\x05READY")
        return self

    def greeted(self) -> bytes:
        """Read the greeting."""
        self._need(64)
        greeting, self._data = self._data[:64], self._data[64:]
        return greeting

    def _need(self, size: int) -> None:
        while len(self._data) < size:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError("the connection was closed")
            self._data += more

    def frame(self, *, pings: bool = False) -> tuple[int, bytes]:
        """Read one frame: flags and body. PINGs, which come when a machine is slow, are read over
        unless asked for."""
        while True:
            while (taken := ref.parse_frame(self._data)) is None:
                self._need(len(self._data) + 1)
            flags, body, self._data = taken
            if pings or not body.startswith(b"\x04PING") or not flags & ref.COMMAND:
                return flags, body

    def until_closed(self) -> bytes:
        """Read all there is, until the other side closes."""
        try:
            while more := self.socket.recv(65536):
                self._data += more
        except ConnectionError:
            pass
        return self._data

    def __enter__(self) -> RawPeer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()
