"""What a Pub retains for who subscribes later: `retain=`, its limits, and the message of a topic.

Not here: which message that is (csrc/queue/retained.c), waiting (_sync/publishing.py,
aio/_publishing.py). Law: checked here, before the socket is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from meshmsg._binding.core import Slot, address_of, borrow, ffi, give_back, lib
from meshmsg._binding.data import buffer_of
from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import TOPICAL, Message
from meshmsg._socket.base import SocketBase
from meshmsg._socket.options import U64_MAX
from meshmsg._socket.peers import is_open

Retain = Literal["last"]
TOPICS_MOST: int = lib.MM_RETAIN_TOPICS_MOST
"""Topics that `retain_topics_max` may allow."""


def retain_flags(retain: object) -> int:
    """Return the option bits of a Pub."""
    if retain is not None and not isinstance(retain, str):
        raise TypeError(f"retain is {retain!r}; it is 'last' or None")
    if retain not in (None, "last"):
        raise UsageError(f"retain is {retain!r}; it is 'last' or None")
    return int(lib.MM_OPT_RETAIN) if retain else 0


def retain_numbers(flags: int, topics: int | None, octets: int | None) -> dict[str, int]:
    """Return the limits of what is retained that were given."""
    limits = {"retain_topics_max": (topics, TOPICS_MOST), "retain_bytes_max": (octets, U64_MAX)}
    found = {}
    for name, (value, high) in limits.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}; it is a whole number, or None")
        if not 1 <= value <= high:
            raise UsageError(f"{name} is {value!r}; it is a whole number from 1 to {high}, or None")
        if not flags:
            raise UsageError(f"{name} is for a Pub with retain='last'")
        found[name] = value
    return found


class Asked:
    """A call that asks what is retained of a topic."""

    def __init__(self, socket: SocketBase, topic: bytes, slot: Slot) -> None:
        if not socket._opts.flags & lib.MM_OPT_RETAIN and is_open(socket._handle):
            raise UsageError("this Pub retains nothing; open it with retain='last'")
        self._handle, self._topic, self._slot = socket._handle, topic, slot
        self._mark = ffi.new("uint64_t *")
        self._found = False

    def call(self, ms: int, slice_ms: int) -> int:
        """Ask, and wait so long."""
        octets = buffer_of(self._topic)
        batch = self._slot.batch
        rc = int(lib.mm_retained(self._handle, *octets, batch, self._mark, ms, slice_ms))
        self._found = rc == 1
        return 0 if rc == lib.MM_ENOENT else rc

    def message(self) -> Message | None:
        """Return what the call found."""
        found: list[Any] = TOPICAL.unpack(address_of(self._slot.batch)) if self._found else []
        return found[0] if found else None


@contextmanager
def asked(socket: SocketBase, topic: bytes) -> Iterator[Asked]:
    """Lend what a call needs to ask."""
    slot = borrow()
    try:
        yield Asked(socket, topic, slot)
        slot.drop()
    finally:
        give_back(slot)
