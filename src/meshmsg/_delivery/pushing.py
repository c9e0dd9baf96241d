"""What may be said of a message that a Push sends: when it is to go, and how urgent it is.

Not here: what goes with it (_binding/note.py), waiting (_sync/receipts.py, aio/_receipts.py).
Law: checked here, once, before anything is sent; a time in the past is now.
"""

from __future__ import annotations

import math
from typing import Any, cast

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.delay import DELAY_MAX, MS, delay_ms
from meshmsg._binding.errors import UsageError
from meshmsg._binding.note import MessageOptions, note_of
from meshmsg._delivery.later import later_of
from meshmsg._socket.base import SocketBase
from meshmsg._socket.options import SECONDS_MAX, U32_MAX, U64_MAX

PRIORITIES_MAX: int = lib.MM_PRIORITIES_MAX
"""Levels of priority that a Push may have."""
_OWN = ("delay", "at", "priority")


class PushOptions(MessageOptions, total=False):
    """What may go with a message of a Push: `MessageOptions`, and when and how soon it is to go.

    Attributes:
        delay: Seconds, up to 2,000,000, before which it is not handed out. It waits in this Push,
            in memory, beside its queues: within `delayed_messages` and `delayed_bytes`, else the
            send raises WouldBlockError, and never waits.
        at: The same as a time, in seconds since 1970; one that is over is now. Only one of both.
        priority: 0 (the default) to one below `priorities=` of the socket: the highest goes first,
            of what waits here.
    """

    delay: float | None
    at: float | None
    priority: int


def is_plain(options: PushOptions) -> bool:
    """Whether nothing is said of when and how soon."""
    return not any(name in options for name in _OWN)


def _delay_until(socket: SocketBase, at: object) -> int:
    if isinstance(at, bool) or not isinstance(at, (int, float)):
        raise TypeError(f"at is {at!r}; it is a time, in seconds since 1970")
    now_ms = int(lib.mm_wall_ms(socket._handle))
    raise_for(min(now_ms, 0), "asking for the time")
    left = at - now_ms / MS
    if not left <= DELAY_MAX:
        raise UsageError(f"at is {at!r}, in {left:,.0f} s; the limit is {DELAY_MAX:,.0f} s")
    return math.ceil(max(left, 0.0) * MS)


def _delay_of(socket: SocketBase, options: PushOptions) -> int:
    delay, at = options.get("delay"), options.get("at")
    if delay is not None and at is not None:
        raise UsageError("delay and at say the same; give one of them")
    return _delay_until(socket, at) if at is not None else delay_ms(0.0 if delay is None else delay)


def _priority_of(socket: SocketBase, priority: object) -> int:
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise TypeError(f"priority is {priority!r}; it is a whole number")
    levels = max(int(socket._opts.priorities), 1)
    if not 0 <= priority < levels:
        hint = "" if levels > 1 else f"; Push(priorities=), up to {PRIORITIES_MAX}, gives it more"
        raise UsageError(
            f"priority is {priority}; this {type(socket).__name__} has 0 to {levels - 1}{hint}"
        )
    return priority


def push_opts(socket: SocketBase, options: PushOptions, *, confirm: bool) -> tuple[Any, bytes]:
    """Return an mm_push_opts, and what goes with the message, which has to live as long.

    Raises:
        UsageError: Something is out of its range, or the message would expire before it goes.
        TypeError: Something is of a wrong type.
    """
    plain = {name: value for name, value in options.items() if name not in _OWN}
    delay = _delay_of(socket, options)
    ttl = options.get("ttl")
    note = note_of(socket._handle, cast("MessageOptions", plain))
    if delay and ttl is not None and ttl * MS <= delay:
        raise UsageError(
            f"ttl is {ttl} s, and the message is to go in {delay / MS} s: it would expire before"
        )
    octets = ffi.from_buffer("uint8_t[]", note)
    opts = ffi.new("mm_push_opts *")
    opts.meta, opts.meta_size = octets, len(octets)
    opts.delay_ms = delay
    opts.priority = _priority_of(socket, options.get("priority", 0))
    opts.confirm = confirm
    return opts, note


def no_room_later(socket: SocketBase) -> str:
    """Say why what is to go later finds no room."""
    return later_of(socket._handle).no_room()


def check_ack_timeout(seconds: float | None) -> int:
    """Return it in milliseconds; None is no limit, 0."""
    if seconds is None:
        return 0
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"ack_timeout is {seconds!r}; it is seconds, as a number, or None")
    if not 0 < seconds <= SECONDS_MAX:
        raise UsageError(
            f"ack_timeout is {seconds!r}; it is seconds, above 0 and up to {SECONDS_MAX:,}, or None"
        )
    return max(round(seconds * MS), 1)


def check_priorities(levels: int) -> int:
    """Refuse what is no number of levels."""
    if isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= PRIORITIES_MAX:
        raise UsageError(
            f"priorities is {levels!r}; it is a whole number from 1 to {PRIORITIES_MAX}"
        )
    return levels


def check_delayed(messages: int | None, octets: int | None) -> dict[str, int]:
    """Return what may wait to go later, as the core takes it; None is as of a queue."""
    if messages is None and octets is None:
        return {}
    limits = {"delayed_messages": (messages, U32_MAX), "delayed_bytes": (octets, U64_MAX)}
    found = {}
    for name, (value, high) in limits.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{name} is {value!r}; it is a whole number, or None")
        if value is not None and not 1 <= value <= high:
            raise UsageError(f"{name} is {value!r}; it is a whole number from 1 to {high}, or None")
        found[name] = value or 0
    return found


def check_peers_min(name: str, least: int | None) -> int:
    """Refuse what is no number of peers; None waits for nobody, 0."""
    if least is None:
        return 0
    if isinstance(least, bool) or not isinstance(least, int):
        raise TypeError(f"{name} is {least!r}; it is a whole number, or None")
    if not 1 <= least <= U32_MAX:
        raise UsageError(f"{name} is {least!r}; it is a whole number from 1 to {U32_MAX}, or None")
    return least


def check_acked(
    acks: int, *, max_attempts: int | None, ack_timeout: float | None, levels: int
) -> None:
    """Refuse what only a Push takes whose messages are acknowledged."""
    if acks or (max_attempts is None and ack_timeout is None and levels == 1):
        return
    asked = {
        "max_attempts": max_attempts is not None,
        "ack_timeout": ack_timeout is not None,
        "priorities": levels != 1,
    }
    name = next(name for name, given in asked.items() if given)
    raise UsageError(f'{name} is for a Push with delivery="at_least_once"')
