"""Cursors of a spool: what is done, read, sought and saved, by name; and what they refuse.

Not here: their files and what a model says (test_spool_cursor_file.py), what goes then
(test_spool_kept.py), threads and forks (test_spool_cursor_life.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.cursored import saved
from tests.support.later import Later
from tests.support.pairs import wait_until
from tests.support.spooled import SEGMENT, bodies, fill, segments, small, turn_bit

WRONG_NAMES = ("", ".", "..", ".a", "a/b", "a b", "\xe9", "a\n", "a\0", "x" * 65)


def numbers(reader: mm.SpoolReader, **options: Any) -> list[int]:
    """Return the numbers of what is read."""
    return [one.seq for one in reader.read(**options) if isinstance(one, mm.SpoolMessage)]


def put(spool: mm.Spool, count: int) -> None:
    """Put so many messages."""
    spool.append_many([b"x"] * count)


def test_what_is_done_is_not_read_again(tmp_path: Path) -> None:
    """In the order of the numbers, without those that are done, also in another life."""
    with small(tmp_path / "s") as spool:
        put(spool, 10)
        with spool.cursor("billing") as cursor:
            assert (cursor.name, cursor.floor, cursor.lag) == ("billing", 0, 10)
            cursor.done_up_to(3)
            cursor.done(5)
            cursor.done_range(7, 8)
            cursor.done(5)
            assert (cursor.floor, cursor.lag) == (3, 4)
            assert numbers(cursor.reader()) == [4, 6, 9, 10]
    with small(tmp_path / "s") as spool, spool.cursor("billing") as cursor:
        assert (cursor.floor, cursor.lag, cursor.missed, cursor.unsaved) == (3, 4, 0, 0)
        assert [cursor.is_done(seq) for seq in (3, 4, 5, 6, 7, 9)] == [
            *(True, False, True),
            *(False, True, False),
        ]
        cursor.done(4)
        assert cursor.floor == 5
        put(spool, 1)
        assert numbers(cursor.reader()) == [6, 9, 10, 11]


def test_a_reader_leaves_out_what_is_done_by_the_time_it_comes_there(tmp_path: Path) -> None:
    """And waits for what is not there yet, and gives each once, though it is not done."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        put(spool, 6)
        with cursor.reader() as reader:
            assert numbers(reader, max_messages=2) == [1, 2]
            cursor.done_range(3, 4)
            assert numbers(reader) == [5, 6]
            assert numbers(reader) == []
            put(spool, 3)
            cursor.done(7)
            assert numbers(reader, timeout=None, max_messages=1) == [8]
            cursor.done(9)
            assert numbers(reader) == []
            assert reader.seq == 10
            reader.seek(1)
            assert numbers(reader) == [1, 2, 5, 6, 8]
        with pytest.raises(mm.ClosedError):
            reader.read()


def test_a_reader_of_many_batches_and_files_leaves_out_what_is_done(tmp_path: Path) -> None:
    """Across them, whole ones and parts."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        last = fill(spool, 4)
        second = int(segments(tmp_path / "s")[1].stem)
        cursor.done_range(2, second + 1)
        cursor.done(last)
        assert numbers(cursor.reader()) == [1, *range(second + 2, last)]


def rows(batch: mm.SpoolBatch) -> list[int]:
    """Return its numbers."""
    return [one.seq for one in batch.messages]


def test_a_batch_ends_before_what_is_done(tmp_path: Path) -> None:
    """So it is a run of messages that are not done; the next one begins behind those that are."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        put(spool, 12)
        cursor.done_up_to(2)
        cursor.done(5)
        cursor.done_range(9, 10)
        with cursor.reader() as reader:
            assert rows(reader.read_batch()) == [3, 4]
            assert rows(reader.read_batch(2)) == [6, 7]
            assert rows(reader.read_batch()) == [8]
            cursor.done(11)
            assert rows(reader.read_batch()) == [12]
            assert (len(reader.read_batch()), reader.seq) == (0, 13)
            put(spool, 3)
            cursor.done_range(13, 14)
            assert rows(reader.read_batch()) == [15]
            put(spool, 1)
            cursor.done(16)
            assert len(reader.read_batch()) == 0
            reader.seek(1)
            assert numbers(reader, max_messages=1) == [3]
            assert rows(reader.read_batch()) == [4]
            assert rows(reader.read_batch()) == [6, 7, 8]


def test_a_batch_of_what_is_not_done_is_waited_for(tmp_path: Path) -> None:
    """Though all that there is is done."""
    got: list[int] = []
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor, cursor.reader() as reader:
        put(spool, 2)
        cursor.done_up_to(2)
        assert len(reader.read_batch(timeout=0.001)) == 0
        reader.seek(1)
        waiting = Later(lambda: got.extend(rows(reader.read_batch(timeout=None))))
        wait_until(lambda: len(spool._inside) > 0)
        put(spool, 1)
        assert waiting.error() is None
        assert got == [3]


