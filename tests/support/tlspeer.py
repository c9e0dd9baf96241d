"""Raw peers of TLS: every octet is the test's, and what is said inside is read with bounded waits.

Not here: what the octets are (reftls, Python's ssl).
"""

from __future__ import annotations

import socket
import ssl

from tests.support import refcodec as ref
from tests.support import reftls as tls
from tests.support.rawpeer import RawPeer


class SecretPeer(RawPeer):
    """A connection to a listener that wants a shared secret, by the reference."""

    def __init__(self, endpoint: str, secret: bytes) -> None:
        super().__init__(endpoint.removeprefix("tls+"))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client = tls.Client(tls.psk_of(secret))
        self.plain = b""
        """What was opened and nobody took."""

    def hello(self) -> bytes:
        """Return its ClientHello, in a record."""
        return tls.record(tls.HANDSHAKE, self.client.hello(), 0x0301)

    def record(self) -> bytes:
        """Read a record."""
        self._need(5)
        self._need(5 + int.from_bytes(self._data[3:5], "big"))
        [one, *_] = tls.records(self._data)
        self._data = self._data[len(one) :]
        return one

    def answered(self) -> SecretPeer:
        """Say hello, and hear the server's flight: it is three messages and a record between."""
        self.send(self.hello())
        return self.hear_answer()

    def hear_answer(self) -> SecretPeer:
        """Hear the server's flight: ServerHello, and then two sealed records."""
        said = [self.record()]
        while sum(one[0] == tls.DATA for one in said) < 2:
            said.append(self.record())
        self.client.answered(b"".join(said))
        return self

    def inside(self) -> SecretPeer:
        """Do all of TLS's handshake."""
        self.answered().send(self.client.finished())
        return self

    def say(self, data: bytes, kind: int = tls.DATA) -> SecretPeer:
        """Write it in one record."""
        self.send(self.client.ours.seal(kind, data))
        return self

    def hear(self, size: int) -> bytes:
        """Read plain octets."""
        while len(self.plain) < size:
            kind, body = self.client.theirs.open(self.record())
            if kind != tls.DATA:
                raise EOFError(f"a record of kind {kind}: {body!r}")
            self.plain += body
        said, self.plain = self.plain[:size], self.plain[size:]
        return said

    def zmtp(self, role: bytes = b"PUSH") -> SecretPeer:
        """Do all of the handshake; the other side's READY was heard."""
        self.inside().say(ref.greeting() + ref.ready(role))
        self.hear(64)
        assert self.heard_frame()[1].startswith(b"\x05READY")
        return self

    def heard_frame(self) -> tuple[int, bytes]:
        """Read one frame: flags and body."""
        while (taken := ref.parse_frame(self.plain)) is None:
            self.plain = self.hear(len(self.plain) + 1)
        flags, body, self.plain = taken
        return flags, body


class SslPeer:
    """One end of TLS by Python's ssl, over memory: flights are given out to be sent, or changed."""

    def __init__(self, context: ssl.SSLContext, *, name: str | None = None, serves: bool = False):
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_side=serves, server_hostname=name)

    def step(self, heard: bytes = b"") -> bytes:
        """Go on with the handshake; what is to be said."""
        if heard:
            self._in.write(heard)
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self._out.read()

    def seal(self, data: bytes) -> bytes:
        """Return the records of it."""
        self.tls.write(data)
        return self._out.read()

    def open(self, heard: bytes) -> bytes:
        """Return what is in records."""
        self._in.write(heard)
        try:
            return self.tls.read(1 << 20)
        except ssl.SSLWantReadError:
            return b""

    def done(self, raw: socket.socket) -> SslPeer:
        """Do all of the handshake over this."""
        said = self.step()
        while True:
            raw.sendall(said)
            if self.tls.version() is not None and self._finished():
                return self
            said = self.step(raw.recv(65536))

    def _finished(self) -> bool:
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True
