"""A process forks while its threads are in all kinds of calls of a spool: the child harms nothing.

Not here: what each call says in a child, one by one (tests/unit/test_spool_life.py).
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.crash.crew import ROUNDS, SEED
from tests.support.forked import Child, in_child, refused
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import bodies, small

PUTS_MAX = 60
"""Calls of the threads between two forks, at most: which they are in as it forks nobody knows."""


class Threads:
    """Put, wait, read and look, until they are told to stop; what was kept, by its number."""

    def __init__(self, spool: mm.Spool, cursor: mm.SpoolCursor) -> None:
        self.kept: dict[int, bytes] = {}
        self.calls = 0
        self._spool, self._cursor = spool, cursor
        self._stop = threading.Event()
        ways = (self._one, self._many, self._flushed, self._read, self._looked, self._done)
        self._running = [Later(way) for way in (*ways, self._one)]

    def _one(self) -> None:
        number = 0
        while not self._stop.is_set():
            body = b"one %d %d" % (threading.get_ident(), number := number + 1)
            self._note([self._spool.append(body) or 0], [body])

    def _many(self) -> None:
        number = 0
        while not self._stop.is_set():
            run = [b"many %d %d" % (number := number + 1, at) for at in range(20)]
            got = self._spool.append_many(run)
            self._note([got[0], got[-1]], [run[0], run[-1]])

    def _flushed(self) -> None:
        while not self._stop.is_set():
            seq = self._spool.append(b"flushed", wait=False)
            self._spool.flush()
            self._note([seq or 0], [b"flushed"])

    def _read(self) -> None:
        with self._spool.reader(1) as reader:
            while not self._stop.is_set():
                reader.read(20, timeout=WAIT_S)
                self.calls += 1

    def _looked(self) -> None:
        while not self._stop.is_set():
            last = self._spool.info().last_seq
            self._spool.read(random.randrange(1, last + 2))
            self.calls += 1

    def _done(self) -> None:
        while not self._stop.is_set():
            self._cursor.done_up_to(self._cursor.floor)
            self._cursor.save()
            self.calls += 1

    def _note(self, seqs: list[int], run: list[bytes]) -> None:
        self.kept.update(zip(seqs, run, strict=True))
        self.calls += 1

    def stop(self) -> None:
        """Wait until all have ended, and none by an error."""
        self._stop.set()
        for one in self._running:
            one.result()


def calls_of(spool: mm.Spool, cursor: mm.SpoolCursor, lease: mm.SpoolLease) -> list[Any]:
    """Return calls of all kinds, which are the parent's."""
    reader = spool.reader()
    calls: list[Callable[[], object]] = [
        lambda: spool.append(b"child"),
        lambda: spool.append(b"child", wait=False),
        lambda: spool.append_many([b"child"] * 5),
        lambda: spool.last_origin("child"),
        lambda: spool.trim(1),
        lambda: spool.read(1),
        lambda: spool.reader(1),
        lambda: spool.cursor("child"),
        lambda: spool.delete_cursor("c"),
        lambda: spool.lease("child", 1, 60),
        lambda: cursor.done_up_to(1),
        lambda: cursor.seek(1),
        lambda: lease.renew(60),
        *(spool.flush, spool.info, spool.cursors, spool.compact),
        *(reader.read, reader.read_batch, lambda: reader.seek(1), lambda: list(reader)),
        *(cursor.save, cursor.reader, lambda: cursor.floor, lease.release),
    ]
    return calls


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_a_fork_amid_calls_of_all_kinds_harms_nothing(tmp_path: Path, level: Any) -> None:
    """Each call of the child says that it is the parent's, and none hangs; the child has a spool of
    its own beside it; what was kept is there, once, and no octet of the child."""
    dice = random.Random(f"{SEED} {level}")
    spool = small(tmp_path / "s", durability=level)
    cursor = spool.cursor("c")
    calls = calls_of(spool, cursor, spool.lease("l", 1, 3600))
    threads = Threads(spool, cursor)

    def work() -> bool:
        told = refused(*calls)
        cursor.close()
        spool.close()
        gc.collect()
        with small(tmp_path / f"child-{os.getpid()}") as mine:
            told = told and mine.append(b"mine") == 1
        try:
            small(tmp_path / "s")
        except mm.SpoolLockedError as error:
            return told and str(os.getppid()) in error.owner
        return False

    for _ in range(ROUNDS * 3):
        before = threads.calls + dice.randrange(PUTS_MAX)
        wait_until(lambda before=before: threads.calls > before)
        children = [Child(work) for _ in range(2)]
        assert all(child.true() for child in children)
    threads.stop()
    calls.clear()
    spool.close()
    with small(tmp_path / "s") as again:
        assert not again.recovery.unclean
        got = dict(enumerate(bodies(again), 1))
        assert b"child" not in got.values()
        assert {seq: got.get(seq) for seq in threads.kept} == threads.kept


@pytest.mark.parametrize("which", ["spool", "view", "watch"])
def test_a_lock_that_a_thread_had_at_the_fork_stops_no_child(tmp_path: Path, which: str) -> None:
    """It is nobody's there who could let it go."""
    with small(tmp_path / "s") as spool, mm.SpoolView(tmp_path / "s") as view:
        spool.append(b"x")
        spool.flush()
        held = view if which == "view" else spool
        inside, out = threading.Event(), threading.Event()

        def hold() -> None:
            with held._inside.lock:
                inside.set()
                assert out.wait(WAIT_S)

        holding = Later(hold)
        assert inside.wait(WAIT_S)

        def work() -> bool:
            if which == "watch":
                spool._close_watches()
                spool._close_watches(object())
                return True
            return refused(lambda: held.read(1), held.info, lambda: held.reader(1))

        try:
            assert in_child(work)
        finally:
            out.set()
            holding.result()
        wait_until(lambda: held.read(1).messages == [b"x"])  # a view looks now and then


def test_a_child_of_a_loop_that_waits_for_the_disk_is_told(tmp_path: Path) -> None:
    """The loop is its parent's as well; what it put is there."""

    async def main() -> list[int | None]:
        async with aio.Spool(tmp_path / "s", durability="disk") as spool:
            found: list[int | None] = []
            for _ in range(ROUNDS):
                tasks = [asyncio.create_task(spool.append(b"x")) for _ in range(30)]
                await tasks[0]
                assert in_child(lambda: refused(spool.info))
                found += await asyncio.gather(*tasks)
            return found

    assert asyncio.run(main()) == list(range(1, 30 * ROUNDS + 1))
    with mm.Spool(tmp_path / "s") as again:
        assert bodies(again) == [b"x"] * 30 * ROUNDS
