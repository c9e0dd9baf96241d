"""Which endpoint of a node is tried when: one at a time, all of them, and the first again."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg.mesh._following.ways import DOUBLINGS_MAX, STABLE_S, Ways

NODE, OTHER = b"n" * 16, b"o" * 16
URLS = ("tcp://a:1", "tcp://b:1", "tcp://c:1", "tcp://d:1")
LEAST_S, MOST_S = 0.05, 10.0


class Last(Random):
    """Says the longest pause each time."""

    def random(self) -> float:
        """Say it."""
        return 1.0


class Tried:
    """The endpoints of one node, and a clock."""

    def __init__(self, urls: Sequence[str] = URLS, live: str = "") -> None:
        self.now = 100.0
        self.ways = Ways(LEAST_S, MOST_S, lambda: self.now, Last())
        self.urls, self.live = urls, live

    @property
    def at(self) -> str:
        """Where it is to be connected to."""
        return self.ways.of(NODE, self.urls, lambda urls: self.live if self.live in urls else "")

    def told(self, kind: EventKind, **changes: object) -> bool:
        """Have something happen where it is; return whether it is to be elsewhere now."""
        fields: dict[str, object] = {
            **{"seq": 1, "time": 0.0, "kind": kind, "reason": Reason.NONE, "peer": 0, "count": 1},
            **{"endpoint": self.at, "address": "", "detail": "why", "retry_in": 0.01},
            **changes,
        }
        return self.ways.take([Event(**fields)])  # type: ignore[arg-type]

    def fails(self) -> bool:
        """Have nobody listen where it is."""
        return self.told(EventKind.CONNECT_FAILED, reason=Reason.REFUSED)


def test_the_first_is_tried_first_and_then_each_other_one() -> None:
    """In the order that the node has them in."""
    tried = Tried()
    seen = [tried.at]
    for _ in URLS[1:]:
        assert tried.fails()
        seen.append(tried.at)
    assert seen == list(URLS)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (EventKind.CONNECT_FAILED, {"reason": Reason.REFUSED}),
        (EventKind.HANDSHAKE_FAILED, {"reason": Reason.NOT_ZMTP, "retry_in": None}),
        (EventKind.PEER_SILENT, {"retry_in": None}),
    ],
)
def test_whatever_ends_an_attempt_has_the_next_one_tried(
    kind: EventKind, changes: dict[str, object]
) -> None:
    """That nobody listens there, that it is nobody whom we can talk to, and silence."""
    tried = Tried()
    tried.at  # noqa: B018
    assert tried.told(kind, **changes)
    assert tried.at == URLS[1]
    assert tried.ways.why == {URLS[0]: "why"}


def test_a_name_that_has_more_addresses_has_not_failed_yet() -> None:
    """The socket tries them itself, and says when it is over."""
    tried = Tried()
    assert not tried.told(EventKind.CONNECT_FAILED, retry_in=None)
    assert tried.at == URLS[0]


def test_what_this_side_ends_is_no_failure() -> None:
    """Nor what happens at another endpoint."""
    tried = Tried()
    assert not tried.told(EventKind.PEER_DOWN, reason=Reason.LOCAL)
    assert not tried.told(EventKind.CONNECT_FAILED, endpoint=URLS[2])
    assert not tried.told(EventKind.LISTENING)
    assert tried.at == URLS[0]


def test_when_all_have_failed_there_is_a_pause_that_doubles() -> None:
    """From the socket's shortest to its longest; then the first is tried again."""
    tried, pauses = Tried(URLS[:2]), []
    for _ in range(DOUBLINGS_MAX + 5):
        assert tried.at == URLS[0]
        assert tried.fails()
        assert not tried.fails(), "the last one is kept, and its socket goes on there"
        began = tried.now
        assert tried.at == URLS[1]
        while not tried.ways.take([]):
            tried.now += LEAST_S / 4
        pauses.append(tried.now - began)
    wanted = [min(LEAST_S * 2**number, MOST_S) for number in range(len(pauses))]
    assert pauses == pytest.approx(wanted, abs=LEAST_S / 2)


def test_attempts_in_a_pause_count_for_nothing() -> None:
    """The last one is dialed by its socket meanwhile; who answers there ends the pause."""
    tried = Tried(URLS[:2])
    tried.at  # noqa: B018
    tried.fails()
    for _ in range(5):
        assert not tried.fails()
    assert not tried.told(EventKind.PEER_UP)
    tried.now += 2 * MOST_S
    assert not tried.ways.take([])
    assert tried.at == URLS[1]
    assert set(tried.ways.why) == {URLS[0]}


