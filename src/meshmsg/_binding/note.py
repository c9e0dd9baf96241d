"""What goes with a message beside its frames: key, headers, when it was sent, until when it is of
use; as Python has it, and as the octets that C carries (csrc/base/meta.h).

Not here: who takes it, and when it expires (the core). Law: what is read was checked by the core,
or is of nobody: items of another id are left out.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypedDict

from meshmsg._binding.core import lib, raise_for, to_ms
from meshmsg._binding.data import Question, no_utf8, size_of
from meshmsg._binding.errors import TooLargeError, UsageError
from meshmsg._hints.wrong_role import wrong_note

ITEM_HEAD = 3
"""Octets in front of each item of what goes with a message: its kind and size."""
NOTE_MAX: int = lib.MM_META_SIZE_MAX
"""Bytes that key, headers and times of one message may take."""
NAME_MAX = 255
"""Bytes of a header's name, in UTF-8."""
NO_ROOM = "no room for a message"
EXPIRES = " that expires (ttl)"
"""Behind that, where it was the ttl that was over."""
_LEAST_S = 0.000001
"""What is left of a time that is up: the call then waits its shortest, and says that it is too
late."""
_SECONDS_MAX = 2.0**33
"""A time in seconds is below that, 272 years: so two of them, in nanoseconds, fit into 64 bits."""
_TIMESTAMP, _EXPIRES, _KEY, _TEXT, _OCTETS = range(1, 6)
_TIME_SIZE = 8
_HEAD_SIZE = 3
_NS = 1_000_000_000
_MS = 1000


class MessageOptions(TypedDict, total=False):
    """What may go with a message, beside its body; `message` has the same at the receiver.

    Peers of meshmsg get it. Others (pyzmq, NNG) get the message without it: `PeerInfo.takes_meta`
    and the event PEER_PLAIN say which.

    Attributes:
        key: What the message is about: bytes, or text, which comes back as its bytes.
        headers: Names, and for each a text or bytes, which come back as they were. A W3C
            `traceparent` is one.
        ttl: Seconds from now it is of use. What has not left its sender by then is not sent any
            more (`dropped_expired`, and an event). A call that waits for room waits no longer than
            that: then it raises TimedOutError, and nothing was sent.
        timestamp: When it was made, in seconds since 1970; None: now.
    """

    key: bytes | str | None
    headers: Mapping[str, str | bytes] | None
    ttl: float | None
    timestamp: float | None


_NO_HEADERS: Mapping[str, str | bytes] = MappingProxyType({})


class Note:
    """What came with a message; nothing in it changes."""

    __slots__ = ("expires", "headers", "key", "timestamp")

    def __init__(
        self,
        timestamp: float | None = None,
        expires: float | None = None,
        key: bytes | None = None,
        headers: Mapping[str, str | bytes] = _NO_HEADERS,
    ) -> None:
        self.timestamp = timestamp
        self.expires = expires
        self.key = key
        self.headers = headers


NOTHING = Note()


def _item(kind: int, data: bytes, what: str) -> bytes:
    if len(data) > NOTE_MAX:
        raise note_too_large(len(data), what)
    return bytes([kind]) + len(data).to_bytes(2, "big") + data


def note_too_large(size: int, what: str) -> TooLargeError:
    """Say that what goes with a message, or a part of it, is too large."""
    return TooLargeError(
        f"{what} of {size:,} bytes; all that goes with a message may have {NOTE_MAX:,}",
        code=lib.MM_EMSGSIZE,
        size=size,
        limit=NOTE_MAX,
    )


def _seconds(value: float, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r}; it is seconds, as a number")
    if not 0 < value < _SECONDS_MAX:
        raise UsageError(
            f"{name} is {value!r}; it is seconds, above 0 and below {_SECONDS_MAX:,.0f}"
        )
    return float(value)


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise no_utf8(what) from None


def _octets(value: bytes | str, name: str) -> bytes:
    if isinstance(value, str):
        return _utf8(value, name)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{name} is bytes or text, not {type(value).__name__}")


def _header(name: str, value: str | bytes) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"the name of a header is text, not {type(name).__name__}")
    raw = _utf8(name, f"the name of a header, {name!r},")
    if not 0 < len(raw) <= NAME_MAX:
        raise UsageError(
            f"a header's name is {name!r}, of {len(raw):,} bytes; it has 1 to {NAME_MAX}"
        )
    kind = _TEXT if isinstance(value, str) else _OCTETS
    data = _octets(value, f"the header {name!r}")
    return _item(kind, bytes([len(raw)]) + raw + data, f"the header {name!r}")


def encode(
    now: float,
    *,
    key: bytes | str | None = None,
    headers: Mapping[str, str | bytes] | None = None,
    ttl: float | None = None,
    timestamp: float | None = None,
    expires: float | None = None,
) -> bytes:
    """Return the octets of what goes with a message that is sent now, in seconds since 1970.

    `expires` is the time at which `ttl` is over, in place of that.
    """
    made = now if timestamp is None else _seconds(timestamp, "timestamp")
    parts = [_item(_TIMESTAMP, int(made * _NS).to_bytes(_TIME_SIZE, "big"), "timestamp")]
    until = None if expires is None else _seconds(expires, "expires")
    until = until if ttl is None else now + _seconds(ttl, "ttl")
    if until is not None:
        parts.append(_item(_EXPIRES, int(until * _NS).to_bytes(_TIME_SIZE, "big"), "ttl"))
    if key is not None:
        parts.append(_item(_KEY, _octets(key, "a key"), "a key"))
    if headers is not None:
        if not isinstance(headers, Mapping):
            raise TypeError(f"headers is a mapping of names, not {type(headers).__name__}")
        parts += [_header(name, value) for name, value in headers.items()]
    octets = b"".join(parts)
    if len(octets) > NOTE_MAX:
        raise note_too_large(len(octets), "key and headers")
    return octets


