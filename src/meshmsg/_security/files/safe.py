"""Files with something secret in them: written whole or not at all, and read only if they are safe.

Not here: what is in them (key_files.py, secret_files.py), files that say who is believed
(believed.py). Law: a secret is never in a file that others can read, not for a moment; what is
wrong is returned, not raised, so that no traceback has the content.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE_MAX = 64 * 1024
"""Octets of a file of keys or secrets."""
SECRET_MODE, PUBLIC_MODE = 0o600, 0o644
OTHERS = 0o077
"""What group and others may do."""


def replace_file(path: Path, content: bytes) -> None:
    """Write a file anew, with the mode and the owner it has: to another name, which takes its
    place.

    Raises:
        OSError: It could not be written; the file is as it was.
    """
    from pathlib import Path  # costs more than all of this room

    place = Path(os.path.realpath(path))
    state = place.stat()
    beside = place.with_name(f".{place.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(beside, flags, SECRET_MODE)
    try:
        with open(file, "wb") as stream:
            if (state.st_uid, state.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):  # then it is ours, as of who may write the folder
                    os.fchown(file, state.st_uid, state.st_gid)
            os.fchmod(file, stat.S_IMODE(state.st_mode))
            stream.write(content)
            stream.flush()
            os.fsync(file)
        os.replace(beside, place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(place.parent)


def write_new(path: Path, content: Callable[[], str], mode: int) -> None:
    """Write a file that is not there yet: to another name, which is linked to its own.

    content: gives it, so that no traceback of an error here has it.

    Raises:
        FileExistsError: It is there.
        FileNotFoundError: Its folder is not there.
        OSError: It could not be written.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(beside, flags, mode)
    except FileNotFoundError:
        words = f"the folder {path.parent} does not exist; make it first"
        raise FileNotFoundError(errno.ENOENT, words, str(path)) from None
    try:
        with open(file, "w", encoding="utf-8", newline="\n") as stream:
            had = os.fstat(file).st_mode  # a umask takes from others, not from us
            os.fchmod(file, stat.S_IMODE(had) | mode & stat.S_IRWXU)
            stream.write(content())
            stream.flush()
            os.fsync(file)
        os.link(beside, path)  # which fails if it is there meanwhile
    finally:
        os.unlink(beside)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk know which files there are."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def read_file(path: str) -> tuple[bytes, os.stat_result] | str:
    """Return what a file has and its state, or what is wrong with it as a file.

    Raises:
        OSError: It cannot be read.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode):
            return " is no file"
        if state.st_size > FILE_MAX:
            return f" has {state.st_size} octets; a file of keys has at most {FILE_MAX}"
        with open(file, "rb", closefd=False) as stream:
            return stream.read(FILE_MAX), state
    finally:
        os.close(file)


def unsafe(path: str, state: os.stat_result, what: str) -> str:
    """Return why a file with a secret in it may not be used; "" if it may."""
    if state.st_mode & OTHERS:
        mode = stat.S_IMODE(state.st_mode)
        return f" has {what}, and others can reach it (mode {mode:04o}): chmod 600 {path}"
    if state.st_uid not in (os.geteuid(), 0):
        return f" has {what}, and belongs to user {state.st_uid}: it must be yours, or root's"
    return ""
