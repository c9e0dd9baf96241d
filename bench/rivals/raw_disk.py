"""The disk without anything between: octets are written into a file that was zeroed, and synced."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from ..base.disk import ZeroedFile
from ..base.need import BenchError
from ..base.task import Task
from ..peers.seam import Appender, Peer

BATCH_HEAD = 56
"""Octets that a spool has before the records of each batch (docs/spool-format.md)."""
ALIGNED = 8
"""A batch begins at a multiple of so many octets."""
LARGE = 4 * 1024 * 1024
"""Octets of a large write: the most that a spool writes at once."""
FILE, LARGE_FILE = 16 * 1024 * 1024, 256 * 1024 * 1024
"""Octets of the file at most, which is written around; where writes are large."""
NEW_FILE, NEW_FILES = 64 * 1024 * 1024, 4
"""Octets of a new file, as a spool's; and how many are there at once."""
BESIDE = 128
"""Octets that a message may have beside its body, and more."""


def batch_of(body: bytes) -> bytes:
    """As many octets as a spool writes for that message alone, zeros before it."""
    size = len(body) + 1  # what is told of its attributes
    varint = max(1, (size.bit_length() + 6) // 7)
    whole = BATCH_HEAD + varint + size
    return body.rjust(-(-whole // ALIGNED) * ALIGNED, b"\0")


class EachRaw(Appender):
    """Writes and syncs once a message."""

    file_size, least = FILE, 0
    """Octets of the file, at most and besides what is put."""

    def __init__(self, task: Task) -> None:
        if not task.folder:
            raise BenchError("has no folder for its file in a measurement of this kind")
        put = (task.warm + task.count) * (task.size + BESIDE)
        size = min(self.file_size, self.least + put)
        self._file = ZeroedFile(str(Path(task.folder) / "raw"), size)

    def append_count(self, body: bytes, count: int) -> list[int]:
        """Put so many."""
        put, octets, clock, times = self._file.put, batch_of(body), time.perf_counter_ns, []
        for _ in range(count):
            start = clock()
            put(octets)
            times.append(clock() - start)
        return times

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LargeRaw(EachRaw):
    """Writes and syncs many messages at once, one such write after the other."""

    file_size, least = LARGE_FILE, LARGE

    def append_count(self, body: bytes, count: int) -> list[int]:
        """Put so many."""
        at_once = max(1, LARGE // max(len(body), 1))
        octets = body * at_once
        for _ in range(count // at_once):
            self._file.put(octets)
        if count % at_once:
            self._file.put(body * (count % at_once))
        return []


class NewRaw(Appender):
    """The same into one new file after another, of which the oldest goes."""

    def __init__(self, task: Task) -> None:
        if not task.folder:
            raise BenchError("has no folder for its files in a measurement of this kind")
        self._folder, self._made, self._at, self._file = Path(task.folder), 0, NEW_FILE, -1

    def append_count(self, body: bytes, count: int) -> list[int]:
        """Put so many."""
        at_once = max(1, LARGE // max(len(body), 1))
        octets = body * at_once
        for _ in range(count // at_once):
            self._put(octets)
        if count % at_once:
            self._put(body * (count % at_once))
        return []

    def _put(self, octets: bytes) -> None:
        if self._at + len(octets) > NEW_FILE:
            self._next()
        done = os.pwrite(self._file, octets, self._at)
        if done != len(octets):
            raise BenchError(f"{done:,} of {len(octets):,} octets were written")
        os.fdatasync(self._file)
        self._at += done

    def _next(self) -> None:
        """Begin another one, whose room is its own."""
        self.close()
        (self._folder / f"new-{self._made - NEW_FILES}").unlink(missing_ok=True)
        self._file = os.open(self._folder / f"new-{self._made}", os.O_WRONLY | os.O_CREAT, 0o600)
        os.posix_fallocate(self._file, 0, NEW_FILE)
        os.fsync(self._file)
        self._made, self._at = self._made + 1, 0

    def close(self) -> None:
        """Close the last one."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class RawDisk(Peer):
    """A write and a sync a message."""

    name = "raw-fdatasync"
    transports = ("disk",)
    kinds = ("append",)

    def version(self) -> str:
        """Of the system, which is all that there is."""
        return f"Linux {platform.release()}"

    def appender(self, task: Task) -> Appender:
        """A file."""
        return EachRaw(task)


class RawDiskLarge(RawDisk):
    """Large writes: how much the disk takes."""

    name = "raw-fdatasync-4m"

    def appender(self, task: Task) -> Appender:
        """A file."""
        return LargeRaw(task)


class RawDiskNew(RawDisk):
    """Large writes into new files: how much the disk takes of what it has no room for yet."""

    name = "raw-fdatasync-new"

    def appender(self, task: Task) -> Appender:
        """Files."""
        return NewRaw(task)
