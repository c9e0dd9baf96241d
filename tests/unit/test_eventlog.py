"""What the log makes of events: the first at once, then fewer, with how many; virtual time."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from meshmsg import Event, EventKind, Reason
from meshmsg._events.event_log import KNOWN_MAX, EventLog
from meshmsg._events.log_records import record_of

URL = "tcp://10.0.0.1:5555"
FAILED = Event(
    seq=1,
    time=1000.0,
    kind=EventKind.CONNECT_FAILED,
    reason=Reason.REFUSED,
    peer=0,
    count=1,
    endpoint=URL,
    address=URL,
    detail="connection refused",
    retry_in=0.25,
)
UP = dataclasses.replace(
    FAILED, kind=EventKind.PEER_UP, reason=Reason.NONE, detail="PULL", retry_in=None
)


class _Keeper(logging.Handler):
    """Keeps all records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def told() -> Iterator[list[logging.LogRecord]]:
    """All records of the logger."""
    keeper, logger = _Keeper(), logging.getLogger("meshmsg")
    logger.addHandler(keeper)
    logger.setLevel(logging.DEBUG)
    yield keeper.records
    logger.removeHandler(keeper)
    logger.setLevel(logging.NOTSET)


def at(seconds: float, event: Event = FAILED) -> Event:
    """The event, so many seconds later."""
    return dataclasses.replace(event, time=1000.0 + seconds)


def loud(records: list[logging.LogRecord]) -> list[str]:
    """What is told at INFO or above."""
    return [record.getMessage() for record in records if record.levelno >= logging.INFO]


def test_what_was_unsubscribed_is_dropped_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Who unsubscribes asked for it (test_drops_told has the cause); other drops are trouble."""
    caplog.set_level(logging.INFO, logger="meshmsg")
    dropped = dataclasses.replace(FAILED, kind=EventKind.DROPPED, reason=Reason.NONE, count=632)
    ours = dataclasses.replace(dropped, detail="not subscribed any more")
    level, words = EventLog("Sub").judge(ours)
    assert level == logging.INFO
    assert "632 messages dropped" in words
    caplog.set_level(logging.WARNING, logger="meshmsg")
    assert EventLog("Sub").judge(ours) == (logging.INFO, ""), "nobody would read the words"
    assert EventLog("Sub").judge(dropped)[0] == logging.WARNING


def test_a_level_that_changes_in_between_makes_no_record_without_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whether it is told is decided once, as the words are found."""
    caplog.set_level(logging.WARNING, logger="meshmsg")
    level, words = EventLog("Sub").judge(UP)
    caplog.set_level(logging.DEBUG, logger="meshmsg")
    assert record_of(level, words, UP) is None
    level, words = EventLog("Sub").judge(UP)
    assert "PEER_UP" in record_of(level, words, UP).getMessage()


def test_what_is_no_trouble_the_first_time_is_told_from_the_second_on() -> None:
    """Of each endpoint."""
    log = EventLog("Router")
    log.once = frozenset((FAILED.kind,))
    there = dataclasses.replace(FAILED, endpoint="tcp://elsewhere:1")
    levels = [log.judge(one)[0] for one in (FAILED, at(0.1), there, at(0.2, there))]
    assert levels == [logging.DEBUG, logging.WARNING] * 2


def test_what_the_owner_expects_is_no_warning() -> None:
    """Of the kinds that it named, and no other."""
    log = EventLog("Router")
    log.expected = frozenset((EventKind.DROPPED,))
    dropped = dataclasses.replace(FAILED, kind=EventKind.DROPPED, reason=Reason.NONE, count=1)
    assert log.judge(dropped)[0] == logging.DEBUG
    assert log.judge(FAILED)[0] == logging.WARNING


def test_the_first_failure_is_told_at_once_with_the_next_attempt(
    told: list[logging.LogRecord],
) -> None:
    """And with the event's own time, not that of whoever looked."""
    EventLog("Push").tell(FAILED)
    words = f"Push {URL} CONNECT_FAILED: connection refused; next attempt in 0.25 s"
    assert loud(told) == [words]
    assert (told[0].created, told[0].levelno) == (1000.0, logging.WARNING)
    assert vars(told[0])["event"] == FAILED


