"""A reference of TLS 1.3 (RFC 8446) in plain Python, as far as a shared secret takes it: an
external PSK with X25519, one cipher. Each handshake message and each record is the test's to build.

Not here: certificates (Python's ssl does those: tlspeer.py), sockets.
Law: as short as it can be; it checks what a good peer checks. A test that wants it wrong changes
what it built.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

CHANGE_CIPHER, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
CLIENT_HELLO, SERVER_HELLO, TICKET, EXTENSIONS, CERTIFICATE_REQUEST, FINISHED, KEY_UPDATE = (
    1,
    2,
    4,
    8,
    13,
    20,
    24,
)
WARNING, FATAL = 1, 2
CLOSE_NOTIFY, UNEXPECTED, USER_CANCELED = 0, 10, 90
SIZE = 32
"""Octets of a hash, a secret and a public key."""
RETRY = hashlib.sha256(b"HelloRetryRequest").digest()
"""The random of a server that wants another hello."""
NAMED = {"zmtp/3": b"\x00\x07\x06zmtp/3", "http/1.1": b"\x00\x09\x08http/1.1"}


def record(kind: int, body: bytes, version: int = 0x0303) -> bytes:
    """Return a record that is not sealed."""
    return struct.pack(">BHH", kind, version, len(body)) + body


def message(kind: int, body: bytes) -> bytes:
    """Return a message of a handshake."""
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def alert(code: int, level: int = FATAL) -> bytes:
    """Return an alert, as a record that is not sealed."""
    return record(ALERT, bytes([level, code]))


def extension(kind: int, body: bytes) -> bytes:
    """Return an extension of a hello."""
    return struct.pack(">HH", kind, len(body)) + body


def records(data: bytes) -> list[bytes]:
    """Cut octets into the records that are whole."""
    found = []
    while len(data) >= 5 and len(data) >= (size := 5 + int.from_bytes(data[3:5], "big")):
        found.append(data[:size])
        data = data[size:]
    return found


def psk_of(secret: bytes) -> bytes:
    """Return the key that a shared secret of ours becomes (docs/wire.md)."""
    return hashlib.blake2b(b"tls-psk", key=secret).digest()[:SIZE]


def identity_of(psk: bytes) -> bytes:
    """Return what that is called."""
    return hashlib.sha256(psk).hexdigest().encode()


def _extract(salt: bytes, key: bytes) -> bytes:
    return hmac.digest(salt, key, "sha256")


def _expand(secret: bytes, label: bytes, context: bytes, size: int) -> bytes:
    name = b"tls13 " + label
    info = struct.pack(">HB", size, len(name)) + name + bytes([len(context)]) + context
    return HKDFExpand(hashes.SHA256(), size, info).derive(secret)


def _derive(secret: bytes, label: bytes, said: bytes) -> bytes:
    return _expand(secret, label, hashlib.sha256(said).digest(), SIZE)


@dataclass
class Keys:
    """One direction of a connection."""

    secret: bytes
    number: int = 0

    def _nonce(self) -> bytes:
        iv = int.from_bytes(_expand(self.secret, b"iv", b"", 12), "big")
        self.number += 1
        return (iv ^ (self.number - 1)).to_bytes(12, "big")

    def _cipher(self) -> AESGCM:
        return AESGCM(_expand(self.secret, b"key", b"", 16))

    def seal(self, kind: int, body: bytes, padding: int = 0) -> bytes:
        """Return a record."""
        plain = body + bytes([kind]) + bytes(padding)
        head = struct.pack(">BHH", DATA, 0x0303, len(plain) + 16)
        return head + self._cipher().encrypt(self._nonce(), plain, head)

    def open(self, sealed: bytes) -> tuple[int, bytes]:
        """Take a record apart: its kind, and its octets."""
        plain = self._cipher().decrypt(self._nonce(), sealed[5:], sealed[:5]).rstrip(b"\0")
        return plain[-1], plain[:-1]

    def finished(self, said: bytes) -> bytes:
        """Return the message that proves all that was said."""
        key = _expand(self.secret, b"finished", b"", SIZE)
        proof = hmac.digest(key, hashlib.sha256(said).digest(), "sha256")
        return message(FINISHED, proof)

    def update(self) -> None:
        """Go on with the next key."""
        self.secret, self.number = _expand(self.secret, b"traffic upd", b"", SIZE), 0


@dataclass
class Client:
    """Who dials. The parts of its hello may be changed before that is built."""

    psk: bytes
    identity: bytes = b""
    suites: bytes = b"\x13\x01"
    versions: bytes = b"\x03\x04"
    alpn: str = "zmtp/3"
    share: bytes = b""
    group: int = 0x1D
    more: bytes = b""
    """Other extensions."""
    binder: bytes = b""
    """In place of the right one."""
    said: bytes = b""
    _key: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)

    def hello(self) -> bytes:
        """Return its ClientHello, a message."""
        share = self.share or self._key.public_key().public_bytes_raw()
        identity = self.identity or identity_of(self.psk)
        listed = struct.pack(">H", len(identity)) + identity + bytes(4)
        parts = [
            extension(43, bytes([len(self.versions)]) + self.versions),
            extension(10, struct.pack(">HH", 2, self.group)),
            extension(13, b"\x00\x02\x04\x03"),
            extension(51, struct.pack(">HHH", len(share) + 4, self.group, len(share)) + share),
            extension(45, b"\x01\x01"),
            extension(16, NAMED[self.alpn]) if self.alpn else b"",
            self.more,
            extension(41, struct.pack(">H", len(listed)) + listed + b"\x00\x21\x20" + bytes(SIZE)),
        ]
        body = b"\x03\x03" + os.urandom(SIZE) + b"\x00"
        body += struct.pack(">H", len(self.suites)) + self.suites + b"\x01\x00"
        offered = b"".join(parts)
        hello = message(CLIENT_HELLO, body + struct.pack(">H", len(offered)) + offered)
        self.said = hello[:-SIZE] + (self.binder or self._bound(hello[: -SIZE - 3]))
        return self.said

    def _bound(self, hello: bytes) -> bytes:
        key = Keys(_derive(_extract(bytes(SIZE), self.psk), b"ext binder", b""))
        return key.finished(hello)[4:]

    def answered(self, said: bytes) -> None:
        """Take the server's records, up to its Finished."""
        heard = [one for one in records(said) if one[0] != CHANGE_CIPHER]
        hello = heard[0][5:]
        assert hello[0] == SERVER_HELLO, heard[0]
        theirs = X25519PublicKey.from_public_bytes(_share_of(hello))
        early = _extract(bytes(SIZE), self.psk)
        shared = _extract(_derive(early, b"derived", b""), self._key.exchange(theirs))
        self.said += hello
        self.ours, self.theirs = (
            Keys(_derive(shared, label, self.said)) for label in (b"c hs traffic", b"s hs traffic")
        )
        proof = Keys(self.theirs.secret)
        for one in heard[1:]:
            kind, body = self.theirs.open(one)
            assert kind == HANDSHAKE, kind
            if body[0] == FINISHED:
                assert body == proof.finished(self.said)
            self.said += body
        main = _extract(_derive(shared, b"derived", b""), bytes(SIZE))
        self.later, self.theirs = (
            Keys(_derive(main, label, self.said)) for label in (b"c ap traffic", b"s ap traffic")
        )

    def finished(self) -> bytes:
        """Return its Finished, a record; what is sealed from then on is of the connection."""
        said = self.ours.seal(HANDSHAKE, self.ours.finished(self.said))
        self.ours = self.later
        return said


def _share_of(hello: bytes) -> bytes:
    """The public key of a ServerHello."""
    at = 4 + 2 + SIZE + 1 + hello[4 + 2 + SIZE] + 3 + 2
    while at < len(hello):
        kind, size = struct.unpack_from(">HH", hello, at)
        if kind == 51:
            return hello[at + 8 : at + 4 + size]
        at += 4 + size
    raise AssertionError("a ServerHello without a share")
