"""Where tests get the C functions from, and what the core holds of memory.

Not here: anything else of the package.
"""

from __future__ import annotations

from meshmsg._mm import ffi, lib

__all__ = ["ffi", "lib", "live_blocks", "live_bytes"]


def live_blocks() -> int:
    """Return how many blocks of memory the core holds; only differences mean something."""
    return int(lib.mm_test_alloc_live(ffi.new("int64_t *")))


def live_bytes() -> int:
    """Return the bytes of these blocks."""
    out = ffi.new("int64_t *")
    lib.mm_test_alloc_live(out)
    return int(out[0])


live_blocks()  # counts from now on
