"""What the tests of dying workers have in common: a Push that hands out numbers, and workers.

Not here: what a worker does with a number (worker.py, booker.py).
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import meshmsg as mm
from tests.support.forks import Forked, Forks
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
ROUNDS = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "4"))
"""Of those that wait for a heartbeat each time."""
PLAIN_ROUNDS = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "20"))
"""Of all others."""
FEW_ROUNDS = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "5"))
"""Of those that take a second or longer each, or come in many kinds."""
SPOOL_ROUNDS = 100
"""Rounds of one spool, where each of them opens or reads all of it."""
SEED = int(os.environ.get("MESHMSG_CRASH_SEED", "1"))
BURST_MAX = 40
AFTER_MAX = 30
QUEUE_MESSAGES = 100


class CrewBase:
    """A Push, and workers that come and die."""

    def __init__(self, stack: ExitStack, forks: Forks) -> None:
        self.stack, self._forks = stack, forks
        self.push = stack.enter_context(
            mm.Push(
                bind=UP,
                delivery="at_least_once",
                send_queue_messages=QUEUE_MESSAGES,
                heartbeat_interval=0.1,
                heartbeat_timeout=1.0,
            )
        )
        self.sent = 0

    def start(self, module: str, *arguments: object) -> Forked:
        """Start a worker; at the end of the test it is gone."""
        endpoint = self.push.endpoint
        one = self._forks.running(f"tests.crash.{module}", endpoint, *arguments, said=False)
        return self.stack.enter_context(one)

    def stop(self, one: Forked) -> None:
        """Stop it by SIGSTOP, wherever it is; it stands still then."""
        one.send_signal(signal.SIGSTOP)
        state = Path(f"/proc/{one.pid}/stat")
        wait_until(lambda: state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T")

    def send(self, count: int) -> None:
        """Send the next numbers."""
        numbers = range(self.sent, self.sent + count)
        self.push.send_many([b"%d" % number for number in numbers], timeout=WAIT_S)
        self.sent += count

    def wait_until_acked(self) -> None:
        """All that was sent is acknowledged."""
        report = self.push.drain(timeout=WAIT_S * 3)
        assert (report.unconfirmed, report.queued) == (0, 0)

    def until_dead(self, victim: Forked, dice: random.Random) -> None:
        """Send on until that worker is killed."""
        late = time.monotonic() + WAIT_S
        while victim.poll() is None:
            assert time.monotonic() < late, "the worker does not die"
            self.send(1 + dice.randrange(BURST_MAX))
        assert victim.returncode == -signal.SIGKILL
