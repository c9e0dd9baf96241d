"""The disk below the folder for temporary files ($TMPDIR): what a sync of it takes, by itself.

All that a measurement keeps is there, of brokers, too. Law: what is written was zeroed before, as
the files of a spool are, so no sync has to allocate.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

PAGE = 4096
SYNCS = 32
"""Of which the median is told."""
WHOLE = 1024 * 1024
"""Octets zeroed at once."""


class ZeroedFile:
    """A file of so many zeros that are on the disk; written from its beginning on, and around."""

    def __init__(self, path: str, size: int) -> None:
        self._size, self._at = size, 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        zeros = bytes(min(WHOLE, size))
        for at in range(0, size, len(zeros)):
            os.pwrite(self._file, zeros[: size - at], at)
        os.fsync(self._file)

    def put(self, octets: bytes) -> None:
        """Write them behind the last ones, and wait until they are on the disk."""
        if self._at + len(octets) > self._size:
            self._at = 0
        done = os.pwrite(self._file, octets, self._at)
        if done != len(octets):
            raise OSError(f"{done} of {len(octets)} octets were written")
        os.fdatasync(self._file)
        self._at += done

    def close(self) -> None:
        """Close it."""
        os.close(self._file)


def sync_us() -> float:
    """Microseconds until 4 KiB are on the disk, the median of some: T_sync."""
    clock, octets, times = time.perf_counter_ns, bytes(PAGE - 1) + b"x", []
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as folder:
        one = ZeroedFile(str(Path(folder) / "synced"), (SYNCS + 1) * PAGE)
        try:
            one.put(octets)
            for _ in range(SYNCS):
                start = clock()
                one.put(octets)
                times.append(clock() - start)
        finally:
            one.close()
    return sorted(times)[SYNCS // 2] / 1000


def file_system() -> str:
    """What kind it is of; nothing where the system does not tell."""
    folder = os.path.realpath(tempfile.gettempdir())
    best, kind = "", ""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, at, named, *_ = line.split(" ")
        inside = folder == at or folder.startswith(at.rstrip("/") + "/")
        if inside and len(at) >= len(best):
            best, kind = at, named
    return kind
