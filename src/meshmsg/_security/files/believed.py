"""Files that say who is believed: used only if nobody else can change them.

Not here: what is in them, files that others may not read (safe.py). Law: who could write such a
file, or put another in its place, could let himself in; so it is refused, with what to do. What is
read is what was looked at: by its descriptor. Folders above that of a file are not looked at.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from meshmsg._binding.errors import UsageError

WRITE = stat.S_IWGRP | stat.S_IWOTH
"""What group and others may not do."""
LINKS_MAX = 40
"""Links one behind the other, as Linux has it."""


def check_believed(path: str | os.PathLike[str], what: str) -> None:
    """Refuse a file or a folder that others can change.

    Of a folder it is looked at each file that ends in .key, too. what: it says, for the error.

    Raises:
        UsageError: Others can, and the chmod.
        OSError: It is not there.
    """
    place = os.fspath(path)
    state = os.stat(place)
    why = _changed_by(place, state)
    if not why and stat.S_ISDIR(state.st_mode):
        with os.scandir(place) as entries:
            keys = sorted(one.path for one in entries if one.name.endswith(".key"))
        for key in keys:
            if why := not_believed(key, os.stat(key)):
                place = key
                break
    why = why or replaced_by(place)
    if why:
        raise UsageError(f"{place} says {what}, and {why}")


def not_believed(path: str, state: os.stat_result) -> str:
    """Say how others can change a file that was opened, or replace it; "" if they cannot.

    state: By its descriptor, so that it is that of what is read.

    Raises:
        OSError: It is there no more.
    """
    return _changed_by(path, state) or replaced_by(path)


def _changed_by(path: str, state: os.stat_result) -> str:
    if _others_write(state):
        return f"others can change it ({_mode(state)}): chmod go-w {path}"
    if state.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {state.st_uid}: it must be yours, or root's"
    return ""


def _linked_by(path: str) -> str:
    """Say whose link a path is, "" if it is none, or ours: who made it says which file it is."""
    state = os.lstat(path)
    if stat.S_ISLNK(state.st_mode) and state.st_uid not in (os.geteuid(), 0):
        return f"is a link that user {state.st_uid} made: it must be yours, or root's"
    return ""


def replaced_by(path: str) -> str:
    """Say how others can put another file in its place, "" if they cannot.

    By a link that is theirs, or by a folder: its own, and that of each link and of what that leads
    to. Of a sticky one only its owner can, and the owner of the file.
    """
    steps = list(_steps(path))
    for step in steps:
        if why := _linked_by(step):
            return why if step is steps[0] else f"leads to {step}, which {why}"
    for folder in {os.path.dirname(step): None for step in (*steps, os.path.realpath(path))}:
        state = os.stat(folder)
        if state.st_uid not in (os.geteuid(), 0):
            return (
                f"user {state.st_uid} can replace it, by its folder: {folder} must be yours, "
                "or root's"
            )
        if _others_write(state) and not state.st_mode & stat.S_ISVTX:
            return f"others can replace it, by its folder ({_mode(state)}): chmod go-w {folder}"
    return ""


def _steps(path: str) -> Iterator[str]:
    """Yield a path, and where its links lead to, one after the other."""
    place = os.path.join(os.getcwd(), path).rstrip("/") or "/"
    for _ in range(LINKS_MAX + 1):
        yield place
        if not stat.S_ISLNK(os.lstat(place).st_mode):
            return
        place = os.path.join(os.path.dirname(place), os.readlink(place)).rstrip("/") or "/"
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _mode(state: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(state.st_mode):04o}"


def _others_write(state: os.stat_result) -> bool:
    by_group = bool(state.st_mode & stat.S_IWGRP) and not _is_private(state)
    return by_group or bool(state.st_mode & stat.S_IWOTH)


def _is_private(state: os.stat_result) -> bool:
    """Whether the group is its owner's alone, as systems have it whose umask is 002."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(state.st_uid).pw_name
        group = grp.getgrgid(state.st_gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}
