"""What the tests of dying workers have in common: a Push that hands out numbers, and workers.

Not here: what a worker does with a number (worker.py, booker.py).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.programs import running

UP = "tcp://127.0.0.1:0"
ROUNDS = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "4"))
PLAIN_ROUNDS = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "30"))
"""Of those whose programs are forks, and take little."""
SEED = int(os.environ.get("MESHMSG_CRASH_SEED", "1"))
BURST_MAX = 40
AFTER_MAX = 30
QUEUE_MESSAGES = 100


class CrewBase:
    """A Push, and workers that come and die."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
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

    def start(self, module: str, *arguments: object) -> subprocess.Popen[bytes]:
        """Start a worker; at the end of the test it is gone."""
        command = [sys.executable, "-m", module, self.push.endpoint, *map(str, arguments)]
        return self.stack.enter_context(running(command))

    def send(self, count: int) -> None:
        """Send the next numbers."""
        numbers = range(self.sent, self.sent + count)
        self.push.send_many([b"%d" % number for number in numbers], timeout=WAIT_S)
        self.sent += count

    def wait_until_acked(self) -> None:
        """All that was sent is acknowledged."""
        report = self.push.drain(timeout=WAIT_S * 3)
        assert (report.unconfirmed, report.queued) == (0, 0)

    def until_dead(self, victim: subprocess.Popen[bytes], dice: random.Random) -> None:
        """Send on until that worker is killed."""
        late = time.monotonic() + WAIT_S
        while victim.poll() is None:
            assert time.monotonic() < late, "the worker does not die"
            self.send(1 + dice.randrange(BURST_MAX))
        assert victim.returncode == -signal.SIGKILL
