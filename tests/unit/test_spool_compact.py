"""Compaction of a spool by key: what stays, what goes, who is not bothered by it; and files that
are sealed as they are too old for more.

Not here: crashes (tests/c/test_spool_compact_crash.c, tests/crash/test_compact_kill.py), sockets
(test_compact_sockets.py). The tests that take a spool are run for asyncio as well
(test_aio_spool_same.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import wait_until
from tests.support.spooled import BODY, segments, small

KEYS = 5


def put(spool: Any, files: int, keys: int = KEYS) -> int:
    """Put messages of so many keys, every fourth without one, until there are so many files."""
    last = spool.info().last_seq
    while spool.info().files < files:
        last += 1
        key = None if last % 4 == 0 else b"k%d" % (last % keys)
        spool.append((b"%d " % last).ljust(BODY, b"x"), **({} if key is None else {"key": key}))
    return int(last)


def expected(end: int, last: int, keys: int = KEYS) -> list[int]:
    """Return which numbers are there when all below `end` was compacted."""
    latest = {n % keys: n for n in range(1, end) if n % 4}
    return [n for n in range(1, last + 1) if n >= end or n % 4 == 0 or latest[n % keys] == n]


def sealed_end(path: Path) -> int:
    """Return the first number of the file that is written."""
    return int(segments(path)[-1].stem)


def test_the_last_message_of_each_key_stays(tmp_path: Path) -> None:
    """Numbers are as they were, and each way to read passes over what went."""
    with small(tmp_path / "s") as spool:
        last = put(spool, 5)
        end = sealed_end(tmp_path / "s")
        wanted = expected(end, last)
        before = spool.info().bytes
        did = spool.compact()
        assert isinstance(did, mm.SpoolCompaction)
        assert did.messages == last - len(wanted)
        assert did.bytes == before - spool.info().bytes > 0
        assert (did.held_files, did.skipped_files, did.tombstones) == (0, 0, 0)
        assert did.files + did.merged_files == 4
        info = spool.info()
        assert (info.clean_seq, info.compactions) == (end - 1, 1)
        assert (info.compacted, info.compacted_files) == (did.messages, 4)
        assert (info.first_seq, info.last_seq, info.compaction_failed) == (1, last, False)
        with spool.reader() as reader:
            read = list(reader)
        assert [one.seq for one in read] == wanted
        assert [int(one.split()[0]) for one in read] == wanted
        with spool.reader() as reader:
            assert [one.seq for one in reader.read(10_000)] == wanted
            assert reader.read(1) == []
            assert reader.seq == last + 1
        batch = spool.read(1)
        assert [one.seq for one in batch.messages] == wanted
        assert (batch.first_seq, batch.last_seq, batch.gaps) == (wanted[0], last, ())
        for seq in range(1, last + 1):
            there = min(n for n in wanted if n >= seq)
            assert spool.read(seq, max_messages=1).first_seq == there
    with small(tmp_path / "s") as spool:
        assert spool.recovery.lost is None
        assert [one.seq for one in spool.read(1).messages] == wanted
        assert spool.info().clean_seq == end - 1


def test_a_view_passes_over_what_went(tmp_path: Path) -> None:
    """Also one whose reader has a file open that is replaced meanwhile."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = put(spool, 5)
        wanted = expected(sealed_end(tmp_path / "s"), last)
        with mm.SpoolView(tmp_path / "s") as view, view.reader() as reader:
            first = reader.read(3)
            spool.compact()
            spool.append(b"")  # and what is before that is proved
            rest = reader.read(10_000)
            numbers = [one.seq for one in [*first, *rest] if isinstance(one, mm.SpoolMessage)]
            assert set(wanted) <= {*numbers, last}
            assert numbers == sorted(numbers)
            assert view.info().clean_seq == spool.info().clean_seq > 0
            seen = [one.seq for one in view.reader() if isinstance(one, mm.SpoolMessage)]
            assert [n for n in seen if n <= last] == [n for n in wanted if n <= max(seen)]


def test_a_tombstone_takes_what_was_before_it_and_goes_later(tmp_path: Path) -> None:
    """With the compaction that comes when its time is over; at once, if it has none."""
    for age, left in ((3600.0, [b"", b"z"]), (0, [b"z"])):
        path = tmp_path / str(age)
        with small(path, tombstone_age=age) as spool:
            spool.append(b"a", key=b"1")
            spool.append(b"", key=b"1")
            spool.append(b"z")
            while spool.info().files < 2:
                spool.append(bytes(BODY), key=b"2")
            end = sealed_end(path)
            first, second = spool.compact(), spool.compact()
            assert (first.tombstones, second.messages) == (int(age == 0), 0)
            read = spool.read(1).messages
            assert [bytes(one) for one in read if one.seq < end and len(one) < BODY] == left


