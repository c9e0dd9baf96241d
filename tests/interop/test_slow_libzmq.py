"""A libzmq reader that takes its time: a PING behind messages that it has not read gets no answer.

It sends none itself unless it is told to. Here it reads only once we have been told that it stands
still, so every test is longer than the heartbeat's time-out without a sleep.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S

HEART: dict[str, Any] = {"heartbeat_interval": 0.1, "heartbeat_timeout": 0.3}
COUNT = 3000
"""More than libzmq and the kernel of an ipc connection hold; over tcp the kernel takes them all."""
BODY = bytes(1000)
SENDERS: dict[str, tuple[type[Any], int, dict[str, Any]]] = {
    "push": (mm.Push, zmq.PULL, {}),
    "dealer": (mm.Dealer, zmq.DEALER, {}),
    "pub": (mm.Pub, zmq.SUB, {"overflow": "block"}),
}


@pytest.fixture(params=["tcp", "ipc"])
def place(request: pytest.FixtureRequest, short_path: Path) -> str:
    """Where to bind."""
    return "tcp://127.0.0.1:0" if request.param == "tcp" else f"ipc://{short_path}/slow"


def until(sender: Any, seen: Callable[[], bool]) -> None:
    """Look again and again; what the peer sends meanwhile is read by the engine."""
    for _ in range(int(WAIT_S / 0.02)):
        if seen():
            return
        with pytest.raises(mm.TimedOutError):
            sender.wait_for_peers(2, timeout=0.02)
    raise AssertionError("it was not seen")


def happened(sender: Any, kind: mm.EventKind, seen: list[mm.Event]) -> bool:
    """Whether it has; all events are kept in seen."""
    seen += sender.events()
    return any(event.kind is kind for event in seen)


@pytest.mark.parametrize("size", [100, 20_000])
@pytest.mark.parametrize("role", list(SENDERS))
def test_a_libzmq_peer_that_reads_later_loses_nothing(role: str, place: str, size: int) -> None:
    """We are told that it stalls, and it is kept; all is read in the end, and confirmed."""
    kind, peer_kind, options = SENDERS[role]
    body, events = bytes(size), list[mm.Event]()
    with (
        kind(
            bind=place, send_queue_messages=COUNT, send_queue_bytes=2**30, **HEART, **options
        ) as s,
        zmq_socket(peer_kind, RCVHWM=10) as reader,
    ):
        if peer_kind == zmq.SUB:
            reader.subscribe(b"")
        reader.connect(s.endpoint)
        s.wait_for_peers(timeout=WAIT_S)
        if peer_kind == zmq.SUB:
            s.wait_for_subscribers("", timeout=WAIT_S)
        for _ in range(COUNT):
            s.send(body, timeout=WAIT_S)
        until(s, lambda: happened(s, mm.EventKind.PEER_STALLED, events))
        until(s, lambda: s.peers()[0].stalled)  # it may have been late only, as it was told of
        assert [len(reader.recv()) for _ in range(COUNT)] == [size] * COUNT
        report = s.drain(timeout=WAIT_S)
        assert (report.delivered, report.in_doubt, report.dropped) == (COUNT, 0, 0)
        assert s.stats().disconnects == 0


def written(sender: Any, count: int) -> bool:
    """Whether so many messages are with the kernel."""
    return bool(sender.stats().written_messages == count)


@pytest.mark.parametrize("how", ["close", "disconnect"])
@pytest.mark.parametrize("role", ["push", "dealer"])
@pytest.mark.parametrize("linger", [0.0, 0.2])
def test_what_was_written_before_we_left_can_still_be_read(
    role: str, how: str, linger: float, short_path: Path
) -> None:
    """The reader answers PINGs on its way through what is left: nobody resets it for that."""
    kind, peer_kind, _ = SENDERS[role]
    events = list[mm.Event]()
    with zmq_socket(peer_kind, RCVHWM=10) as reader:
        endpoint = bind(reader, "tcp://127.0.0.1:*")
        s = kind(connect=endpoint, linger=linger, **HEART)
        s.wait_for_peers(timeout=WAIT_S)
        for sent in (500, 1000):
            for _ in range(500):
                s.send(BODY, timeout=WAIT_S)
            until(s, partial(written, s, sent))
            until(s, lambda: happened(s, mm.EventKind.PEER_STALLED, events))  # PINGs are out
        if how == "close":
            s.close()
        else:
            s.disconnect(endpoint)
            assert s.stats().in_doubt_messages > 0
        assert [len(reader.recv()) for _ in range(sent)] == [len(BODY)] * sent
        if how == "disconnect":
            until(s, lambda: s.stats().confirmed_messages == sent)
            assert s.stats().in_doubt_messages == 0
            s.close()
