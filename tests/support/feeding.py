"""A Push with a spool, for threads and for asyncio, over and over: each life opens both again.

Not here: what is asserted of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.inloop import InLoop, LoopThread
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT

UP = "tcp://127.0.0.1:0"


class World:
    """Makes spools and sockets for threads, or for the loop of a thread."""

    def __init__(self, thread: LoopThread | None) -> None:
        self._thread = thread

    def spool(self, path: Path, **options: Any) -> Any:
        """Open a spool of small segments, quick to write."""
        options.setdefault("durability", "os")
        options.setdefault("segment_bytes", SEGMENT)
        if self._thread is None:
            return mm.Spool(path, **options)
        return self._thread.make(aio.Spool, path, **options)

    def socket(self, name: str, **options: Any) -> Any:
        """Open a socket."""
        if self._thread is None:
            return getattr(mm, name)(**options)
        chosen = {k: v._real if isinstance(v, InLoop) else v for k, v in options.items()}
        return self._thread.make(getattr(aio, name), **chosen)

    def push(self, spool: Any, **options: Any) -> Any:
        """Open a Push over it."""
        options.setdefault("bind", UP)
        return self.socket("Push", spool=spool, **options)

    def wait(self, receipt: Any, timeout: float | None = WAIT_S) -> None:
        """Wait for a receipt, or several."""
        if self._thread is None:
            receipt.wait(timeout=timeout)
        else:
            self._thread.call(lambda: receipt.wait(timeout=timeout))

    @contextmanager
    def life(self, path: Path, **options: Any) -> Iterator[tuple[Any, Any]]:
        """A spool and its Push; those of `push_` are the Push's."""
        own = {k[5:]: options.pop(k) for k in list(options) if k.startswith("push_")}
        with self.spool(path, **options) as spool, self.push(spool, **own) as push:
            yield spool, push


def told(push: Any, kind: mm.EventKind) -> Any:
    """Wait for an event of a kind; those before it are taken."""
    found: list[Any] = []

    def looked() -> bool:
        found.extend(event for event in push.events() if event.kind is kind)
        return bool(found)

    wait_until(looked)
    return found[0]


def reason_of(world: World, receipt: Any) -> str:
    """Why a message was not delivered."""
    with pytest.raises(mm.UndeliveredError) as raised:
        world.wait(receipt)
    return str(raised.value.reason)


def up_to_end(pull: Any) -> list[bytes]:
    """Receive all up to the end, which its sender tells (`finish`) once all of it is done."""
    found: list[bytes] = []
    while True:
        try:
            found.append(bytes(pull.recv(timeout=WAIT_S)))
        except mm.EndOfStreamError:
            return found


def all_of(push: Any, pull: Any) -> list[bytes]:
    """Finish, and receive all that there is."""
    push.finish()
    return up_to_end(pull)


def taken(pull: Any, count: int) -> list[bytes]:
    """Receive so many."""
    return [bytes(pull.recv(timeout=WAIT_S)) for _ in range(count)]


def settled(push: Any) -> Any:
    """Wait until all is done; the report."""
    report = push.drain(timeout=WAIT_S)
    assert report.queued == report.unconfirmed == 0
    return report


def nothing(pull: Any) -> None:
    """Nothing comes; and what came before is done, as the next is asked for."""
    try:
        message = pull.recv(timeout=0.05)
    except mm.TimedOutError:
        return
    raise AssertionError(message)