def test_what_fails_for_an_hour_is_told_now_and_then_with_how_often(
    told: list[logging.LogRecord],
) -> None:
    """Every second an attempt: after 1, 3, 7, ... seconds, then once a minute."""
    log = EventLog("Push")
    for second in range(3600):
        log.tell(at(second))
    warned = [record for record in told if record.levelno == logging.WARNING]
    times = [record.created - 1000 for record in warned]
    assert times[:7] == [0, 1, 3, 7, 15, 31, 63]
    assert all(b - a == 60 for a, b in itertools.pairwise(times[6:]))
    assert "(60 since the last record of it)" in warned[-1].getMessage()
    counted = sum(
        int(r.getMessage().partition("(")[2].split()[0]) if "(" in r.getMessage() else 1
        for r in warned
    )
    assert counted == times[-1] + 1
    assert len(told) == 3600


def test_recovery_is_told_and_begins_anew(told: list[logging.LogRecord]) -> None:
    """How many attempts failed, in how long; the next failure is told at once again."""
    log = EventLog("Push")
    for second in (0, 0.1, 0.5):
        log.tell(at(second))
    log.tell(at(2, UP))
    log.tell(at(2.1))
    assert loud(told)[1] == f"Push {URL} PEER_UP: PULL, after 3 attempts that failed, in 2 s"
    assert len(loud(told)) == 3
    assert told[-2].levelno == logging.INFO


def test_a_peer_that_comes_without_trouble_is_no_news(told: list[logging.LogRecord]) -> None:
    """DEBUG, as is its leaving."""
    log = EventLog("Push")
    log.tell(UP)
    log.tell(dataclasses.replace(UP, kind=EventKind.PEER_DOWN, reason=Reason.EOF))
    assert loud(told) == []
    assert len(told) == 2


def test_a_peer_is_no_recovery_of_a_stranger_at_a_listener(told: list[logging.LogRecord]) -> None:
    """Whoever knocked in vain did not become this peer."""
    log = EventLog("Pull")
    log.tell(dataclasses.replace(UP, kind=EventKind.LISTENING, detail=""))
    stranger = dataclasses.replace(
        FAILED,
        kind=EventKind.HANDSHAKE_FAILED,
        reason=Reason.NOT_ZMTP,
        address="tcp://10.0.0.7:40000",
        detail="not ZeroMQ or NNG",
        retry_in=None,
    )
    log.tell(stranger)
    log.tell(UP)
    words = f"Pull {URL} HANDSHAKE_FAILED: not ZeroMQ or NNG (tcp://10.0.0.7:40000)"
    assert loud(told) == [words]


def test_other_trouble_is_told_at_once_beside_one_that_is_known(
    told: list[logging.LogRecord],
) -> None:
    """By endpoint, kind and reason."""
    log = EventLog("Push")
    log.tell(FAILED)
    log.tell(dataclasses.replace(FAILED, reason=Reason.UNREACHABLE))
    log.tell(dataclasses.replace(FAILED, endpoint="tcp://10.0.0.2:5555"))
    assert len(loud(told)) == 3


def test_a_peer_that_comes_and_goes_is_told_less_and_less(told: list[logging.LogRecord]) -> None:
    """Its coming does not make its next end the first one."""
    log = EventLog("Push")
    down = dataclasses.replace(FAILED, kind=EventKind.PEER_DOWN, reason=Reason.RESET)
    for second in range(10):
        log.tell(at(second, down))
        log.tell(at(second + 0.5, UP))
    assert len(loud(told)) == 4


def test_refusals_are_told_with_how_many(told: list[logging.LogRecord]) -> None:
    """Of peers that came, not of events."""
    log = EventLog("Push")
    refused = dataclasses.replace(
        FAILED, kind=EventKind.HANDSHAKE_FAILED, reason=Reason.FEATURE, count=60, retry_in=None
    )
    for second in (0, 0.5, 10):
        log.tell(at(second, refused))
    assert [words.endswith("(120 since the last record of it)") for words in loud(told)] == [
        False,
        True,
    ]


def test_drops_are_told_with_how_many(told: list[logging.LogRecord]) -> None:
    """Of messages, not of events."""
    log = EventLog("Pub")
    drop = dataclasses.replace(
        FAILED,
        kind=EventKind.DROPPED,
        reason=Reason.NONE,
        endpoint="",
        address="",
        detail="queue full",
        count=500,
        retry_in=None,
    )
    for second in (0, 0.5, 2):
        log.tell(at(second, drop))
    assert loud(told) == [
        "Pub DROPPED: 500 messages dropped: queue full",
        "Pub DROPPED: 500 messages dropped: queue full (1,000 since the last record of it)",
    ]
    log.tell(at(2.5, dataclasses.replace(drop, detail="the peer is gone", count=1)))
    assert loud(told)[2:] == ["Pub DROPPED: 1 message dropped: the peer is gone"]


