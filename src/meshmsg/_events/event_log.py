"""Events as records of logging: the first of a trouble at once, then fewer, with how many.

Not here: when events are read (event_thread.py), who calls the handlers (log_records.py). Law: what
is logged depends on the events alone, also on their times; a record has the time of its event, and
the event itself as `record.event`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._events.log_records import give, record_of
from meshmsg._events.log_records import log as log

TROUBLE = (
    EventKind.CONNECT_FAILED,
    EventKind.HANDSHAKE_FAILED,
    EventKind.PEER_DOWN,
    EventKind.PEER_SILENT,
    EventKind.PEER_STALLED,
    EventKind.PEER_UNREAD,
    EventKind.DROPPED,
    EventKind.ACCEPT_PAUSED,
)
RECOVERED = (EventKind.ACCEPT_RESUMED, EventKind.PEER_RESUMED)
EXPECTED = (Reason.EOF, Reason.LOCAL)
WANTED = "not subscribed any more"
"""The cause of a drop (csrc/queue/drop.c) that the socket's user asked for: `unsubscribe`."""
AGAIN_FIRST_S = 1.0
"""Seconds until the same trouble is logged again; doubled each time."""
AGAIN_MAX_S = 60.0
"""Seconds between records of the same trouble, at most."""
KNOWN_MAX = 1024
"""Endpoints and kinds of trouble that are remembered; the oldest is forgotten first."""

Key = tuple[str, EventKind, Reason, str]
"""Endpoint, kind, reason, and of drops the cause in words."""


@dataclass
class _Trouble:
    """What is known of one kind of trouble with one endpoint."""

    due: float
    wait: float = AGAIN_FIRST_S
    quiet: int = 0
    """How many of it were not logged since the last one that was."""


class EventLog:
    """What a socket's events become in the log."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._troubles: dict[Key, _Trouble] = {}
        self._failed: dict[str, tuple[int, float]] = {}
        """Failures of each endpoint that we connect to since it last had a peer, and since when."""
        self._bound: set[str] = set()

    def tell(self, event: Event) -> None:
        """Log an event, here and now."""
        level, words = self.judge(event)
        give(record_of(level, words, event))

    def judge(self, event: Event) -> tuple[int, str]:
        """Say how loud an event is, and in what words; it is noted as told."""
        if event.kind is EventKind.LISTENING:
            self._bound.add(event.endpoint)
        wanted = event.kind is EventKind.DROPPED and event.detail == WANTED
        if event.kind in TROUBLE and event.reason not in EXPECTED and not wanted:
            return self._judge_trouble(event)
        again = ""
        if event.kind is EventKind.PEER_UP and event.endpoint not in self._bound:
            again = self._recovered(event)
        told = again or wanted or event.kind in RECOVERED
        return logging.INFO if told else logging.DEBUG, self._words(event) + again

    def _judge_trouble(self, event: Event) -> tuple[int, str]:
        attempt = event.kind in (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED)
        if attempt and event.endpoint not in self._bound:
            count, since = self._failed.pop(event.endpoint, (0, event.time))
            self._failed[event.endpoint] = (count + 1, since)
            _forget_oldest(self._failed)
        dropped = event.kind is EventKind.DROPPED
        key = (event.endpoint, event.kind, event.reason, event.detail if dropped else "")
        trouble = self._troubles.get(key)
        weight = event.count if dropped else 1
        words = self._words(event)
        if trouble is not None and trouble.due > event.time >= trouble.due - trouble.wait:
            trouble.quiet += weight
            return logging.DEBUG, words
        if trouble is None:
            self._troubles[key] = _Trouble(event.time + AGAIN_FIRST_S)
            _forget_oldest(self._troubles)
        else:
            if trouble.quiet:
                words += f" ({trouble.quiet + weight} since the last record of it)"
            trouble.wait = min(trouble.wait * 2, AGAIN_MAX_S)
            trouble.due, trouble.quiet = event.time + trouble.wait, 0
        if event.retry_in is not None:
            words += f"; next attempt in {event.retry_in:.2g} s"
        return logging.WARNING, words

    def _recovered(self, event: Event) -> str:
        """Forget the troubles of an endpoint that has a peer again; say how many there were."""
        for key in [key for key in self._troubles if key[0] == event.endpoint]:
            if key[1] is not EventKind.PEER_DOWN:  # a peer that comes and goes is one trouble
                del self._troubles[key]
        count, since = self._failed.pop(event.endpoint, (0, 0.0))
        if count == 0:
            return ""
        attempts = "1 attempt" if count == 1 else f"{count} attempts"
        return f", after {attempts} that failed, in {max(event.time - since, 0):.2g} s"

    def _words(self, event: Event) -> str:
        words = event.detail or event.reason.name
        if event.kind is EventKind.DROPPED:
            words = f"{event.count} message{'s' * (event.count > 1)} dropped: {words}"
        if event.address not in ("", event.endpoint):
            words += f" ({event.address})"
        place = f" {event.endpoint}" if event.endpoint else ""
        return f"{self._name}{place} {event.kind.name}: {words}"


def _forget_oldest(known: dict[Key, _Trouble] | dict[str, tuple[int, float]]) -> None:
    if len(known) > KNOWN_MAX:
        del known[next(iter(known))]  # type: ignore[arg-type]
