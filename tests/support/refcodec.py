"""A reference of the wire in plain Python: the executable form of docs/wire.md, for tests only.

Law: as short as it can be; no speed, no limits but those of the format.
"""

from __future__ import annotations

import re
import struct

MORE, LONG, COMMAND = 1, 2, 4
FEATURES_MAX = 63
TAKES = "takes=(0|[1-9][0-9]*)/([1-9][0-9]*)"


def frame(body: bytes, flags: int = 0) -> bytes:
    """Encode one frame; sizes over 255 take the long form."""
    if len(body) > 255 or flags & LONG:
        return bytes([flags | LONG]) + struct.pack(">Q", len(body)) + body
    return bytes([flags, len(body)]) + body


def message(*bodies: bytes) -> bytes:
    """Encode a message of these frames."""
    return b"".join(frame(b, MORE) for b in bodies[:-1]) + frame(bodies[-1])


def command(name: bytes, data: bytes = b"") -> bytes:
    """Encode a command frame."""
    return frame(bytes([len(name)]) + name + data, COMMAND)


def greeting(minor: int = 1, mechanism: bytes = b"NULL", major: int = 3, server: int = 0) -> bytes:
    """Encode a greeting of 64 octets."""
    signature = b"\xff" + bytes(7) + b"\x01\x7f"
    return (
        signature + bytes([major, minor]) + mechanism.ljust(20, b"\0") + bytes([server]) + bytes(31)
    )


def metadata(properties: list[tuple[bytes, bytes]]) -> bytes:
    """Encode properties."""
    return b"".join(
        bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        for name, value in properties
    )


def ready(socket_type: bytes, *more: tuple[bytes, bytes]) -> bytes:
    """Encode READY."""
    return command(b"READY", metadata([(b"Socket-Type", socket_type), *more]))


def features(*words: str, version: int = 1, takes: tuple[int, int] | None = None) -> bytes:
    """Encode the value of X-Meshmsg: the version, words, and what is taken at most (octets of a
    message, frames), which is left out where all of it has no room in 63 octets."""
    value = " ".join([str(version), *words])
    whole = value if takes is None else f"{value} takes={takes[0]}/{takes[1]}"
    return (whole if len(whole) <= FEATURES_MAX else value).encode()


def taken(value: bytes) -> tuple[int, int] | None:
    """What a peer with those features takes at most; None: it does not say, or not well."""
    words = [word for word in value.decode("latin-1").split(" ")[1:] if word.startswith("takes=")]
    match = re.fullmatch(TAKES, words[0]) if len(words) == 1 else None
    size, frames = (int(part) for part in match.groups()) if match else (0, 0)
    valid = frames > 0 and size < 1 << 64 and frames < 1 << 32
    return (size, frames) if valid else None


def error(reason: bytes) -> bytes:
    """Encode ERROR."""
    return command(b"ERROR", bytes([len(reason)]) + reason)


def subscription(add: bool, topic: bytes, minor: int = 1) -> bytes:
    """Encode a subscription or its end, in the form of a minor version."""
    if minor == 0:
        return frame((b"\x01" if add else b"\x00") + topic)
    return command(b"SUBSCRIBE" if add else b"CANCEL", topic)


def survey(number: int, *bodies: bytes) -> bytes:
    """Encode a survey, or an answer to one: its id, the delimiter, the body."""
    return message(struct.pack(">I", number), b"", *bodies)


def refusal(number: int, reason: bytes = b"") -> bytes:
    """Encode what stands for an answer: the id, the word where the delimiter would be, why."""
    return message(struct.pack(">I", number), b"REFUSED", reason)


def ping(ttl: int, context: bytes = b"") -> bytes:
    """Encode PING."""
    return command(b"PING", struct.pack(">H", ttl) + context)


def pong(context: bytes = b"") -> bytes:
    """Encode PONG."""
    return command(b"PONG", context)


def parse_frame(data: bytes) -> tuple[int, bytes, bytes] | None:
    """Take one frame off data: flags, body, rest; None: more is needed."""
    head = 9 if data[:1] and data[0] & LONG else 2
    if len(data) < head:
        return None
    size = struct.unpack(">Q", data[1:9])[0] if head == 9 else data[1]
    if len(data) < head + size:
        return None
    return data[0] & ~LONG, data[head : head + size], data[head + size :]


def parse_all(data: bytes) -> list[tuple[str, tuple[bytes, ...]]]:
    """Read everything: ("message", frames) and ("command", (body,)) in order."""
    found: list[tuple[str, tuple[bytes, ...]]] = []
    parts: list[bytes] = []
    while (taken := parse_frame(data)) is not None:
        flags, body, data = taken
        if flags & COMMAND:
            found.append(("command", (body,)))
            continue
        parts.append(body)
        if not flags & MORE:
            found.append(("message", tuple(parts)))
            parts = []
    return found
