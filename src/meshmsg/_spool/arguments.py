"""What spools are given, checked before it is used; and their folder: made, and looked at.

Not here: bodies and what goes with them (_binding). Law: what is wrong is told by the name of its
argument, its value and its limit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from meshmsg._binding.errors import UsageError

SEQ_MAX = 2**62
"""A number of a message is below that, and so is a count of them."""
SEGMENT_MIN, SEGMENT_MAX = 65_536, 2**39
"""Bytes of a segment file."""
SEGMENT_DEFAULT = 64 * 1024 * 1024
"""Bytes of a segment file, if nothing is said."""
FILES_MIN = 2
"""Segment files that `max_bytes` has room for: the last one never goes."""
_FILES = 4
"""Those it has room for, if only `max_bytes` is said."""
SYNC_EVERY_MAX = 2**20
"""Seconds between syncs."""
AGE_MAX = 2**32
"""Seconds that messages are kept, at most: 136 years."""
COMPACT_RATIO = 0.5
"""The part of sealed files that is new when they are compacted, if nothing is said; as in Kafka."""
TOMBSTONE_AGE = 86_400.0
"""Seconds that a tombstone stays behind the compaction that took what it deletes; as in Kafka."""
_PPM = 1_000_000
UUID_SIZE = 16
"""Bytes of what a spool is called."""
ACKED_BY_MAX = 64
"""Cursors that files wait for."""
PRODUCER_SIZE = 16
"""Bytes that stand for a producer."""
Producer = str | bytes
"""A name, as text, or 16 bytes."""
Origin = tuple[Producer, int]
"""A producer, and the number that it gives a message."""
Folder = tuple[int, int]
"""Its device and inode, which no other has as long as somebody has it open."""
SEGMENT = re.compile(r"(\d{20})\.seg", re.ASCII)
"""The name of a segment file: the number that it begins with."""
_STATE = "META"
"""The file that says what a spool is."""
_CURSOR_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_MS = 1000


def choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return one of some words."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{name} is {value!r}; it is one of {', '.join(map(repr, known))}")
    return value


def whole(name: str, value: object, least: int, most: int = SEQ_MAX - 1) -> int:
    """Return a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}; it is a whole number")
    if not least <= value <= most:
        upper = "and more" if most == SEQ_MAX - 1 and value < least else f"to {most:,}"
        raise UsageError(f"{name} is {value:,}; it is {least:,} {upper}")
    return value


def sync_ms(value: object) -> int:
    """Return `sync_every` in milliseconds."""
    return _positive_ms("sync_every", value, SYNC_EVERY_MAX)


def flag(name: str, value: object) -> bool:
    """Return what is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it is True or False")
    return value


def folder(path: object) -> str:
    """Return the path of a folder."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path is {path!r}; it is the path of a folder")
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise UsageError(f"path is {text!r}; it is the path of a folder, without a zero byte")
    return text


def make_folder(path: str) -> tuple[bool, str]:
    """Make the folder, whatever its name is, and tell whether it was, or why it was not: told if
    opening finds nothing there.

    One whose opening fails while it is empty goes again: if the sync of its name failed, a later
    one that says it is done would say nothing of that name.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False, ""
    except FileNotFoundError:
        above = os.path.dirname(path.rstrip(os.sep)) or os.curdir
        return False, f"the folder {above} is not there: make it first"
    except OSError as error:
        return False, str(error.strerror)
    return True, ""


def no_spool(path: str) -> str:
    """Return what is there in place of a spool, in words; "": one is, or opening says what is
    amiss. It looks at names, and changes nothing.
    """
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return "there is nothing of that name"
    except NotADirectoryError:
        return "that is no folder"
    except OSError:
        return ""
    if _STATE in names or any(SEGMENT.fullmatch(name) for name in names):
        return ""
    what = "an empty folder" if not names else "a folder"
    return f"there is {what} without a spool in it"


def folder_of(path: str) -> Folder | None:
    """Return which folder that is; None: there is nothing of that name."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def is_gone(path: str, opened: Folder | None) -> str:
    """Return what became of the folder that was opened, in words; "": it is there, or nobody can
    look."""
    try:
        there = folder_of(path)
    except OSError:
        return ""
    if there is None:
        return "the folder is not there any more: it was removed or moved away"
    return "" if there == opened else "another folder is in its place by now"


def is_shut(path: str) -> str:
    """Return why no file can be made there, in words; "": one may be."""
    if os.access(path, os.W_OK | os.X_OK):
        return ""
    return "no file can be made in the folder: this process may not write there (or nobody may)"


