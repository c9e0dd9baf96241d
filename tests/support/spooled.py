"""Small spools for tests, and what harms their files.

Not here: what a spool promises of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import meshmsg as mm
from tests.support.inloop import InLoop, LoopThread
from tests.support.spoolcodec import BATCH, HEAD, MAGIC

SEGMENT = 65_536
"""Bytes of a segment file: the smallest there are, so that there are many soon."""
BODY = 8_000
"""Bytes of a message of which a segment has a handful."""


def small(path: str | Path, **options: Any) -> mm.Spool:
    """Open a spool of small segments."""
    options.setdefault("durability", "os")
    return mm.Spool(path, segment_bytes=SEGMENT, **options)


def body(seq: int, size: int = BODY) -> bytes:
    """Return the body that message `seq` has in these tests."""
    return (b"%d " % seq) * (size // (len(str(seq)) + 1))


def fill(spool: mm.Spool, files: int) -> int:
    """Put messages, one a batch, until there are so many files; return the last number."""
    last = spool.info().last_seq
    for seq in range(last + 1, last + 2 + files * SEGMENT // BODY):
        if spool.info().files >= files:
            break
        last = spool.append(body(seq)) or 0
    assert spool.info().files >= files
    return last


def bodies(spool: mm.Spool, seq: int | None = None) -> list[bytes]:
    """Return all that is read from there on; no gap may be among it."""
    with spool.reader(seq) as reader:
        read = list(reader)
    assert all(isinstance(one, mm.SpoolMessage) for one in read)
    return [bytes(one) for one in read if isinstance(one, mm.SpoolMessage)]


def segments(path: Path) -> list[Path]:
    """Return its segment files in their order."""
    return sorted(path.glob("0*.seg"))


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return what stands in a folder, and when each file was changed."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def batches(file: Path) -> list[int]:
    """Return where the batches of a segment begin."""
    data, found, at = file.read_bytes(), [], HEAD
    while (at := data.find(MAGIC, at)) >= 0:
        found.append(at)
        at += BATCH
    return found


def turn_bit(file: Path, at: int) -> None:
    """Harm one octet."""
    with file.open("r+b") as opened:
        opened.seek(at)
        octet = opened.read(1)[0]
        opened.seek(at)
        opened.write(bytes([octet ^ 1]))


class SpoolInLoop(InLoop):
    """Stands in for a spool of a loop, for tests written for threads."""

    def __init__(self, thread: LoopThread, real: Any) -> None:
        super().__init__(thread, real)
        self._loop_thread = thread

    def reader(self, seq: Any = None) -> InLoop:
        """Return a reader of the loop."""
        made = self._loop_thread.call(lambda: self._real.reader(seq))
        return ReaderInLoop(self._loop_thread, made)

    def cursor(self, name: Any, start: Any = "earliest") -> InLoop:
        """Return a cursor of the loop."""
        made = self._loop_thread.call(lambda: self._real.cursor(name, start))
        return CursorInLoop(self._loop_thread, made)

    def lease(self, name: Any, from_seq: Any, ttl: Any) -> InLoop:
        """Return a lease of the loop."""
        made = self._loop_thread.call(lambda: self._real.lease(name, from_seq, ttl))
        return InLoop(self._loop_thread, made)

    @property
    def _idle_readers(self) -> list[Any]:
        """Those that are kept for the next `read`."""
        return self._real._spool._idle_readers  # type: ignore[no-any-return]

    @property
    def _inside(self) -> list[Any]:
        """The calls that wait."""
        return self._loop_thread.call(lambda: list(asyncio.all_tasks())[1:])  # type: ignore[no-any-return]


class CursorInLoop(InLoop):
    """Stands in for a cursor of a loop."""

    def reader(self) -> InLoop:
        """Return a reader of the loop."""
        return ReaderInLoop(self._thread, self._thread.call(lambda: self._real.reader()))


class ReaderInLoop(InLoop):
    """Stands in for a reader of a loop."""

    @property
    def seq(self) -> int:
        """The number that is read next."""
        return self._real.seq  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        iterator = self._real.__aiter__()

        async def step() -> Any:
            return await anext(iterator, None)

        while (found := self._thread.call(step)) is not None:
            yield found
