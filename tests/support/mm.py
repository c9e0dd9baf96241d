"""Where tests get the C functions from. Not here: anything else of the package."""

from __future__ import annotations

from meshmsg._mm import ffi, lib

__all__ = ["ffi", "lib"]
