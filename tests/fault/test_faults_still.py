"""Rows F21, F23, F27 and F30 of the table of faults (matrix.py): processes that stand still, by a
signal, by the interpreter's lock, or as they read nothing; and an accept that has to wait.

Not here: workers that are stopped for good (tests/crash).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.support.feeding import UP
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.programs import lines_of, running
from tests.support.room import room
from tests.support.stalled import PATIENCE_S

QUEUE = 100
BODY = 2_000
MEMORY_MAX = 8 * 1024 * 1024
"""Bytes of the core beside a slow subscriber: far above its queue, far below what was sent."""

LINES_MAX = 100
"""Of a world's trace for each second in which nobody can be accepted: a busy loop has no end."""


class Held:
    """One of tests.fault.held, and what it says."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lines = lines_of(process)

    def said(self, words: bytes) -> None:
        """Its next line is this."""
        assert next(self._lines).strip() == words

    def stop(self) -> None:
        """Stop it; it stands still then."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def go_on(self) -> None:
        """Have it do its next step."""
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), b".")


@contextmanager
def held(name: str, endpoint: str) -> Iterator[Held]:
    """Run one; whatever happens, it is gone afterwards."""
    command = [sys.executable, "-m", "tests.fault.held", name, endpoint]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Held(process)


def test_f21_a_late_acknowledgement_of_a_stopped_worker_counts_for_nothing() -> None:
    """Another one has its message by then; who was stopped may go on, and did no harm."""
    with mm.Push(bind=UP, delivery="at_least_once", ack_timeout=5, heartbeat_interval=None) as push:
        with held("message", push.endpoint) as worker:
            receipt = push.send(b"work", confirm=True)
            worker.said(b"taken")
            worker.stop()
            with mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as other:
                message = other.recv(timeout=WAIT_S)
                assert message == b"work"
                worker.go_on()
                worker.said(b"acked")
                push.send(b"behind", timeout=WAIT_S)
                wait_until(lambda: push.stats().stale_acks == 1)
                assert push.stats().acked_messages == 0
                assert message.ack()
                receipt.wait(timeout=WAIT_S)


def test_f23_a_slow_subscriber_costs_its_queue_and_nobody_else_anything() -> None:
    """What it has no room for is dropped and counted; the other one gets all, in order."""
    beats: dict[str, Any] = {"heartbeat_interval": None, "send_queue_messages": QUEUE}
    with (
        mm.Pub(bind=UP, **beats) as pub,
        mm.Sub(connect=pub.endpoint, topics="") as quick,
        held("subscriber", pub.endpoint) as slow,
    ):
        slow.said(b"subscribed")
        wait_until(lambda: sum(peer.subscriptions for peer in pub.peers()) == 2)
        slow.stop()
        before, most, number = live_bytes(), 0, 0
        while pub.stats().dropped == 0 or number < 20_000:
            for _ in range(QUEUE // 2):
                pub.send(b"%d " % number + bytes(BODY))
                number += 1
            for at in range(number - QUEUE // 2, number):
                assert bytes(quick.recv(timeout=WAIT_S)).startswith(b"%d " % at)
            most = max(most, live_bytes() - before)
        assert most < MEMORY_MAX < number * BODY
        stats, drops = pub.stats(), sorted(peer.dropped_messages for peer in pub.peers())
        assert drops == [0, stats.dropped_overflow]
        assert 2 * number == stats.written_messages + stats.queued_out_messages + stats.dropped


def test_f27_a_held_interpreter_is_no_dead_peer() -> None:
    """Longer than its heartbeat allows: another one, that is stopped, is given up meanwhile."""
    with (
        mm.Push(
            bind=UP, delivery="at_least_once", heartbeat_interval=0.1, heartbeat_timeout=2.0
        ) as push,
        held("interpreter", push.endpoint) as alive,
    ):
        alive.said(b"held")
        with held("idle", push.endpoint) as dead:
            dead.said(b"there")
            push.wait_for_peers(2, timeout=WAIT_S)
            dead.stop()
            wait_until(lambda: push.stats().closed.get(mm.Reason.HEARTBEAT))
        (peer,) = push.peers()
        assert peer.rtt is not None  # its engine answers meanwhile
        assert push.stats().disconnects == 1
        push.send_many([b"1", b"2"], timeout=WAIT_S)
        assert push.stats().acked_messages == 0
        alive.go_on()
        push.drain(timeout=WAIT_S).raise_for_loss()
        assert push.stats().acked_messages == 2


def test_f30_who_cannot_be_accepted_waits_and_costs_next_to_nothing() -> None:
    """For ten minutes of virtual time; who was there goes on, and then the newcomer is let in."""
    with room() as r:
        pull, (push,) = r.around("Pull", "Push", 1)
        r.world.set_faults(SimFaults(accept_emfile=1.0))
        late = r.open("Push", connect=pull.endpoint)
        before = r.world._look().trace_lines
        for minute in range(10):
            r.world.run(60)
            push.send(b"%d" % minute, timeout=PATIENCE_S)
            assert pull.recv(timeout=PATIENCE_S) == b"%d" % minute
        assert r.world._look().trace_lines - before < 600 * LINES_MAX
        assert len(pull.peers()) == 1
        r.world.heal()
        pull.wait_for_peers(2, timeout=PATIENCE_S)
        late.send(b"late", timeout=PATIENCE_S)
        assert pull.recv(timeout=PATIENCE_S) == b"late"
        kinds = [event.kind for event in pull.events()]
        assert kinds.count(mm.EventKind.ACCEPT_PAUSED) == 1
        assert kinds.count(mm.EventKind.ACCEPT_RESUMED) == 1
