"""What receivers know a life of a spool by: the same hash, from its description (docs/wire.md).

Not here: who has it.
"""

from __future__ import annotations

_MASK = 2**64 - 1
_STEP = 8
"""Octets that are hashed at once."""


def _mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _MASK
    return x ^ x >> 31


def life(uuid: bytes, epoch: int) -> int:
    """Return the first part of the `seq` of its messages."""
    data = uuid + epoch.to_bytes(4, "big")
    value = _mix(len(data))
    whole = len(data) // _STEP * _STEP
    for at in range(0, whole, _STEP):
        value = _mix(value ^ int.from_bytes(data[at : at + _STEP], "big"))
    return _mix(value ^ int.from_bytes(data[whole:].ljust(_STEP, b"\0"), "big"))


def life_of(spool: object) -> int:
    """Return that of the life in which a spool is now."""
    info = spool.info()  # type: ignore[attr-defined]
    return life(bytes.fromhex(info.uuid), info.epoch)
