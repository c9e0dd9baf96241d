"""Real processes: killed, stopped, forked, interrupted, out of descriptors, ending with live
sockets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until
from tests.support.programs import lines_of, running

ROOT = Path(__file__).resolve().parents[2]
UP = "tcp://127.0.0.1:0"


@dataclass
class Program:
    """One of tests.fault.programs, and what it says."""

    process: subprocess.Popen[bytes]
    lines: Iterator[bytes]

    @property
    def pid(self) -> int:
        """That of the process."""
        return self.process.pid

    def ended(self) -> int:
        """Wait for its end; the code."""
        return self.process.wait(WAIT_S)


@contextmanager
def program(name: str, *args: str) -> Iterator[Program]:
    """Run one; whatever happens, it is gone afterwards."""
    command = [sys.executable, "-m", "tests.fault.programs", name, *args]
    with running(command, stdout=subprocess.PIPE) as process:
        yield Program(process, lines_of(process))


def said(one: Program, word: str) -> str:
    """Read on until a line begins with this word."""
    for line in one.lines:
        if line.decode().startswith(word):
            return line.decode()
    raise AssertionError(f"it ended without saying {word!r}")


def push_on(push: mm.Push, count: int) -> int:
    """Send as many as go within a moment each; how many went."""
    sent = 0
    for _ in range(count):
        try:
            push.send(b"x" * 100, timeout=1.0)
        except mm.TimedOutError:
            break
        sent += 1
    return sent


def test_a_killed_worker_is_noticed_and_its_work_goes_to_the_next() -> None:
    """What was not begun goes on; what was written and not confirmed is in doubt; nothing is
    uncounted."""
    with mm.Push(bind=UP) as push, program("pull", push.endpoint) as first:
        said(first, "ready")
        push.wait_for_peers(timeout=WAIT_S)
        sent = push_on(push, 500)
        said(first, "got 100")
        os.kill(first.pid, signal.SIGKILL)
        first.ended()
        with program("pull", push.endpoint) as second:
            said(second, "ready")
            push.wait_for_peers(timeout=WAIT_S)
            sent += push_on(push, 500)
            said(second, "got 100")
            push.drain(timeout=WAIT_S)
            stats = push.stats()
    assert stats.sent_messages == sent
    assert stats.sent_messages == stats.written_messages + stats.dropped + stats.queued_out_messages
    assert stats.written_messages == stats.confirmed_messages + stats.in_doubt_messages
    assert stats.disconnects >= 1


def test_a_stopped_peer_is_dropped_by_its_heartbeat_and_comes_back() -> None:
    """SIGSTOP: the event says heartbeat; SIGCONT: it reconnects."""
    with (
        mm.Push(bind=UP, heartbeat_interval=0.1, heartbeat_timeout=0.5) as push,
        program("pull", push.endpoint) as peer,
    ):
        said(peer, "ready")
        push.wait_for_peers(timeout=WAIT_S)
        os.kill(peer.pid, signal.SIGSTOP)
        wait_until(lambda: push.stats().closed.get(mm.Reason.HEARTBEAT))
        downs = [event for event in push.events() if event.kind is mm.EventKind.PEER_DOWN]
        assert downs[-1].reason is mm.Reason.HEARTBEAT
        os.kill(peer.pid, signal.SIGCONT)
        push.wait_for_peers(timeout=WAIT_S)
        push.send(b"again", timeout=WAIT_S)


def test_a_stopped_peer_reads_what_it_was_sent_when_it_goes_on() -> None:
    """It was given up meanwhile, with a FIN: all arrives, and we hear of it; then it reconnects."""
    with (
        mm.Push(bind=UP, heartbeat_interval=0.1, heartbeat_timeout=0.5) as push,
        program("pull", push.endpoint) as peer,
    ):
        said(peer, "ready")
        push.wait_for_peers(timeout=WAIT_S)
        os.kill(peer.pid, signal.SIGSTOP)
        os.waitpid(peer.pid, os.WUNTRACED)
        push.send_many([b"x"] * 301, timeout=WAIT_S)
        wait_until(lambda: push.stats().closed.get(mm.Reason.HEARTBEAT))
        assert push.stats().in_doubt_messages == 301
        os.kill(peer.pid, signal.SIGCONT)
        said(peer, "got 300")
        push.wait_for_peers(timeout=WAIT_S)
        stats = push.stats()
        assert (stats.in_doubt_messages, stats.confirmed_messages) == (0, 301)


@pytest.mark.parametrize("what", ["recv", "send", "peers", "poll", "asyncio"])
def test_ctrl_c_ends_a_blocked_call(what: str) -> None:
    """KeyboardInterrupt, in every kind of call."""
    with program("blocked", what) as process:
        said(process, "ready")
        os.kill(process.pid, signal.SIGINT)
        if what != "asyncio":
            said(process, "interrupted")
        process.ended()


@pytest.mark.parametrize("how", ["plain", "thread", "stalled", "_exit"])
def test_a_program_with_live_sockets_ends_by_itself(how: str) -> None:
    """Open sockets, a thread in recv, queued messages: none of them holds it."""
    with program("leave", how) as process:
        said(process, "leaving")
        assert process.ended() == 0


def test_a_fork_leaves_the_parent_alone_and_tells_the_child() -> None:
    """Twenty forks while another thread sends."""
    with program("fork") as process:
        said(process, "fine")
        assert process.ended() == 0


def test_out_of_descriptors_accepting_pauses_and_goes_on() -> None:
    """Existing traffic does not notice; ACCEPT_PAUSED and ACCEPT_RESUMED tell."""
    with program("few_descriptors") as process:
        kinds = said(process, "LISTENING")
        assert "ACCEPT_PAUSED" in kinds
        assert "ACCEPT_RESUMED" in kinds
        said(process, "fine")
        assert process.ended() == 0


def test_a_child_program_inherits_no_descriptor() -> None:
    """All of ours are closed on exec."""
    with mm.Push(bind=UP) as push, mm.Pull(connect=push.endpoint):
        push.wait_for_peers(timeout=WAIT_S)
        listing = subprocess.run(
            ["ls", "-l", "/proc/self/fd"],
            capture_output=True,
            text=True,
            close_fds=False,
            check=True,
        )
        ours = {_link(fd) for fd in os.listdir("/proc/self/fd") if fd not in ("0", "1", "2")}
        ours = {link for link in ours if "socket" in link or "event" in link}
        assert len(ours) > 2
        assert [link for link in ours if link in listing.stdout] == []


def _link(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""
