"""Processes of which one publishes, some receive, and one receives next to nothing.

    python -m bench.ends.slow

What they are told: lasting.py. Law: who is slow has taken all that it may before it counts as slow,
and stays connected until it is told to leave.
"""

from __future__ import annotations

import threading
import time

import meshmsg

from ..base.need import BenchError
from ..base.task import PATIENCE, Task
from .lasting import Fact, serve
from .schedule import RealClock, recv_paced, send_paced
from .works import counted

PAUSE_S = 1.0
"""Seconds between two messages of the slow one."""
LOOK_S = 0.01
"""Seconds between looks whether it is gone."""


class Slow:
    """A subscriber that takes one message a second."""

    def __init__(self, url: str) -> None:
        self._socket = meshmsg.Sub(connect=url, topics="", recv_queue_messages=1)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        while not self._over.is_set():
            try:
                self._socket.recv()
            except meshmsg.ClosedError:
                return
            self._over.wait(PAUSE_S)

    def close(self) -> None:
        """Be gone."""
        self._over.set()
        self._socket.close()
        self._thread.join()


class Offers:
    """Where the schedule goes."""

    def __init__(self, pub: meshmsg.Pub) -> None:
        self._pub = pub

    def send(self, body: bytes) -> None:
        """Send one: a Pub never waits."""
        self._pub.send(body)

    def offer(self, body: bytes) -> bool:
        """The same."""
        self._pub.send(body)
        return True


class Ends:
    """What a process has open."""

    def __init__(self) -> None:
        self._pub: meshmsg.Pub
        self._sub: meshmsg.Sub
        self._slow: Slow

    def bind(self, _: Fact) -> Fact:
        """Open what publishes: who is behind loses the oldest, so the last one always arrives."""
        self._pub = meshmsg.Pub(bind="tcp://127.0.0.1:0", overflow="drop_oldest")
        return {"url": self._pub.endpoint}

    def wait(self, asked: Fact) -> Fact:
        """Wait until there are so many subscribers, and no more."""
        late = time.monotonic() + PATIENCE
        self._pub.wait_for_subscribers(count=asked["count"], timeout=PATIENCE)
        while len(self._pub.peers()) != asked["count"]:
            if time.monotonic() > late:
                raise BenchError(f"there are {len(self._pub.peers())} subscribers")
            time.sleep(LOOK_S)
        return {}

    def subscribe(self, asked: Fact) -> Fact:
        """Open what receives."""
        self._sub = meshmsg.Sub(connect=asked["url"], topics="")
        return {}

    def dawdle(self, asked: Fact) -> Fact:
        """Be the slow one."""
        self._slow = Slow(asked["url"])
        return {}

    def leave(self, _: Fact) -> Fact:
        """Be it no more."""
        self._slow.close()
        return {}

    def publish(self, asked: Fact) -> Fact:
        """Send on a schedule; how many messages were dropped meanwhile."""
        before = self._pub.stats().dropped
        task = Task("slow", "", False, "", asked["size"], count=asked["count"], rate=asked["rate"])
        send_paced([Offers(self._pub)], task, RealClock())
        return {"dropped": self._pub.stats().dropped - before}

    def receive(self, _: Fact) -> Fact:
        """Receive all of a schedule; how late each message was."""
        arrived = recv_paced(lambda: self._sub.recv(timeout=PATIENCE), 1, RealClock())
        late = arrived.late.get(0)
        return {"count": arrived.count, "late_ns": counted(late) if late else []}


def main() -> None:
    """Be one of them, until standard input ends."""
    ends = Ends()
    words = ("bind", "wait", "subscribe", "dawdle", "leave", "publish", "receive")
    serve({word: getattr(ends, word) for word in words})


if __name__ == "__main__":
    main()
