"""What goes with each message of a run: the octets of its key, headers and times, and receipts.

Not here: the octets (_binding/note.py), what receipts are (receipts.py). Law: what
is said for a run is turned into octets once for what is sent at once, and in memory once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.data import buffer_of
from meshmsg._binding.note import EXPIRES, MessageOptions, note_of
from meshmsg._delivery.receipts import check_confirms
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._socket.base import SocketBase

More = tuple[bytes, int]
"""The octets that go with each of them, none for nothing; the receipt of the first, 0 for none."""


def check_run(
    form: SocketBase, options: MessageOptions, receipts: ReceiptsForm[Any] | None
) -> None:
    """Refuse what cannot be, before anything is taken or sent."""
    if receipts is not None:
        check_confirms(form._opts.flags)
    if options:
        note_of(form._handle, options)


def more_of(
    form: SocketBase, options: MessageOptions, receipts: ReceiptsForm[Any] | None, count: int
) -> More:
    """Return what goes with so many messages that are sent now."""
    note = note_of(form._handle, options) if options else b""
    return note, receipts._reserve(count) if receipts is not None else 0


class Until(NamedTuple):
    """How long what is sent now may wait for room: while it is of use."""

    deadline: float | None
    timeout: float | None
    expires: str
    """What an error says of it: nothing, or that it was its ttl that was over."""


def until(
    deadline: float | None, timeout: float | None, options: MessageOptions, now: float
) -> Until:
    """Return how long what is sent now may wait for room."""
    ttl = options.get("ttl")
    if ttl is None or timeout == 0 or (deadline is not None and deadline <= now + ttl):
        return Until(deadline, timeout, "")
    return Until(now + ttl, ttl, EXPIRES)


@contextmanager
def kept_note(octets: bytes) -> Iterator[Any]:
    """Give what C has of those octets, while it is sent; of none, NULL."""
    kept = ffi.new("mm_note **")
    try:
        if octets:
            raise_for(lib.mm_note_new(*buffer_of(octets), kept), "what goes with a message")
        yield kept[0]
    finally:
        lib.mm_note_free(kept[0])
