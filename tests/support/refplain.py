"""A reference of PLAIN (RFC 24) in plain Python: each command built and taken apart, both roles.

Not here: frames and metadata (refcodec), sockets. Law: as short as it can be; it checks what a good
peer checks. A test that wants it wrong changes what it built.
"""

from __future__ import annotations

from tests.support import refcodec as ref

WELCOME = b"\x07WELCOME"


class Refused(Exception):
    """What the peer sent is not what a good one sends."""


def framed(command: bytes) -> bytes:
    """Encode it as it goes on the wire."""
    return ref.frame(command, ref.COMMAND)


def sized(octets: bytes) -> bytes:
    """Encode a size in one octet, and so many octets."""
    return bytes([len(octets)]) + octets


def hello(user: bytes, password: bytes) -> bytes:
    """Encode HELLO."""
    return b"\x05HELLO" + sized(user) + sized(password)


def initiate(metadata: bytes) -> bytes:
    """Encode INITIATE."""
    return b"\x08INITIATE" + metadata


def ready(metadata: bytes) -> bytes:
    """Encode READY."""
    return b"\x05READY" + metadata


def greeted(command: bytes) -> tuple[bytes, bytes]:
    """Take HELLO apart: the user and the password."""
    if not command.startswith(b"\x05HELLO"):
        raise Refused("not HELLO")
    rest, found = command[6:], []
    for _ in range(2):
        if not rest or len(rest) <= rest[0]:
            raise Refused("cut")
        found.append(rest[1 : 1 + rest[0]])
        rest = rest[1 + rest[0] :]
    if rest:
        raise Refused("more than HELLO")
    return found[0], found[1]