def sizes(segment_bytes: object, max_bytes: object) -> tuple[int, int]:
    """Return the bytes of a segment file, and of all; 0: no limit.

    A spool that may take little has small files, as they go whole, and the last one never goes.
    """
    most = 0 if max_bytes is None else whole("max_bytes", max_bytes, FILES_MIN * SEGMENT_MIN)
    if segment_bytes is not None:
        size = whole("segment_bytes", segment_bytes, SEGMENT_MIN, SEGMENT_MAX)
    elif most:
        size = min(max(most // _FILES, SEGMENT_MIN), SEGMENT_DEFAULT)
    else:
        size = SEGMENT_DEFAULT
    if 0 < most < FILES_MIN * size:
        raise UsageError(
            f"max_bytes is {most:,}; with segment_bytes of {size:,} it is {FILES_MIN * size:,} and "
            "more, as what goes is whole files, and the last one stays"
        )
    return size, most


def _positive_ms(name: str, value: object, most: int) -> int:
    """Return seconds, as milliseconds, one and more."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r}; it is seconds, as a number")
    if not 0 < value <= most:
        raise UsageError(f"{name} is {value!r}; it is seconds, above 0, to {most:,}")
    return max(int(value * _MS), 1)


def age_ms(value: object) -> int:
    """Return `max_age` in milliseconds; 0: no limit."""
    return 0 if value is None else _positive_ms("max_age", value, AGE_MAX)


def segment_age_ms(value: object) -> int:
    """Return `segment_age` in milliseconds; 0: no limit."""
    return 0 if value is None else _positive_ms("segment_age", value, AGE_MAX)


def tombstone_ms(value: object) -> int:
    """Return `tombstone_age` in milliseconds."""
    return 0 if value == 0 else _positive_ms("tombstone_age", value, AGE_MAX)


def compact_ppm(compact: object, ratio: object) -> int:
    """Return which part of a million of its files is new when a spool compacts them; 0: none is."""
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)):
        raise TypeError(f"compact_ratio is {ratio!r}; it is a number")
    if not 0 < ratio <= 1:
        raise UsageError(f"compact_ratio is {ratio!r}; it is above 0, to 1")
    return max(int(ratio * _PPM), 1) if flag("compact", compact) else 0


def uuid_of(value: object) -> bytes:
    """Return `uuid`, checked."""
    if not isinstance(value, bytes):
        raise TypeError(f"uuid is bytes, not {type(value).__name__}")
    if len(value) != UUID_SIZE:
        raise UsageError(f"uuid has {len(value):,} bytes; it is {UUID_SIZE}")
    return value


def lease_ms(value: object) -> int:
    """Return `ttl` of a lease in milliseconds."""
    return _positive_ms("ttl", value, AGE_MAX)


def cursor_name(name: str, value: object) -> str:
    """Return the name of a cursor."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it is the name of a cursor, as text")
    if _CURSOR_NAME.fullmatch(value) is None:
        raise UsageError(
            f"{name} is {value!r}; it is 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, "
            "with no dot in front"
        )
    return value


def cursor_names(value: object) -> list[str]:
    """Return `until_acked_by`: names of cursors, each once."""
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"until_acked_by is {value!r}; it is a list of names of cursors")
    names = list(dict.fromkeys(cursor_name("a name of until_acked_by", one) for one in value))
    if not 0 < len(names) <= ACKED_BY_MAX:
        raise UsageError(
            f"until_acked_by has {len(names)} names; it has 1 to {ACKED_BY_MAX}, or is None"
        )
    return names


def producer_of(value: object) -> bytes:
    """Return the 16 bytes that stand for a producer: of a name BLAKE2b of its UTF-8."""
    if isinstance(value, str):
        if not value:
            raise UsageError("the name of a producer is empty")
        from hashlib import blake2b  # not with `import meshmsg`: it loads OpenSSL

        try:
            return blake2b(value.encode(), digest_size=PRODUCER_SIZE).digest()
        except UnicodeEncodeError:
            raise UsageError(f"the name of a producer is {value!r}, which is no UTF-8") from None
    if isinstance(value, bytes):
        if len(value) != PRODUCER_SIZE:
            raise UsageError(f"a producer has {len(value):,} bytes; it is text, or {PRODUCER_SIZE}")
        return value
    raise TypeError(f"a producer is text or {PRODUCER_SIZE} bytes, not {type(value).__name__}")


def origin_of(value: object) -> tuple[bytes, int] | None:
    """Return an origin, checked; None stays so."""
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"origin is {value!r}; it is a producer and a number, as a tuple")
    return producer_of(value[0]), whole("the number of an origin", value[1], 0)
