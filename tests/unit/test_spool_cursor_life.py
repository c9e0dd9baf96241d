"""Cursors that threads share, that are closed while others use them, forked, or cannot be saved.

Not here: processes that are killed (tests/crash/test_cursor_kill.py).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib
from meshmsg._spool import cursor as cursor_module
from meshmsg._spool.cursor import names_of
from tests.support.cursored import saved
from tests.support.disks import full_disk
from tests.support.forked import in_child, refused
from tests.support.later import Later
from tests.support.pairs import wait_until
from tests.support.spooled import bodies, small
from tests.support.spoollives import copy_of

MESSAGES = 600
THREADS = 4


def filled(path: Path, **options: Any) -> mm.Spool:
    """Return a spool of some messages."""
    spool = small(path, **options)
    spool.append_many([b"x"] * MESSAGES)
    return spool


def test_threads_share_one(tmp_path: Path) -> None:
    """Each marks its own messages, saves now and then, opens and closes; all of it is kept."""
    spool = filled(tmp_path / "s")
    shared = spool.cursor("one")

    def mark(number: int) -> None:
        for seq in range(1 + number, MESSAGES + 1, THREADS):
            if seq % 10 == 0:
                with spool.cursor("one") as mine:
                    mine.done(seq)
            else:
                shared.done(seq)
            if seq % 50 == 0:
                shared.save()
            assert shared.is_done(seq)

    marking = [Later(partial(mark, number)) for number in range(THREADS)]
    assert [one.error() for one in marking] == [None] * THREADS
    assert (shared.floor, shared.lag) == (MESSAGES, 0)
    spool.close()
    assert saved(tmp_path / "s/cursors/one")[1:] == (MESSAGES, set())


def test_what_is_done_is_saved_by_itself(tmp_path: Path) -> None:
    """About once a second; nobody has to ask."""
    with filled(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        cursor.done_up_to(3)
        wait_until(lambda: saved(tmp_path / "s/cursors/one")[1] == 3)
        cursor.done_up_to(5)
        wait_until(lambda: saved(tmp_path / "s/cursors/one")[1] == 5)


def test_closing_the_spool_saves_and_closes_them(tmp_path: Path) -> None:
    """Then calls raise ClosedError, but for `close`."""
    spool = filled(tmp_path / "s")
    cursor, other = spool.cursor("one"), spool.cursor("two")
    reader = cursor.reader()
    cursor.done_up_to(7)
    other.done(9)
    spool.close()
    for call in (lambda: cursor.floor, lambda: cursor.done(8), cursor.save, reader.read):
        with pytest.raises(mm.ClosedError):
            call()
    cursor.close()
    with small(tmp_path / "s") as again:
        assert [(one.floor, one.lag) for one in again.cursors()] == [
            (7, MESSAGES - 7),
            (0, MESSAGES - 1),
        ]


def test_one_that_is_forgotten_is_saved(tmp_path: Path) -> None:
    """As its garbage is collected."""
    with filled(tmp_path / "s") as spool:
        spool.cursor("one").done_up_to(4)
        gc.collect()
        assert spool._cursors == {}
        assert spool.cursors()[0].floor == 4


@pytest.mark.parametrize("what", ["cursor", "spool"])
def test_closing_ends_who_reads(tmp_path: Path, what: str) -> None:
    """That waits for a message: ClosedError."""
    spool = filled(tmp_path / "s")
    cursor = spool.cursor("one", start="latest")
    reader = cursor.reader()
    waiting = Later(lambda: reader.read(timeout=None))
    wait_until(lambda: len(spool._inside) > 0)
    (cursor if what == "cursor" else spool).close()
    assert isinstance(waiting.error(), mm.ClosedError)
    spool.close()


def test_closing_while_others_mark_harms_nothing(tmp_path: Path) -> None:
    """Each call was before it, or raises ClosedError; what was done before is kept."""
    for _ in range(20):
        spool = filled(tmp_path / "s")
        cursor = spool.cursor("one")
        done: list[int] = []

        def mark(cursor: mm.SpoolCursor = cursor, done: list[int] = done) -> None:
            for seq in range(1, MESSAGES + 1):
                cursor.done(seq)
                done.append(seq)

        waiting = Later(mark)
        cursor.close()
        assert isinstance(waiting.error(), (mm.ClosedError, type(None)))
        with spool.cursor("one") as again:
            assert again.floor >= len(done)
        spool.close()


def test_the_child_of_a_fork_has_none(tmp_path: Path) -> None:
    """ForkedError there; the parent's goes on, and nothing is saved twice."""
    spool = filled(tmp_path / "s")
    cursor = spool.cursor("one")
    lease = spool.lease("range", 1, 60)
    cursor.done_up_to(3)
    calls: list[Callable[[], object]] = [
        lambda: cursor.done(4),
        lambda: cursor.floor,
        cursor.save,
        cursor.reader,
        lambda: spool.cursor("two"),
        spool.cursors,
        lease.release,
    ]

    def work() -> bool:
        told = refused(*calls)
        cursor.close()
        return told

    assert in_child(work)
    cursor.done_up_to(5)
    spool.close()
    assert saved(tmp_path / "s/cursors/one")[1] == 5


