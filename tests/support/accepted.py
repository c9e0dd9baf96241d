"""Sending as much as there is room for, and what was accepted of it.

Not here: what becomes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import meshmsg as mm


def accepted(push: Any, bodies: Sequence[bytes]) -> tuple[int, list[bytes]]:
    """Send one by `send`, several by `send_many`, without waiting.

    Returns:
        How many were sent, and the rest as the error gives it back.
    """
    try:
        if len(bodies) > 1:
            push.send_many(bodies, timeout=0)
        else:
            push.send(bodies[0], timeout=0)
    except mm.WouldBlockError as error:
        return vars(error).get("sent", 0), vars(error).get("unsent", list(bodies))
    return len(bodies), []
