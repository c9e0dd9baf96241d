"""A spool in an event loop: tasks that wait together, are cancelled, and closed meanwhile.

Not here: what it does as for threads (test_aio_spool_same.py).
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.disks import full_disk
from tests.support.forked import in_child
from tests.support.later import Later
from tests.support.looped import of_a_loop, run, turns, waits
from tests.support.spooled import body, small

TASKS = 1000


def all_of(path: Path) -> list[mm.SpoolMessage | mm.SpoolGap]:
    """Return what is there once it is closed."""
    with small(path) as spool, spool.reader() as reader:
        return list(reader)


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_tasks_that_wait_share_syncs(tmp_path: Path, level: Any) -> None:
    """Each gets its number, in their order; all of them take a few syncs."""

    async def main() -> None:
        async with aio.Spool(tmp_path / "s", durability=level) as spool:
            before = spool.info().syncs
            got = await asyncio.gather(*(spool.append(b"%d" % at) for at in range(TASKS)))
            assert got == list(range(1, TASKS + 1))
            await spool.flush()
            assert spool.info().durable_seq == TASKS
            assert spool.info().syncs - before < TASKS / 4  # fewer on an idle machine

    run(main)
    assert all_of(tmp_path / "s") == [b"%d" % at for at in range(TASKS)]


def test_a_cancelled_append_says_what_it_did(tmp_path: Path) -> None:
    """Cancelled while it waits for the disk it was put, and is kept; before its first step not."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s", durability="disk") as spool:
            never = asyncio.create_task(spool.append(b"never begun"))
            never.cancel()
            with pytest.raises(asyncio.CancelledError):
                await never
            begun = asyncio.create_task(spool.append(b"begun"))
            asyncio.get_running_loop().call_soon(begun.cancel)
            with pytest.raises(asyncio.CancelledError) as caught:
                await begun
            assert vars(caught.value)["sent"] == 1
            assert await spool.append(b"behind") == 2

    run(main)
    assert all_of(tmp_path / "s") == [b"begun", b"behind"]


def test_who_waits_for_room_keeps_no_other_task(tmp_path: Path) -> None:
    """In their order; one that is cancelled before its turn is not put; a trim lets them go on."""

    async def main() -> None:
        spool = of_a_loop(tmp_path / "s", overflow="block", max_messages=20)
        await spool.append_many(body(seq) for seq in range(1, 21))
        tasks = [asyncio.create_task(spool.append(body(at))) for at in range(21, 26)]
        for task in tasks:
            await waits(task)
        with pytest.raises(mm.WouldBlockError) as caught:
            await spool.append(b"x", timeout=0)
        assert caught.value.sent == 0  # type: ignore[attr-defined]
        with pytest.raises(mm.TimedOutError) as late:
            await spool.append_many([b"x", b"y"], timeout=0.001)
        assert late.value.sent == 0  # type: ignore[attr-defined]
        given_up = tasks.pop(2)
        given_up.cancel()
        await asyncio.wait([given_up])  # with its next turn, and there may be room by then
        assert await spool.trim(14) > 0
        assert await asyncio.gather(*tasks) == [21, 22, 23, 24]
        await spool.close()

    run(main)
    read = all_of(tmp_path / "s")
    assert read[-4:] == [body(21), body(22), body(24), body(25)]


@pytest.mark.parametrize("call", ["append", "append_many", "async", "flush", "read", "for"])
def test_closing_ends_tasks_that_wait(tmp_path: Path, call: str) -> None:
    """By ClosedError, with what was put; and new calls."""

    async def endless() -> AsyncIterator[bytes]:
        yield body(1)
        while True:
            await asyncio.sleep(0)
            yield b"x" * 4000

    async def main() -> None:
        block = {"overflow": "block", "max_messages": 20} if call != "flush" else {}
        spool = of_a_loop(tmp_path / "s", durability="disk", **block)
        await spool.append_many(body(seq) for seq in range(1, 21))
        reader = spool.reader(21)

        async def following() -> None:
            while True:
                await reader.read(timeout=None)

        calls: dict[str, Callable[[], Any]] = {
            "append": lambda: spool.append(b"x"),
            "append_many": lambda: spool.append_many([b"x", b"y"]),
            "async": lambda: spool.append_many(endless()),
            "flush": lambda: spool.append_many(endless()),
            "read": lambda: reader.read(timeout=None),
            "for": following,
        }
        tasks = [asyncio.ensure_future(calls[call]()) for _ in range(1 if call == "for" else 2)]
        for task in tasks:
            await waits(task)
        await spool.close()
        for task in tasks:
            with pytest.raises(mm.ClosedError) as caught:
                await task
            if call.startswith("a"):
                assert vars(caught.value)["sent"] == 0
        for again in calls.values():
            with pytest.raises(mm.ClosedError):
                await again()
        await spool.close()
        await asyncio.gather(spool.close(), spool.close())

    run(main)
    assert all_of(tmp_path / "s")[:20] == [body(seq) for seq in range(1, 21)]


