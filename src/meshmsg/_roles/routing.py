"""Which worker of a Push gets a message: what `routing=` may be.

Not here: who has a key, and where its messages wait (csrc/queue/route.h).
"""

from __future__ import annotations

from typing import Literal

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError

Routing = Literal["round_robin", "least_loaded", "hash"]

_FLAGS: dict[object, int] = {
    "round_robin": 0,
    "least_loaded": lib.MM_OPT_LEAST_LOADED,
    "hash": lib.MM_OPT_HASH,
}


def routing_flags(routing: str) -> int:
    """Return the option bits of a Push."""
    flags = _FLAGS.get(routing) if isinstance(routing, str) else None
    if flags is None:
        known = "'round_robin', 'least_loaded' or 'hash' (messages of one key= to one worker)"
        raise UsageError(f"routing is {routing!r}; it is {known}")
    return flags
