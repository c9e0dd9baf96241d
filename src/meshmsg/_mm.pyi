"""What type checkers see of the extension: its two names. Any is contained here and in
_binding/core.py."""

from typing import Any

ffi: Any
lib: Any
