"""Events as records of logging: the first of a trouble at once, then fewer, with how many.

Not here: when events are read (event_thread.py), who calls the handlers (log_records.py). Law: what
is logged depends on the events alone, also on their times; a record has the time of its event, and
the event itself as `record.event`.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from meshmsg._binding.core import lib
from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._events.log_records import give, record_of
from meshmsg._events.log_records import log as log
from meshmsg._hints.plural import counted

TROUBLE = (
    EventKind.CONNECT_FAILED,
    EventKind.HANDSHAKE_FAILED,
    EventKind.PEER_DOWN,
    EventKind.PEER_SILENT,
    EventKind.PEER_STALLED,
    EventKind.PEER_UNREAD,
    EventKind.PEER_UNACKED,
    EventKind.PEER_PLAIN,
    EventKind.DEAD_LETTER,
    EventKind.ACK_TIMEOUT,
    EventKind.SPOOL_STOPPED,
    EventKind.PEER_LIVE,
    EventKind.REPLAY_LOST,
    EventKind.NOT_RETAINED,
    EventKind.SPOOL_REMOVED,
    EventKind.UNSENDABLE,
    EventKind.CERT_EXPIRES,
    EventKind.DROPPED,
    EventKind.ACCEPT_PAUSED,
)
RECOVERED = (EventKind.ACCEPT_RESUMED, EventKind.PEER_RESUMED)
EXPECTED = (Reason.EOF, Reason.LOCAL)
AT_RISK = re.compile(r"; \d+ (sent may be lost|written, unknown how many it read)")
"""What the end of a connection says (csrc/link/left.c) of messages that may not have been read."""
WANTED = "not subscribed any more"
"""The cause of a drop (csrc/queue/drop.c) that the socket's user asked for: `unsubscribe`."""
AGAIN_FIRST_S = 1.0
"""Seconds until the same trouble is logged again; doubled each time."""
AGAIN_MAX_S = 60.0
"""Seconds between records of the same trouble, at most."""
KNOWN_MAX = 1024
"""Endpoints and kinds of trouble that are remembered; the oldest is forgotten first."""

LIMITS = (
    *("send_queue_messages", "send_queue_bytes", "recv_queue_messages", "recv_queue_bytes"),
    *("retain_topics_max", "retain_bytes_max"),
)
"""Options that the cause of a drop may name, and whose values are told with it."""
COUNTED = {
    EventKind.DROPPED: "dropped",
    EventKind.NOT_RETAINED: "not retained",
    EventKind.SPOOL_REMOVED: "removed from its spool",
    EventKind.UNSENDABLE: "kept waiting",
    EventKind.REPLAY_LOST: "not replayed",
}
"""Told of each cause by itself, with a count of messages, if it has one."""
_OPTION = re.compile("|".join(LIMITS))

Key = tuple[str, EventKind, Reason, str]
"""Endpoint, kind, reason; of drops and the like the cause, and of certificates which, in words."""


class _Trouble:
    """What is known of one kind of trouble with one endpoint."""

    def __init__(self, due: float) -> None:
        self.due = due
        self.wait = AGAIN_FIRST_S
        self.quiet = 0
        """How many of it were not logged since the last one that was."""
        self.last: Event | None = None
        """Of those the last one, if it is of messages."""


