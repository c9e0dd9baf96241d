"""`Spool(create=False)` opens only what is there, and says what is there in its place.

Not here: other arguments (test_spool_arguments.py), folders that are not to be used
(test_spool_folders.py). The tests that take a spool are run for asyncio as well
(test_aio_spool_same.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib
from tests.support.spooled import bodies, segments, small


def test_what_is_there_is_opened_as_ever(tmp_path: Path) -> None:
    """With its messages, and more can be put; again, also where it was not closed in order."""
    with small(tmp_path / "s") as spool:
        spool.append(b"one")
    for count in (1, 2):
        with small(tmp_path / "s", create=False) as spool:
            assert not spool.recovery.made
            assert len(bodies(spool)) == count
            spool.append(b"another")


def nothing(path: Path) -> None:
    """Make nothing."""


def empty(path: Path) -> None:
    """Make a folder."""
    path.mkdir()


def others(path: Path) -> None:
    """Make a folder with a file that is not of a spool."""
    path.mkdir()
    (path / "notes.seg").write_text("mine")


def a_file(path: Path) -> None:
    """Make a file."""
    path.write_text("mine")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (nothing, "there is nothing of that name"),
        (empty, "there is an empty folder without a spool in it"),
        (others, "there is a folder without a spool in it"),
        (a_file, "that is no folder"),
    ],
)
def test_what_is_there_in_its_place_is_told(tmp_path: Path, make: Any, said: str) -> None:
    """And nothing is made, not even what keeps others out; a view says the same."""
    path = tmp_path / "s"
    make(path)
    before = sorted(str(one) for one in tmp_path.rglob("*"))
    with pytest.raises(
        mm.SpoolError, match=re.escape(f"{path}: ") + f".*create=False.*{said}"
    ) as one:
        small(path, create=False)
    assert one.value.code == lib.MM_ENOENT
    assert sorted(str(one) for one in tmp_path.rglob("*")) == before
    if make is not a_file:
        with pytest.raises(mm.SpoolError, match=said):
            mm.SpoolView(path)
        with small(path) as spool:  # and made, if that is wanted
            assert spool.recovery.made


def test_what_has_one_file_left_is_a_spool(tmp_path: Path) -> None:
    """Its state, or a segment file: what is lost of it is told as ever."""
    for number, left in enumerate(("META", "0*.seg")):
        path = tmp_path / f"s{number}"
        with small(path) as spool:
            spool.append(b"x")
        for one in path.iterdir():
            if one.is_file() and not one.match(left):
                one.unlink()
        if left == "META":
            with pytest.raises(mm.SpoolError, match="a file of the spool is not there"):
                mm.SpoolView(path)
            with pytest.raises(mm.SpoolCorruptError):
                small(path, create=False)
        else:
            with small(path, create=False) as spool:
                assert bodies(spool) == [b"x"]
                assert len(segments(path)) >= 1


@pytest.mark.parametrize("value", [None, 0, 1, "no"], ids=repr)
def test_it_is_true_or_false(tmp_path: Path, value: Any) -> None:
    """Nothing that is like it."""
    with pytest.raises(TypeError, match=f"create is {value!r}"):
        small(tmp_path / "s", create=value)
    assert not (tmp_path / "s").exists()
