"""The collector: takes results until every partition and the producer have said that they are done.

Two PULL sockets: one for results, one for telemetry.  It watches the other processes meanwhile,
so a job that dies is a failure at once and not a wait for ever.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import meshmsg

from . import records
from .meter import PERIOD
from .table import Tally


class DemoError(Exception):
    """The demo cannot go on; the text says why."""


@dataclass
class Telemetry:
    """What the processes said about themselves, in the order it came."""

    ready: threading.Event = field(default_factory=threading.Event)
    endpoint: str = ""
    spark: str = ""
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    depth: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    numbers: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    def take(self, message: bytes) -> None:
        """Note one message."""
        fact = json.loads(message)
        match fact["what"]:
            case "ready":
                self.endpoint = fact["endpoint"]
                self.ready.set()
            case "spark":
                self.spark = fact["version"]
            case "done":
                self.done[fact["who"]] = fact
            case "sample":
                for name, depth in fact["depth"].items():
                    side = name.rsplit(", ", 1)[-1]
                    self.depth.setdefault(name, []).append((fact["t"], depth[side]))
                for name, number in fact["numbers"].items():
                    self.numbers.setdefault(name, []).append((fact["t"], number))


class Collector:
    """Receives everything.  Use it as a context manager."""

    def __init__(self, partitions: int) -> None:
        self.tally = Tally()
        self.telemetry = Telemetry()
        self.ends: dict[int, tuple[int, int]] = {}  # partition -> records taken, results pushed
        self.peers: dict[int, tuple[str, str]] = {}  # of each, its mechanism and its user id
        self.began = self.ended = 0.0  # when the first and the last results came
        self._partitions = partitions
        self.results = meshmsg.Pull(bind="tcp://127.0.0.1:0")
        self.samples = meshmsg.Pull(bind="tcp://127.0.0.1:0")
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._hear, self._sample)
        ]
        self._stop = threading.Event()
        self._received = 0

    def __enter__(self) -> Collector:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.samples.close()
        self.results.close()
        for thread in self._threads:
            thread.join()

    @property
    def over(self) -> bool:
        """Every partition has sent its last message, and the producer and Spark their counts."""
        return len(self.ends) == self._partitions and {"producer", "job"} <= set(
            self.telemetry.done
        )

    def collect(self, *, watch: Callable[[], None], say: Callable[[str], None]) -> None:
        """Receive until it is over.

        Args:
            watch: Called several times a second; raises `DemoError` to give up.
            say: Called with a sentence about the progress now and then.
        """
        last, count = time.monotonic(), 0
        while not self.over:
            watch()
            with contextlib.suppress(meshmsg.TimedOutError):
                self._sort(self.results.recv_many(10_000, timeout=0.2))
            now, received = time.monotonic(), self.tally.received
            if received > self._received:
                self.began, self.ended = self.began or now, now
                self._received = received
            if received and not count:
                say("The first results are here.")
                last, count = now, received
            elif now - last >= 2.0 and received > count:
                rate = (received - count) / (now - last)
                say(f"{received:,} results received, now {rate:,.0f} a second.")
                last, count = now, received

    def _sort(self, messages: list[meshmsg.Message]) -> None:
        size = records.RESULT.size
        results = [message for message in messages if len(message) == size]
        if results:
            self.tally.add(results)
        if len(results) < len(messages):
            for message in messages:
                if len(message) != size:
                    self._end(message)

    def _note(self, message: meshmsg.Message) -> None:
        """Note who sent it; who has left since is known all the same."""
        peer = message.peer
        assert isinstance(peer, int)
        self.peers[peer] = (peer.mechanism, peer.user_id)

    def _end(self, message: meshmsg.Message) -> None:
        if not message.startswith(records.END):
            raise DemoError(f"a message of {len(message)} bytes that is neither result nor end")
        self._note(message)
        partition, taken, pushed = records.LAST.unpack(message[len(records.END) :])
        self.ends[partition] = (taken, pushed)

    def _hear(self) -> None:
        try:
            while True:
                message = self.samples.recv()
                self._note(message)
                self.telemetry.take(message)
        except meshmsg.ClosedError:
            return

    def _sample(self) -> None:
        """The collector's own samples need no socket."""
        depth = self.telemetry.depth.setdefault("collector PULL, in", [])
        received = self.telemetry.numbers.setdefault("received", [])
        while not self._stop.wait(PERIOD):
            try:
                stats = self.results.stats()
            except meshmsg.ClosedError:
                return
            now = time.monotonic()
            depth.append((now, stats.queued_in_messages))
            received.append((now, stats.received_messages))