def test_what_waits_for_the_disk_as_it_is_closed_was_kept(tmp_path: Path) -> None:
    """It ends by ClosedError with `sent` 1, and is there."""

    async def main() -> None:
        spool = of_a_loop(tmp_path / "s", durability="disk")
        tasks = [asyncio.create_task(spool.append(b"%d" % at)) for at in range(5)]
        await asyncio.sleep(0)
        await spool.close()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(ended, int) or vars(ended)["sent"] == 1

    run(main)
    assert all_of(tmp_path / "s") == [b"%d" % at for at in range(5)]


def test_closing_goes_on_when_it_is_cancelled(tmp_path: Path) -> None:
    """Who closes again waits for the same end."""

    async def main() -> None:
        spool = of_a_loop(tmp_path / "s", durability="disk")
        await spool.append(b"x", wait=False)
        closing = asyncio.create_task(spool.close())
        asyncio.get_running_loop().call_soon(closing.cancel)
        with pytest.raises(asyncio.CancelledError):
            await closing
        await spool.close()
        async with of_a_loop(tmp_path / "s") as again:
            assert again.info().last_seq == 1
            assert not again.recovery.unclean

    run(main)


def test_an_async_iterable_is_put_as_it_comes(tmp_path: Path) -> None:
    """Each is there while the next is awaited; what it raises comes out, with `sent`."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool:
            seen: list[int] = []

            async def source(count: int) -> AsyncIterator[bytes]:
                for at in range(count):
                    seen.append(spool.info().last_seq)
                    yield b"%d" % at
                    await asyncio.sleep(0)
                if count == 7:
                    raise RuntimeError("enough")

            assert await spool.append_many(source(5), key=b"k") == range(1, 6)
            assert seen == [0, 1, 2, 3, 4]
            with pytest.raises(RuntimeError, match="enough") as caught:
                await spool.append_many(source(7))
            assert vars(caught.value)["sent"] == 7
            assert await spool.append_many(source(0)) == range(0)
            task = asyncio.create_task(spool.append_many(source(10**9)))
            await turns()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await task
            assert 12 + vars(cancelled.value)["sent"] == spool.info().last_seq > 13

    run(main)


def test_the_loop_runs_while_many_are_put(tmp_path: Path) -> None:
    """Calls that need not wait let others run, too."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s", durability="buffered") as spool:
            ran = 0

            async def other() -> None:
                nonlocal ran
                while True:
                    ran += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(other())
            await asyncio.sleep(0)
            for _ in range(5000):
                await spool.append(b"x", wait=False)
            one_by_one, ran = ran, 0
            await spool.append_many([b"x"] * 50_000, wait=False)
            assert one_by_one > 5
            assert ran > 5
            task.cancel()

    run(main)


def test_a_cancelled_read_loses_nothing(tmp_path: Path) -> None:
    """What it had read is the next one's; who seeks meanwhile gets what is there."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool, spool.reader() as reader:
            await spool.append_many([b"%d" % seq for seq in range(1, 101)])
            for seek, late in ((None, False), (50, False), (None, True), (20, True), (None, False)):
                first = reader.seq
                task = asyncio.create_task(reader.read(10))
                await asyncio.sleep(0)
                if late:  # as it is there, and the task does not know yet
                    assert reader._reading is not None
                    reader._reading.add_done_callback(lambda _, task=task: task.cancel())
                else:
                    task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert reader.seq == first
                if seek is not None:
                    reader.seek(seek)
                read = await reader.read(10)
                assert [one.seq for one in read if isinstance(one, mm.SpoolMessage)] == list(
                    range(seek or first, (seek or first) + 10)
                )
            waiting = asyncio.create_task(spool.reader(101).read(timeout=None))
            await waits(waiting)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    run(main)


def test_a_loop_that_is_left_is_gone_on_with(tmp_path: Path) -> None:
    """Nothing that an iteration read ahead is lost."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool, spool.reader() as reader:
            await spool.append_many([b"%d" % seq for seq in range(1, 101)])
            async for one in reader:
                if one == b"7":
                    break
            assert reader.seq == 8
            assert await reader.read(2) == [b"8", b"9"]
            assert [one async for one in reader] == [b"%d" % seq for seq in range(10, 101)]
            reader.seek(99)
            assert [one async for one in reader] == [b"99", b"100"]

    run(main)


