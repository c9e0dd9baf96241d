"""A view of a spool: what it shows beside who writes, and that it changes nothing.

Not here: writers that are killed beside it (tests/crash/test_spool_view_kill.py).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.forked import in_child, refused
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spoolcodec import BATCH, SLOT
from tests.support.spooled import batches, body, fill, segments, small, state_of


def seqs(read: Any) -> list[int]:
    """Return the numbers of messages."""
    return [one.seq for one in read]


def left_as_it_is(spool: mm.Spool, to: Path) -> Path:
    """Copy a spool that is open: what a kill at this moment leaves."""
    shutil.copytree(spool.path, to)
    return to


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_a_view_shows_what_is_durable_and_no_more(tmp_path: Path, level: Any) -> None:
    """At each moment, over many files; all of it once the writer has noted it, or is closed."""
    with small(tmp_path / "s", durability=level, sync_every=0.01) as spool:
        with mm.SpoolView(tmp_path / "s") as view, view.reader() as reader:
            assert list(reader) == []
            got: list[bytes] = []
            for seq in range(1, 61):
                spool.append(body(seq))
                if seq % 7 == 0:
                    spool.flush()
                shown = view.info().last_seq
                got += [bytes(one) for one in reader]  # type: ignore[arg-type]
                if level == "disk":  # else the spool's thread has done it, and notes it soon
                    assert max(shown, len(got)) <= spool.info().durable_seq
            while len(got) < 60:  # its state says so within a second
                more = reader.read(timeout=WAIT_S)
                assert more, "what is durable is not shown"
                got += [bytes(one) for one in more]  # type: ignore[arg-type]
            assert got == [body(seq) for seq in range(1, 61)]
            info, mine = view.info(), spool.info()
            assert (info.uuid, info.epoch, info.files) == (mine.uuid, mine.epoch, mine.files)
            assert (info.first_seq, info.last_seq, info.durable_seq) == (1, 60, 60)
            assert (info.appended, info.syncs, info.failed) == (0, 0, False)
            spool.append(b"the last one")
            spool.close()
            assert reader.read(timeout=WAIT_S) == [b"the last one"]
            assert view.info().last_seq == 61


def test_what_is_written_and_not_synced_is_not_shown(tmp_path: Path) -> None:
    """A crash of the machine may take it back."""
    with small(tmp_path / "s", durability="os", sync_every=1000) as spool:
        spool.append(b"durable")
        spool.flush()
        for _ in range(5):
            spool.append(b"only written")
        with mm.SpoolView(tmp_path / "s") as view:
            assert view.info().last_seq == 1
            assert view.read(1).messages == [b"durable"]
            assert not view.read(2, timeout=0.05)
            spool.flush()
            spool.append(b"its head says so")
            assert seqs(view.read(2).messages) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("closed", [True, False])
def test_a_view_changes_nothing(tmp_path: Path, closed: bool) -> None:
    """No file, no time of one, no lock: not of a spool that was left as by a kill either."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 3)
        path = left_as_it_is(spool, tmp_path / "copy")
    path = tmp_path / "s" if closed else path
    before = state_of(path)
    with mm.SpoolView(path) as view, mm.SpoolView(path) as other:
        assert seqs(view.reader()) == seqs(other.reader()) == list(range(1, last + closed))
        view.info()
    assert state_of(path) == before
    with small(path) as spool:  # nobody has it
        assert spool.recovery.unclean is not closed
        assert spool.info().last_seq == last


def test_what_a_kill_left_is_shown_once_it_was_mended(tmp_path: Path) -> None:
    """The last batch has no proof; a writer that opens it copies and syncs it. The view goes on."""
    with small(tmp_path / "s", durability="disk") as spool:
        for seq in range(1, 4):
            spool.append(body(seq))
        path = left_as_it_is(spool, tmp_path / "copy")
    with mm.SpoolView(path) as view, view.reader() as reader:
        assert seqs(reader) == [1, 2]
        for life in range(1, 4):
            with small(path, durability="disk") as spool:
                assert spool.recovery.copied == (life == 1)
                assert spool.append(b"%d" % life) == 3 + life
                epoch = spool.info().epoch
            read = reader.read(timeout=WAIT_S)
            assert seqs(read) == ([3, 4] if life == 1 else [3 + life])
            assert read[-1] == b"%d" % life
            assert view.info().epoch == epoch


def test_a_file_that_is_made_anew_under_its_name_is_seen(tmp_path: Path) -> None:
    """A number that was torn, and given again, is read as it is now."""
    with small(tmp_path / "s", durability="os", sync_every=1000) as spool:
        spool.append(b"torn")
        path = left_as_it_is(spool, tmp_path / "copy")
    [file] = segments(path)
    with open(file, "r+b") as torn:
        torn.seek(batches(file)[0] + BATCH + 2)
        torn.write(b"\xff")
    with mm.SpoolView(path) as view, view.reader() as reader:
        assert list(reader) == []
        with small(path, durability="disk") as spool:
            assert spool.recovery.torn_bytes > 0
            assert spool.append(b"whole") == 1
            assert spool.append(b"and proved") == 2
            assert reader.read(timeout=WAIT_S) == [b"whole"]


