"""Copies from before that were put back and grew past where a query is: they are no spool of its.

Spools are real, and so are their copies. Not here: copies that have less (test_spark_planning.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark._source.lives import Lives
from meshmsg.spark._source.offsets import Place, Shown
from tests.support.pairs import of_its_own
from tests.support.sparked import A, Told, nexts, offset, options

pytest.importorskip("pyspark")
from meshmsg.spark._source.planning import Planner

READ = 1_000
"""Messages that were read."""


def put(folder: Path, count: int) -> None:
    """Put so many messages, in a life of their own."""
    with mm.Spool(str(folder), segment_bytes=65_536) as spool:
        spool.append_many([b"x" * 1000] * count)


def grown_copy(backup: Path, epoch: int, count: int) -> Path:
    """Return a copy that went on by itself with so many messages, in a life behind that one."""
    copy = backup.with_name("copy")
    shutil.copytree(backup, copy)
    while True:  # each opening is a later life
        with mm.Spool(str(copy), segment_bytes=65_536) as spool:
            if spool.info().epoch > epoch:
                spool.append_many([b"y" * 1000] * count)
                return copy


@contextmanager
def planning(folder: Path, **given: object) -> Iterator[tuple[Planner, mm.Spool]]:
    """Show a spool, and plan a query of it."""
    with (
        mm.Spool(str(folder), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        planner = Planner(options(endpoints=server.endpoint, **given))
        try:
            yield planner, spool
        finally:
            planner.close()


@pytest.fixture
def read(tmp_path: Path) -> dict[str, Any]:
    """Return where a query is that has read all; a backup was made before the second half."""
    put(tmp_path / "own", READ // 2)
    shutil.copytree(tmp_path / "own", tmp_path / "backup")
    put(tmp_path / "own", READ // 2)
    with planning(tmp_path / "own") as (planner, _):
        found = planner.initial()
    (place,) = found["p"].values()
    assert place["next"] == READ + 1
    return found


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_copy_that_grew_past_the_query_is_refused(
    fail: str, read: dict[str, Any], tmp_path: Path
) -> None:
    """Its numbers 501 to 1,000 were never read: that is no loss which could be left out."""
    ((uuid, place),) = read["p"].items()
    copy = grown_copy(tmp_path / "backup", place["epoch"], READ * 2)
    with planning(copy, failOnDataLoss=fail) as (planner, spool):
        assert spool.info().uuid == uuid
        with pytest.raises(mm.SpoolChangedError, match=f"read up to {READ} of life") as raised:
            planner.latest(read)
        assert (raised.value.uuid, raised.value.epoch > place["epoch"]) == (uuid, True)
    with planning(copy, failOnDataLoss=fail) as (planner, _):
        end = {"v": 1, "p": {uuid: {"next": READ * 2, "epoch": 2**32 - 1}}}
        with pytest.raises(mm.SpoolChangedError, match="was put back, and went on"):
            planner.tasks(read, end)  # of Spark that plans without it


def test_a_producer_that_began_again_is_read_on(read: dict[str, Any], tmp_path: Path) -> None:
    """Each life goes on where the last one ended; what it reads next has its life."""
    start = read
    for turn in range(1, 4):
        put(tmp_path / "own", 10)
        with planning(tmp_path / "own") as (planner, spool):
            end = planner.latest(start)
            (place,), (before,) = end["p"].values(), start["p"].values()
            assert place["next"] == READ + 1 + 10 * turn
            assert place["epoch"] == spool.info().epoch > before["epoch"]
            assert sum(one.end - one.first for one in planner.tasks(start, end)) == 10
        start = end


def test_a_message_that_was_trimmed_tells_nothing(read: dict[str, Any], tmp_path: Path) -> None:
    """The query goes on: it has read that, and may have had it trimmed."""
    put(tmp_path / "own", READ)
    with planning(tmp_path / "own") as (planner, spool):
        spool.trim(READ * 2)
        first, uuid = spool.info().first_seq, spool.info().uuid
        assert first > READ + 1
        start = {"v": 1, "p": {uuid: {"next": first, "epoch": read["p"][uuid]["epoch"]}}}
        end = planner.latest(start)
    assert end["p"][uuid]["next"] == READ * 2 + 1


class Looks:
    """Stands in for a look at a spool: notes it, or fails."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []
        self.fails = False

    def __call__(self, uuid: str, shown: Shown, place: Place, _: object) -> None:
        """Look."""
        if self.fails:
            raise mm.TimedOutError("nobody answers")
        self.seen.append((uuid, shown.epoch))


def test_each_life_is_looked_at_once() -> None:
    """And the life in which a place was told is not."""
    looks = Looks()
    lives = Lives(options(), looks)
    for epoch in (1, 1, 4, 4, 5, 5):
        assert lives.check({A: Place(5, 1)}, {A: Shown(1, 9, epoch, ())}) == frozenset()
    assert looks.seen == [(A, 4), (A, 5)]
    assert lives.check({A: Place(5, 1)}, {}) == frozenset()


def test_what_cannot_be_looked_at_is_not_read_on(caplog: pytest.LogCaptureFixture) -> None:
    """Others are; it is said once, and tried again."""
    told, looks = Told(), Looks()
    told.say(a=(1, 9), b=(1, 9))
    told.shown[A] = told.shown[A]._replace(epoch=2)
    planner = Planner(options(), watch=lambda _: told, look=looks)
    looks.fails = True
    for _ in range(2):
        assert nexts(planner.latest(offset(a=5, b=5))) == {"a": 5, "b": 9}
    assert sum("is not read on yet: nobody answers" in one.message for one in caplog.records) == 1
    with pytest.raises(mm.TimedOutError, match=f"they do not tell of {A}"):
        planner.tasks(offset(a=5), offset(a=9))
    looks.fails = False
    assert nexts(planner.latest(offset(a=5, b=5))) == {"a": 9, "b": 9}
    assert len(planner.tasks(offset(a=5), offset(a=9))) == 1


def test_nobody_waits_for_a_spool_whose_endpoints_are_silent() -> None:
    """It is not read on, and is looked at once it answers."""
    looks = Looks()
    lives = Lives(options(), looks)
    shown = Shown(1, 9, 2, ("tcp://127.0.0.1:1",), down=True)
    assert lives.check({A: Place(5, 1)}, {A: shown}) == {A}
    assert looks.seen == []
    assert lives.check({A: Place(5, 1)}, {A: shown._replace(down=False)}) == frozenset()
    assert looks.seen == [(A, 2)]
