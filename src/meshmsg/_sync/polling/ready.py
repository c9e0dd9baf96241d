"""What a Poller tells: each that is ready, and what for.

Not here: finding that out (sockets.py, descriptors.py). Law: it is a list, and stays
one for who does not ask what for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from meshmsg._binding.core import lib

T = TypeVar("T")

READABLE: int = lib.MM_READABLE
WRITABLE: int = lib.MM_WRITABLE


class Ready(list[T]):
    """What `Poller.poll` found: each that is ready, once. A list, which also tells what for.

    A socket that was closed is in both `readable` and `writable`, so that the next call on it
    says so.
    """

    __slots__ = ("_events",)
    _events: dict[int, tuple[T, int]]
    """By the id of each, which it keeps from being another's, what it is ready for."""

    @property
    def readable(self) -> list[T]:
        """Those from which something can be received, or read."""
        return self._ready_for(READABLE)

    @property
    def writable(self) -> list[T]:
        """Those that take something, where that was asked for."""
        return self._ready_for(WRITABLE)

    def _ready_for(self, what: int) -> list[T]:
        return [one for one in self if self.events_of(one) & what]

    if not TYPE_CHECKING:  # what dict() asks for

        def keys(self) -> NoReturn:
            """Say that these are no pairs, as the pollers of others give."""
            raise TypeError(
                "poll() returns a list of what is ready, not pairs: `for one in poller.poll()`; "
                "its `readable` and `writable` tell what each is ready for"
            )

    def events_of(self, one: T) -> int:
        """What one of them was ready for: READABLE, WRITABLE or both; also once the list is
        another."""
        events: dict[int, tuple[T, int]] | None = getattr(self, "_events", None)
        if events is None:  # none are kept where all can be received from
            return READABLE
        return events.get(id(one), (one, 0))[1]


def told_of(found: Iterable[T], events: Iterable[int]) -> Ready[T]:
    """What is ready, with what for; 0: closed."""
    ready = Ready(found)
    pairs = zip(ready, events, strict=True)
    ready._events = {id(one): (one, event or READABLE | WRITABLE) for one, event in pairs}
    return ready


def told_from(found: Any) -> Ready[Any]:
    """What the core found: sockets to receive from, or each with what it is ready for."""
    if isinstance(found, Ready):
        return found
    return Ready(found) if found.__class__ is list else told_of(*found)
