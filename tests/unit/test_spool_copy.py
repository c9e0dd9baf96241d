"""A copy of a spool's folder: taken while it is written, restored, moved.

Not here: crashes (tests/crash).
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.feeding import World, settled
from tests.support.later import Later
from tests.support.pairs import WAIT_S
from tests.support.spooled import SEGMENT, bodies, body, small


def copied(path: Path, to: Path) -> bool:
    """Copy it as the page says; false: a file went meanwhile."""
    shutil.copy2(path / "META", to.with_suffix(".before"))
    try:
        shutil.copytree(path, to)
    except shutil.Error:
        return False
    to.with_suffix(".before").replace(to / "META")
    return True


@pytest.mark.parametrize("durability", ["disk", "os"])
def test_a_copy_that_is_taken_while_it_is_written_is_sound(tmp_path: Path, durability: str) -> None:
    """As after a crash: all that was durable before it is there, in order; nothing is harmed."""
    stop, going = threading.Event(), threading.Event()
    with small(tmp_path / "s", durability=durability) as spool:

        def put() -> None:
            while not stop.is_set():
                last = spool.info().last_seq
                spool.append(body(last + 1))
                if last > 30:
                    spool.trim(last - 20)
                going.set()

        putting = Later(put)
        try:
            for number in range(5):
                going.clear()
                assert going.wait(WAIT_S)
                durable = spool.info().durable_seq
                to = tmp_path / f"copy-{number}"
                if not copied(tmp_path / "s", to):
                    continue
                with small(to) as copy:
                    info = copy.info()
                    assert info.uuid == spool.info().uuid
                    assert info.last_seq >= durable
                    wanted = range(info.first_seq, info.last_seq + 1)
                    assert bodies(copy) == [body(seq) for seq in wanted]
        finally:
            stop.set()
            assert putting.error() is None


@pytest.mark.parametrize("older", [True, False])
def test_a_copy_whose_state_is_newer_than_its_messages_is_told(tmp_path: Path, older: bool) -> None:
    """So the page copies `META` first; such a copy has all that it says."""
    with small(tmp_path / "s", durability="disk") as spool:
        for seq in range(1, 6):
            spool.append(body(seq))
        shutil.copytree(spool.path, tmp_path / "copy")
        for seq in range(6, 11):
            spool.append(body(seq))
    if older:
        shutil.copytree(tmp_path / "s", tmp_path / "copy-2")
        shutil.copy2(tmp_path / "copy" / "META", tmp_path / "copy-2" / "META")
        with small(tmp_path / "copy-2") as copy:
            assert bodies(copy) == [body(seq) for seq in range(1, 11)]
        return
    shutil.copy2(tmp_path / "s" / "META", tmp_path / "copy" / "META")
    with pytest.raises(mm.SpoolCorruptError):
        small(tmp_path / "copy")


@pytest.mark.parametrize("durability", ["disk", "os", "buffered"])
@pytest.mark.parametrize("last", ["META", "cursors", "segments"])
def test_a_closed_spool_may_be_copied_in_any_order(
    tmp_path: Path, durability: str, last: str
) -> None:
    """What is copied last is no newer than the rest: nobody writes."""
    with small(tmp_path / "s", durability=durability) as spool, spool.cursor("c") as cursor:
        for seq in range(1, 41):
            spool.append(body(seq))
        spool.trim(20)
        first = spool.info().first_seq
        cursor.done_up_to(30)
    (tmp_path / "copy").mkdir()

    def late(path: Path) -> bool:
        return path.suffix == ".seg" if last == "segments" else path.name == last

    for path in sorted((tmp_path / "s").iterdir(), key=late):
        if path.is_dir():
            shutil.copytree(path, tmp_path / "copy" / path.name)
        else:
            shutil.copyfile(path, tmp_path / "copy" / path.name)
    with small(tmp_path / "copy", durability=durability) as copy:
        assert bodies(copy) == [body(seq) for seq in range(first, 41)]
        assert [(one.name, one.floor) for one in copy.cursors()] == [("c", 30)]


def test_a_restored_copy_sends_what_was_not_acknowledged_by_its_name(tmp_path: Path) -> None:
    """What was acknowledged behind the copy comes again, with the name that it had."""
    world, seen = World(None), []
    with world.life(tmp_path / "s") as (_, push):
        push.send_many([b"1", b"2"])
        shutil.copytree(tmp_path / "s", tmp_path / "copy")
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            for _ in range(2):
                message = pull.recv(timeout=WAIT_S)
                seen.append(message.seq)
                message.ack()
            settled(push)
    for number, wanted in enumerate((0, 2)):
        moved = tmp_path / f"moved-{number}"
        shutil.move(tmp_path / ("copy" if wanted else "s"), moved)
        with world.life(moved) as (spool, push):
            assert push.drain(timeout=0).queued == wanted
            with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
                got = [pull.recv(timeout=WAIT_S) for _ in range(wanted)]
                assert [one.seq for one in got] == seen[:wanted]
                for one in got:
                    assert one.ack()
                settled(push)
            assert spool.cursors()[0].lag == 0


def test_what_a_spool_takes_on_the_disk_has_the_bound_of_the_page(tmp_path: Path) -> None:
    """`max_bytes`, two segment files, the reserve and small files: at every moment."""
    most = 6 * SEGMENT
    reserve = min(1024 * 1024, 2 * SEGMENT + 16_384)
    with small(tmp_path / "s", max_bytes=most, overflow="drop_oldest") as spool:
        for seq in range(1, 200):
            spool.append(body(seq))
            took = 0
            for path in (tmp_path / "s").rglob("*"):
                try:
                    took += path.stat().st_blocks * 512 if path.is_file() else 0
                except FileNotFoundError:
                    continue
            assert took <= most + 2 * SEGMENT + reserve + 2 * SEGMENT
        assert spool.info().bytes <= most


def test_a_message_that_is_not_done_keeps_all_behind_it(tmp_path: Path) -> None:
    """Its file and those behind; once it is done, they go."""
    with (
        mm.Spool(tmp_path / "s", durability="os", segment_bytes=SEGMENT) as spool,
        mm.Push(spool=spool, bind="tcp://127.0.0.1:0") as push,
        mm.Pull(connect=push.endpoint, ack="manual") as pull,
    ):
        push.send_many([body(seq) for seq in range(1, 41)])
        first, *others = [pull.recv(timeout=WAIT_S) for _ in range(40)]
        for one in others:
            one.ack()
        push.drain(timeout=0)
        assert spool.info().first_seq == 1
        assert first.ack()
        settled(push)
    with small(tmp_path / "s") as spool:
        assert spool.cursors()[0].lag == 0
