"""A Pub with a spool and its subscribers, for threads and for asyncio.

Not here: what is asserted of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.feeding import UP, World
from tests.support.later import Later
from tests.support.pairs import WAIT_S


@contextmanager
def publishing(
    world: World, path: Path, bind: str = UP, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """A spool and the Pub over it; options that begin with `pub_` are the Pub's."""
    own = {k[4:]: options.pop(k) for k in list(options) if k.startswith("pub_")}
    with (
        world.spool(path, **options) as spool,
        world.socket("Pub", bind=bind, spool=spool, **own) as pub,
    ):
        yield spool, pub


def numbers(sub: Any, upto: int, timeout: float = WAIT_S) -> list[int]:
    """Receive until that number of the spool comes; all the numbers that came."""
    got: list[int] = []
    while not got or got[-1] < upto:
        message = sub.recv(timeout=timeout)
        got.append(message.seq[1])
        assert int(bytes(message).split(b".")[0]) == got[-1]
    return got


class Stream:
    """Publishes "N." and padding, N its number in the spool, all the time, until it is left."""

    def __init__(
        self, pub: Any, spool: Any, *, topics: int = 1, size: int = 20, pause_s: float = 0.0005
    ) -> None:
        self._pub, self._topics, self._size = pub, topics, size
        self._pause_s = pause_s
        self.last = int(spool.info().last_seq)
        self._stop = threading.Event()
        self._pause = threading.Event()
        self._thread: Later | None = None

    def _run(self) -> None:
        while not self._stop.is_set():
            self.one()
            if self._pause_s:
                self._pause.wait(self._pause_s)

    def one(self) -> None:
        """Publish the next."""
        number = self.last + 1
        body = (b"%d." % number).ljust(self._size, b"x")
        self._pub.send(body, topic=f"t{number % self._topics}", timeout=WAIT_S)
        self.last = number

    def __enter__(self) -> Stream:
        self._thread = Later(self._run)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        assert self._thread is not None
        assert self._thread.error() is None


def put(pub: Any, spool: Any, count: int, **options: Any) -> int:
    """Publish so many; the last number."""
    stream = Stream(pub, spool, **options)
    for _ in range(count):
        stream.one()
    return stream.last
