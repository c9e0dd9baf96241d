"""A reference of CURVE (RFC 26) in plain Python: each command built and taken apart, both roles.

Boxes are those of NaCl, by PyNaCl. Long nonces come from `nonces`, so that fixed keys and nonces
give fixed octets. Not here: frames and metadata (refcodec), sockets.
Law: as short as it can be; it checks what a good peer checks. A test that wants it wrong changes
what it built.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from nacl.bindings import (
    crypto_box,
    crypto_box_open,
    crypto_scalarmult_base,
    crypto_secretbox,
    crypto_secretbox_open,
)
from nacl.utils import random as any_octets

from tests.support import refcodec as ref

MORE, COMMAND = 1, 2  # flags inside a MESSAGE; not those of a frame
HELLO_SIZE, WELCOME_SIZE, INITIATE_SIZE, READY_SIZE, MESSAGE_SIZE = 200, 168, 257, 30, 33
LOW_ORDER = [
    bytes(32),
    b"\x01" + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    b"\xec" + b"\xff" * 30 + b"\x7f",
    b"\xed" + b"\xff" * 30 + b"\x7f",
    b"\xee" + b"\xff" * 30 + b"\x7f",
]
"""Public keys with which every secret key shares the same: nothing."""


class Refused(Exception):
    """What the peer sent is not what a good one sends."""


def public_of(secret: bytes) -> bytes:
    """Return the public key of a secret one."""
    return crypto_scalarmult_base(secret)


def short(prefix: bytes, number: int) -> bytes:
    """Return the nonce of a number that is sent in 8 octets."""
    return prefix + struct.pack(">Q", number)


def need(held: bool, what: str) -> None:
    """Refuse the peer unless it is so."""
    if not held:
        raise Refused(what)


def unbox(boxed: bytes, nonce: bytes, public: bytes, secret: bytes) -> bytes:
    """Open a box, or refuse the peer."""
    try:
        return crypto_box_open(boxed, nonce, public, secret)
    except Exception as error:
        raise Refused("a box that does not open") from error


def commanded(name: bytes, body: bytes) -> bytes:
    """Return what is behind the name of a command."""
    head = bytes([len(name)]) + name
    if body.startswith(b"\x05ERROR"):
        raise Refused(f"ERROR {body[7:].decode('latin-1')}")
    need(body.startswith(head), f"not {name.decode()}")
    return body[len(head) :]


def hello(public: bytes, number: int, boxed: bytes) -> bytes:
    """Encode HELLO, 200 octets."""
    return b"\x05HELLO\x01\x00" + bytes(72) + public + struct.pack(">Q", number) + boxed


def welcome(nonce: bytes, boxed: bytes) -> bytes:
    """Encode WELCOME, 168 octets."""
    return b"\x07WELCOME" + nonce + boxed


def initiate(cookie: bytes, number: int, boxed: bytes) -> bytes:
    """Encode INITIATE, 257 octets and the metadata."""
    return b"\x08INITIATE" + cookie + struct.pack(">Q", number) + boxed


def ready(number: int, boxed: bytes) -> bytes:
    """Encode READY, 30 octets and the metadata."""
    return b"\x05READY" + struct.pack(">Q", number) + boxed


def message(number: int, boxed: bytes) -> bytes:
    """Encode MESSAGE, 33 octets and the payload."""
    return b"\x07MESSAGE" + struct.pack(">Q", number) + boxed


def framed(body: bytes) -> bytes:
    """Put a command of the handshake into its frame."""
    return ref.frame(body, ref.COMMAND)


@dataclass
class Side:
    """What both roles have in common: short keys, and messages once the handshake is done."""

    secret: bytes
    short_secret: bytes
    metadata: bytes = b""
    nonces: Callable[[int], bytes] = any_octets
    peer_short: bytes = b""
    peer_metadata: bytes = b""
    sent: int = 0
    received: int = 0
    _seals: bytes = field(default=b"", init=False)
    _opens: bytes = field(default=b"", init=False)

    @property
    def public(self) -> bytes:
        """Our long-term public key."""
        return public_of(self.secret)

    @property
    def short_public(self) -> bytes:
        """Our public key of this connection."""
        return public_of(self.short_secret)

    def number(self) -> int:
        """Return the next number of ours."""
        self.sent += 1
        return self.sent

    def box(self, plain: bytes, nonce: bytes) -> bytes:
        """Box by the short keys of both."""
        return crypto_box(plain, nonce, self.peer_short, self.short_secret)

    def seal(self, payload: bytes, flags: int = 0, number: int | None = None) -> bytes:
        """Encode a MESSAGE; a number of its own to be wrong."""
        number = self.number() if number is None else number
        return message(number, self.box(bytes([flags]) + payload, short(self._seals, number)))

    def open(self, body: bytes) -> tuple[int, bytes]:
        """Take a MESSAGE apart: flags and payload."""
        rest = commanded(b"MESSAGE", body)
        need(len(body) >= MESSAGE_SIZE, "a MESSAGE of too few octets")
        number = struct.unpack(">Q", rest[:8])[0]
        need(number == self.received + 1, f"number {number} after {self.received}")
        plain = unbox(rest[8:], short(self._opens, number), self.peer_short, self.short_secret)
        self.received = number
        return plain[0], plain[1:]


@dataclass
class Client(Side):
    """Who dials, in the policy's sense: it knows the server's key."""

    server: bytes = b""
    cookie: bytes = b""

    def __post_init__(self) -> None:
        self._seals, self._opens = b"CurveZMQMESSAGEC", b"CurveZMQMESSAGES"

    def hello(self) -> bytes:
        """Encode HELLO."""
        number = self.number()
        nonce = short(b"CurveZMQHELLO---", number)
        boxed = crypto_box(bytes(64), nonce, self.server, self.short_secret)
        return hello(self.short_public, number, boxed)

    def welcomed(self, body: bytes) -> None:
        """Take WELCOME apart."""
        rest = commanded(b"WELCOME", body)
        need(len(body) == WELCOME_SIZE, "the size of WELCOME")
        plain = unbox(rest[16:], b"WELCOME-" + rest[:16], self.server, self.short_secret)
        self.peer_short, self.cookie = plain[:32], plain[32:]

    def vouch(self) -> bytes:
        """Encode the vouch, 96 octets."""
        nonce = self.nonces(16)
        plain = self.short_public + self.server
        return nonce + crypto_box(plain, b"VOUCH---" + nonce, self.peer_short, self.secret)

    def initiate(self) -> bytes:
        """Encode INITIATE."""
        number = self.number()
        plain = self.public + self.vouch() + self.metadata
        boxed = self.box(plain, short(b"CurveZMQINITIATE", number))
        return initiate(self.cookie, number, boxed)

    def accepted(self, body: bytes) -> None:
        """Take READY apart."""
        rest = commanded(b"READY", body)
        need(len(body) >= READY_SIZE, "a READY of too few octets")
        number = struct.unpack(">Q", rest[:8])[0]
        nonce = short(b"CurveZMQREADY---", number)
        self.peer_metadata = unbox(rest[8:], nonce, self.peer_short, self.short_secret)
        self.received = number


@dataclass
class Server(Side):
    """Who is dialed, in the policy's sense: its key is known."""

    cookie_key: bytes = b""
    client: bytes = b""
    cookie: bytes = b""

    def __post_init__(self) -> None:
        self._seals, self._opens = b"CurveZMQMESSAGES", b"CurveZMQMESSAGEC"
        self.cookie_key = self.cookie_key or self.nonces(32)

    def greeted(self, body: bytes) -> None:
        """Take HELLO apart."""
        commanded(b"HELLO", body)
        need(len(body) == HELLO_SIZE, "the size of HELLO")
        need(body[6:8] == b"\x01\x00", "the version")
        need(body[8:80] == bytes(72), "the padding")
        self.peer_short = body[80:112]
        self.received = struct.unpack(">Q", body[112:120])[0]
        nonce = short(b"CurveZMQHELLO---", self.received)
        plain = unbox(body[120:], nonce, self.peer_short, self.secret)
        need(plain == bytes(64), "the zeros in the box")

    def welcome(self) -> bytes:
        """Encode WELCOME."""
        nonce = self.nonces(16)
        plain = self.peer_short + self.short_secret
        boxed = crypto_secretbox(plain, b"COOKIE--" + nonce, self.cookie_key)
        self.cookie = nonce + boxed
        nonce = self.nonces(16)
        plain = self.short_public + self.cookie
        return welcome(nonce, crypto_box(plain, b"WELCOME-" + nonce, self.peer_short, self.secret))

    def initiated(self, body: bytes) -> None:
        """Take INITIATE apart."""
        rest = commanded(b"INITIATE", body)
        need(len(body) >= INITIATE_SIZE, "an INITIATE of too few octets")
        cookie, number = rest[:96], struct.unpack(">Q", rest[96:104])[0]
        need(number > self.received, "the number of INITIATE")
        opened = crypto_secretbox_open(cookie[16:], b"COOKIE--" + cookie[:16], self.cookie_key)
        need(opened == self.peer_short + self.short_secret, "the cookie")
        nonce = short(b"CurveZMQINITIATE", number)
        plain = unbox(rest[104:], nonce, self.peer_short, self.short_secret)
        self.client, vouch, self.peer_metadata = plain[:32], plain[32:128], plain[128:]
        nonce = b"VOUCH---" + vouch[:16]
        vouched = unbox(vouch[16:], nonce, self.client, self.short_secret)
        need(vouched == self.peer_short + self.public, "the vouch")
        self.received = number

    def ready(self) -> bytes:
        """Encode READY."""
        number = self.number()
        return ready(number, self.box(self.metadata, short(b"CurveZMQREADY---", number)))
