"""A reference of SP in plain Python: the executable form of the SP part of docs/wire.md.

Law: as short as it can be; no speed, no limits but those of the format.
"""

from __future__ import annotations

import struct

PAIR0, PAIR1, PUB, SUB, REQ, REP = 0x10, 0x11, 0x20, 0x21, 0x30, 0x31
PUSH, PULL, SURVEYOR, RESPONDENT, BUS = 0x50, 0x51, 0x62, 0x63, 0x70

PEERS = {
    **{PAIR0: PAIR0, PAIR1: PAIR1, BUS: BUS, PUB: SUB, SUB: PUB, REQ: REP, REP: REQ},
    **{PUSH: PULL, PULL: PUSH, SURVEYOR: RESPONDENT, RESPONDENT: SURVEYOR},
}
RAW, HOPS, ASKED, STACK = 1, 2, 3, 4
FORMS = {
    **dict.fromkeys((PAIR0, PUB, SUB, PUSH, PULL, BUS), RAW),
    **{PAIR1: HOPS, REQ: ASKED, SURVEYOR: ASKED, REP: STACK, RESPONDENT: STACK},
}
LAST = 0x80000000
"""The top bit: this word is the id, no hop."""
HOPS_MAX = 8


class Malformed(Exception):
    """The peer is to be closed."""


def hello(protocol: int) -> bytes:
    """Encode the 8 octets of a side."""
    return b"\0SP\0" + struct.pack(">HH", protocol, 0)


def message(payload: bytes, ipc: bool = False) -> bytes:
    """Encode a message: header words and body, with its length in front."""
    return (b"\x01" if ipc else b"") + struct.pack(">Q", len(payload)) + payload


def words(*values: int) -> bytes:
    """Encode header words."""
    return struct.pack(f">{len(values)}I", *values)


def stack(identifier: int, *hops: int) -> bytes:
    """Encode hops, then an id."""
    return words(*hops, identifier | LAST)


def payload(protocol: int, frames: tuple[bytes, ...]) -> bytes:
    """What goes out for a message of these frames."""
    return (words(1) if FORMS[protocol] == HOPS else b"") + b"".join(frames)


def frames_of(protocol: int, data: bytes, hops_max: int = HOPS_MAX) -> tuple[bytes, ...] | None:
    """Return a payload as frames; None: too many hops, it is dropped."""
    form = FORMS[protocol]
    if form == RAW:
        return (data,)
    if form == HOPS:
        if len(data) < 4 or data[:3] != b"\0\0\0":
            raise Malformed
        return (data[4:],) if data[3] <= hops_max else None
    for at in range(0, 4 * (1 if form == ASKED else hops_max), 4):
        if len(data) < at + 4:
            raise Malformed
        if data[at] & 0x80:
            return data[: at + 4], b"", data[at + 4 :]
    return None


def parse_all(
    protocol: int, data: bytes, ipc: bool = False, hops_max: int = HOPS_MAX
) -> tuple[list[tuple[bytes, ...]], int]:
    """Read everything there is: the messages, and how many were dropped."""
    found: list[tuple[bytes, ...]] = []
    dropped, head = 0, 9 if ipc else 8
    while len(data) >= head:
        if ipc and data[0] != 1:
            raise Malformed
        size = struct.unpack(">Q", data[head - 8 : head])[0]
        if len(data) < head + size:
            break
        frames = frames_of(protocol, data[head : head + size], hops_max)
        data = data[head + size :]
        if frames is None:
            dropped += 1
        else:
            found.append(frames)
    return found, dropped