class EventLog:
    """What a socket's events become in the log."""

    def __init__(self, name: str, options: object = None) -> None:
        self._name = name
        self._options = options
        """The mm_socket_opts of the socket, if known: with what decides about drops."""
        self._keeps = bool(getattr(options, "flags", 0) & lib.MM_OPT_AT_LEAST_ONCE)
        """Whether it is a Push that keeps what its peers do not acknowledge."""
        self._endpoint = ""
        """The first one of the socket that an event told of."""
        self._peers: dict[int, tuple[str, str]] = {}
        """Of peers there have been, the endpoint they came by and their address."""
        self._troubles: dict[Key, _Trouble] = {}
        self._failed: dict[str, tuple[int, float]] = {}
        """Failures of each endpoint that we connect to since it last had a peer, and since when."""
        self._bound: set[str] = set()
        self.expected: frozenset[EventKind] = frozenset()
        """Trouble that is none to who has the socket, and is not loud."""
        self.once: frozenset[EventKind] = frozenset()
        self.refusals: frozenset[Reason] = frozenset()
        """Trouble with an endpoint that is none the first time."""

    def tell(self, event: Event) -> None:
        """Log an event, here and now."""
        level, words = self.judge(event)
        give(record_of(level, words, event))

    def judge(self, event: Event) -> tuple[int, str]:
        """Say how loud an event is, and in what words; it is noted as told. No words: nobody wants
        to hear it, and it has no record, whatever the level of the log is by then."""
        self._endpoint = self._endpoint or event.endpoint
        if event.kind is EventKind.PEER_UP:
            self._peers[event.peer] = event.endpoint, event.address
            _forget_oldest(self._peers)
        if event.kind is EventKind.LISTENING:
            self._bound.add(event.endpoint)
        if event.kind in self.expected or self._is_expected_refusal(event):
            return self._quiet(logging.DEBUG, event)
        wanted = event.kind is EventKind.DROPPED and event.detail == WANTED
        expected = event.reason in EXPECTED and not self._left_unread(event)
        if event.kind in TROUBLE and not expected and not wanted:
            return self._judge_trouble(event)
        again = ""
        if event.kind is EventKind.PEER_UP and event.endpoint not in self._bound:
            again = self._recovered(event)
        told = again or wanted or event.kind in RECOVERED
        return self._quiet(logging.INFO if told else logging.DEBUG, event, again)

    def owes(self) -> bool:
        """Whether messages were lost of which no record that is loud says."""
        return any(trouble.quiet and trouble.last for trouble in self._troubles.values())

    def rest(self) -> list[tuple[str, Event]]:
        """Say it, as the socket was closed: of each cause in words, with the last event."""
        found = []
        for trouble in self._troubles.values():
            if trouble.quiet and trouble.last is not None:
                lost = replace(trouble.last, count=trouble.quiet)
                found.append((self._words(lost), trouble.last))
                trouble.quiet = 0
        return found

    def _left_unread(self, event: Event) -> bool:
        """Whether a worker left that cannot acknowledge, and may not have read all: others do not
        get it, though this Push was to keep it. Whoever sends at most once is told by numbers."""
        gone = event.kind is EventKind.PEER_DOWN and self._keeps
        return gone and AT_RISK.search(event.detail) is not None

    def _is_expected_refusal(self, event: Event) -> bool:
        refused = event.kind is EventKind.HANDSHAKE_FAILED and event.reason in self.refusals
        return refused and event.endpoint not in self._bound

    def _quiet(self, level: int, event: Event, more: str = "") -> tuple[int, str]:
        """Say it, if anybody wants to hear it: most of what happens is of no interest to most."""
        return level, self._words(event) + more if log.isEnabledFor(level) else ""

    def _judge_trouble(self, event: Event) -> tuple[int, str]:
        attempt = event.kind in (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED)
        if attempt and event.endpoint not in self._bound:
            count, since = self._failed.pop(event.endpoint, (0, event.time))
            self._failed[event.endpoint] = (count + 1, since)
            _forget_oldest(self._failed)
        dropped = _counts(event)
        cause = event.detail if dropped or event.kind is EventKind.CERT_EXPIRES else ""
        key = (event.endpoint, event.kind, event.reason, cause)
        trouble = self._troubles.get(key)
        weight = event.count if dropped or event.kind is EventKind.HANDSHAKE_FAILED else 1
        if trouble is not None and trouble.due > event.time >= trouble.due - trouble.wait:
            trouble.quiet += weight
            trouble.last = event if dropped else None
            return self._quiet(logging.DEBUG, event)
        if trouble is None and event.kind in self.once:
            self._troubles[key] = _Trouble(event.time)
            _forget_oldest(self._troubles)
            return self._quiet(logging.DEBUG, event)
        words = self._words(event)
        if trouble is None:
            self._troubles[key] = _Trouble(event.time + AGAIN_FIRST_S)
            _forget_oldest(self._troubles)
        else:
            if trouble.quiet:
                words += f" ({trouble.quiet + weight:,} since the last record of it)"
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
        tried = counted(count, "attempt")
        return f", after {tried} that failed, in {max(event.time - since, 0):.2g} s"

    def _words(self, event: Event) -> str:
        words = event.detail or event.reason.name
        if _counts(event):
            return self._words_of_drop(event)
        whose = [event.address] if event.address not in ("", event.endpoint) else []
        whose += [f"user {event.user_id!r}"] if event.user_id else []
        if whose:
            words += f" ({', '.join(whose)})"
        place = f" {event.endpoint}" if event.endpoint else ""
        return f"{self._name}{place} {event.kind.name}: {words}"

    def _words_of_drop(self, event: Event) -> str:
        """With the limits that decided it, and the peer; of several, the last one's."""
        endpoint, address = self._peers.get(event.peer, (self._endpoint, ""))
        endpoint = event.endpoint or endpoint
        detail = _OPTION.sub(self._with_limit, event.detail)
        words = f"{counted(event.count, 'message')} {COUNTED[event.kind]}: {detail}"
        if address:
            words += f" ({'peer' if event.count == 1 else 'the last for peer'} {address})"
        return f"{self._name}{f' {endpoint}' if endpoint else ''} {event.kind.name}: {words}"

    def _with_limit(self, option: re.Match[str]) -> str:
        limit = getattr(self._options, option[0], None)
        return option[0] if limit is None else f"{option[0]}={limit}"


def _counts(event: Event) -> bool:
    """Whether it is told with a count of messages: what a replay may have lost has none."""
    return event.kind in COUNTED and (event.count > 0 or event.kind is not EventKind.REPLAY_LOST)


def _forget_oldest(
    known: dict[Key, _Trouble] | dict[str, tuple[int, float]] | dict[int, tuple[str, str]],
) -> None:
    if len(known) > KNOWN_MAX:
        del known[next(iter(known))]  # type: ignore[arg-type]
