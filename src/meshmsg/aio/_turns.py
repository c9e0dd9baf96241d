"""Whose turn it is: after many calls without an await, other tasks of the loop get one.

Not here: waiting (_socket.py, _loop.py). Law: a call that can be done at once costs the loop
nothing, and no task is kept from running for longer than TURN_S by them.
"""

from __future__ import annotations

import asyncio
import threading
import time

from meshmsg._binding.core import native

FAST_CALLS_MAX: int = native.ASYNC_MAX
"""Calls without an await, after which other tasks get a turn if it is time for one."""
TURN_S = 0.0002
"""Seconds from one turn to the next: it costs the loop as much as 25 calls or more."""
_clock = time.monotonic


class _Thread(threading.local):
    turned = 0.0
    """When such calls last let the others of this thread's loop run."""


_thread = _Thread()


def is_due(calls: int = 1) -> bool:
    """Count calls that need not wait; tell whether others of this thread's loop are due a turn."""
    return bool(native.async_calls(calls))


async def share() -> None:
    """Others are due a turn: let them run, if it is time."""
    native.async_turn()
    if is_turn():
        await others_run()


def is_turn() -> bool:
    """Whether it is time to let the others of this thread's loop run."""
    return _clock() - _thread.turned >= TURN_S


async def others_run() -> None:
    """Let the others of this thread's loop run."""
    native.async_turn()
    await asyncio.sleep(0)
    _thread.turned = _clock()
