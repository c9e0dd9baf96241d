"""What a task says of the items of one group, and when it says it.

Who works tells at the end of the group, or when enough is done for a message. While an item takes
long, a thread tells what was done before it; and with a lease, that it hangs. Not here: the work
(_task.py), rows (_telling.py). Law: what is done is told once, in the order of the group; an item
that is alone starts no thread, but with a lease.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate
from types import TracebackType

from meshmsg import MeshError

from ._words import GROUP_BYTES, packed

LOOK_S = 0.02
"""Seconds between two looks whether an item takes long. What is done waits for two, at most."""
HUNG_LEASES = 2
"""Leases that one item may take. After the first others have it; it may still be done by then."""


class Results:
    """Of one group: what is done, and was not told."""

    def __init__(self, send: Callable[[bytes], object], ids: Sequence[int]) -> None:
        """Begin; send: sends a message."""
        self._send = send
        self._ids = ids
        self._told = 0
        self._lock = threading.Lock()
        self.numbers: list[int] = []
        """What became of items; who works adds it here, and then to `bodies`."""
        self.bodies: list[bytes] = []
        self.began: float | None = None
        """When the item began that is being worked on, by the clock of who looks; None: none is."""

    def flush(self) -> None:
        """Tell what is done, from any thread."""
        with self._lock:
            left = len(self.bodies)
            while left:
                ends = list(accumulate(map(len, self.bodies[:left])))
                count = max(1, bisect_right(ends, GROUP_BYTES))
                ids = self._ids[self._told : self._told + count]
                self._send(packed(ids, self.numbers[:count], self.bodies[:count]))
                del self.numbers[:count], self.bodies[:count]
                self._told += count
                left -= count


class Looking:
    """A thread that tells what is done of a group while an item takes long, and if that hangs."""

    def __init__(
        self,
        lease: float | None = None,
        hung: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            lease: Seconds that an item may take; None: any time.
            hung: Called once an item has taken `HUNG_LEASES` of them.
            clock: Tells the time.
        """
        self._limit = None if lease is None else lease * HUNG_LEASES
        self._hung, self._clock = hung, clock
        self._results: Results | None = None
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Looking:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def begin(self, results: Results) -> None:
        """Look after these from now on."""
        self._results = results
        if not self._wanted.is_set():
            self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="meshmsg-told", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Look after none."""
        self._results = None

    def _run(self) -> None:
        before: Results | None = None
        while not self._over.wait(LOOK_S):
            results = self._results
            if results is None and before is None:
                self._wanted.clear()  # it may be what the end has just set: that is looked at next
                if self._results is None and not self._over.is_set():
                    self._wanted.wait()
            elif results is not None and results is before:
                with suppress(MeshError):  # who works finds it out
                    results.flush()
                began = results.began
                if self._limit and began is not None and self._clock() - began >= self._limit:
                    self._hung()
            before = results
