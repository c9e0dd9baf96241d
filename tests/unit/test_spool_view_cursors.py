"""Cursors as a view shows them, beside who marks and saves; it changes nothing.

Not here: what a cursor is (test_spool_cursor.py), what else a view shows (test_spool_view.py).
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.programs import lines_of, running
from tests.support.spoolcodec import SLOT
from tests.support.spooled import fill, small, state_of, turn_bit

WRITER = """
import sys
import meshmsg as mm
with mm.Spool(sys.argv[1]) as spool, spool.cursor("billing") as cursor:
    spool.append_many([b"x"] * 100)
    cursor.done_up_to(40)
    cursor.done(50)
    cursor.save()
    print("saved", flush=True)
    sys.stdin.readline()
"""


def told(view: mm.SpoolView) -> list[tuple[str, int | None, int | None]]:
    """Return what it lists."""
    return [(one.name, one.floor, one.lag) for one in view.cursors()]


def test_they_are_shown_as_they_were_saved(tmp_path: Path) -> None:
    """In the order of their names, and nothing is written; what is marked is shown once saved."""
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append_many([b"x"] * 10)
        with mm.SpoolView(tmp_path / "s") as view:
            assert told(view) == []
            with spool.cursor("b", start=3), spool.cursor("a") as cursor:
                wait_until(lambda: view.info().last_seq == 10)
                assert told(view) == [("a", 0, 10), ("b", 2, 8)]
                cursor.done_up_to(4)
                cursor.done_range(6, 7)
                cursor.save()
                before = state_of(tmp_path / "s/cursors")
                assert told(view) == [("a", 4, 4), ("b", 2, 8)]
                assert state_of(tmp_path / "s/cursors") == before
            spool.delete_cursor("b")
            assert told(view) == [("a", 4, 4)]
        with pytest.raises(mm.ClosedError):
            view.cursors()


def test_beside_another_process(tmp_path: Path) -> None:
    """Whose lock nobody asks for."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "s")]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert next(lines_of(process)) == b"saved\n"
        with mm.SpoolView(tmp_path / "s") as view:
            wait_until(lambda: told(view) == [("billing", 40, 59)])
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.wait(WAIT_S) == 0


def test_while_it_is_saved_it_is_there(tmp_path: Path) -> None:
    """Each look shows one of the saves, whole, and none goes back."""
    stop = threading.Event()
    with small(tmp_path / "s", durability="disk") as spool, spool.cursor("one") as cursor:
        spool.append_many([b"x"] * 5000)

        def mark() -> None:
            for seq in range(1, 5001):
                cursor.done(seq)
                cursor.save()
                if stop.is_set():
                    return

        marking = Later(mark)
        try:
            with mm.SpoolView(tmp_path / "s") as view:
                wait_until(lambda: view.info().last_seq == 5000)
                last = 0
                for _ in range(300):
                    [one] = view.cursors()
                    assert one.floor is not None
                    assert one.lag == 5000 - one.floor
                    assert one.floor >= last
                    last = one.floor
        finally:
            stop.set()
            assert marking.error() is None


def test_none_is_further_than_what_is_shown(tmp_path: Path) -> None:
    """The view may not know yet that the messages are durable."""
    with small(tmp_path / "s", durability="os", sync_every=1000) as spool:
        spool.append(b"x")
        spool.flush()
        with spool.cursor("one") as cursor, mm.SpoolView(tmp_path / "s") as view:
            spool.append_many([b"x"] * 9)
            cursor.done_up_to(9)
            cursor.save()
            [one] = view.cursors()
            assert one.floor is not None
            assert one.lag == view.info().last_seq - one.floor or one.floor < 9
            wait_until(lambda: told(view) == [("one", 9, 1)])


def test_what_was_removed_is_done(tmp_path: Path) -> None:
    """As whoever opens it sees it."""
    with small(tmp_path / "s", durability="disk") as spool:
        with spool.cursor("one"):
            last = fill(spool, 4)
        spool.trim(last)
        first = spool.info().first_seq
        with mm.SpoolView(tmp_path / "s") as view:
            wait_until(lambda: told(view) == [("one", first - 1, last - first + 1)])


def test_harm_and_what_is_no_cursor(tmp_path: Path) -> None:
    """One slot that is harmed leaves the other; two are told; other files are left alone."""
    path = tmp_path / "s/cursors"
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append_many([b"x"] * 10)
        for name in ("one", "two"):
            with spool.cursor(name) as cursor:
                for seq in (2, 4):
                    cursor.done_up_to(seq)
                    cursor.save()
    (path / ".swp").write_bytes(b"mine")
    (path / "empty").write_bytes(b"")
    for at in (30, SLOT + 30):
        turn_bit(path / "two", at)
    with mm.SpoolView(tmp_path / "s") as view:
        assert told(view) == [("empty", 0, 10), ("one", 4, 6), ("two", None, None)]
        turn_bit(path / "two", 30)
        assert [one.floor for one in view.cursors()] in ([0, 4, 2], [0, 4, 4])
    (path / "one").unlink()
    (path / "one").symlink_to(path / "nowhere")
    with mm.SpoolView(tmp_path / "s") as view:
        assert [one.name for one in view.cursors()] == ["empty", "two"]


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    """What cannot be read is an error."""
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append(b"x")
    (tmp_path / "s/cursors").write_bytes(b"no folder")
    with mm.SpoolView(tmp_path / "s") as view, pytest.raises(mm.SpoolError):
        view.cursors()
