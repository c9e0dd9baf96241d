"""What who lets a peer in says of it, as octets that the core carries: text or octets by name.

Each is a kind (1 octet), the size of its name (1), the name, the size of its value (2) and the
value. Not here: what the peer says of itself (peer.py). Law: what is written is read as it was;
what is too long is refused where it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError

METADATA_MAX: Final = int(lib.MM_ALLOW_METADATA_MAX)
"""Octets of all of it, as written."""
NAME_MAX: Final = 255
"""Octets of a name."""
_OCTETS, _TEXT = 0, 1
Metadata = Mapping[str, "str | bytes"]


def metadata_octets(metadata: Metadata) -> bytes:
    """Write it.

    Raises:
        TypeError: It is no mapping of str to str or bytes.
        UsageError: A name cannot be one, or it is too long.
    """
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata is {type(metadata).__name__}; it is a mapping of str")
    parts = []
    for name, value in metadata.items():
        if not isinstance(name, str) or not isinstance(value, (str, bytes)):
            raise TypeError(
                f"metadata has {type(value).__name__} for {name!r}; it has str or bytes, by str"
            )
        raw_name = name.encode("utf-8", "surrogateescape")
        if not name.isprintable() or not 1 <= len(raw_name) <= NAME_MAX:
            raise UsageError(
                f"metadata has a name of {len(raw_name)} octets: it is printable text of 1 to "
                f"{NAME_MAX}"
            )
        text = isinstance(value, str)
        raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        if len(raw) > METADATA_MAX:
            raise UsageError(
                f"metadata {name!r} has {len(raw)} octets; all of it has at most {METADATA_MAX}"
            )
        kind = bytes((_TEXT if text else _OCTETS, len(raw_name)))
        parts.append(kind + raw_name + len(raw).to_bytes(2, "big") + raw)
    written = b"".join(parts)
    if len(written) > METADATA_MAX:
        raise UsageError(
            f"metadata has {len(written)} octets, with 4 for each name; it has at most "
            f"{METADATA_MAX}"
        )
    return written


def metadata_of(raw: bytes) -> dict[str, str | bytes]:
    """Read what metadata_octets wrote."""
    found: dict[str, str | bytes] = {}
    at = 0
    while at < len(raw):
        name_end = at + 2 + raw[at + 1]
        name = raw[at + 2 : name_end].decode("utf-8", "surrogateescape")
        value = name_end + 2
        end = value + int.from_bytes(raw[name_end:value], "big")
        octets = raw[value:end]
        text = raw[at] == _TEXT
        found[name] = octets.decode("utf-8", "surrogateescape") if text else octets
        at = end
    return found
