"""Programs that stand still, in one way or another. Usage: python -m tests.fault.held NAME ENDPOINT

Not here: what is expected of their peers (test_faults_still.py).
"""

from __future__ import annotations

import ctypes
import sys

import meshmsg as mm
from tests.fault.programs import say
from tests.support.pairs import WAIT_S


def interpreter(endpoint: str) -> None:
    """Hold the interpreter's lock in a call of C until something is to be read; then receive."""
    libc, octet = ctypes.PyDLL(None), ctypes.create_string_buffer(1)
    with mm.Pull(connect=endpoint, ack="manual", heartbeat_interval=0.1) as pull:
        pull.wait_for_peers(timeout=WAIT_S)
        say("held")
        libc.read(0, octet, 1)
        for message in pull:
            message.ack()
            say(f"got {bytes(message).decode()}")


def message(endpoint: str) -> None:
    """Take a message, and acknowledge it when it is told to."""
    with mm.Pull(connect=endpoint, ack="manual", prefetch=1) as pull:
        taken = pull.recv(timeout=WAIT_S)
        say("taken")
        sys.stdin.read(1)
        taken.ack()
        say("acked")
        sys.stdin.read(1)


def subscriber(endpoint: str) -> None:
    """Subscribe to everything, and receive nothing."""
    with mm.Sub(connect=endpoint, topics="") as sub:
        sub.wait_for_peers(timeout=WAIT_S)
        say("subscribed")
        sys.stdin.read(1)


def idle(endpoint: str) -> None:
    """Connect, and receive nothing."""
    with mm.Pull(connect=endpoint, ack="manual", heartbeat_interval=0.1) as pull:
        pull.wait_for_peers(timeout=WAIT_S)
        say("there")
        sys.stdin.read(1)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
