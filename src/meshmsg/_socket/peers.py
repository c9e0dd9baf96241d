"""Who is at the other ends: peers, and connections that are none yet, read by a socket's handle.

Not here: what is said of them (causes.py). Law: nothing raises; a socket that cannot be asked has a
code below 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.data import buffer_of
from meshmsg._binding.peer_info import PeerInfo, peer_of
from meshmsg._binding.snapshots import text

PEERS_FIRST = 16
ADDRESS_MAX = 128
"""Octets of an address, as of an `mm_peer`, with its 0."""


def peer_count(handle: int) -> int:
    """How many peers there are; below 0: the socket is closed."""
    count = ffi.new("uint32_t *")
    rc = int(lib.mm_peer_count(handle, count))
    return rc if rc < 0 else int(count[0])


def is_open(handle: int) -> bool:
    """Whether a socket was not closed."""
    return peer_count(handle) >= 0


def first_peers(handle: int, cap: int) -> tuple[int, list[PeerInfo]]:
    """Read some peers; in front, how many there are, or a code below 0."""
    out = ffi.new("mm_peer[]", cap)
    count = ffi.new("uint32_t *")
    rc = int(lib.mm_socket_peers(handle, out, cap, count))
    if rc < 0:
        return rc, []
    return int(count[0]), [_whole(handle, out[i]) for i in range(min(count[0], cap))]


def _whole(handle: int, raw: Any) -> PeerInfo:
    """With what does not fit into an mm_peer; none of it of a peer that left meanwhile."""
    known = raw.metadata_size or raw.certificate_size
    if not known:
        return peer_of(raw)
    metadata = ffi.new("uint8_t[]", raw.metadata_size)
    certificate = ffi.new("uint8_t[]", raw.certificate_size)
    rc = lib.mm_peer_more(handle, raw.id, metadata, len(metadata), certificate, len(certificate))
    if rc < 0:
        return peer_of(raw)
    return peer_of(raw, bytes(ffi.buffer(metadata)), bytes(ffi.buffer(certificate)))


def all_peers(handle: int) -> tuple[int, list[PeerInfo]]:
    """Read all peers; in front, how many there are, or a code below 0."""
    cap = PEERS_FIRST
    while True:
        count, found = first_peers(handle, cap)
        if count <= cap:
            return count, found
        cap = count + PEERS_FIRST


def addresses_of(handle: int, known: Mapping[bytes, str]) -> dict[bytes, str]:
    """Return by identity where each peer of a Router is; what is known is not read again.

    A `PeerInfo` of all costs some ten times as much.
    """
    count, cap = ffi.new("uint32_t *"), len(known) + PEERS_FIRST
    while True:
        out = ffi.new("mm_peer[]", cap)
        if lib.mm_socket_peers(handle, out, cap, count) < 0:
            return {}
        if count[0] <= cap:
            break
        cap = count[0] + PEERS_FIRST
    found = {}
    for number in range(count[0]):
        raw = out[number]
        identity = bytes(ffi.buffer(raw.identity, raw.identity_size))
        found[identity] = known.get(identity) or text(raw.address)
    return found


def address_of(handle: int, identity: bytes) -> str:
    """Return where one peer of a Router is; "": there is none of that identity.

    For who asks as each of many comes: all of them are hundreds of kilobytes.
    """
    peer = ffi.new("uint64_t *")
    out = ffi.new("char[]", ADDRESS_MAX)
    if lib.mm_router_peer(handle, *buffer_of(identity), peer) < 0:
        return ""
    return text(out) if lib.mm_peer_address(handle, peer[0], out, len(out)) == 0 else ""


class Attempt(NamedTuple):
    """A connection whose handshake is not done yet."""

    id: int
    endpoint: str
    address: str
    age: float
    octets: int
    outgoing: bool
    connected: bool


def attempts_of(handle: int, cap: int = 64) -> list[Attempt]:
    """List connections whose handshakes are under way: the first ones."""
    out = ffi.new("mm_attempt[]", cap)
    count = ffi.new("uint32_t *")
    if lib.mm_socket_attempts(handle, out, cap, count) < 0:
        return []
    return [
        Attempt(
            int(raw.id),
            text(raw.endpoint),
            text(raw.address),
            raw.age_ns / 1e9,
            int(raw.octets),
            bool(raw.outgoing),
            bool(raw.connected),
        )
        for raw in out[0 : min(count[0], cap)]
    ]
