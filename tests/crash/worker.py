"""A worker that notes each message it works on, and dies at a moment it is told. Usage: python -m
tests.crash.worker ENDPOINT FILE ACK MOMENT AFTER.

Law: a note is in the file, whole, before the message is acknowledged.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import meshmsg as mm

MOMENTS = ("before", "between", "after", "next")
"""When it dies, of the message it dies at: before the effect, between effect and ack, right after
the ack, or with its next message asked for."""
PREFETCH = 20
HEARTBEAT_S = 0.2
SILENT_S = 1.0
"""After which its sender may take it for dead."""


def die() -> None:
    """As by the kernel: nothing is written, closed or said any more."""
    os.kill(os.getpid(), signal.SIGKILL)


def work(endpoint: str, file: int, ack: Any, moment: str, after: int) -> None:
    """Receive for ever, or until it is time to die."""
    beats = {"heartbeat_interval": HEARTBEAT_S, "heartbeat_timeout": SILENT_S}
    with mm.Pull(connect=endpoint, ack=ack, prefetch=PREFETCH, **beats) as pull:
        count = 0
        while True:
            message: Any = pull.recv()
            count += 1
            last = count == after
            if last and moment == "before":
                die()
            os.write(file, bytes(message) + b"\n")
            if last and moment == "between":
                die()
            if ack == "manual":
                message.ack()
            if last and moment == "after":
                die()
            if last and moment == "next":
                pull.recv_many()
                die()


def main() -> None:
    """Work as the command line says."""
    endpoint, path, ack, moment, after = sys.argv[1:]
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    work(endpoint, file, ack, moment, int(after))


if __name__ == "__main__":
    main()
