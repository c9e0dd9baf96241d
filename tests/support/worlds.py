"""What tests do to a simulated world that programs do not: they plan the end of a connection, and
look at what is written.

Not here: `SimWorld` itself (meshmsg.testing).
"""

from __future__ import annotations

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg.testing import SimWorld


def reset_in(world: SimWorld, nth: int) -> None:
    """Have the n-th write from now find its connection reset; 0: none does."""
    raise_for(lib.mm_sim_reset_in(world._handle, nth), "planning a reset")


def resets(world: SimWorld) -> int:
    """How many connections were reset so far."""
    return int(world._look().resets)


def seek(world: SimWorld, octets: bytes) -> None:
    """From now on, count how often these octets are written to any connection."""
    given = ffi.from_buffer("uint8_t[]", octets)
    raise_for(lib.mm_sim_seek(world._handle, given, len(octets)), "seeking octets")


def found(world: SimWorld) -> int:
    """How often what is sought was written."""
    return int(world._look().found)
