"""Folders that are none for a spool, and what is said of them.

Not here: what the core is told of a folder (tests/c/test_files_posix.c), and what it makes of that
(tests/c/test_spool_refused.c).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import lib
from tests.support.looped import run

OPENED: dict[str, Callable[[Path], Any]] = {"spool": mm.Spool, "view": mm.SpoolView}


def folder(path: Path, mode: int) -> Path:
    """Make a spool there with a message, and give its folder that mode."""
    with mm.Spool(path) as spool:
        spool.append(b"x")
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o777, 0o702, 0o1777], ids=oct)
@pytest.mark.parametrize("kind", OPENED)
def test_what_all_may_write_to_is_refused(tmp_path: Path, kind: str, mode: int) -> None:
    """It says why, and how to mend that; and then it is as it was."""
    path = folder(tmp_path / "s", mode)
    with pytest.raises(mm.SpoolError, match="every user of this machine") as caught:
        OPENED[kind](path)
    assert str(path) in str(caught.value)
    assert "chmod o-w" in str(caught.value)
    assert caught.value.code == lib.MM_EPERM
    path.chmod(mode & ~0o002)
    with OPENED[kind](path) as spool, spool.reader() as reader:
        assert reader.read(1) == [b"x"]


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o770, 0o2775], ids=oct)
@pytest.mark.parametrize("kind", OPENED)
def test_what_a_group_may_write_to_is_taken(tmp_path: Path, kind: str, mode: int) -> None:
    """So is what others may read: who is in the group was chosen."""
    path = folder(tmp_path / "s", mode)
    with OPENED[kind](path) as spool:
        assert spool.info().last_seq == 1


def test_a_folder_in_one_that_all_may_write_to_is_taken(tmp_path: Path) -> None:
    """As in /tmp: it is made for its user alone, whatever the umask is."""
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o1777)
    before = os.umask(0)
    try:
        with mm.Spool(above / "s") as spool:
            assert spool.append(b"x") == 1
    finally:
        os.umask(before)
    assert (above / "s").stat().st_mode & 0o777 == 0o700


def test_nothing_is_made_in_a_folder_that_is_refused(tmp_path: Path) -> None:
    """And it stays."""
    path = tmp_path / "s"
    path.mkdir()
    path.chmod(0o777)
    with pytest.raises(mm.SpoolError, match="every user"):
        mm.Spool(path)
    assert not list(path.iterdir())


def test_tasks_are_told_the_same(tmp_path: Path) -> None:
    """By the same words."""
    path = folder(tmp_path / "s", 0o777)

    async def main() -> None:
        with pytest.raises(mm.SpoolError, match="chmod o-w"):
            async with aio.Spool(path):
                pass

    run(main)
