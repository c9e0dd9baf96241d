"""`Pub.seek_group(name, "since:5m")`: a group goes on with what was published since then.

Not here: replays of that kind (test_replay_since.py), other starts (test_groups.py).
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.grouped import bodies, info, member, sent, shared
from tests.support.replayed import publishing
from tests.support.spoolaged import aged
from tests.support.spoolcodec import BATCH, HEAD
from tests.support.spooled import segments, turn_bit

HOUR_US = 3_600_000_000


def ago(seconds: float) -> int:
    """So long ago, in microseconds since 1970."""
    return time.time_ns() // 1000 - int(seconds * 1_000_000)


def test_a_group_begins_with_the_first_that_is_young_enough(world: World, tmp_path: Path) -> None:
    """Also in the midst of a file; from all that is there to nothing of it."""
    with publishing(world, tmp_path / "s") as (_, pub):
        put = sent(pub, 10)
    [file] = segments(tmp_path / "s")
    aged(file, ago(3600), 6)  # each send is a batch of its own
    with publishing(world, tmp_path / "s") as (_, pub):
        for start, first in (
            ("since:2h", 1),
            ("since:30m", 7),
            ("since:1800s", 7),
            ("since:7d", 1),
        ):
            pub.seek_group("w", start)
            assert info(pub).floor == first - 1, start
        pub.seek_group("w", "since:5m")
        with member(world, pub) as sub:
            assert bodies(shared([sub], 4)[0]) == put[6:]


def test_with_nothing_that_is_young_enough_it_begins_with_what_comes(
    world: World, tmp_path: Path
) -> None:
    """And so it does in an empty spool."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.seek_group("w", "since:1d")
        assert info(pub).floor == 0
        sent(pub, 5)
    [file] = segments(tmp_path / "s")
    aged(file, ago(3600))
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.seek_group("w", "since:5m")
        assert (info(pub).floor, info(pub).lag) == (5, 0)
        put = sent(pub, 1, first=5)
        with member(world, pub) as sub:
            assert bodies(shared([sub], 1)[0]) == put


def test_what_is_harmed_is_passed_over_if_older_ones_are_behind_it(
    world: World, tmp_path: Path
) -> None:
    """Else nobody knows how old it is, and the group meets it."""
    for harmed, start, floor in ((3, "since:5m", 6), (6, "since:5m", 5)):
        path = tmp_path / f"s{harmed}"
        with publishing(world, path) as (_, pub):
            sent(pub, 10)
        [file] = segments(path)
        aged(file, ago(3600), 6)
        size = (file.read_bytes().index(b"MMB1", HEAD + 4)) - HEAD
        turn_bit(file, HEAD + (harmed - 1) * size + BATCH + 4)
        with publishing(world, path, on_corruption="gap") as (_, pub):
            pub.seek_group("w", start)
            assert info(pub).floor == floor


@pytest.mark.parametrize("start", ["since:9999999999999999999d", f"since:{'9' * 5000}s"])
def test_a_time_that_is_too_long_is_refused_as_such(
    world: World, tmp_path: Path, start: str
) -> None:
    """The error says how long it may be, which is taken."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with pytest.raises(mm.UsageError, match="which is too large: at most") as raised:
            pub.seek_group("w", start)
        assert pub.groups() == []
        pub.seek_group("w", str(raised.value).split("'")[-2])
        assert [one.name for one in pub.groups()] == ["w"]


@pytest.mark.parametrize("start", ["since:", "since:5", "since:0m", "since:5y", "last:", "seq:0"])
def test_what_is_no_start_is_refused(world: World, tmp_path: Path, start: str) -> None:
    """And the error says what there is."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with pytest.raises(mm.UsageError, match="since:5m"):
            pub.seek_group("w", start)
        assert pub.groups() == []
