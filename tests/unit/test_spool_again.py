"""The room of a segment file that went is the next one's: what readers see of that.

Not here: files alone (tests/c/test_spool_again.c), crashes and harm (tests/c/test_spool_crash.c,
test_spool_harm.c).
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.spooled import SEGMENT, bodies, body, fill, segments, small

FILES = 4


def inodes(path: Path) -> set[int]:
    """Return which files the segments are, whatever they are called."""
    found = set()
    for one in segments(path):
        with suppress(FileNotFoundError):  # it went meanwhile
            found.add(one.stat().st_ino)
    return found


def test_a_full_spool_goes_round_in_the_files_it_has(tmp_path: Path) -> None:
    """No more than one file more is ever made, and all that is there is right."""
    path = tmp_path / "s"
    with small(path, max_bytes=FILES * SEGMENT, overflow="drop_oldest") as spool:
        fill(spool, FILES)
        seen = inodes(path)
        for seq in range(spool.info().last_seq + 1, 400):
            assert spool.append(body(seq)) == seq
            seen |= inodes(path)
        assert spool.info().dropped_oldest > 300
        assert len(seen) <= FILES + 2
        first = spool.info().first_seq
        assert bodies(spool) == [body(seq) for seq in range(first, 400)]
    with small(path, max_bytes=FILES * SEGMENT) as spool:
        assert not spool.recovery.unclean
        assert bodies(spool) == [body(seq) for seq in range(first, 400)]


def test_what_a_push_is_done_with_is_written_over(tmp_path: Path) -> None:
    """Of a spool whose files go once they are acknowledged, too."""
    path = tmp_path / "s"
    with small(path, until_acked_by=["reader"]) as spool, spool.cursor("reader") as cursor:
        seen: set[int] = set()
        for seq in range(1, 200):
            spool.append(body(seq))
            cursor.done_up_to(seq)
            cursor.save()
            seen |= inodes(path)
        assert spool.info().first_seq > 100
        assert len(seen) < 12  # each has eight messages


@pytest.mark.parametrize("through", ["spool", "view"])
@pytest.mark.parametrize("ahead", [0, 3, 7])
def test_a_reader_that_is_behind_is_told_that_it_went(
    tmp_path: Path, through: str, ahead: int
) -> None:
    """Never that it is harmed; what it had read before, and what it gets, is right."""
    path = tmp_path / "s"
    with (
        small(path, max_bytes=FILES * SEGMENT, overflow="drop_oldest", durability="disk") as spool,
        mm.SpoolView(path) as view,
    ):
        fill(spool, 2)
        reader = spool.reader(1) if through == "spool" else view.reader(1)
        with reader:
            got = [bytes(one) for one in itertools.islice(reader, ahead)]  # type: ignore[arg-type]
            for seq in range(spool.info().last_seq + 1, 200):
                spool.append(body(seq))
            with pytest.raises(mm.SpoolTrimmedError) as told:
                for one in reader:
                    got.append(bytes(one))  # type: ignore[arg-type]
            assert got == [body(seq) for seq in range(1, len(got) + 1)]
            assert ahead <= len(got) < 10
            reader.seek(told.value.first)
            left = [bytes(one) for one in reader]  # type: ignore[arg-type]
            last = (
                199 if through == "spool" else 198
            )  # what shows the last to be durable comes later
            assert len(left) >= last + 1 - told.value.first
            assert left == [body(told.value.first + i) for i in range(len(left))]
