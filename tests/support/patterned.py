"""What tests of patterns share: one of each for threads and for asyncio, and peers of an IdleQueue.

Not here: how asyncio objects are driven from threads (inloop.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import meshmsg as mm
from meshmsg import aio, patterns
from meshmsg.patterns import aio as patterns_aio
from tests.support.inloop import PATIENCE, InLoop, LoopThread


class Kit:
    """How a test makes the pattern and its sockets."""

    def __init__(self, thread: LoopThread | None) -> None:
        self._thread = thread

    def socket(self, name: str, **options: Any) -> Any:
        """A socket of this side."""
        if self._thread is None:
            return getattr(mm, name)(**options)
        return self._thread.make(getattr(aio, name), **options)

    def pattern(self, name: str, *args: Any, **options: Any) -> Any:
        """A pattern of this side."""
        if self._thread is None:
            return getattr(patterns, name)(*args, **options)
        real = [arg._real if isinstance(arg, InLoop) else arg for arg in args]
        chosen = {k: v._real if isinstance(v, InLoop) else v for k, v in options.items()}
        return self._thread.make(getattr(patterns_aio, name), *real, **chosen)


def until(true: Callable[[], bool]) -> None:
    """Wait for what another thread will do."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if true():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come true")


def ask(queue: Any, *bodies: bytes, **options: Any) -> list[bytes]:
    """Be a client."""
    with mm.Req(connect=queue.front.endpoint) as client:
        return [bytes(client.request(body, timeout=PATIENCE, **options)) for body in bodies]


def serve(worker: Any) -> int:
    """Be a worker until it is closed; how many it answered."""
    done = 0
    for job in worker:
        job.reply(b"re: " + job.frames[0], *job.frames[1:])
        done += 1
    return done
