"""Room for descriptors: the kernel's table is made large while that costs nothing."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

ROOM = 2048
"""POSIX_FILES in csrc/plat/posix/posix.c."""
TABLE = """
import resource, sys, threading
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), hard))
import meshmsg

def table():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("FDSize"))

def used():
    with meshmsg.Pull(bind="tcp://127.0.0.1:0") as pull:
        with meshmsg.Push(connect=pull.endpoint) as push:
            push.send(b"here")
            assert pull.recv(timeout=10) == b"here"

before = table()
if sys.argv[2] == "threads":
    done = threading.Event()
    threading.Thread(target=done.wait).start()
used()
print(before, table())
if sys.argv[2] == "threads":
    done.set()
"""


def tables(limit: int, how: str) -> tuple[int, int]:
    """How large the table of a process is before and after its first socket."""
    done = subprocess.run(
        [sys.executable, "-c", TABLE, str(limit), how], check=True, capture_output=True, text=True
    )
    before, after = map(int, done.stdout.split())
    return before, after


def test_a_process_without_threads_gets_room_for_many_descriptors() -> None:
    """Growing the table later stops every connect and accept for milliseconds."""
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < ROOM:
        pytest.skip("fewer descriptors are allowed")
    before, after = tables(ROOM, "alone")
    assert before < ROOM <= after


def test_a_process_with_threads_is_left_as_it_is() -> None:
    """There it would be the first socket that waits."""
    before, after = tables(1024, "threads")
    assert after == before


@pytest.mark.parametrize("limit", [32, 64, 1024])
def test_a_low_limit_is_no_obstacle(limit: int) -> None:
    """Room is made up to the limit, and sockets work."""
    before, after = tables(limit, "alone")
    assert before <= after <= max(before, 1024)
