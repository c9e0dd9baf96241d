"""A lock that was removed, and snapshots of hard links: what has a second name does not change.

Not here: copies (test_spool_copies.py), rooms that are used again (test_spool_again.py).
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.spooled import bodies, body, fill, segments, small

_OPENS = """
import sys
import meshmsg as mm
try:
    mm.Spool(sys.argv[1]).close()
except mm.SpoolLockedError as error:
    print("locked", error.owner)
else:
    print("opened")
"""


def opened_by_another(folder: Path) -> str:
    """What another process says that opens it."""
    done = subprocess.run(
        [sys.executable, "-c", _OPENS, str(folder)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def snapshot(folder: Path, to: Path) -> None:
    """As `cp -al` makes it."""
    for place, _, names in os.walk(folder):
        there = to / Path(place).relative_to(folder)
        there.mkdir(0o700)
        for name in names:
            os.link(os.path.join(place, name), there / name)


def sealed(folder: Path) -> dict[str, bytes]:
    """Its segment files but the last one."""
    return {path.name: path.read_bytes() for path in segments(folder)[:-1]}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Somebody else has locked the folder."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@pytest.mark.parametrize("removed", [("LOCK",), ("LOCK", "META")])
def test_without_its_lock_file_nobody_else_opens_it(
    tmp_path: Path, removed: tuple[str, ...]
) -> None:
    """Neither another process nor this one; once it is closed, anybody may."""
    folder = tmp_path / "s"
    with small(folder) as spool:
        spool.append(body(1))
        for name in removed:
            (folder / name).unlink()
        for _ in range(2):  # the second one finds the LOCK that the first one made
            assert opened_by_another(folder) == "locked"
            with pytest.raises(mm.SpoolLockedError, match="LOCK was removed") as caught:
                small(folder)
            assert caught.value.owner == ""
        spool.append(body(2))
        assert bodies(spool) == [body(1), body(2)]
    if removed == ("LOCK",):
        assert opened_by_another(folder) == "opened"
        with small(folder) as again:
            assert bodies(again) == [body(1), body(2)]


def test_a_child_of_a_fork_does_not_keep_the_folder_locked(tmp_path: Path) -> None:
    """The parent closes the spool while the child lives."""
    spool = small(tmp_path / "s")
    (tmp_path / "s" / "LOCK").unlink()
    go, gone = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(gone)
        os.read(go, 1)
        os._exit(0)
    spool.close()
    small(tmp_path / "s").close()
    os.close(gone)
    os.waitpid(child, 0)
    os.close(go)


def test_a_child_that_lives_on_does_not_keep_the_folder_of_a_dead_parent(tmp_path: Path) -> None:
    """The parent ends without closing it."""
    folder = tmp_path / "s"

    go, gone = os.pipe()
    parent = os.fork()
    if parent == 0:
        try:
            spool = small(folder)
            spool.append(body(1))
            if os.fork() == 0:
                os.close(gone)
                os.read(go, 1)
            os._exit(0)
        finally:
            os._exit(1)  # it failed; no test goes on in it
    assert os.waitpid(parent, 0)[1] == 0
    with small(folder) as again:
        assert bodies(again) == [body(1)]
    os.close(gone)
    os.close(go)


def test_a_folder_that_a_program_has_locked_is_not_opened(tmp_path: Path) -> None:
    """A view takes no lock."""
    small(tmp_path / "s").close()
    with locked(tmp_path / "s"):
        with pytest.raises(mm.SpoolLockedError):
            small(tmp_path / "s")
        mm.SpoolView(tmp_path / "s").close()
    small(tmp_path / "s").close()


def test_a_lock_file_of_before_keeps_others_out(tmp_path: Path) -> None:
    """An older version locks the file alone."""
    small(tmp_path / "s").close()
    (tmp_path / "s" / "LOCK").write_text("somebody")
    fd = os.open(tmp_path / "s" / "LOCK", os.O_RDWR)
    fcntl.fcntl(fd, 37, b"\x01\0\0\0\0\0\0\0" + bytes(24))  # F_OFD_SETLK, F_WRLCK
    try:
        with pytest.raises(mm.SpoolLockedError) as caught:
            small(tmp_path / "s")
        assert caught.value.owner == "somebody"
    finally:
        os.close(fd)


def test_what_was_linked_is_read_and_sent_on(tmp_path: Path) -> None:
    """By readers, views, and a Push that is behind."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
        snapshot(tmp_path / "s", tmp_path / "snap")
        with mm.SpoolView(tmp_path / "s") as view:
            assert view.reader().read(1) == [body(1)]
        assert len(bodies(spool)) == last
        with (
            mm.Push(spool=spool, bind="inproc://linked", send_queue_messages=1),
            mm.Pull(connect="inproc://linked") as pull,
        ):
            for seq in range(1, last + 1):
                assert pull.recv(timeout=WAIT_S) == body(seq)


def test_a_snapshots_sealed_files_stay_as_they_are(tmp_path: Path) -> None:
    """Though the spool removes its own, and uses the room of some again."""
    with small(tmp_path / "s", max_messages=30, overflow="drop_oldest") as spool:
        last = fill(spool, 3)
        snapshot(tmp_path / "s", tmp_path / "snap")
        before = sealed(tmp_path / "snap")
        assert before
        for seq in range(last + 1, last + 100):
            spool.append(body(seq))
        assert not set(before) & {path.name for path in segments(tmp_path / "s")}
    assert sealed(tmp_path / "snap") == before


def test_a_spool_is_opened_anew_beside_its_snapshot_which_stays(tmp_path: Path) -> None:
    """What it goes on writing to becomes its own: the state, cursors, the last file, LOCK."""
    folder, snap = tmp_path / "s", tmp_path / "snap"
    with small(folder) as spool, spool.cursor("one") as cursor:
        last = fill(spool, 3)
        cursor.done(1)
    snapshot(folder, snap)
    with small(folder) as spool, spool.cursor("one") as cursor:
        assert not spool.recovery.unclean
        assert cursor.floor == 1
        spool.append(body(last + 1))
        cursor.done(2)
        with small(snap) as other:  # it is one, too, and not locked by the first
            assert len(bodies(other)) == last
        assert opened_by_another(folder).startswith("locked process")
        assert len(bodies(spool)) == last + 1
    assert not list(tmp_path.rglob(".own"))
    with small(folder) as spool:
        assert len(bodies(spool)) == last + 1


def test_what_has_a_snapshot_is_not_changed_by_opening_and_writing(tmp_path: Path) -> None:
    """Each file of a snapshot of a closed spool is as it was."""
    folder, snap = tmp_path / "s", tmp_path / "snap"
    with small(folder) as spool, spool.cursor("one") as cursor:
        last = fill(spool, 3)
        cursor.done(1)
    snapshot(folder, snap)
    before = {path: path.read_bytes() for path in snap.rglob("*") if path.is_file()}
    with small(folder) as spool, spool.cursor("one") as cursor:
        spool.append(body(last + 1))
        cursor.done(2)
    assert {path: path.read_bytes() for path in snap.rglob("*") if path.is_file()} == before
