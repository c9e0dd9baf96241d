"""Folders for the rows of tasks, and the end of those whose task was killed.

Not here: what stands in them. Law: a folder goes only by who holds its lock, and a lock goes with
its process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEFT_MAX = 64
"""Folders of killed tasks that one task removes."""
_LOCK = ".lock"


def _home(given: str | None) -> Path:
    """Return where folders are: Spark's own place for what tasks write, where it says one."""
    local = os.environ.get("LOCAL_DIRS") or os.environ.get("SPARK_LOCAL_DIRS") or ""
    place = Path(given or local.split(",")[0] or tempfile.gettempdir())
    return place / f"meshmsg-sink-{os.getuid()}"


def _locked(path: Path) -> int | None:
    """Return a descriptor that holds a lock; None: another one does, or it is gone."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino == os.fstat(lock).st_ino:
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.unlink(f"{folder}{_LOCK}")
    os.close(lock)


def _clear(home: Path) -> None:
    """Remove what killed tasks left."""
    for path in sorted(home.glob(f"*{_LOCK}"))[:LEFT_MAX]:
        if (lock := _locked(path)) is not None:
            _remove(path.with_suffix(""), lock)


@contextmanager
def own_folder(given: str | None) -> Iterator[Path]:
    """Make a folder that is there for a while, and remove those of tasks that were killed.

    Args:
        given: Where; None: where Spark has its own, else where temporary files are.

    Raises:
        OSError: It cannot be made.
    """
    home = _home(given)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        where = "where Spark has its own files" if given is None else "option spoolFolder"
        raise type(error)(
            error.errno, f"{where}: no folder can be made there: {error.strerror}", str(home)
        ) from None
    _clear(home)
    folder = Path(tempfile.mkdtemp(prefix="task-", dir=home))
    lock = _locked(Path(f"{folder}{_LOCK}"))
    if lock is None:
        shutil.rmtree(folder, ignore_errors=True)
        raise OSError(f"{folder}{_LOCK} cannot be locked")
    try:
        yield folder
    finally:
        _remove(folder, lock)
