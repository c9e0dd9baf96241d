"""Cursors and leases in an event loop: cancelled, closed twice, and used as only threads may.

Not here: what they do as for threads (test_aio_spool_same.py).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.cursored import saved
from tests.support.looped import of_a_loop, run, turns, waits


async def removed(spool: aio.Spool, name: str) -> bool:
    """Whether a cursor could be removed: it is not, before it is made, and while it is open."""
    try:
        await spool.delete_cursor(name)
    except (mm.SpoolError, mm.UsageError):
        return False
    return True


def test_a_cursor_whose_opening_was_cancelled_is_closed(tmp_path: Path) -> None:
    """It may be made; nobody has it open, so it can be removed."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool:
            opening = asyncio.create_task(spool.cursor("one"))
            await turns(1)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            while not await removed(spool, "one"):
                await turns()
            assert await spool.cursors() == []

    run(main)


def test_a_reader_that_waits_ends_with_its_cursor(tmp_path: Path) -> None:
    """Others of the spool go on."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool:
            cursor = await spool.cursor("one")
            reader, other = cursor.reader(), spool.reader()
            reading = asyncio.create_task(reader.read(timeout=None))
            going_on = asyncio.create_task(other.read(timeout=None))
            await waits(reading)
            await cursor.close()
            with pytest.raises(mm.ClosedError, match="the cursor 'one' was closed"):
                await reading
            with pytest.raises(mm.ClosedError, match="the cursor 'one' was closed"):
                await reader.read()
            await spool.append(b"x")
            assert await going_on == [b"x"]

    run(main)


def test_many_may_close_it_and_a_cancelled_close_goes_on(tmp_path: Path) -> None:
    """What was done is saved once all of them return."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool:
            await spool.append_many([b"x"] * 3)
            cursor = await spool.cursor("one")
            cursor.done_up_to(2)
            first = asyncio.create_task(cursor.close())
            await turns(1)
            first.cancel()
            await asyncio.gather(cursor.close(), cursor.close())
            assert saved(tmp_path / "s/cursors/one")[1] == 2
            with pytest.raises(asyncio.CancelledError):
                await first
            last = await spool.cursor("two")
        await last.close()  # its spool closed it
        with pytest.raises(mm.ClosedError):
            last.done(1)

    run(main)


def test_they_are_used_with_async(tmp_path: Path) -> None:
    """`with` says so; and they say what they are."""

    async def main() -> None:
        async with of_a_loop(tmp_path / "s") as spool:
            cursor: Any = await spool.cursor("one")
            lease: Any = await spool.lease("two", 1, 60)
            for one in (cursor, lease):
                with pytest.raises(TypeError, match="async with"), one:
                    pass
            assert repr(cursor) == f"<meshmsg.aio.SpoolCursor 'one' of {tmp_path / 's'}>"
            assert repr(lease) == f"<meshmsg.aio.SpoolLease 'two' from 1 of {tmp_path / 's'}>"
            async with lease:
                await lease.renew(60)
            assert not lease.release()
            assert isinstance(cursor, aio.SpoolCursor)
        with pytest.raises(mm.ClosedError):
            await lease.renew(60)

    run(main)
