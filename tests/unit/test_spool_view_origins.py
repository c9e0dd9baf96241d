"""`SpoolView.last_origin`: how far a producer has come, as the files say it, beside who writes.

Not here: what an origin is (test_spool_origins.py).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import wait_until
from tests.support.spooled import BODY, fill, segments, small, state_of, turn_bit

NOBODY = "nobody"


def same(view: mm.SpoolView, spool: mm.Spool, *producers: Any) -> list[int | None]:
    """Return what a view says of them, which is what their spool does."""
    said = [view.last_origin(one) for one in producers]
    assert said == [spool.last_origin(one) for one in producers]
    return said


def test_it_says_what_the_spool_says(tmp_path: Path) -> None:
    """While it is written, over several files, and when it is closed; nothing is written."""
    path = tmp_path / "s"
    with small(path, durability="disk") as spool, mm.SpoolView(path) as view:
        assert same(view, spool, "orders", NOBODY) == [None, None]
        spool.append(b"plain")
        for number in range(1, 40):
            spool.append(bytes(BODY), origin=("orders", number))
            if number % 10 == 0:
                spool.append(b"x", origin=(bytes(16), number))
                spool.append(b"behind")  # says that what is before it is durable
                wait_until(lambda: view.info().last_seq == spool.info().last_seq)
                assert same(view, spool, "orders", bytes(16), NOBODY) == [number, number, None]
        assert (path / "producers").exists()
        last = spool.last_origin("orders")
    before = state_of(path)
    with mm.SpoolView(path) as view:
        assert [view.last_origin(one) for one in ("orders", NOBODY)] == [last, None] == [39, None]
    assert state_of(path) == before


def test_a_spool_without_origins_is_not_read(tmp_path: Path) -> None:
    """Its state says that there are none; so harm in it is not met."""
    with small(tmp_path / "s") as spool:
        fill(spool, 3)
    for file in segments(tmp_path / "s"):
        turn_bit(file, 4_200)
    with mm.SpoolView(tmp_path / "s") as view:
        assert view.last_origin("orders") is None


@pytest.mark.parametrize("lost", ["producers", "META", "both"])
def test_without_its_file_the_messages_say_it(tmp_path: Path, lost: str) -> None:
    """All of them, if nothing else does; a file that is harmed is as one that is lost."""
    path = tmp_path / "s"
    with small(path) as spool:
        fill(spool, 2)
        spool.append(b"x", origin=("a", 5))
        fill(spool, 3)
        spool.append_many([b"y"] * 3, origin=("b", 1))
    if lost != "META":
        turn_bit(path / "producers", 50)
    if lost != "producers":
        (path / "META").unlink()
    with mm.SpoolView(path) as view:
        assert [view.last_origin(one) for one in ("a", "b", NOBODY)] == [5, 3, None]


def test_a_file_of_another_spool_says_nothing(tmp_path: Path) -> None:
    """It has another uuid."""
    for name, number in (("one", 7), ("other", 9)):
        with small(tmp_path / name) as spool:
            spool.append(b"x", origin=("a", number))
    shutil.copy(tmp_path / "other/producers", tmp_path / "one/producers")
    with mm.SpoolView(tmp_path / "one") as view:
        assert view.last_origin("a") == 7


def test_harm_and_what_went_say_nothing(tmp_path: Path) -> None:
    """What is behind them counts."""
    path = tmp_path / "s"
    with small(path) as spool:
        spool.append(b"x", origin=("gone", 1))
        fill(spool, 3)
        spool.append(b"y", origin=("there", 2))
        spool.trim(spool.info().last_seq - 1)
        assert spool.info().first_seq > 1
    (path / "producers").unlink()
    (path / "META").unlink()
    turn_bit(segments(path)[0], 4_200)
    with mm.SpoolView(path) as view:
        assert [view.last_origin(one) for one in ("gone", "there")] == [None, 2]


def test_those_that_were_forgotten_are_not_known(tmp_path: Path) -> None:
    """As of the spool: beyond 10,000 the one that put longest ago goes."""
    path = tmp_path / "s"
    with small(path, durability="os") as spool:
        for number in range(10_001):
            spool.append(b"x", origin=(number.to_bytes(16, "big"), 1), wait=False)
        spool.flush()
        with mm.SpoolView(path) as view:
            wait_until(lambda: view.info().last_seq == 10_001)
            first, second = bytes(16), (1).to_bytes(16, "big")
            assert same(view, spool, first, second) == [None, 1]


@pytest.mark.parametrize(
    ("producer", "error"),
    [("", mm.UsageError), (b"short", mm.UsageError), (7, TypeError), (None, TypeError)],
)
def test_what_is_no_producer_is_refused(tmp_path: Path, producer: Any, error: Any) -> None:
    """As by a spool; and a view that was closed says so."""
    with small(tmp_path / "s"):
        pass
    with mm.SpoolView(tmp_path / "s") as view, pytest.raises(error, match="producer"):
        view.last_origin(producer)
    with pytest.raises(mm.ClosedError):
        view.last_origin("orders")
