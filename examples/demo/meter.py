"""Meter: samples the stats() of sockets ten times a second and sends them to the collector.

Telemetry is JSON over a PUSH of its own, so it takes the same way as everything else.  Times are
of the monotonic clock, which all processes of one machine share.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from types import TracebackType

import meshmsg

PERIOD = 0.1  # seconds between two samples
BACKLOG = "records waiting for a task"  # the name of the work queue's own number


def tell(push: meshmsg.Push, what: str, **facts: object) -> None:
    """Send one piece of telemetry."""
    push.send(json.dumps({"what": what, "t": time.monotonic(), **facts}).encode(), timeout=10)


class Meter:
    """A thread that sends `{name: {"out": .., "in": ..}}` until it is closed."""

    def __init__(
        self,
        push: meshmsg.Push,
        sockets: dict[str, Callable[[], meshmsg.Stats]],
        numbers: dict[str, Callable[[], int]],
    ) -> None:
        """Start to sample.

        Args:
            push: Where samples go.
            sockets: The stats of each socket, by the name it has in the picture.
            numbers: Other numbers worth a line, by name.
        """
        self._push = push
        self._sockets = sockets
        self._numbers = numbers
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo-meter", daemon=True)
        self._thread.start()

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            last = self._stop.wait(PERIOD)
            depth = {}
            for name, stats in self._sockets.items():
                now = stats()
                depth[name] = {"out": now.queued_out_messages, "in": now.queued_in_messages}
            try:
                numbers = {name: number() for name, number in self._numbers.items()}
                tell(self._push, "sample", depth=depth, numbers=numbers)
            except meshmsg.MeshError:
                return  # the collector is gone: its own end is noticed elsewhere
            if last:
                return