@pytest.mark.parametrize(
    ("start", "floor"), [("earliest", 0), ("latest", 5), (1, 0), (4, 3), (6, 5)]
)
def test_where_a_new_one_begins(tmp_path: Path, start: Any, floor: int) -> None:
    """One that is there goes on where it was; at once on the disk."""
    with small(tmp_path / "s") as spool:
        put(spool, 5)
        cursor = spool.cursor("one", start)
        assert cursor.floor == floor
        spool.flush()
        cursor.save()
        assert saved(tmp_path / "s/cursors/one")[1] == floor
        cursor.close()
        for other in ("earliest", "latest", 1):
            with spool.cursor("one", start=other) as again:  # type: ignore[arg-type]
                assert again.floor == floor


@pytest.mark.parametrize("start", ["latest", 3])
def test_where_a_new_one_begins_is_on_the_disk_as_it_is_there(tmp_path: Path, start: Any) -> None:
    """At each level: a process that is killed then would have it begin with the first message."""
    with small(tmp_path / "s", sync_every=1000) as spool:
        put(spool, 5)
        assert spool.info().durable_seq == 0
        with spool.cursor("one", start=start) as cursor:
            assert saved(tmp_path / "s/cursors/one")[1:] == (cursor.floor, set())
            assert cursor.floor == (5 if start == "latest" else start - 1)


def test_one_goes_back_and_forth_and_that_is_kept(tmp_path: Path) -> None:
    """`seek` is on the disk when it returns."""
    with small(tmp_path / "s") as spool:
        put(spool, 9)
        cursor = spool.cursor("one")
        cursor.done_up_to(7)
        cursor.done(9)
        for seq in (2, 10, 1, 5):
            cursor.seek(seq)
            assert (cursor.floor, cursor.lag) == (seq - 1, 10 - seq)
            assert saved(tmp_path / "s/cursors/one")[1:] == (seq - 1, set())
        assert numbers(cursor.reader()) == [5, 6, 7, 8, 9]


def test_a_save_waits_for_the_messages(tmp_path: Path) -> None:
    """At the level "os" they may not be on the disk: nothing is done there that is not."""
    with small(tmp_path / "s", sync_every=1000) as spool, spool.cursor("one") as cursor:
        put(spool, 3)
        cursor.done_up_to(2)
        assert spool.info().durable_seq == 0
        cursor.save()
        assert spool.info().durable_seq >= 2
        assert saved(tmp_path / "s/cursors/one")[1] == 2
        put(spool, 2)
        cursor.done_range(3, 5)
    assert saved(tmp_path / "s/cursors/one")[1] == 5


def test_those_of_one_name_are_the_same(tmp_path: Path) -> None:
    """Whoever closes it first does not close it for the other."""
    with small(tmp_path / "s") as spool:
        put(spool, 5)
        one, same, other = spool.cursor("one"), spool.cursor("one"), spool.cursor("other")
        one.done(1)
        assert (same.floor, other.floor) == (1, 0)
        one.close()
        one.close()
        same.done(2)
        assert same.floor == 2
        for call in (lambda: one.floor, lambda: one.done(3), one.save, one.reader):
            with pytest.raises(mm.ClosedError, match="the cursor 'one' was closed"):
                call()


def test_a_reader_ends_with_its_cursor(tmp_path: Path) -> None:
    """ClosedError, and not all messages again."""
    with small(tmp_path / "s") as spool:
        put(spool, 2)
        with spool.cursor("one") as cursor:
            reader = cursor.reader()
        with pytest.raises(mm.ClosedError):
            reader.read()


def test_they_are_listed_and_removed(tmp_path: Path) -> None:
    """In the order of their names, open or not; what is no cursor's name is left alone."""
    with small(tmp_path / "s") as spool:
        assert spool.cursors() == []
        put(spool, 5)
        with spool.cursor("b", start=3), spool.cursor("a") as first:
            first.done(2)
            spool.cursor("C-1_x.y", start="latest").close()
            (tmp_path / "s/cursors/.swp").write_bytes(b"mine")
            (tmp_path / "s/cursors/a folder").mkdir()
            told = [mm.SpoolCursorInfo(*one) for one in (("C-1_x.y", 5, 0), ("a", 0, 4))]
            assert spool.cursors() == [*told, mm.SpoolCursorInfo("b", 2, 3)]
            with pytest.raises(mm.UsageError, match="the cursor 'a' is open; close it first"):
                spool.delete_cursor("a")
        spool.delete_cursor("b")
        assert spool.cursors() == told
        with pytest.raises(mm.SpoolError, match="there is no cursor 'b'"):
            spool.delete_cursor("b")
        assert spool.cursor("b").floor == 0
    assert (tmp_path / "s/cursors/.swp").read_bytes() == b"mine"


