"""Senders that are not to wait: they refuse and count it, or their peer has no row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.measure.launch import measure
from meshmsg.bench.measure.stage import Consumers, produce
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.peers.seam import Sender
from meshmsg.bench.rivals.programs import Program
from tests.support.benched import record
from tests.support.scenarios import scenario

HEAVY = 64 * 1024
"""Bytes of a message: a burst of so many is more than any queue and system take at once."""
BURST = 8000


class OnlySends(Sender):
    """A sender that says nothing of offering."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, body: bytes) -> None:
        """Take it."""
        self.sent.append(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Take them."""
        self.sent += [body] * count

    def close(self) -> None:
        """Nothing is open."""


def test_a_sender_that_can_only_wait_does_not_offer() -> None:
    """It would wait, and say that nothing was refused."""
    sender = OnlySends()
    with pytest.raises(BenchError, match="has no non-blocking send"):
        sender.offer(b"x")
    assert sender.sent == []


@pytest.mark.parametrize("name", sorted(name for name, peer in PEERS.items() if not peer.offers))
def test_a_peer_without_it_starts_no_process(name: str) -> None:
    """Of all peers, C programs and brokers too; receivers are not concerned."""
    task = Task("rate", name, False, "tcp://127.0.0.1:1", blocking=False)
    with pytest.raises(BenchError, match="^has no non-blocking send$"):
        PEERS[name].command(task)
    with pytest.raises(BenchError, match="^has no non-blocking send$"):
        PEERS[name].command(replace(task, receives=True), task)  # both ends in one process
    if PEERS[name].missing() is None:
        assert PEERS[name].command(replace(task, blocking=True))
        assert PEERS[name].command(replace(task, receives=True))


@pytest.mark.parametrize("name", ["raw-c", "raw-python"])
def test_the_row_of_such_a_peer_says_so(name: str) -> None:
    """Beside one that has it."""
    for library in ("zmq", "hdrh"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    told = ["--size", "64", "--rate", "1000", "--seconds", "0.05", "--nonblocking"]
    rows = record("rate", *told, "--peer", f"meshmsg,{name}", "--rounds", "1")["rows"][:2]
    assert [row["missing"] for row in rows] == [None, "has no non-blocking send"]
    assert rows[1]["figures"] == {}


def test_a_step_with_such_a_producer_is_refused_and_leaves_nothing() -> None:
    """Its consumer was there already."""
    made = scenario(blocking=False)
    with pytest.raises(BenchError, match="has no non-blocking send"):
        produce(made, 0, "raw-python", False, Consumers(made))


OFFERING = sorted(name for name, peer in PEERS.items() if peer.offers and "rate" in peer.kinds)


@pytest.mark.leaves_threads
@pytest.mark.parametrize("name", [n for n in OFFERING if not isinstance(PEERS[n], Program)])
def test_an_offer_is_refused_when_nobody_takes_anything(name: str) -> None:
    """And what was not refused arrives."""
    peer = PEERS[name]
    reason = peer.why_not("rate", "tcp")
    if reason:
        pytest.skip(reason)
    receiver = peer.receiver(Task("rate", name, True, "tcp://127.0.0.1:0", HEAVY))
    sender = peer.sender(Task("rate", name, False, receiver.endpoint, HEAVY))
    sender.send(bytes(HEAVY))  # as a warm-up: they are connected then
    assert len(receiver.recv()) == HEAVY
    taken = 0
    while sender.offer(bytes(HEAVY)):
        taken += 1
        assert taken < BURST
    assert taken
    assert [len(receiver.recv()) for _ in range(taken)] == [HEAVY] * taken
    sender.close()
    receiver.close()


@pytest.mark.parametrize("name", [n for n in OFFERING if isinstance(PEERS[n], Program)])
def test_what_is_refused_is_counted_and_the_rest_arrives(name: str) -> None:
    """Of a burst that is offered quicker than anybody writes it."""
    peer = PEERS[name]
    reason = peer.why_not("rate", "tcp")
    if reason:
        pytest.skip(reason)
    task = Task("rate", name, True, "", HEAVY, BURST, 1, rate=1e6, burst=BURST, blocking=False)
    found = measure(peer, "tcp", task)
    sent: dict[str, Any] = found.sender
    assert sent["refused"] > 0
    assert sent["count"] + sent["refused"] == BURST
    assert found.receiver["count"] == sent["count"]


@pytest.mark.parametrize("name", ["meshmsg", "libzmq-c", "nanomsg", "pynng"])
def test_with_room_nothing_is_refused(name: str) -> None:
    """One message at a time."""
    peer = PEERS[name]
    reason = peer.why_not("rate", "tcp")
    if reason:
        pytest.skip(reason)
    task = Task("rate", name, True, "", 64, 20, 1, rate=1000.0, blocking=False)
    found = measure(peer, "tcp", task)
    assert (found.sender["count"], found.sender["refused"]) == (20, 0)
    assert found.receiver["count"] == 20
