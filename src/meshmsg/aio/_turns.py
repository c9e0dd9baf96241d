"""Whose turn it is: after many calls without an await, other tasks of the loop get one; and methods
done without a coroutine of Python.

Not here: waiting (_socket.py, _loop.py). Law: a call that can be done at once costs the loop
nothing, and no task is kept from running for longer than TURN_S by them.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from meshmsg._binding.core import fast

FAST_CALLS_MAX: int = fast.SOON_MAX
"""Calls without an await, after which other tasks get a turn if it is time for one."""
TURN_S = 0.0002
"""Seconds from one turn to the next: it costs the loop as much as 25 calls or more."""
MethodT = TypeVar("MethodT", bound=Callable[..., Any])
_clock = time.monotonic


def frameless(call: Callable[..., Any]) -> Callable[[MethodT], MethodT]:
    """Have a method done by another function, which does the same without a coroutine of Python.

    The method stays what it is to who reads it, to type checkers and to `inspect.signature`. From
    Python 3.12 on it is done as it is written: what such a coroutine returns goes by an exception
    there.
    """

    def instead(method: MethodT) -> MethodT:
        if sys.version_info >= (3, 12):
            return method
        functools.update_wrapper(call, method)
        if inspect.iscoroutinefunction(method):
            vars(call)["_is_coroutine"] = vars(asyncio.coroutines)["_is_coroutine"]
        return cast("MethodT", call)

    return instead


class _Thread(threading.local):
    turned = 0.0
    """When such calls last let the others of this thread's loop run."""


_thread = _Thread()


def is_turn() -> bool:
    """Whether it is time to let the others of this thread's loop run."""
    return _clock() - _thread.turned >= TURN_S


async def others_run() -> None:
    """Let the others of this thread's loop run."""
    await asyncio.sleep(0)
    _thread.turned = _clock()
