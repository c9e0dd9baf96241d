"""Rows F11 to F14 of the table of faults (matrix.py): networks that are cut, and connections that
are reset, over real ones through a proxy.

Not here: the same faults in virtual time (tests/sim).
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import UP
from tests.support.pairs import WAIT_S, wait_until
from tests.support.proxy import Proxy, proxied
from tests.support.spooled import SEGMENT

BEATS: dict[str, Any] = {"heartbeat_interval": 0.1, "heartbeat_timeout": 1.0, "reconnect_max": 0.2}
SHORT: dict[str, Any] = {
    "heartbeat_interval": 0.02, "heartbeat_timeout": 0.1, "handshake_timeout": 0.1,
    "reconnect_min": 0.005, "reconnect_max": 0.02,
}  # fmt: skip
"""So short that a cut is as long to them as one of minutes is to what is so by default."""
ATTEMPTS = 30
"""To connect through a network that is cut: each is given up."""
PREFETCH = 20
LARGE = 40_000
"""Bytes of a message that is on its way for several segments of TCP."""


class Work:
    """A Push with a spool, and a worker of it behind a proxy that does what is new, once."""

    def __init__(
        self, stack: ExitStack, folder: Path, beats: dict[str, Any] = BEATS, **options: Any
    ) -> None:
        self.spool = stack.enter_context(
            mm.Spool(folder, durability="os", segment_bytes=SEGMENT, **options)
        )
        self.push = stack.enter_context(mm.Push(bind=UP, spool=self.spool, **beats))
        self.proxy: Proxy = stack.enter_context(proxied(self.push.endpoint))
        self.pull = stack.enter_context(
            mm.Pull(connect=self.proxy.endpoint, ack="manual", prefetch=PREFETCH, **beats)
        )
        self.window = mm.MemoryDedupeWindow(limit=10_000)
        self.effects: list[bytes] = []
        self.repeats = 0

    def do(self, timeout: float = WAIT_S) -> bool:
        """Work on the next message; says whether its acknowledgement was taken."""
        message = self.pull.recv(timeout=timeout)
        if self.window.add(message):
            self.effects.append(bytes(message))
        else:
            self.repeats += 1
        return message.ack()

    def do_all(self) -> None:
        """Work until all of the spool is done."""
        while self.push.drain(timeout=0).unconfirmed + self.push.drain(timeout=0).queued:
            try:
                self.do(0.05)
            except mm.TimedOutError:
                continue

    def tries(self) -> int:
        """How often the worker gave up to connect."""
        return int(self.pull.stats().closed.get(mm.Reason.HANDSHAKE_TIMEOUT, 0))

    def lost(self) -> bool:
        """Its peer was given up by its heartbeat."""
        return bool(self.push.stats().closed.get(mm.Reason.HEARTBEAT))


def test_f11_a_partition_fills_the_spool_which_drains_in_order(tmp_path: Path) -> None:
    """Both sides give the other up; what finds no more room is refused; then all is done once."""
    with ExitStack() as stack:
        work = Work(stack, tmp_path / "s", max_messages=300)
        work.push.send_many([b"%d" % number for number in range(2 * PREFETCH)])
        for _ in range(PREFETCH // 2):
            work.do()
        work.proxy.freeze()
        wait_until(lambda: work.lost() and work.pull.stats().closed.get(mm.Reason.HEARTBEAT))
        with pytest.raises(mm.SpoolFullError):
            for number in range(2 * PREFETCH, 1_000):
                work.push.send(b"%d" % number)
        assert number >= 300
        work.proxy.thaw()
        work.do_all()
        assert work.effects == [b"%d" % done for done in range(number)]
        wait_until(lambda: work.spool.info().first_seq > 1)
        work.push.send(b"room again")


def test_f11_a_long_partition_loses_nothing_and_keeps_the_order(tmp_path: Path) -> None:
    """Both sides tried again and again in vain; what was sent meanwhile is in many files."""
    with ExitStack() as stack:
        work = Work(stack, tmp_path / "s", SHORT)
        bodies = [(b"%d" % number).ljust(2_000) for number in range(500)]
        work.push.send_many(bodies[:50])
        for _ in range(PREFETCH // 2):
            work.do()
        work.proxy.freeze()
        wait_until(work.lost)
        for number, body in enumerate(bodies[50:], 50):
            work.push.send(body)
            if number % 100 == 0:  # sent all along, and not at once
                tried = work.tries()
                wait_until(lambda tried=tried: work.tries() >= tried + ATTEMPTS // 5)
        wait_until(lambda: work.tries() >= ATTEMPTS)
        assert work.spool.info().files > 10
        work.proxy.thaw()
        work.do_all()
        assert work.effects == bodies
        wait_until(lambda: work.spool.info().files <= 2)


def test_f12_lost_acknowledgements_are_bounded_and_absorbed(tmp_path: Path) -> None:
    """Only what the worker says is lost: it gets no more than its credit, and all of it again."""
    with ExitStack() as stack:
        work = Work(stack, tmp_path / "s")
        work.push.wait_for_peers(timeout=WAIT_S)
        work.push.send(b"0")
        work.do()
        wait_until(lambda: not work.push.stats().unacked_messages)
        work.push.send_many([b"%d" % number for number in range(1, 1_000)])
        wait_until(lambda: work.pull.stats().queued_in_messages == PREFETCH)
        assert work.push.stats().unacked_messages == PREFETCH
        work.proxy.freeze(back=False)
        for _ in range(PREFETCH):
            work.do()
        assert work.push.stats().unacked_messages <= PREFETCH
        assert work.push.stats().acked_messages == 1
        wait_until(work.lost)
        work.proxy.thaw()
        work.do_all()
        assert work.effects == [b"%d" % number for number in range(1_000)]
        assert work.repeats >= PREFETCH


@pytest.mark.parametrize("frames", [1, 5])
def test_f13_a_reset_in_a_message_gives_out_no_part_of_it(tmp_path: Path, frames: int) -> None:
    """In its head, in each of its frames, and between two of them; it comes whole, once."""
    with ExitStack() as stack:
        work = Work(stack, tmp_path / "s")
        work.push.wait_for_peers(timeout=WAIT_S)
        work.push.send(b"first")
        assert work.do()
        cuts = [1_000, LARGE // 2, LARGE - 1, LARGE + 700, 2 * LARGE, 3 * LARGE]
        work.proxy.reset_after(cuts)
        for number in range(4):
            whole = b"%d" % number * LARGE
            size = LARGE // frames
            parts = [whole[at : at + size] for at in range(0, LARGE, size)]
            work.push.send_frames(parts)
        got: list[bytes] = []
        while len(got) < 4:
            message = work.pull.recv(timeout=WAIT_S)
            if work.window.add(message):
                got.append(b"".join(map(bytes, message.frames)))
                assert len(message.frames) == frames
            message.ack()
        work.do_all()
        assert got == [b"%d" % number * LARGE for number in range(4)]
        assert work.proxy.resets >= 1
        assert work.pull.stats().closed.get(mm.Reason.RESET)


def test_f14_a_peer_whose_host_is_gone_is_found_and_its_work_given_on(tmp_path: Path) -> None:
    """No FIN and no RST ever comes: its heartbeat ends it, and another one does what it had."""
    with ExitStack() as stack:
        work = Work(stack, tmp_path / "s")
        work.push.wait_for_peers(timeout=WAIT_S)
        work.push.send_many([b"%d" % number for number in range(PREFETCH)])
        work.pull.recv(timeout=WAIT_S)
        work.proxy.freeze()
        other = stack.enter_context(mm.Pull(connect=work.push.endpoint, ack="manual", **BEATS))
        got = []
        for _ in range(PREFETCH):
            message = other.recv(timeout=WAIT_S)
            got.append(int(message))
            message.ack()
        assert sorted(got) == list(range(PREFETCH))
        assert work.lost()
