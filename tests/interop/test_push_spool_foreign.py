"""A `Push(spool=)` whose workers are pyzmq or NNG, which acknowledge nothing: what it says waits,
what goes out as it closes, and what none of them can take.

Not here: workers that acknowledge (tests/unit/test_push_spool*.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.support.feeding import UP, nothing, settled, taken, told
from tests.support.pairs import WAIT_S, wait_until

pynng = pytest.importorskip("pynng", reason="pynng is not installed")

pytestmark = pytest.mark.leaves_threads  # NNG's own
WAIT_MS = int(WAIT_S * 1000)
SMALL_BUFFER = 8_192
"""Bytes that the system of a worker may hold; then most of what was written is not read."""
LARGE = 20_000
"""Bytes of a message of which the system cannot hold many."""
LIVES = 4
PER_LIFE = 700
"""Messages that are read in each but the last: more than the system holds, so that it writes."""
FRAMES = "of several frames"


class Workers:
    """Workers of other libraries, which read only when they are told to."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._context = stack.enter_context(zmq.Context())

    def zmq(self, endpoint: str) -> Callable[[], bytes]:
        """Connect one of pyzmq; what it returns receives a message."""
        pull = self._stack.enter_context(self._context.socket(zmq.PULL))
        pull.setsockopt(zmq.LINGER, 0)
        pull.setsockopt(zmq.RCVHWM, 1)
        pull.setsockopt(zmq.RCVBUF, SMALL_BUFFER)
        pull.setsockopt(zmq.RCVTIMEO, WAIT_MS)
        pull.connect(endpoint)
        return pull.recv

    def nng(self, endpoint: str) -> Callable[[], bytes]:
        """Connect one of NNG."""
        options = {"recv_timeout": WAIT_MS, "reconnect_time_min": 50, "reconnect_time_max": 200}
        pull = self._stack.enter_context(pynng.Pull0(**options))
        pull.recv_max_size = 0
        pull.dial(endpoint, block=False)
        return pull.recv  # type: ignore[no-any-return]

    def acks(self, endpoint: str) -> Callable[[], bytes]:
        """Connect one of meshmsg, which keeps what it has."""
        pull = self._stack.enter_context(mm.Pull(connect=endpoint, ack="manual"))
        return lambda: bytes(pull.recv(timeout=WAIT_S))


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Workers that end with the test."""
    with ExitStack() as stack:
        yield Workers(stack)


def spool_at(path: Path) -> mm.Spool:
    """Open one that is quick to write."""
    return mm.Spool(path / "s", durability="os")


def accounted(push: Any) -> int:
    """How many messages its report has, each once."""
    report = push.drain(timeout=0)
    return sum(
        (
            *(report.delivered, report.unconfirmed, report.unconfirmable),
            *(report.queued, report.in_doubt, report.dropped),
        )
    )


@pytest.mark.parametrize("kinds", [["zmq"], ["nng"], ["acks"], ["zmq", "acks"], ["nng", "acks"]])
def test_each_message_stands_once_in_the_report(
    workers: Workers, tmp_path: Path, kinds: list[str]
) -> None:
    """What was written to a worker that acknowledges nothing is done, and not taken off twice."""
    count = 3_000
    with spool_at(tmp_path) as spool, mm.Push(spool=spool, bind=UP) as push:
        receive = [getattr(workers, kind)(push.endpoint) for kind in kinds]
        push.wait_for_peers(len(kinds), timeout=WAIT_S)
        push.send_many([b"x" * 1_000] * count)
        for read in receive:
            for _ in range(3):
                read()
                assert accounted(push) == count
        wait_until(lambda: push.drain(timeout=0).queued < count)
        assert accounted(push) == count
        if kinds == ["zmq"]:
            report = push.drain(timeout=0)
            assert report.unconfirmed > 0
            assert report.queued > 0 or spool.cursors()[0].lag == 0


@pytest.mark.parametrize("kind", ["zmq", "nng"])
def test_who_acknowledges_nothing_gets_each_message_once_over_closed_lives(
    workers: Workers, tmp_path: Path, kind: str
) -> None:
    """A life that is closed in order writes nothing that its cursor does not have."""
    count, got = 3_000, []
    endpoint, read = UP, None
    for life in range(LIVES):
        with spool_at(tmp_path) as spool, mm.Push(spool=spool, bind=endpoint) as push:
            endpoint = push.endpoint
            if read is None:
                push.send_many([b"%d " % i + b"x" * LARGE for i in range(count)])
                read = getattr(workers, kind)(endpoint)
            more = PER_LIFE if life < LIVES - 1 else count - len(got)
            got += [int(read().split()[0]) for _ in range(more)]
            if life == LIVES - 1:
                assert settled(push).dropped == 0
    assert sorted(got) == list(range(count))


def test_messages_of_frames_that_no_worker_can_take_are_told(
    workers: Workers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They wait, what is behind them goes on, and a worker that can take them gets them."""
    caplog.set_level(logging.WARNING, "meshmsg")
    with spool_at(tmp_path) as spool, mm.Push(spool=spool, bind=UP) as push:
        read = workers.nng(push.endpoint)
        push.wait_for_peers(1, timeout=WAIT_S)
        push.send_frames([b"a", b"b"])
        event = told(push, mm.EventKind.UNSENDABLE)
        assert (event.count, event.detail.startswith(FRAMES)) == (1, True)
        push.send_many([b"1", b"2"])
        assert [read(), read()] == [b"1", b"2"]
        wait_until(lambda: push.drain(timeout=0).queued == 1)
        wait_until(lambda: f"1 message kept waiting: {FRAMES}" in caplog.text)
        with mm.Pull(connect=push.endpoint) as pull:
            frames = pull.recv(timeout=WAIT_S).frames
            assert [bytes(frame) for frame in frames] == [b"a", b"b"]
            nothing(pull)
            settled(push)


def test_many_messages_of_frames_say_that_all_waits_for_them(
    workers: Workers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As many as a queue holds are passed over; then it is told that nothing goes on."""
    caplog.set_level(logging.WARNING, "meshmsg")
    with (
        spool_at(tmp_path) as spool,
        mm.Push(spool=spool, bind=UP, send_queue_messages=10) as push,
    ):
        read = workers.nng(push.endpoint)
        push.wait_for_peers(1, timeout=WAIT_S)
        for number in range(15):
            push.send_frames([b"a", b"%d" % number])
        wait_until(lambda: "send_queue_messages=10 wait, and with them all" in caplog.text)
        told_of = [e.count for e in push.events() if e.kind is mm.EventKind.UNSENDABLE]
        assert sum(told_of) == 10
        with mm.Pull(connect=push.endpoint) as pull:
            assert taken(pull, 15) == [b"%d" % number for number in range(15)]
            push.send_many([b"behind"] * 3)
            assert read() == b"behind"
