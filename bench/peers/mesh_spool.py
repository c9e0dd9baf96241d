"""A spool of meshmsg by itself: put, read, and opened after a kill. At "disk", as it is by default.

Not here: a Push that has one (mesh_spooled.py).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import abstractmethod
from itertools import repeat
from pathlib import Path

import meshmsg

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..base.task import Task
from .mesh import Mesh
from .seam import Appender, Opener, Replayer

FILL_SECONDS = 100
"""What filling a spool may take, besides what its messages need."""
FILLED_PER_S = 100_000
"""Messages a second that it takes at least: what is slower is given up."""
SEALED_BYTES = 64 * 1024 * 1024
"""Of a segment file that is full, if nothing else is said."""
SEALING_BYTES, SEALING_BODY = 64 * 1024, 40 * 1024
"""Of a segment file that has room for one message of that size only."""
FULL_BYTES = 256 * 1024 * 1024
"""Of a spool at its limit: as much as `raw-fdatasync-4m` goes round in."""
FILLING_BYTES = 64 * 1024
"""Of the messages that fill it before."""


def path_of(task: Task) -> str:
    """Of its spool."""
    if not task.folder:
        raise BenchError("has no folder for its spool in a measurement of this kind")
    return str(Path(task.folder) / "bench.spool")


class EachAppender(Appender):
    """Calls `append` once a message, and waits for the disk each time."""

    def __init__(self, task: Task) -> None:
        self._spool = meshmsg.Spool(path_of(task))

    def append_count(self, body: bytes, count: int) -> list[int]:
        """Put so many."""
        append, clock, times = self._spool.append, time.perf_counter_ns, []
        for _ in range(count):
            start = clock()
            append(body)
            times.append(clock() - start)
        return times

    def close(self) -> None:
        """Close the spool."""
        self._spool.close()


class ManyAppender(EachAppender):
    """Calls `append_many` once, which puts on while it waits for the disk."""

    def append_count(self, body: bytes, count: int) -> list[int]:
        """Put so many."""
        put = len(self._spool.append_many(repeat(body, count)))
        if put != count:
            raise BenchError(f"{put:,} of {count:,} messages were put")
        return []


class FullAppender(ManyAppender):
    """Of a spool that is at its limit before the clock starts: its oldest messages go."""

    def __init__(self, task: Task) -> None:
        self._spool = meshmsg.Spool(path_of(task), max_bytes=FULL_BYTES, overflow="drop_oldest")
        filling = bytes(FILLING_BYTES)
        for _ in range(2):  # each file has been written to by then, and goes the second time
            self._spool.append_many(repeat(filling, FULL_BYTES // FILLING_BYTES))


def run_filler(module: str, count: int, *told: object) -> subprocess.CompletedProcess[str]:
    """Have a process put so many messages, with what it is to be told."""
    command = [sys.executable, "-m", f"{BENCH}.ends.{module}", *map(str, told)]
    seconds = FILL_SECONDS + count / FILLED_PER_S
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise BenchError(f"the spool was not full after {seconds:g} s") from None


class SpoolReplayer(Replayer):
    """A spool that is full; who reads it has put nothing."""

    def __init__(self, task: Task) -> None:
        path = path_of(task)
        done = run_filler("filled", task.count, path, task.size, task.count, task.seed)
        if done.returncode:
            raise BenchError(f"who was to fill the spool failed: {done.stderr.strip()[-300:]}")
        self._spool = meshmsg.Spool(path)

    @abstractmethod
    def replay(self) -> int:
        """Read all of it."""

    def close(self) -> None:
        """Close the spool."""
        self._spool.close()


class MessageReplayer(SpoolReplayer):
    """A reader that is iterated: an object a message."""

    def replay(self) -> int:
        """Read all of it."""
        came = 0
        with self._spool.reader() as reader:
            for _ in reader:
                came += 1
        return came


class TableReplayer(SpoolReplayer):
    """`read` of batches: no object a message."""

    def replay(self) -> int:
        """Read all of it."""
        came, seq = 0, 1
        while batch := self._spool.read(seq):
            came += len(batch)
            seq = batch.last_seq + 1
        return came


class SpoolOpener(Opener):
    """A spool whose process was killed."""

    def __init__(self, task: Task) -> None:
        self._path, self._size = path_of(task), task.size

    def seal(self, files: int) -> None:
        """Put a message into each, and make all but the last one longer, by zeros."""
        with meshmsg.Spool(self._path, durability="os", segment_bytes=SEALING_BYTES) as spool:
            spool.append_many(repeat(bytes(SEALING_BODY), files + 1))
        *sealed, _ = sorted(Path(self._path).glob("*.seg"))
        if len(sealed) != files:
            raise BenchError(f"{len(sealed):,} of {files:,} segment files were sealed")
        for path in sealed:
            os.truncate(path, SEALED_BYTES)

    def leave(self, count: int) -> None:
        """Have one fill it that is killed."""
        done = run_filler("killed", count, self._path, self._size, count)
        if done.returncode != -signal.SIGKILL:
            raise BenchError(f"who was to fill the spool failed: {done.stderr.strip()[-300:]}")

    def forget(self) -> None:
        """Have its files on the disk, and nowhere else."""
        for path in Path(self._path).rglob("*"):
            if path.is_file():
                file = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(file)
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(file)

    def open_ns(self) -> int:
        """Open and close it."""
        start = time.perf_counter_ns()
        spool = meshmsg.Spool(self._path)
        took = time.perf_counter_ns() - start
        unclean = spool.recovery.unclean
        spool.close()
        if not unclean:
            raise BenchError("the spool was closed in order, not killed")
        return took

    def close(self) -> None:
        """Nothing is open."""


class MeshSpool(Mesh):
    """A call a message."""

    name = "meshmsg-spool"
    transports: tuple[str, ...] = ("disk",)
    kinds: tuple[str, ...] = ("append", "replay", "opening")

    def missing(self) -> str | None:
        """Whether this meshmsg has spools."""
        return None if hasattr(meshmsg, "Spool") else "this meshmsg has no spools"

    def appender(self, task: Task) -> Appender:
        """A spool."""
        return EachAppender(task)

    def replayer(self, task: Task) -> Replayer:
        """A spool."""
        return MessageReplayer(task)

    def opener(self, task: Task) -> Opener:
        """A spool."""
        return SpoolOpener(task)


class MeshSpoolFull(MeshSpool):
    """Many a call, into a spool that is at its limit: it goes round in the files that it has."""

    name = "meshmsg-spool-full"
    kinds: tuple[str, ...] = ("append",)

    def appender(self, task: Task) -> Appender:
        """A spool."""
        return FullAppender(task)


class MeshSpoolMany(MeshSpool):
    """Many a call."""

    name = "meshmsg-spool-many"
    kinds: tuple[str, ...] = ("append", "replay")

    def appender(self, task: Task) -> Appender:
        """A spool."""
        return ManyAppender(task)

    def replayer(self, task: Task) -> Replayer:
        """A spool."""
        return TableReplayer(task)
