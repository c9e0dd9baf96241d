"""Numbers that a Push sends all the time, and which of them came to whom.

Not here: whom it is connected to. Law: what is sent and not taken holds the sender up, and ends
with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import meshmsg as mm
from tests.support.later import Later
from tests.support.pairs import LOOK_S, WAIT_S

BURST = 20
"""Numbers that are sent without a pause."""
PAUSE_S = 0.001
TAKEN_MAX = 1_000
"""Messages that one look at a Pull takes."""


class Numbers:
    """`with` begins to send, by a thread, and at its end all that was begun is accepted."""

    def __init__(self, push: Any) -> None:
        self._push = push
        self.sent = 0
        """How many were accepted: 0 and up."""
        self.got: list[int] = []
        """Which came, in order."""
        self.by: dict[Any, int] = {}
        """By Pull: how many came to it."""
        self._stop = threading.Event()
        self._thread: Later | None = None

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            for _ in range(BURST):
                self._push.send(b"%d" % self.sent, timeout=WAIT_S)
                self.sent += 1

    def __enter__(self) -> Numbers:
        self._thread = Later(self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.result()

    def _look(self, pull: Any) -> bool:
        try:
            messages = pull.recv_many(TAKEN_MAX, timeout=0)
        except mm.WouldBlockError:
            return False
        for message in messages:
            self.got.append(int(bytes(message)))
            message.ack()  # where anybody waits for that
        self.by[pull] = self.by.get(pull, 0) + len(messages)
        return True

    def until(self, pulls: Sequence[Any], so: Callable[[], bool]) -> None:
        """Take what comes to these until something is so."""
        ends, pause = time.monotonic() + WAIT_S, threading.Event()
        while not so():
            assert time.monotonic() < ends, f"{len(self.got)} of {self.sent} came: {self.by}"
            if not any([self._look(pull) for pull in pulls]):
                pause.wait(LOOK_S)

    def more(self, count: int, pull: Any, *others: Any) -> None:
        """Take what comes, until so many more came to one of them."""
        before = self.by.get(pull, 0)
        self.until([pull, *others], lambda: self.by.get(pull, 0) >= before + count)

    def rest(self, *pulls: Any) -> None:
        """Take what comes until each came; the sender has ended."""
        self.until(pulls, lambda: len(self.got) >= self.sent and self.all_came())

    def all_came(self) -> bool:
        """Whether each came, at least once."""
        return set(self.got) == set(range(self.sent))

    def came_once(self) -> bool:
        """Whether each came, and none again."""
        return sorted(self.got) == list(range(self.sent))
