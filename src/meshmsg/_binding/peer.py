"""Who sent a message: its id, or its name at a Router, with whom it is known as.

Not here: who is connected now (`PeerInfo`), classes of messages (message.py).
Law: made once a peer; what it is known as is the core's word, found while the peer is let in.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from meshmsg._binding.metadata import metadata_of

if TYPE_CHECKING:
    from typing_extensions import Self

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Peer(int):
    """Who sent a message: an int, its id in `peers()`; it also answers once the peer has left.

    Attributes:
        user_id: What who let it in knows it by; "" where nobody asked, and without `security=`.
        mechanism: What protects its connection, "CURVE"; "NULL": nothing.
        metadata: What who let it in says of it (`Allow.metadata`), and it never itself.
        properties: What it said of itself as it came (Socket-Type, Identity, ...), which is its
            word; empty without `security=`.

    Pickled it is a plain int.
    """

    user_id: str = ""
    mechanism: str = "NULL"
    metadata: Mapping[str, str | bytes] = NOTHING
    properties: Mapping[str, bytes] = NOTHING

    def __copy__(self) -> Self:
        return self  # nothing in it changes

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)  # who reads it may have no meshmsg


class PeerName(bytes):
    """Who sent a message to a Router: bytes, its identity there; else as a `Peer`.

    Attributes:
        user_id: What who let it in knows it by; "" where nobody asked, and without `security=`.
        mechanism: What protects its connection, "CURVE"; "NULL": nothing.
        metadata: What who let it in says of it, and it never itself.
        properties: What it said of itself as it came, which is its word.
    """

    user_id: str = ""
    mechanism: str = "NULL"
    metadata: Mapping[str, str | bytes] = NOTHING
    properties: Mapping[str, bytes] = NOTHING

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(self),)


def known_peer(peer: int, user_id: str, mechanism: str, properties: bytes, metadata: bytes) -> Peer:
    """Make the Peer of that id: properties as READY of ZMTP has them, metadata as in Allow."""
    made = Peer(peer)
    made.user_id, made.mechanism = user_id, mechanism
    made.properties = MappingProxyType(properties_of(properties))
    if metadata:
        made.metadata = MappingProxyType(metadata_of(metadata))
    return made


def peer_name(peer: Peer | PeerName, name: bytes) -> PeerName:
    """Make what a Router calls that peer."""
    made = PeerName(name)
    if peer.mechanism != "NULL":
        made.user_id, made.mechanism = peer.user_id, peer.mechanism
        made.metadata, made.properties = peer.metadata, peer.properties
    return made


def properties_of(raw: bytes) -> dict[str, bytes]:
    """Cut properties as READY of ZMTP has them, which the core has checked."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(raw):
        name_end = at + 1 + raw[at]
        value = name_end + 4
        end = value + int.from_bytes(raw[name_end:value], "big")
        found[raw[at + 1 : name_end].decode("ascii", "replace")] = raw[value:end]
        at = end
    return found