def test_what_was_removed_is_done_and_told(tmp_path: Path) -> None:
    """`missed` counts it; a reader that would have come there raises, once, and goes on."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        last = fill(spool, 4)
        cursor.done(2)
        with cursor.reader() as reader:
            assert numbers(reader, max_messages=1) == [1]
            spool.trim(last)
            first = spool.info().first_seq
            assert (cursor.missed, cursor.floor) == (first - 2, first - 1)
            with pytest.raises(mm.SpoolTrimmedError) as caught:
                reader.read()
            assert (caught.value.seq, caught.value.first) == (2, first)
            assert numbers(reader) == list(range(first, last + 1))
        with pytest.raises(mm.SpoolTrimmedError) as caught:
            cursor.seek(first - 1)
        assert (caught.value.seq, caught.value.first) == (first - 1, first)
        with pytest.raises(mm.SpoolTrimmedError):
            spool.cursor("two", start=1)
        assert [one.name for one in spool.cursors()] == ["one"]


def test_a_reader_that_met_harm_says_so(tmp_path: Path) -> None:
    """As any reader of the spool does, and no more of it than is not done."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 3)
    harmed = segments(tmp_path / "s")[1]
    turn_bit(harmed, 30)
    begin, end = int(harmed.stem), int(segments(tmp_path / "s")[2].stem) - 1
    with small(tmp_path / "s", on_corruption="gap") as spool, spool.cursor("one") as cursor:
        assert mm.SpoolGap(begin, end) in list(cursor.reader())
        cursor.done_range(begin, end)
        assert numbers(cursor.reader()) == [*range(1, begin), *range(end + 1, last + 1)]


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    """And nothing is made."""
    with small(tmp_path / "s") as spool:
        for call in (spool.cursor, spool.delete_cursor, lambda one: spool.lease(one, 1, 1)):
            with pytest.raises(mm.UsageError, match=re.escape(f"name is {name!r}")):
                call(name)
        with pytest.raises(mm.UsageError, match="until_acked_by"):
            mm.Spool(tmp_path / "t", until_acked_by=[name])
    assert not (tmp_path / "s/cursors").exists()
    assert not (tmp_path / "t").exists()


def test_a_name_may_be_as_long_as_that(tmp_path: Path) -> None:
    """64, and no more."""
    with small(tmp_path / "s") as spool, spool.cursor("x" * 64) as cursor:
        assert cursor.name == "x" * 64


@pytest.mark.parametrize("value", [None, 7, b"one", ["one"]], ids=repr)
def test_a_name_is_text(tmp_path: Path, value: Any) -> None:
    """Else a TypeError."""
    with small(tmp_path / "s") as spool, pytest.raises(TypeError, match="name is "):
        spool.cursor(value)


@pytest.mark.parametrize("start", ["first", "Latest", "", 0, -1, 7, 2**63])
def test_a_start_that_is_none_is_refused(tmp_path: Path, start: Any) -> None:
    """With what it can be; no cursor is made."""
    with small(tmp_path / "s") as spool:
        put(spool, 5)
        with pytest.raises(mm.UsageError, match=f"start is {re.escape(str(repr(start)[0]))}"):
            spool.cursor("one", start)
        with pytest.raises(TypeError, match="start is "):
            spool.cursor("one", None)  # type: ignore[arg-type]
        assert spool.cursors() == []


def test_numbers_that_cannot_be_done_are_refused(tmp_path: Path) -> None:
    """Of messages that are yet to come, or of none; nothing is marked then."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        put(spool, 5)
        for call in (
            lambda: cursor.done(6),
            lambda: cursor.done_up_to(6),
            lambda: cursor.done_range(5, 6),
        ):
            with pytest.raises(mm.UsageError, match="message 6 is not done: it cannot be read yet"):
                call()
        with pytest.raises(mm.UsageError, match="seq is 7; the next message is 6"):
            cursor.seek(7)
        for wrong in (
            lambda: cursor.done(0),
            lambda: cursor.done_up_to(-1),
            lambda: cursor.done_range(4, 3),
            lambda: cursor.seek(0),
        ):
            with pytest.raises(mm.UsageError):
                wrong()
        with pytest.raises(TypeError, match="seq is '1'"):
            cursor.done("1")  # type: ignore[arg-type]
        cursor.done_up_to(0)
        assert (cursor.floor, cursor.lag) == (0, 5)


def test_no_room_for_its_file_is_told(tmp_path: Path) -> None:
    """A folder in its place, too; the spool goes on."""
    with small(tmp_path / "s") as spool:
        (tmp_path / "s/cursors").write_text("no folder")
        with pytest.raises(mm.SpoolError, match="opening the cursor 'one'"):
            spool.cursor("one")
        with pytest.raises(mm.SpoolError):
            spool.cursors()
        (tmp_path / "s/cursors").unlink()
        (tmp_path / "s/cursors/one").mkdir(parents=True)
        with pytest.raises(mm.SpoolError, match="opening the cursor 'one'"):
            spool.cursor("one")
        assert spool.append(b"x") == 1
        assert bodies(spool) == [b"x"]


def test_it_says_what_it_is(tmp_path: Path) -> None:
    """For people."""
    with small(tmp_path / "s", max_bytes=4 * SEGMENT) as spool, spool.cursor("one") as cursor:
        assert repr(cursor) == f"<meshmsg.SpoolCursor 'one' of {tmp_path / 's'}>"
        lease = spool.lease("two", 1, 60)
        assert repr(lease) == f"<meshmsg.SpoolLease 'two' from 1 of {tmp_path / 's'}>"
