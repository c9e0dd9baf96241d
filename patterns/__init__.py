"""Topologies built from sockets, with public `meshmsg` names only.

`import meshmsg` does not import this package; take what you need: `from meshmsg.patterns import
Forward`.
"""

from __future__ import annotations

from .forward import Flow as Flow
from .forward import Forward as Forward

__all__ = ["Flow", "Forward"]
