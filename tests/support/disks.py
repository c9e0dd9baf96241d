"""Disks that fail, or have no room, for a while.

Law: what was changed of the process is as it was, however a test ends. Not here: disks that are
simulated (tests/c/disk_rig.h).
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = "/dev/full"


def _open_on(prefix: Path | str) -> Iterator[int]:
    """Each descriptor of this process that is a file whose path begins so."""
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one listdir itself used
        if path.startswith(str(prefix)):
            yield int(name)


@contextmanager
def full_disk(prefix: Path | str) -> Iterator[None]:
    """No write to files whose paths begin so, and that are open now, has room meanwhile."""
    full, whole = os.open(FULL, os.O_RDWR), {}
    try:
        for number in list(_open_on(prefix)):
            whole[number] = os.dup(number)
            os.dup2(full, number)
        assert whole, f"no file is open whose path begins with {prefix}"
        yield
    finally:
        still = set(_open_on(FULL)) - {full}
        for number, saved in whole.items():
            if number in still:  # else it was closed meanwhile
                os.dup2(saved, number)
            os.close(saved)
        os.close(full)


@contextmanager
def failing_disk() -> Iterator[None]:
    """No file of this process grows meanwhile."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