def test_after_a_connection_the_first_is_the_first_again() -> None:
    """And the pauses begin anew."""
    tried = Tried(URLS[:2])
    for _ in range(6):  # some pauses
        tried.at  # noqa: B018
        tried.fails()
        tried.fails()
        tried.now += MOST_S
        tried.ways.take([])
    tried.fails()
    assert tried.at == URLS[1]
    tried.told(EventKind.PEER_UP)
    tried.now += STABLE_S
    assert tried.told(EventKind.PEER_DOWN, reason=Reason.RESET)
    assert tried.at == URLS[0]
    tried.fails()
    tried.fails()
    tried.now += LEAST_S
    assert tried.ways.take([]), "the shortest pause is over"


def test_a_lost_connection_of_the_first_leaves_it_the_first() -> None:
    """It is dialed again by its socket."""
    tried = Tried()
    tried.told(EventKind.PEER_UP)
    tried.now += STABLE_S
    assert not tried.told(EventKind.PEER_DOWN)
    assert tried.at == URLS[0]


def test_who_answers_and_ends_at_once_has_failed() -> None:
    """Else two that do so would be dialed in turn, without a pause."""
    tried = Tried(URLS[:2])
    dialed = 0
    for _ in range(50):
        tried.told(EventKind.PEER_UP)
        dialed += tried.told(EventKind.PEER_DOWN)
    assert dialed == 1
    assert tried.at == URLS[1]


def test_silence_ends_an_attempt_in_the_first_round_only() -> None:
    """A network may be slower than that: later each has the time that a handshake has."""
    tried = Tried(URLS[:2])
    assert tried.told(EventKind.PEER_SILENT, retry_in=None)
    assert not tried.told(EventKind.PEER_SILENT, retry_in=None), "it is the last one"
    tried.fails()
    tried.now += LEAST_S
    assert tried.ways.take([])
    assert not tried.told(EventKind.PEER_SILENT, retry_in=None)
    assert tried.at == URLS[0]
    assert tried.told(EventKind.HANDSHAKE_FAILED, reason=Reason.HANDSHAKE_TIMEOUT)


@pytest.mark.parametrize("reason", [Reason.TLS_ALERT, Reason.ERROR_COMMAND])
def test_who_is_not_wanted_comes_again_late(reason: Reason) -> None:
    """After half of the longest pause at least, as a socket does."""
    tried = Tried(URLS[:2])
    tried.told(EventKind.HANDSHAKE_FAILED, reason=reason)
    tried.fails()
    tried.now += MOST_S / 2
    assert not tried.ways.take([])
    tried.now += MOST_S / 2
    assert tried.ways.take([])
    tried.fails()
    tried.fails()
    tried.now += 2 * LEAST_S
    assert tried.ways.take([]), "the next round, in which nobody said so"


def test_an_endpoint_that_the_socket_refuses_is_passed_over() -> None:
    """Such as one of TLS, for a socket without."""
    tried = Tried()
    tried.ways.refused(tried.at, "it has no TLS")
    assert tried.ways.take([])
    assert tried.at == URLS[1]
    assert tried.ways.why == {URLS[0]: "it has no TLS"}


def test_other_endpoints_than_before_begin_anew_but_where_it_is_connected() -> None:
    """So a node that tells of one more is not dialed twice."""
    tried = Tried(URLS[:2])
    tried.at  # noqa: B018
    tried.fails()
    assert tried.at == URLS[1]
    tried.urls = (URLS[2], URLS[1])
    assert tried.at == URLS[2]
    tried.live, tried.urls = URLS[1], (URLS[3], URLS[2], URLS[1])
    assert tried.at == URLS[1]
    assert tried.ways.others(NODE) == [URLS[3], URLS[2]]


def test_of_one_endpoint_nothing_is_kept() -> None:
    """Its socket does it all; also if it is said twice."""
    tried = Tried(URLS[:1] * 2)
    assert tried.at == URLS[0]
    assert not tried.fails()
    assert tried.at == URLS[0]
    assert tried.ways.others(NODE) == []
    assert tried.ways._tries == {}


def test_nodes_are_told_apart_and_forgotten() -> None:
    """Two at one endpoint fail there together."""
    tried = Tried()
    nobody = lambda urls: ""  # noqa: E731
    assert tried.at == tried.ways.of(OTHER, URLS[:2], nobody) == URLS[0]
    tried.fails()
    assert tried.at == tried.ways.of(OTHER, URLS[:2], nobody) == URLS[1]
    tried.ways.only({OTHER})
    assert set(tried.ways._tries) == {OTHER}
    assert tried.ways.others(NODE) == []
