"""SipHash of 128 bits, as its authors describe it, to compare with what the core has.

Not here: anything quick.
"""

from __future__ import annotations

from struct import iter_unpack, unpack

WORD = 2**64 - 1


def _turned(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & WORD


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        v[0] = (v[0] + v[1]) & WORD
        v[1] = _turned(v[1], 13) ^ v[0]
        v[0] = _turned(v[0], 32)
        v[2] = (v[2] + v[3]) & WORD
        v[3] = _turned(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & WORD
        v[3] = _turned(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & WORD
        v[1] = _turned(v[1], 17) ^ v[2]
        v[2] = _turned(v[2], 32)


def siphash(key: bytes, data: bytes, rounds: int, last_rounds: int) -> tuple[int, int]:
    """Return the first and the second half, each as a number."""
    k0, k1 = unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE]
    v += [k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    whole = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 0xFF])
    for (word,) in iter_unpack("<Q", whole):
        v[3] ^= word
        _rounds(v, rounds)
        v[0] ^= word
    halves = []
    for at, bits in ((2, 0xEE), (1, 0xDD)):
        v[at] ^= bits
        _rounds(v, last_rounds)
        halves.append(v[0] ^ v[1] ^ v[2] ^ v[3])
    return halves[0], halves[1]