def test_files_roll_and_go_under_a_reader(tmp_path: Path) -> None:
    """What is next and went is told, with the first number that is there; nothing else is lost."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 4)
        with mm.SpoolView(tmp_path / "s") as view, view.reader() as reader:
            assert seqs(reader.read(3)) == [1, 2, 3]
            assert spool.trim(last) == 3
            first = spool.info().first_seq
            got = [3]
            with pytest.raises(mm.SpoolTrimmedError) as caught:
                while read := reader.read():
                    got += seqs(read)
            assert got == list(range(3, got[-1] + 1))
            assert (caught.value.seq, caught.value.first) == (got[-1] + 1, first)
            with pytest.raises(mm.SpoolTrimmedError):
                view.read(1)
            reader.seek(first)
            for _ in range(60):  # it follows, while files are made and removed
                last = spool.append(body(last + 1)) or 0
                spool.trim(last - 20)
                for one in reader:
                    assert isinstance(one, mm.SpoolMessage)
                    assert one == body(one.seq)
            assert reader.seq >= last
            assert view.info().first_seq == spool.info().first_seq > first


def test_a_view_follows_a_thread_that_writes_and_trims(tmp_path: Path) -> None:
    """Dense numbers, right bodies; it is told of what went, and goes on."""
    with small(tmp_path / "s", durability="os", sync_every=0.001) as spool:
        spool.append(body(1))

        def writes() -> None:
            for seq in range(2, 1501):
                assert spool.append(body(seq), wait=seq % 10 == 0) == seq
                if seq % 100 == 0:
                    spool.trim(seq - 60)

        writing = Later(writes)
        with mm.SpoolView(tmp_path / "s") as view, view.reader() as reader:
            following = reader.seq
            while following <= 1500:
                try:
                    read = reader.read(timeout=WAIT_S)
                except mm.SpoolTrimmedError as error:
                    following = error.first
                    reader.seek(following)
                    continue
                assert read, "what was written is proved in time"
                for one in read:
                    assert isinstance(one, mm.SpoolMessage)
                    assert (one.seq, one) == (following, body(following))
                    following += 1
        assert writing.error() is None


@pytest.mark.parametrize("gaps", [False, True])
def test_harm_is_told(tmp_path: Path, gaps: bool) -> None:
    """As a spool that is open does; also in the last file."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 2)
    for file, batch in zip(segments(tmp_path / "s"), (1, 0), strict=True):
        data = bytearray(file.read_bytes())
        data[batches(file)[batch] + BATCH + 9] ^= 4
        file.write_bytes(data)
    other = int(segments(tmp_path / "s")[1].stem)
    with mm.SpoolView(tmp_path / "s", on_corruption="gap" if gaps else "fail") as view:
        with view.reader() as reader:
            if gaps:
                read = list(reader)
                found = [one for one in read if isinstance(one, mm.SpoolGap)]
                assert [(one.first, one.last) for one in found] == [(2, 2), (other, last)]
                return
            assert seqs(reader.read()) == [1]
            for _ in range(2):
                with pytest.raises(mm.SpoolCorruptError) as caught:
                    reader.read()
                assert (caught.value.first, caught.value.last) == (2, 2)
            reader.seek(3)
            assert seqs(reader.read()) == list(range(3, other))


@pytest.mark.parametrize("what", ["removed", "zeros", "one slot"])
def test_a_state_that_is_harmed_hides_no_message(tmp_path: Path, what: str) -> None:
    """The segment files say the same."""
    with small(tmp_path / "s", durability="disk") as spool:
        last, uuid = fill(spool, 3), spool.info().uuid
    state = tmp_path / "s" / "META"
    if what == "removed":
        state.unlink()
    elif what == "zeros":
        state.write_bytes(bytes(2 * SLOT))
    else:
        data = state.read_bytes()
        newer = data[8:16] < data[SLOT + 8 : SLOT + 16]
        state.write_bytes(data[:SLOT] + bytes(SLOT) if newer else bytes(SLOT) + data[SLOT:])
    with mm.SpoolView(tmp_path / "s") as view:
        assert view.info().uuid == uuid
        assert seqs(view.reader()) == list(range(1, last + 1))


def test_what_is_no_spool_is_told(tmp_path: Path) -> None:
    """And not made one."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    for name in ("folder", "file", "none"):
        with pytest.raises(mm.SpoolError, match=f"{name}: opening it"):
            mm.SpoolView(tmp_path / name)
    assert list((tmp_path / "folder").iterdir()) == []
    assert not (tmp_path / "none").exists()
    for options, error in (
        ({"on_corruption": "no"}, mm.UsageError),
        ({"remote": 1}, TypeError),
    ):
        with pytest.raises(error):
            mm.SpoolView(tmp_path / "s", **options)  # type: ignore[arg-type]


def test_closing_a_view_ends_who_waits(tmp_path: Path) -> None:
    """By ClosedError; each call of a closed one says so."""
    with small(tmp_path / "s") as spool:
        spool.append(b"x")
        view = mm.SpoolView(tmp_path / "s")
        reader = view.reader(2)
        waiting = Later(lambda: reader.read(timeout=None))
        wait_until(lambda: len(view._inside))
        view.close()
        view.close()
        assert isinstance(waiting.error(), mm.ClosedError)
        for call in (view.info, view.reader, lambda: view.read(1), reader.read):
            with pytest.raises(mm.ClosedError):
                call()
        assert "closed" in repr(view)
        assert spool.append(b"y") == 2


def test_the_child_of_a_fork_opens_one_of_its_own(tmp_path: Path) -> None:
    """Calls of the parent's raise ForkedError."""
    with small(tmp_path / "s") as spool:
        spool.append(b"x")
        spool.flush()
        spool.append(b"y")
        with mm.SpoolView(tmp_path / "s") as view:

            def work() -> bool:
                with mm.SpoolView(tmp_path / "s") as mine:
                    return refused(view.info) and mine.read(1).messages == [b"x"]

            assert in_child(work)
            assert view.read(1).messages == [b"x"]