def test_one_that_cannot_be_saved_says_so(tmp_path: Path) -> None:
    """Whoever has it, until it is closed; then it is what was saved. The spool goes on."""
    spool = filled(tmp_path / "s")
    cursor = spool.cursor("one")
    cursor.done_up_to(3)
    cursor.save()
    with full_disk(tmp_path / "s/cursors/one"):
        cursor.done_up_to(5)
        with pytest.raises(mm.SpoolFailedError, match="the cursor 'one': saving it: the disk fail"):
            cursor.save()
    for call in (cursor.save, lambda: cursor.done(6), lambda: cursor.seek(1), cursor.close):
        with pytest.raises(mm.SpoolFailedError, match="the cursor 'one'"):
            call()
    with spool.cursor("one") as again:
        assert again.floor == 3
        again.done(4)
        again.save()
    assert spool.append(b"y") == MESSAGES + 1
    assert len(bodies(spool)) == MESSAGES + 1
    spool.close()


def test_a_spool_tells_of_a_cursor_that_cannot_be_saved(tmp_path: Path) -> None:
    """As it is closed; the messages are kept."""
    spool = filled(tmp_path / "s")
    cursor = spool.cursor("one")
    with full_disk(tmp_path / "s/cursors/one"):
        cursor.done(1)
        with pytest.raises(mm.SpoolFailedError, match="a cursor says what was saved"):
            spool.close()
    with small(tmp_path / "s") as again:
        assert again.info().last_seq == MESSAGES
        assert again.cursors()[0].floor == 0


def test_one_look_at_the_folder_tells_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it may have many files; a second one only where names are more than there is room for."""
    looks: list[int] = []

    def look(pointer: Any, out: Any, size: int) -> int:
        looks.append(size)
        return int(lib.mm_spool_cursor_names(pointer, out, size))

    with small(tmp_path / "s") as spool, spool.cursor("two"), spool.cursor("one"):
        assert names_of(spool, look) == ["one", "two"]
        assert len(looks) == 1
        monkeypatch.setattr(cursor_module, "NAMES_FIRST", 7)
        assert names_of(spool, look) == ["one", "two"]
        assert looks[1:] == [7, 8]


def test_one_that_is_closed_is_saved_though_another_one_is_open(tmp_path: Path) -> None:
    """A process that is killed then has it; it was saved only as the last one was closed."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * 3)
        one, other = spool.cursor("a"), spool.cursor("a")
        one.done(1)
        one.close()
        copy_of(tmp_path / "s", tmp_path / "killed")
        other.done(2)
        assert (other.is_done(1), other.is_done(2)) == (True, True)
    with small(tmp_path / "killed") as again, again.cursor("a") as cursor:
        assert (cursor.is_done(1), cursor.is_done(2)) == (True, False)
