"""What goes from a spool by itself, by age or once all are done with it; and leases that hold it.

Not here: which files are too old, and what stays as a clock jumps (tests/c/test_spool_keep.c).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib
from tests.support.pairs import wait_until
from tests.support.spooled import SEGMENT, body, fill, segments, small

NO_SECONDS = (0, -1.0, float("nan"), float("inf"), 2**32 + 1)


def bases(path: Path) -> list[int]:
    """Return the first number of each file."""
    return [int(file.stem) for file in segments(path)]


def test_files_go_once_all_are_done_with_them(tmp_path: Path) -> None:
    """All of those that are named, whether they are there yet or not; counted."""
    path = tmp_path / "s"
    with small(path, until_acked_by=["one", "two"]) as spool:
        last = fill(spool, 4)
        third = bases(path)[2]
        with spool.cursor("one") as one, spool.cursor("other") as other:
            one.done_up_to(last)
            other.done_up_to(0)
            one.save()
            assert spool.info().first_seq == 1
            with spool.cursor("two") as two:
                two.done_up_to(third)
                two.save()
                wait_until(lambda: spool.info().first_seq == third)
                info = spool.info()
                assert (info.acked, info.acked_files, info.expired) == (third - 1, 2, 0)
                assert (one.missed, other.missed) == (0, third - 1)
                two.done_up_to(last)
            wait_until(lambda: spool.info().files == 1)
        assert spool.info().acked == spool.info().first_seq - 1


def test_nothing_is_awaited_that_is_not_named(tmp_path: Path) -> None:
    """Cursors alone remove nothing, and an old cursor holds nothing."""
    with small(tmp_path / "s") as spool, spool.cursor("one") as cursor:
        last = fill(spool, 3)
        cursor.done_up_to(last)
        cursor.save()
        assert spool.info().files == 3
        assert spool.trim(last) == 2


def test_one_that_nobody_has_open_counts(tmp_path: Path) -> None:
    """After a restart, too: what it is not done with stays, and the rest goes."""
    path = tmp_path / "s"
    with small(path) as spool:
        last = fill(spool, 4)
        second = bases(path)[1]
        with spool.cursor("one") as one:
            one.done_up_to(second - 1)
    with small(path, until_acked_by=("one",)) as spool:
        wait_until(lambda: spool.info().files == 3)
        assert spool.info().first_seq == second
        spool.delete_cursor("one")
        assert spool.append(body(last + 1)) == last + 1
        with spool.cursor("one") as one:
            assert one.floor == second - 1
            one.done_up_to(last)
        wait_until(lambda: spool.info().files == 1)


def test_room_is_made_for_who_waits_for_it(tmp_path: Path) -> None:
    """`overflow="block"` and a cursor: what is done makes room for what comes."""
    path = tmp_path / "s"
    with small(path, until_acked_by=["one"], max_bytes=3 * SEGMENT, overflow="block") as spool:
        with spool.cursor("one") as cursor, cursor.reader() as reader:
            for seq in range(1, 61):
                assert spool.append(body(seq), timeout=60) == seq
                for one in reader.read():
                    assert isinstance(one, mm.SpoolMessage)
                    assert one == body(one.seq)
                    cursor.done(one.seq)
        info = spool.info()
        assert info.dropped_oldest == 0
        assert cursor_free(path)
        assert info.acked > 0


def cursor_free(path: Path) -> bool:
    """Return whether a spool has fewer files than its limit."""
    return len(segments(path)) <= 3


def test_files_that_are_too_old_go(tmp_path: Path) -> None:
    """Though nothing is put, or done; the last one stays. A reader and a cursor are told."""
    with small(tmp_path / "s", max_age=0.001) as spool, spool.cursor("one") as cursor:
        reader = cursor.reader()
        last = 40
        for seq in range(1, last + 1):  # of five files or more, some of which may be gone by then
            assert spool.append(body(seq)) == seq
        wait_until(lambda: spool.info().files == 1)
        info = spool.info()
        assert (info.expired, info.expired_files) == (info.first_seq - 1, info.expired_files)
        assert info.expired_files >= 3
        assert (cursor.missed, cursor.floor) == (info.first_seq - 1, info.first_seq - 1)
        with pytest.raises(mm.SpoolTrimmedError):
            reader.read()
        assert reader.read()[-1] == body(last)
        assert info.clock_jumps == 0


@pytest.fixture
def wall_ahead() -> Iterator[Callable[[int], None]]:
    """Set the wall clock that spools see, by hours; it is right again behind the test."""
    yield lambda hours: lib.mm_test_wall_ahead(hours * 3600 * 1_000_000)
    lib.mm_test_wall_ahead(0)


def test_a_clock_that_jumps_is_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, wall_ahead: Callable[[int], None]
) -> None:
    """Each time once, with the next call; half of the files go by their age."""

    def told() -> list[str]:
        return [one.getMessage() for one in caplog.records if "clock was set" in one.getMessage()]

    def jumped(spool: mm.Spool, times: int) -> bool:
        return spool.info().clock_jumps == times == len(told())

    with small(tmp_path / "s", max_age=1800, until_acked_by=["one"]) as spool:
        fill(spool, 5)
        with spool.cursor("one") as cursor:
            cursor.done_up_to(bases(tmp_path / "s")[1] - 1)
        wait_until(lambda: spool.info().acked_files == 1)  # so it has looked at the clock
        assert not told()
        wall_ahead(2)
        wait_until(lambda: jumped(spool, 1))
        wait_until(lambda: spool.info().expired_files == 2)
        wall_ahead(-2)
        wait_until(lambda: jumped(spool, 2))
        assert spool.info().files == 2
        assert all(str(tmp_path / "s") in words and "max_age" in words for words in told())
    assert len(told()) == 2


def test_what_is_not_that_old_stays(tmp_path: Path) -> None:
    """An hour, and more than anybody waits."""
    for age in (3600, 2**32):
        with small(tmp_path / str(age), max_age=age) as spool:
            fill(spool, 3)
            with spool.cursor("one") as cursor:
                cursor.save()
            assert spool.info().files == 3


def test_a_lease_holds_what_is_there(tmp_path: Path) -> None:
    """Against `trim`, and against what goes by itself; until it is released."""
    path = tmp_path / "s"
    with small(path, until_acked_by=["one"]) as spool, spool.cursor("one") as cursor:
        last = fill(spool, 4)
        second, third = bases(path)[1:3]
        with spool.lease("range", second, 3600) as lease:
            assert (lease.name, lease.from_seq) == ("range", second)
            assert spool.trim(last) == 1
            cursor.done_up_to(last)
            cursor.save()
            assert spool.info().first_seq == second
            spool.lease("range", third, 3600)  # another of its name takes its place
            wait_until(lambda: spool.info().first_seq == third)
            with pytest.raises(mm.SpoolTrimmedError) as caught:
                lease.renew(1)
            assert (caught.value.seq, caught.value.first) == (second, third)
        wait_until(lambda: spool.info().files == 1)
        assert not lease.release()


def test_a_lease_ends_by_itself(tmp_path: Path) -> None:
    """And what it held goes, though nothing else happens; it can be had again before."""
    path = tmp_path / "s"
    with small(path, until_acked_by=["one"]) as spool, spool.cursor("one") as cursor:
        last = fill(spool, 3)
        lease = spool.lease("range", 1, 3600)
        cursor.done_up_to(last)
        cursor.save()
        lease.renew(0.05)
        wait_until(lambda: spool.info().files == 1)
        assert not lease.release()
        lease = spool.lease("range", last, 3600)
        assert lease.release()
    lease.__exit__(None, None, None)  # of a closed spool: nothing
    with pytest.raises(mm.ClosedError):
        lease.renew(1)


def test_a_lease_does_not_hold_what_has_no_room(tmp_path: Path) -> None:
    """`drop_oldest` is for a disk that is full."""
    with small(tmp_path / "s", max_bytes=3 * SEGMENT, overflow="drop_oldest") as spool:
        with spool.lease("range", 1, 3600):
            for seq in range(1, 40):
                assert spool.append(body(seq)) == seq
            assert spool.info().dropped_oldest > 0


@pytest.mark.parametrize("value", NO_SECONDS)
def test_seconds_have_limits(tmp_path: Path, value: float) -> None:
    """Of `max_age` and of leases."""
    with pytest.raises(mm.UsageError, match=re.escape(f"max_age is {value!r}")):
        mm.Spool(tmp_path / "t", max_age=value)
    with small(tmp_path / "s") as spool:
        with pytest.raises(mm.UsageError, match=re.escape(f"ttl is {value!r}")):
            spool.lease("one", 1, value)
        with pytest.raises(TypeError, match="ttl is '1'"):
            spool.lease("one", 1, "1")  # type: ignore[arg-type]
        with pytest.raises(mm.UsageError, match="from_seq is 0"):
            spool.lease("one", 0, 1)
    with pytest.raises(TypeError, match="max_age is True"):
        mm.Spool(tmp_path / "t", max_age=True)


@pytest.mark.parametrize("value", ["one", b"one", 7, [b"one"], [None]], ids=repr)
def test_names_to_wait_for_are_a_list_of_names(tmp_path: Path, value: Any) -> None:
    """One name alone would be a list of letters."""
    with pytest.raises(TypeError, match="until_acked_by"):
        mm.Spool(tmp_path / "s", until_acked_by=value)


def test_names_to_wait_for_have_a_limit(tmp_path: Path) -> None:
    """1 to 64; one that is said twice counts once."""
    names = [f"c{number}" for number in range(65)]
    for wrong in ([], names):
        with pytest.raises(mm.UsageError, match=f"until_acked_by has {len(wrong)} names"):
            mm.Spool(tmp_path / "s", until_acked_by=wrong)
    with mm.Spool(tmp_path / "s", until_acked_by=names[:64] * 2) as spool:
        assert spool.append(b"x") == 1


def test_so_many_leases_and_no_more(tmp_path: Path) -> None:
    """1,024; each that is released makes room."""
    with small(tmp_path / "s") as spool:
        leases = [spool.lease(f"l{number}", 1, 3600) for number in range(1024)]
        with pytest.raises(mm.WouldBlockError, match="there are 1,024 leases"):
            spool.lease("more", 1, 3600)
        leases[7].renew(3600)
        assert leases[8].release()
        assert spool.lease("more", 1, 3600).release()