def test_a_reader_follows_what_other_tasks_put(tmp_path: Path) -> None:
    """All of it, in order, over many files; a message is seen once it is kept."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s", durability="disk") as spool:

            async def put() -> None:
                for seq in range(1, 101):
                    assert await spool.append(body(seq)) == seq

            task = asyncio.create_task(put())
            async with spool.reader() as reader:
                for seq in range(1, 101):
                    [one] = await reader.read(1, timeout=None)
                    assert one == body(seq)
                    assert spool.info().durable_seq >= seq
            await task
            assert spool.info().files > 5

    run(main)


def test_loops_of_threads_share_a_spool(tmp_path: Path) -> None:
    """And a loop that came to its end leaves nothing behind."""
    spool = of_a_loop(tmp_path / "s", durability="disk")

    async def main(number: int) -> None:
        got = await asyncio.gather(*(spool.append(b"%d" % number) for _ in range(50)))
        assert len(set(got)) == 50

    for _ in range(3):
        loops = [Later(partial(run, partial(main, at))) for at in range(3)]
        assert [one.error() for one in loops] == [None] * 3
    run(spool.close)
    assert len(all_of(tmp_path / "s")) == 450


def test_what_nobody_holds_is_closed(tmp_path: Path) -> None:
    """Its descriptors go, too."""

    async def main() -> None:
        before = set(os.listdir("/proc/self/fd"))
        for _ in range(3):
            spool = of_a_loop(tmp_path / "s")
            await spool.append(b"x")
            del spool
            gc.collect()
            await turns()
        async with of_a_loop(tmp_path / "s") as spool:
            assert spool.info().last_seq == 3
        assert len(set(os.listdir("/proc/self/fd")) - before) <= 1  # that of the listing

    run(main)


def test_the_child_of_a_fork_is_told(tmp_path: Path) -> None:
    """In a loop of its own; the parent goes on."""

    async def child(spool: aio.Spool) -> bool:
        told = 0
        for call in (lambda: spool.append(b"x"), spool.flush, lambda: spool.trim(1)):
            try:
                await call()
            except mm.ForkedError:
                told += 1
        await spool.close()
        return told == 3

    spool = of_a_loop(tmp_path / "s")
    run(lambda: spool.append(b"before"))
    assert in_child(lambda: run(lambda: child(spool)))
    assert run(lambda: spool.append(b"behind")) == 2
    run(spool.close)


def test_it_is_not_for_threads(tmp_path: Path) -> None:
    """`with` and `for` say what to use."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool, spool.reader() as reader:
            for wrong in (spool, reader):
                with pytest.raises(TypeError, match="async with"), wrong:  # type: ignore[attr-defined]
                    pass
            with pytest.raises(TypeError, match="async for"):
                list(reader)  # type: ignore[call-overload]

    run(main)


def test_a_disk_that_fails_ends_all_that_wait(tmp_path: Path) -> None:
    """By SpoolFailedError, with what was put; so does each call from then on, and `close`."""

    async def main() -> None:
        spool = of_a_loop(tmp_path / "s", durability="disk")
        await spool.append(b"kept")
        reading = asyncio.create_task(spool.reader(2).read(timeout=None))
        await waits(reading)
        with full_disk(f"{spool.path}/0"):
            tasks = [asyncio.create_task(spool.append(b"x")) for _ in range(3)]
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(ended, mm.SpoolFailedError)
                assert vars(ended)["sent"] == 1
        with pytest.raises(mm.SpoolFailedError):
            await reading
        for call in (lambda: spool.append(b"x"), lambda: spool.append_many([b"x"])):
            with pytest.raises(mm.SpoolFailedError) as caught:
                await call()
            assert vars(caught.value)["sent"] == 0
        for _ in range(2):
            with pytest.raises(mm.SpoolFailedError):
                await spool.reader(9).read(timeout=None)
            with pytest.raises(mm.SpoolFailedError):
                await spool.flush()
        assert spool.info().failed
        assert (await spool.read(1)).messages == [b"kept"]
        with pytest.raises(mm.SpoolFailedError):
            await spool.close()

    run(main)
    assert all_of(tmp_path / "s")[0] == b"kept"


def test_a_cancelled_batch_is_read_again(tmp_path: Path) -> None:
    """By the next call, whichever it is."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool, spool.reader() as reader:
            await spool.append_many([b"%d" % seq for seq in range(1, 101)])
            for first in (1, 11, 21):
                task = asyncio.create_task(reader.read_batch(10))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert reader.seq == first
                if first == 11:
                    assert len(await reader.read(10)) == 10
                else:
                    batch = await reader.read_batch(10)
                    assert (batch.first_seq, batch.last_seq) == (first, first + 9)
            task = asyncio.create_task(spool.read(101, timeout=None))  # type: ignore[arg-type]
            await waits(task)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main)


def test_batches_that_follow_each_other_seek_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was read ahead, and not given out, is gone back for."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool, spool.reader() as reader:
            await spool.append_many([b"%d" % seq for seq in range(1, 101)])
            sought: list[int] = []
            monkeypatch.setattr(reader._reader, "seek", sought.append)
            for first in (1, 11, 21):
                assert (await reader.read_batch(10)).first_seq == first
            monkeypatch.undo()
            assert sought == []
            async for one in reader:
                assert one == b"31"
                break
            batch = await reader.read_batch(10)
            assert (batch.first_seq, batch.last_seq) == (32, 41)

    run(main)