def test_a_cursor_is_done_with_what_went(tmp_path: Path) -> None:
    """Whoever reads by it, message by message or by the batch; nothing is missed."""
    with small(tmp_path / "s") as spool:
        last = put(spool, 4)
        wanted = expected(sealed_end(tmp_path / "s"), last)
        with spool.cursor("early") as early:
            early.done(3)
            spool.compact()
            with early.reader() as reader:
                for one in reader:
                    early.done(one.seq)
            assert (early.floor, early.lag, early.missed) == (last, 0, 0)
        for most in (1, 3, 10_000):
            with spool.cursor(f"by{most}") as cursor:
                cursor.done(wanted[4])  # a batch ends before that, and goes on behind it
                got: list[int] = []
                with cursor.reader() as reader:
                    while batch := reader.read_batch(most):
                        got += [one.seq for one in batch.messages]
                        cursor.done_range(batch.first_seq, batch.last_seq)
                assert got == [n for n in wanted if n != wanted[4]]
                assert (cursor.floor, cursor.lag, cursor.missed) == (last, 0, 0)


def test_files_go_by_a_cursor_that_passed_what_went(tmp_path: Path) -> None:
    """What compaction took does not hold `until_acked_by`, though nobody says that it is done."""
    with small(tmp_path / "s", until_acked_by=["one"]) as spool:
        last = put(spool, 3, keys=1)
        end = sealed_end(tmp_path / "s")
        with spool.cursor("one") as cursor:
            spool.compact()
            for one in spool.read(1).messages:
                cursor.done(one.seq)
            wait_until(lambda: spool.info().first_seq == end)
            assert (cursor.floor, cursor.lag) == (last, 0)


def test_a_lease_holds_what_is_there_from_its_number_on(tmp_path: Path) -> None:
    """All of it, whatever its key."""
    with small(tmp_path / "s") as spool:
        last = put(spool, 4)
        with spool.lease("hold", 1, 3600):
            did = spool.compact()
            assert (did.messages, did.held_files) == (0, 3)
            assert len(spool.read(1)) == last
        spool.lease("hold", 1, 3600).release()
        assert spool.compact().messages > 0


def test_it_compacts_by_itself(tmp_path: Path) -> None:
    """When so much is new; and otherwise never."""
    with small(tmp_path / "s", compact=True, compact_ratio=0.3) as spool:
        put(spool, 6)
        wait_until(lambda: spool.info().compacted > 0)
        assert spool.info().compaction_failed is False
    with small(tmp_path / "t") as spool:
        put(spool, 6)
        assert spool.info().compactions == 0


def test_a_file_that_is_too_old_for_more_is_sealed(tmp_path: Path) -> None:
    """So that it can be compacted, and can go by its age."""
    with small(tmp_path / "s", segment_age=0.01) as spool:
        spool.append(b"one", key=b"k")
        wait_until(lambda: spool.info().files == 2)
        spool.append(b"two", key=b"k")
        wait_until(lambda: spool.info().files == 3)
        assert spool.compact().messages == 1
        assert [bytes(one) for one in spool.read(1).messages] == [b"two"]
    with small(tmp_path / "t", segment_age=0.01, max_age=0.02) as spool:
        spool.append(b"one")
        wait_until(lambda: spool.info().first_seq == 2)


def test_who_waits_no_longer_is_told_and_it_goes_on(tmp_path: Path) -> None:
    """Unless it was done by then."""
    with small(tmp_path / "s") as spool:
        put(spool, 5)
        with pytest.raises(mm.WouldBlockError, match="compacting: not now"):
            spool.compact(timeout=0)
        wait_until(lambda: spool.info().compactions == 1)
        assert spool.info().compacted > 0


def test_closed_it_says_so(tmp_path: Path) -> None:
    """As all its calls do."""
    spool = small(tmp_path / "s")
    spool.close()
    with pytest.raises(mm.ClosedError):
        spool.compact()


WRONG = {
    "segment_age": (("x", True, b"1"), (0, -1, 2**33)),
    "tombstone_age": (("x", True, None), (-1, 2**33)),
    "compact_ratio": (("x", True, None), (0, -1, 1.1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_told(tmp_path: Path, name: str) -> None:
    """By their names, and with their values."""
    types, values = WRONG[name]
    for value in types:
        wrong: dict[str, Any] = {name: value}
        with pytest.raises(TypeError, match=re.escape(f"{name} is {value!r}")):
            small(tmp_path / "s", **wrong)
    for value in values:
        wrong = {name: value}
        with pytest.raises(mm.UsageError, match=re.escape(f"{name} is {value!r}")):
            small(tmp_path / "s", **wrong)
    with pytest.raises(TypeError, match="compact is 1; it is True or False"):
        small(tmp_path / "s", compact=1)