def test_what_a_replay_lost_is_told_with_how_many(told: list[logging.LogRecord]) -> None:
    """Also of those that came too soon for a record of their own; what has no count is told as it
    is."""
    log = EventLog("Sub('prices')")
    gone = dataclasses.replace(
        FAILED,
        kind=EventKind.REPLAY_LOST,
        reason=Reason.NONE,
        count=1200,
        detail="the publisher has removed them from its spool (retention)",
        retry_in=None,
    )
    log.tell(gone)
    log.tell(at(0.5, dataclasses.replace(gone, count=5)))
    assert log.owes()
    log.tell(at(1.5, dataclasses.replace(gone, count=1)))
    lost = f"Sub('prices') {URL} REPLAY_LOST: {{}} not replayed: {gone.detail}{{}}"
    assert [r.getMessage() for r in told if r.levelno == logging.WARNING] == [
        lost.format("1,200 messages", ""),
        lost.format("1 message", " (6 since the last record of it)"),
    ]
    behind = dataclasses.replace(gone, count=0, detail="seq:9 is behind the end of its spool")
    log.tell(at(2, behind))
    assert told[-1].getMessage() == f"Sub('prices') {URL} REPLAY_LOST: {behind.detail}"
    log.tell(at(2.1, behind))
    log.tell(at(4, dataclasses.replace(gone, count=2)))
    assert not log.owes()
    log.tell(at(4.1, gone))
    assert [words for words, _ in log.rest()] == [lost.format("1,200 messages", "")]


def test_what_is_remembered_is_bounded(told: list[logging.LogRecord]) -> None:
    """A socket may connect to any number of endpoints in its life."""
    log = EventLog("Push")
    for number in range(KNOWN_MAX + 100):
        log.tell(dataclasses.replace(FAILED, endpoint=f"tcp://10.0.0.1:{number}"))
    assert len(log._troubles) == KNOWN_MAX
    assert len(log._failed) == KNOWN_MAX
    assert len(told) == KNOWN_MAX + 100


def test_a_clock_that_is_set_back_does_not_silence_the_log(told: list[logging.LogRecord]) -> None:
    """Times are the wall clock's: what comes long before the last record is told."""
    log = EventLog("Push")
    log.tell(FAILED)
    log.tell(at(-3600))
    assert len(loud(told)) == 2


def test_nothing_is_made_for_a_level_that_nobody_wants(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The logger says what it takes."""
    with caplog.at_level(logging.ERROR, logger="meshmsg"):
        EventLog("Push").tell(FAILED)
    assert caplog.records == []


def test_a_drop_is_told_with_its_socket_its_limits_and_its_peer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As the options are set; of several messages the last one's peer."""
    caplog.set_level(logging.DEBUG, logger="meshmsg")
    log = EventLog("Pub", SimpleNamespace(send_queue_messages=7, send_queue_bytes=100))
    log.judge(dataclasses.replace(UP, peer=5, endpoint="tcp://here", address="tcp://there:9"))
    full = dataclasses.replace(
        FAILED,
        kind=EventKind.DROPPED,
        reason=Reason.NONE,
        peer=5,
        endpoint="",
        address="",
        detail="queue full (send_queue_messages, send_queue_bytes, overflow)",
        retry_in=None,
    )
    assert log.judge(full)[1] == (
        "Pub tcp://here DROPPED: 1 message dropped: queue full (send_queue_messages=7, "
        "send_queue_bytes=100, overflow) (peer tcp://there:9)"
    )
    words = log.judge(dataclasses.replace(full, count=3))[1]
    assert words.endswith("overflow) (the last for peer tcp://there:9)")
    words = log.judge(dataclasses.replace(full, peer=0, detail="no peer to send to"))[1]
    assert words == "Pub tcp://here DROPPED: 1 message dropped: no peer to send to"


def test_a_record_says_whose_connection_it_is() -> None:
    """Behind the address, quoted, as a user may have chosen the name; alone, where there is no
    address."""
    down = dataclasses.replace(FAILED, kind=EventKind.PEER_DOWN, retry_in=None)
    mine = dataclasses.replace(down, address="tcp://10.0.0.2:4", user_id="al\nice")
    assert EventLog("Push").judge(mine)[1].endswith(r"(tcp://10.0.0.2:4, user 'al\nice')")
    alone = dataclasses.replace(down, user_id="bob")
    assert EventLog("Push").judge(alone)[1].endswith("refused (user 'bob')")
