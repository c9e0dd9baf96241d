"""What a cursor of a spool keeps: its file against the page and a set that remembers; and harm.

Not here: crashes of the machine (tests/c/test_cursor_crash.c), of the process (tests/crash).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meshmsg as mm
from tests.support.cursored import SLOT, done_of, saved, slots_of
from tests.support.spooled import small, turn_bit

MESSAGES = 300
_numbers = st.integers(1, MESSAGES)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("done"), _numbers, _numbers),
        st.tuples(st.just("range"), _numbers, st.integers(0, 40)),
        st.tuples(st.just("up to"), _numbers, _numbers),
        st.tuples(st.just("seek"), _numbers, _numbers),
        st.tuples(st.just("save"), _numbers, _numbers),
        st.tuples(st.just("open"), _numbers, _numbers),
    ),
    max_size=30,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a spool of some messages, which is closed."""
    found = tmp_path_factory.mktemp("cursors") / "s"
    with small(found) as spool:
        spool.append_many([b"x"] * MESSAGES)
    return found


def floor_of(done: set[int]) -> int:
    """Return up to where all are done."""
    return next(seq for seq in range(1, MESSAGES + 2) if seq not in done) - 1


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_what_is_done_is_what_a_set_remembers(
    path: Path, steps: list[tuple[str, int, int]]
) -> None:
    """Through marks, seeks, saves and closes; in memory, in the file, and to its reader."""
    done: set[int] = set()
    with small(path) as spool:
        cursor = spool.cursor("model")
        cursor.seek(1)
        for what, one, other in steps:
            if what == "done":
                cursor.done(one)
                done.add(one)
            elif what == "range":
                last = min(one + other, MESSAGES)
                cursor.done_range(one, last)
                done |= set(range(one, last + 1))
            elif what == "up to":
                cursor.done_up_to(one)
                done |= set(range(1, one + 1))
            elif what == "seek":
                cursor.seek(one)
                done = set(range(1, one))
            elif what == "save":
                cursor.save()
                uuid, floor, above = saved(path / "cursors/model")
                assert uuid == spool.info().uuid
                assert set(range(1, floor + 1)) | above == done
                assert floor == floor_of(done)
            else:
                cursor.close()
                cursor = spool.cursor("model", start="latest")
            assert cursor.floor == floor_of(done)
            assert cursor.lag == MESSAGES - len(done)
        with cursor.reader() as reader:
            read = [one.seq for one in reader if isinstance(one, mm.SpoolMessage)]
        assert read == [seq for seq in range(1, MESSAGES + 1) if seq not in done]
        assert all(cursor.is_done(seq) == (seq in done) for seq in range(1, MESSAGES + 1))
        cursor.close()
    with small(path) as spool, spool.cursor("model") as cursor:
        assert [cursor.is_done(seq) for seq in (1, 7, MESSAGES)] == [
            seq in done for seq in (1, 7, MESSAGES)
        ]
        assert cursor.lag == MESSAGES - len(done)


def kept(path: Path) -> Path:
    """Make a cursor that was saved with one done, then with two; return its file."""
    with small(path) as spool:
        spool.append_many([b"x"] * 9)
        with spool.cursor("one") as cursor:
            cursor.done(1)
            cursor.save()
            cursor.done(2)
    return path / "cursors/one"


def test_two_slots_are_written_in_turn(tmp_path: Path) -> None:
    """So what was saved before is there, too."""
    slots = slots_of(kept(tmp_path / "s").read_bytes())
    assert [done_of(slots[number])[1] for number in sorted(slots)] == [1, 2]


def newest(file: Path) -> int:
    """Return where the slot begins that was written last."""
    return max(slots_of(file.read_bytes())) % 2 * SLOT


@pytest.mark.parametrize("at", [0, 8, 16, 20, 24, 40, 48, 70])
def test_a_harmed_slot_brings_back_what_was_saved_before(tmp_path: Path, at: int) -> None:
    """Whichever octet of it: it is read again, and not left out."""
    file = kept(tmp_path / "s")
    turn_bit(file, newest(file) + at)
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        assert cursor.floor == 1
        assert next(iter(cursor.reader())) == b"x"
        assert cursor.lag == 8


def test_two_harmed_slots_are_told_and_can_be_made_anew(tmp_path: Path) -> None:
    """Nothing is taken for done, or made, without being asked for."""
    file = kept(tmp_path / "s")
    for at in (0, SLOT):
        turn_bit(file, at + 25)
    with small(tmp_path / "s") as spool:
        with pytest.raises(mm.SpoolCorruptError, match="'one' is harmed, or of another spool"):
            spool.cursor("one")
        assert spool.cursors() == [mm.SpoolCursorInfo("one", None, None)]
        spool.delete_cursor("one")
        with spool.cursor("one") as cursor:
            assert cursor.floor == 0


def test_a_cursor_of_another_spool_is_refused(tmp_path: Path) -> None:
    """Its numbers say nothing here."""
    file = kept(tmp_path / "s")
    kept(tmp_path / "t")
    (tmp_path / "t/cursors/one").write_bytes(file.read_bytes())
    with (
        small(tmp_path / "t") as spool,
        pytest.raises(mm.SpoolCorruptError, match="of another spool"),
    ):
        spool.cursor("one")


def test_ranges_that_find_no_room_are_told_and_read_again(tmp_path: Path) -> None:
    """The lowest are kept."""
    count = 40_000
    with small(tmp_path / "s") as spool:
        spool.append_many([b""] * count)
        with spool.cursor("one") as cursor:
            assert cursor.unsaved == 0
            for seq in range(2, count + 1, 2):
                cursor.done(seq)
            cursor.save()
            unsaved = cursor.unsaved
            assert 0 < unsaved < count // 2
            assert cursor.lag == count // 2
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        assert cursor.lag == count // 2 + unsaved
        assert cursor.is_done(count - 2 * unsaved)
        assert not cursor.is_done(count - 2 * unsaved + 2)


def test_a_spool_that_lost_its_end_reads_what_comes_in_its_place(tmp_path: Path) -> None:
    """A cursor that had come further does not leave it out."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * 5)
    before = {file.name: file.read_bytes() for file in (tmp_path / "s").iterdir() if file.is_file()}
    with small(tmp_path / "s") as spool:
        spool.append_many([b"y"] * 5)
        with spool.cursor("one") as cursor:
            cursor.done_up_to(9)
    for name, octets in before.items():
        (tmp_path / "s" / name).write_bytes(octets)
    with small(tmp_path / "s") as spool:
        with spool.cursor("one") as cursor:
            assert cursor.floor == 5
            spool.append(b"z")
            assert [bytes(one) for one in cursor.reader() if isinstance(one, bytes)] == [b"z"]
        assert saved(tmp_path / "s/cursors/one")[1] == 5
