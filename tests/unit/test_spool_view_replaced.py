"""A view keeps to the spool that it was opened with: another one in its place is told, each time.

Not here: files that go and come in one spool (test_spool_view.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.later import Later
from tests.support.pairs import wait_until
from tests.support.spooled import small

COUNT = 200
"""Messages of several files."""


def filled(path: Path, body: bytes) -> None:
    """Put some there."""
    with small(path) as spool:
        spool.append_many([body * 400] * COUNT)


def made_anew(path: Path) -> None:
    """Another spool."""
    shutil.rmtree(path)
    filled(path, b"new")


def put_back(path: Path) -> None:
    """A copy from before, which goes on."""
    path.rename(path.with_name("old"))
    path.with_name("copy").rename(path)
    filled(path, b"new")


def emptied(path: Path) -> None:
    """Another spool in the same folder."""
    for entry in path.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    filled(path, b"new")


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "info": lambda view, reader: view.info(),
    "read": lambda view, reader: view.read(1),
    "find": lambda view, reader: view.find("earliest"),
    "cursors": lambda view, reader: view.cursors(),
    "last_origin": lambda view, reader: view.last_origin(bytes(16)),
    "reader": lambda view, reader: reader.read(timeout=0),
    "reader_batch": lambda view, reader: reader.read_batch(timeout=0),
    "a_reader": lambda view, reader: view.reader(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A spool, and a copy of it."""
    filled(tmp_path / "s", b"old")
    shutil.copytree(tmp_path / "s", tmp_path / "copy")
    return tmp_path / "s"


@pytest.fixture
def view(path: Path) -> Iterator[mm.SpoolView]:
    """It is seen."""
    with mm.SpoolView(path) as view:
        yield view


def uuid_at(path: Path) -> str:
    """Which spool is there."""
    with mm.SpoolView(path) as view:
        return view.info().uuid


@pytest.mark.parametrize("replaced", [made_anew, put_back])
def test_each_call_says_that_it_is_another(
    path: Path, view: mm.SpoolView, replaced: Callable[[Path], None]
) -> None:
    """With which one that is, however often it is asked."""
    with view.reader() as reader:
        assert len(reader.read(50)) == 50
        replaced(path)
        for call in (*CALLS.values(), *CALLS.values()):
            with pytest.raises(mm.SpoolChangedError, match="open another view") as told:
                call(view, reader)
            assert told.value.uuid == uuid_at(path)
    assert len(mm.SpoolView(path).read(1, max_messages=5)) == 5


def test_another_in_the_same_folder_is_told_by_info(path: Path, view: mm.SpoolView) -> None:
    """And by a reader whose messages are not there."""
    emptied(path)
    with pytest.raises(mm.SpoolChangedError):
        view.info()
    with view.reader(COUNT + 1) as reader, pytest.raises(mm.SpoolChangedError):
        reader.read(timeout=None)


def test_what_is_not_there_any_more_is_told(path: Path, view: mm.SpoolView) -> None:
    """As an error of a spool; and that none is in the folder."""
    with view.reader() as reader:
        shutil.rmtree(path)
        for call in CALLS.values():
            with pytest.raises(mm.SpoolError, match="not there any more"):
                call(view, reader)
        path.mkdir()
        with pytest.raises(mm.SpoolError, match="an empty folder without a spool"):
            view.info()


@pytest.mark.parametrize("read", ["read", "read_batch"])
def test_who_waits_is_told(path: Path, view: mm.SpoolView, read: str) -> None:
    """Within a slice of its wait."""
    with view.reader(COUNT + 1) as reader:
        waits = Later(lambda: getattr(reader, read)(timeout=None))
        wait_until(lambda: bool(view._inside))
        made_anew(path)
        with pytest.raises(mm.SpoolError):
            waits.result()


def test_it_is_the_same_when_it_is_moved_and_comes_back(path: Path, view: mm.SpoolView) -> None:
    """Only what is there counts."""
    path.rename(path.with_name("away"))
    with pytest.raises(mm.SpoolError, match="not there any more"):
        view.info()
    path.with_name("away").rename(path)
    assert view.info().last_seq == COUNT


@pytest.mark.parametrize("replaced", [made_anew, put_back])
def test_who_reads_ranges_of_it_is_told(
    path: Path, view: mm.SpoolView, replaced: Callable[[Path], None]
) -> None:
    """That it is another one; who did not know the old one hears from the server why it cannot."""
    with (
        mm.SpoolServer(view, bind="tcp://127.0.0.1:0") as server,
        mm.RemoteSpool(server.endpoint) as remote,
        mm.RemoteSpool(server.endpoint) as young,
    ):
        assert remote.info().stable_seq == COUNT + 1
        replaced(path)
        with pytest.raises(mm.SpoolChangedError) as told:
            list(remote.read(1, COUNT + 1))
        assert told.value.uuid == uuid_at(path)
        with pytest.raises(mm.SpoolError, match="open another view"):
            young.info()
        shutil.rmtree(path)
        with pytest.raises(mm.SpoolError, match="not there any more"):
            remote.info()


def test_a_relative_path_stays_where_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever folder the process goes to."""
    monkeypatch.chdir(path.parent)
    with mm.SpoolView(path.name) as view:
        monkeypatch.chdir("/")
        assert view.info().last_seq == COUNT
        with suppress(mm.SpoolTrimmedError):
            assert len(view.read(1)) > 0
