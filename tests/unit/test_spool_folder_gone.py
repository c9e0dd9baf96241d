"""The folder of an open spool is removed, replaced or shut: that is told, and is no matter of room.

Not here: a disk that has no room (test_spool_room.py), views (test_spool_view_replaced.py).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
import meshmsg._spool.spool
import meshmsg.aio
from tests.support.later import Later
from tests.support.pairs import wait_until
from tests.support.spooled import BODY, SEGMENT, small

FULL = 20
"""Messages that do not fit into one file."""
OVERFLOWS = ["error", "block", "drop_newest"]


@pytest.fixture(autouse=True)
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who puts does not look by itself, however slow this machine is."""
    monkeypatch.setattr(meshmsg._spool.spool, "LOOK_S", 3600.0)


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[mm.Spool]:
    """A spool with a message, whose closing fails."""
    spool = small(path, **options)
    try:
        spool.append(b"first")
        yield spool
    finally:
        with pytest.raises(mm.SpoolFailedError, match="closing it"):
            spool.close()
        spool.close()


@pytest.mark.parametrize("overflow", OVERFLOWS)
def test_a_folder_that_was_removed_is_no_want_of_room(tmp_path: Path, overflow: Any) -> None:
    """Putting what needs another file fails, and says so; also who would wait for ever."""
    with opened(tmp_path / "s", overflow=overflow) as spool:
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(mm.SpoolFailedError, match="not there any more") as told:
            for _ in range(FULL):
                spool.append(b"x" * BODY)
        assert told.value.sent == 0
        with pytest.raises(mm.SpoolFailedError):
            spool.append_many([b"x" * BODY] * FULL)
        assert spool.info().failed


@pytest.mark.parametrize("overflow", OVERFLOWS)
def test_tasks_are_told_as_well(tmp_path: Path, overflow: Any) -> None:
    """By what puts, waits, flushes and closes."""

    async def main() -> None:
        spool = mm.aio.Spool(tmp_path / "s", segment_bytes=SEGMENT, overflow=overflow)
        await spool.append(b"first")
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(mm.SpoolFailedError, match="not there any more"):
            await spool.flush()
        with pytest.raises(mm.SpoolFailedError, match="not there any more"):
            for _ in range(FULL):
                await spool.append(b"x" * BODY)
        assert spool.info().failed
        with pytest.raises(mm.SpoolFailedError, match="closing it"):
            await spool.close()

    asyncio.run(main())


@pytest.mark.parametrize("replaced", [False, True])
def test_info_flush_and_close_see_it_before_a_file_is_needed(
    tmp_path: Path, replaced: bool
) -> None:
    """Nobody is told that what was put is on the disk."""
    words = "another folder is in its place" if replaced else "not there any more"
    with opened(tmp_path / "s", durability="disk") as spool:
        assert not spool.info().failed
        (tmp_path / "s").rename(tmp_path / "away")
        if replaced:
            (tmp_path / "s").mkdir()
        spool.append(b"x")
        assert spool.info().failed
        with pytest.raises(mm.SpoolFailedError, match=words):
            spool.flush()


def test_who_waits_for_room_is_told(tmp_path: Path) -> None:
    """Within a slice of its wait."""
    with opened(tmp_path / "s", overflow="block", max_messages=2) as spool:
        spool.append(b"second")
        waits = Later(lambda: spool.append(b"third"))
        wait_until(lambda: bool(spool._inside))
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(mm.SpoolFailedError, match="not there any more"):
            waits.result()


@pytest.mark.parametrize("overflow", OVERFLOWS)
def test_a_folder_that_may_not_be_written_to_is_no_want_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overflow: Any
) -> None:
    """It says so; once it may be again, more is put."""
    file = tmp_path / "s"
    with small(file, overflow=overflow, max_bytes=None) as spool:
        spool.append(b"first")
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may
        for name in ("spare.seg", "reserve"):
            (file / name).unlink(missing_ok=True)
        (file / "spare.seg").mkdir()  # so none can be made
        with pytest.raises(mm.SpoolFailedError, match="no file can be made"):
            for _ in range(FULL):
                spool.append(b"x" * BODY)
        monkeypatch.undo()
        os.rmdir(file / "spare.seg")
        assert not spool.info().failed


@pytest.mark.parametrize("tasks", [False, True])
def test_who_puts_looks_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: bool
) -> None:
    """Also while there is room; then each call says so."""
    monkeypatch.setattr(meshmsg._spool.spool, "LOOK_S", 0.0)

    async def main() -> None:
        spool = mm.aio.Spool(tmp_path / "s")
        await spool.append(b"first")
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(mm.SpoolFailedError, match="not there any more"):
            await spool.append(b"x")
        with pytest.raises(mm.SpoolFailedError, match="closing it"):
            await spool.close()

    if tasks:
        asyncio.run(main())
        return
    with opened(tmp_path / "s") as spool:
        shutil.rmtree(tmp_path / "s")
        monkeypatch.setattr(meshmsg._spool.spool, "LOOK_S", 3600.0)
        for _ in range(2):
            with pytest.raises(mm.SpoolFailedError, match="not there any more"):
                spool.append(b"x")
