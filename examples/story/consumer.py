"""The consumer: takes sums from Spark's executors as they come, and what the processes say.

Two PULL sockets: one for rows of sums, which it acknowledges, one for telemetry. All it knows is
behind one lock.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import meshmsg
from examples.demo.meter import PERIOD

from .sums import Sums

Series = list[tuple[float, int]]


class StoryError(Exception):
    """The story cannot go on; the text says why."""


@dataclass
class Told:
    """What the processes said of themselves, in the order it came."""

    spark: str = ""
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    """Records in the spool of each producer, by what its meter calls it."""
    batches: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    """Progress of the query."""
    sent: Series = field(default_factory=list)
    """Records kept by all producers."""
    waiting: Series = field(default_factory=list)
    """Records kept that are not in the table yet."""


class Consumer:
    """Receives everything. Use it as a context manager."""

    def __init__(self) -> None:
        self.sums = Sums()
        self.told = Told()
        self.counted: Series = []
        """Records that are in the sums, at each sample."""
        self.queue: Series = []
        """Rows that wait in the consumer's socket."""
        self.peers: dict[int, tuple[str, str]] = {}
        self.changed = threading.Event()
        """Set when somebody has said something."""
        self.rows = meshmsg.Pull(bind="tcp://127.0.0.1:0")
        self.telemetry = meshmsg.Pull(bind="tcp://127.0.0.1:0")
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=target, daemon=True)
            for target in (self._take, self._hear, self._sample)
        ]

    def __enter__(self) -> Consumer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.rows.close()
        self.telemetry.close()
        for thread in self._threads:
            thread.join()

    def _note(self, message: meshmsg.Message) -> None:
        """Note who sent it; who has left since is known all the same."""
        peer = message.peer
        assert isinstance(peer, int)
        self.peers[peer] = (peer.mechanism, peer.user_id)

    def _take(self) -> None:
        for message in self.rows:  # the next one is asked for: this one is done
            with self._lock:
                self._note(message)
                self.sums.take(message)
            self.changed.set()

    def _hear(self) -> None:
        for message in self.telemetry:
            fact = json.loads(message)
            with self._lock:
                self._note(message)
                self._fact(fact)
            self.changed.set()

    def _fact(self, fact: dict[str, Any]) -> None:
        told = self.told
        match fact["what"]:
            case "spark":
                told.spark = fact["version"]
            case "progress":
                told.batches.append((fact["t"], fact))
            case "done":
                told.done[fact["who"]] = fact
            case "sample":
                told.kept.update(fact["numbers"])

    def _sample(self) -> None:
        """Ten times a second, for the picture."""
        while not self._stop.wait(PERIOD):
            try:
                queued = self.rows.stats().queued_in_messages
            except meshmsg.ClosedError:
                return
            now = time.monotonic()
            with self._lock:
                kept, counted = sum(self.told.kept.values()), self.sums.counted
                self.told.sent.append((now, kept))
                self.told.waiting.append((now, max(kept - counted, 0)))
                self.counted.append((now, counted))
                self.queue.append((now, queued))

    def line(self) -> str:
        """Where it all is, in a line."""
        with self._lock:
            kept, counted = sum(self.told.kept.values()), self.sums.counted
            batches = len(self.told.batches)
            return (
                f"kept {kept:9,}  in the table {counted:9,}  batches {batches:3}  "
                f"lag {max(kept - counted, 0):9,} {bar(counted, kept)}"
            )


def bar(done: int, of: int, width: int = 24) -> str:
    """How much is done, drawn."""
    full = width * done // of if of else 0
    return "[" + "#" * full + "." * (width - full) + "]"
