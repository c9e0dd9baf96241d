"""Which rooms of the bench are here: an installed meshmsg has those that measure it, and pyzmq.

Law: what is not here is told by a sentence that says where it is, never left out in silence.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

BENCH = __name__.removesuffix(".base.rooms")
"""What this package is called: `bench` from a checkout, `meshmsg.bench` when installed."""
COMMAND = f"python -m {BENCH}"
ONLY_IN_A_CHECKOUT = "is in a checkout of meshmsg only: there, python -m bench"
"""The end of such a sentence."""


def room_with(room: str, module: str) -> Any | None:
    """That module of a room; None where the room is not here."""
    if find_spec(f"{BENCH}.{room}") is None:
        return None
    return import_module(f"{BENCH}.{room}.{module}")
