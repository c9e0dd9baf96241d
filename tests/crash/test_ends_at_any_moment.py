"""A spool, a view or a cursor is closed while threads are in all kinds of calls of it.

Each call returns, or raises ClosedError; what was returned as kept is there. Not here: who waits,
one call at a time (tests/unit/test_spool_life.py).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import ROUNDS, SEED
from tests.support.later import Later
from tests.support.pairs import wait_until
from tests.support.spooled import BODY, bodies, small

CALLS_MAX = 100
"""Of all threads, before it is closed."""
CLOSERS = 2
Calls = dict[str, Callable[[], object]]


class Crowd:
    """Threads that make one call each, over and over, until it says that it was closed."""

    def __init__(self, calls: Calls, passing: tuple[type[Exception], ...] = ()) -> None:
        self.count = 0
        self._passing = passing
        self._stop = threading.Event()
        self._running = {name: Later(lambda c=call: self._run(c)) for name, call in calls.items()}

    def _run(self, call: Callable[[], object]) -> None:
        while not self._stop.is_set():
            try:
                call()
            except self._passing:
                pass
            self.count += 1

    def ended(self) -> None:
        """Each of them ended by ClosedError."""
        for name, one in self._running.items():
            error = one.error()
            assert isinstance(error, mm.ClosedError), f"{name}: {error!r}"

    def stopped(self) -> None:
        """Each of them ends by itself."""
        self._stop.set()
        for one in self._running.values():
            one.result()


def close_amid(crowd: Crowd, dice: random.Random, *closes: Callable[[], object]) -> None:
    """Close after some calls; several threads do."""
    after = dice.randrange(CALLS_MAX)
    wait_until(lambda: crowd.count > after)
    closing = [Later(close) for close in closes for _ in range(CLOSERS)]
    for one in closing:
        one.result()


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_a_spool_ends_amid_calls_of_all_kinds(tmp_path: Path, level: Any) -> None:
    """Also where it removes files, or waits for room; what was kept is there, and counted."""
    dice = random.Random(f"{SEED} {level}")
    for round_ in range(ROUNDS * 3):
        path = tmp_path / f"s{round_}"
        spool = small(path, durability=level, max_bytes=20 * 65_536, overflow="drop_oldest")
        kept: dict[int, bytes] = {}
        cursor, reader, mine = spool.cursor("c"), spool.reader(), spool.reader()
        lease = spool.lease("l", 1, 3600)

        def put(number: int, spool: mm.Spool = spool, kept: dict[int, bytes] = kept) -> None:
            body = (b"%d %d " % (number, len(kept))) * (BODY // 16)
            kept[spool.append(body) or 0] = body

        def many(spool: mm.Spool = spool, kept: dict[int, bytes] = kept) -> None:
            run = [b"many %d" % at for at in range(300)]
            got = spool.append_many(run)
            kept[got[0]], kept[got[-1]] = run[0], run[-1]

        def follow(reader: mm.SpoolReader = reader) -> None:
            try:
                reader.read(5, timeout=None)
            except mm.SpoolTrimmedError as error:
                reader.seek(error.first)

        calls: Calls = {
            "append": lambda put=put: put(1),
            "another": lambda put=put: put(2),
            "append_many": many,
            "flush": spool.flush,
            "read": follow,
            "table": lambda spool=spool: spool.read(spool.info().last_seq + 1, timeout=None),
            "info": spool.info,
            "trim": lambda spool=spool: spool.trim(max(spool.info().last_seq - 50, 0)),
            "compact": spool.compact,
            "lease": lambda lease=lease: lease.renew(60),
            "save": cursor.save,
            "undone": lambda cursor=cursor: cursor.reader().read(5),
            "cursors": spool.cursors,
            "batch": lambda mine=mine: mine.read_batch(5, timeout=None),
        }
        crowd = Crowd(calls, (mm.SpoolTrimmedError, mm.SpoolFullError))
        close_amid(crowd, dice, spool.close)
        crowd.ended()
        with small(path, durability=level) as again:
            info = again.info()
            assert not again.recovery.unclean
            got = dict(enumerate(bodies(again), info.first_seq))
            assert max(kept, default=0) <= info.last_seq
            there = {seq: one for seq, one in kept.items() if seq >= info.first_seq}
            assert {seq: got.get(seq) for seq in there} == there


@pytest.mark.parametrize("what", ["cursor", "spool"])
@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_a_cursor_ends_amid_calls_of_all_kinds(tmp_path: Path, level: Any, what: str) -> None:
    """By itself, or with its spool; what is done is saved, as nothing failed."""
    dice = random.Random(f"{SEED} {level} {what}")
    for round_ in range(ROUNDS * 3):
        path = tmp_path / f"s{round_}"
        with small(path, durability=level) as spool:
            spool.append_many([b"%d" % seq for seq in range(1, 2001)])
            spool.flush()
            cursor = spool.cursor("c")
            done: list[int] = []

            def mark(cursor: mm.SpoolCursor = cursor, done: list[int] = done) -> None:
                seq = len(done) % 2000 + 1
                cursor.done(seq)
                done.append(seq)

            undone = cursor.reader()
            calls: Calls = {
                "done": mark,
                "save": cursor.save,
                "floor": lambda cursor=cursor: cursor.floor,
                "is_done": lambda cursor=cursor: cursor.is_done(7),
                "reader": lambda cursor=cursor: cursor.reader().read(3),
                "read": lambda undone=undone: undone.read(3, timeout=None),
                "table": lambda cursor=cursor: cursor.reader().read_batch(3, timeout=None),
            }
            crowd = Crowd(calls)
            close_amid(crowd, dice, cursor.close if what == "cursor" else spool.close)
            crowd.ended()
        with small(path) as again, again.cursor("c") as same:
            assert all(same.is_done(seq) for seq in set(done))
            assert same.floor <= len(done)


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_a_view_ends_amid_calls_of_all_kinds(tmp_path: Path, level: Any) -> None:
    """While its spool is written and trimmed, which does not notice."""
    dice = random.Random(f"{SEED} {level} view")
    with small(tmp_path / "s", durability=level) as spool, spool.cursor("c"):
        put = Crowd(
            {
                "append": lambda: spool.append(b"x" * BODY),
                "trim": lambda: spool.trim(max(spool.info().last_seq - 30, 0)),
            }
        )
        wait_until(lambda: spool.info().durable_seq > 0)
        for _ in range(ROUNDS * 3):
            view = mm.SpoolView(tmp_path / "s")
            reader = view.reader()

            def follow(reader: mm.SpoolReader = reader) -> None:
                try:
                    reader.read(5, timeout=None)
                except mm.SpoolTrimmedError as error:
                    reader.seek(error.first)

            calls: Calls = {
                "info": view.info,
                "read": follow,
                "table": lambda view=view: view.read(view.info().first_seq),
                "wait": lambda view=view: view.read(view.info().last_seq + 1, timeout=None),
                "reader": lambda view=view: view.reader().read(3),
                "cursors": view.cursors,
            }
            crowd = Crowd(calls, (mm.SpoolTrimmedError,))
            close_amid(crowd, dice, view.close)
            crowd.ended()
        put.stopped()


@pytest.mark.parametrize("kind", ["spool", "view"])
def test_a_reader_ends_amid_its_calls(tmp_path: Path, kind: str) -> None:
    """And the next one of it is not mistaken for it."""
    with small(tmp_path / "s") as spool, mm.SpoolView(tmp_path / "s") as view:
        spool.append_many([b"%d" % seq for seq in range(1, 101)])
        spool.flush()
        held: Any = view if kind == "view" else spool
        for _ in range(ROUNDS * 10):
            reader = held.reader(1)
            reading = [
                Later(lambda reader=reader: [reader.read(1, timeout=None) for _ in range(200)])
            ]
            closing = [Later(reader.close) for _ in range(CLOSERS)]
            for one in closing:
                one.result()
            assert isinstance(reading[0].error(), mm.ClosedError)
            assert held.read(1, max_messages=3).messages == [b"1", b"2", b"3"]
