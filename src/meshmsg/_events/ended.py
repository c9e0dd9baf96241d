"""What sockets dropped after they were closed: taken from the core, and logged.

Not here: who takes it when, and whose `on_event=` hears of it (event_thread.py). Law: each is taken
once, so it is told once; what nobody took is in what `Engine.close` returns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.snapshots import Event, event_of, text
from meshmsg._events.event_log import EventLog
from meshmsg._events.log_records import record_of
from meshmsg._hints.plural import counted, plural

if TYPE_CHECKING:
    from logging import LogRecord

AT_ONCE = 16


class Ended:
    """What one socket dropped for one cause since it was closed."""

    def __init__(self, socket: int, name: str, event: Event) -> None:
        self.socket = socket
        """The handle it had."""
        self.name = name
        self.event = event

    def record(self) -> LogRecord | None:
        """Make its record of the log, where no outlet of the socket is left."""
        level, words = EventLog(self.name).judge(self.event)
        made: LogRecord | None = record_of(level, words, self.event)
        return made


def class_of(role: str) -> str:
    """Return the name of the class of a role that the wire calls so: "XPub" of "XPUB"."""
    return f"X{role[1:].capitalize()}" if role.startswith("X") else role.capitalize()


def _ended_of(raw: Any) -> Ended:
    return Ended(int(raw.socket), class_of(text(lib.mm_role_name(raw.role))), event_of(raw.event))


def take_ended(engine: int) -> tuple[list[Ended], int]:
    """Take what there is: drops, and messages of drops that found no room in the list."""
    found: list[Ended] = []
    out = ffi.new("mm_ended[]", AT_ONCE)
    unlisted, pending = ffi.new("uint64_t *"), ffi.new("uint32_t *")
    missing = 0
    while True:
        count = int(lib.mm_ended_take(engine, out, AT_ONCE, unlisted, pending))
        if count < 0:
            return found, missing
        found += [_ended_of(out[i]) for i in range(count)]
        missing += int(unlisted[0])
        if count < AT_ONCE:
            return found, missing


def may_come(engine: int) -> int:
    """How many closed sockets may still drop something, or did so and nobody took it; below 0: the
    engine was closed. If there are any, the descriptor of events is rung when none may any more."""
    unlisted, pending = ffi.new("uint64_t *"), ffi.new("uint32_t *")
    rc = int(lib.mm_ended_take(engine, ffi.NULL, 0, unlisted, pending))
    return rc if rc < 0 else int(pending[0])


def end_engine(engine: int, ms: int) -> tuple[bool, int, list[Ended]]:
    """Close an engine of the core: whether it was open, how many messages were lost that nobody was
    told of, and of which sockets."""
    lost = ffi.new("uint64_t *")
    out = ffi.new("mm_ended[]", lib.MM_ENDED_MAX)
    count = int(lib.mm_engine_end(engine, ms, lost, out, lib.MM_ENDED_MAX))
    return count >= 0, int(lost[0]), [_ended_of(out[i]) for i in range(max(count, 0))]


def log_unlisted(messages: int, take: Callable[[LogRecord | None], None]) -> None:
    """Log what is known of drops only by their number."""
    if messages:
        words = (
            f"{counted(messages, 'message')} {plural(messages, 'was', 'were')} dropped by sockets "
            f"that were closed, which ones is not known: {lib.MM_ENDED_MAX} such drops waited to "
            "be told"
        )
        take(record_of(logging.WARNING, words))


def log_ended(engine: int, take: Callable[[LogRecord | None], None]) -> None:
    """Log what there is, where no thread tells."""
    found, missing = take_ended(engine)
    for ended in found:
        take(ended.record())
    log_unlisted(missing, take)