def octets_of(options: MessageOptions, clock: Callable[[], float] = time.time) -> bytes:
    """Return the octets of what goes with a message; of nothing, none."""
    if (wrong := wrong_note(options)) is not None:
        raise wrong
    if all(value is None for value in options.values()):
        return b""
    return encode(clock(), **options)


def note_of(handle: int, options: MessageOptions) -> bytes:
    """Return the octets of what goes with a message that a socket sends now; of nothing, none."""

    def clock() -> float:
        now_ms = int(lib.mm_wall_ms(handle))
        raise_for(min(now_ms, 0), "asking for the time")
        return now_ms / _MS

    return octets_of(options, clock)


def room_within(
    handle: int, octets: bytes, timeout: float | None, what: str = NO_ROOM
) -> tuple[float | None, str]:
    """Return how long a message may wait for room, and what its error says that did in vain.

    That is no longer than it is of use: what came to a queue behind that would only be dropped.
    """
    left = _left_of(handle, octets)
    if left is None or timeout == 0:
        return timeout, what
    to_ms(timeout)  # refuses what is no time
    left = max(left, _LEAST_S)
    if timeout is not None and timeout <= left:
        return timeout, what
    return left, f"{what}{EXPIRES}"


def has_expired(handle: int, octets: bytes) -> bool:
    """Whether a message that those octets go with is of no use any more."""
    left = _left_of(handle, octets)
    return left is not None and left <= 1 / _MS  # the clock is read to the millisecond


def _left_of(handle: int, octets: bytes) -> float | None:
    """Return for how many seconds it is of use; None: for ever."""
    ends = next((data for kind, data in _items(octets) if kind == _EXPIRES), None)
    if ends is None:
        return None
    return int.from_bytes(ends, "big") / _NS - int(lib.mm_wall_ms(handle)) / _MS


def note_in(question: Question) -> bytes:
    """Return the octets of what goes with a question or an answer; of nothing, none."""
    return question[2] if isinstance(question, tuple) and len(question) > 2 else b""


def with_headers(
    handle: int, octets: bytes, headers: Mapping[str, str], without: Iterable[str] = ()
) -> bytes:
    """Return the octets that went with a message, and more headers, for one that hands it on.

    Not until when it is of use, and no header of those names `without`. Of its own, what finds no
    room beside the new ones is left out.
    """
    own = [item for item in _items(octets) if item[0] != _EXPIRES]
    made = next((data for kind, data in own if kind == _TIMESTAMP), b"")
    stamp = made or (max(int(lib.mm_wall_ms(handle)), 0) * _NS // _MS).to_bytes(_TIME_SIZE, "big")
    parts = [_item(_TIMESTAMP, stamp, "timestamp")]
    parts += [_header(name, value) for name, value in headers.items()]
    names = {name.encode() for name in (*headers, *without)}
    room = NOTE_MAX - sum(map(len, parts))
    for kind, data in own:
        header = kind in (_TEXT, _OCTETS) and data[1 : 1 + data[0]] not in names
        item = _item(kind, data, "an item")
        if (kind == _KEY or header) and len(item) <= room:
            parts.append(item)
            room -= len(item)
    return b"".join(parts)


def with_note(handle: int, question: Question, options: MessageOptions) -> Question:
    """Return a question or an answer, and what goes with it."""
    note = note_of(handle, options) if options else b""
    if not note:
        return question
    if isinstance(question, tuple):
        return question[0], question[1], note
    return question, array("Q", [size_of(question)]).tobytes(), note


def _items(octets: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEAD_SIZE <= len(octets):
        size = int.from_bytes(octets[at + 1 : at + _HEAD_SIZE], "big")
        yield octets[at], octets[at + _HEAD_SIZE : at + _HEAD_SIZE + size]
        at += _HEAD_SIZE + size


def decode(octets: bytes) -> Note:
    """Return what those octets say."""
    times: dict[int, float] = {}
    key: bytes | None = None
    headers: dict[str, str | bytes] = {}
    for kind, data in _items(octets):
        if kind in (_TIMESTAMP, _EXPIRES):
            times[kind] = int.from_bytes(data, "big") / _NS
        elif kind == _KEY:
            key = data
        elif kind in (_TEXT, _OCTETS):
            end = 1 + data[0]
            name = data[1:end].decode("utf-8", "surrogateescape")
            value = data[end:]
            headers[name] = value.decode("utf-8", "surrogateescape") if kind == _TEXT else value
    return Note(
        timestamp=times.get(_TIMESTAMP),
        expires=times.get(_EXPIRES),
        key=key,
        headers=MappingProxyType(headers),
    )
