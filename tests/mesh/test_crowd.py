"""A crowd of processes (tests/support/crowd.py) is gone when its test ends, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crowd import Crowd
from tests.support.pairs import wait_until
from tests.support.programs import ROOT, running

OPENED = """
import os, sys
from tests.support.crowd import Crowd
with Crowd(2) as crowd:
    crowd.start("a", 0)
    crowd.until(lambda: "a" in crowd.ids, "it began")
    print(crowd.do("space", 0), flush=True)
    sys.stdin.read()
"""
"""A program that has a crowd, and waits."""


def there(space: str) -> bool:
    """Whether any process is in a network namespace."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == space:
                return True
        except OSError:
            continue  # it ended
    return False


def test_a_crowd_ends_with_an_error_of_its_test() -> None:
    """Its members, their machines and who leads them; also one that stands still."""
    spaces = []
    with pytest.raises(RuntimeError, match="as any test may"):
        with Crowd(2) as crowd:
            for number in range(2):
                crowd.start(f"m{number}", number)
                spaces.append(crowd.do("space", number))
            crowd.until(lambda: len(crowd.ids) == 2, "they began")
            crowd.signal("m1", "SIGSTOP")
            assert all(map(there, spaces))
            raise RuntimeError("as any test may")
    assert not any(map(there, spaces))


def test_a_crowd_ends_with_the_process_of_its_test() -> None:
    """Which is killed, and so ends nothing itself."""
    with Crowd(1):
        """Skip where it cannot be."""
    command = [sys.executable, "-c", OPENED]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes) as process:
        space = process.stdout.readline().decode().strip()
        assert there(space)
        process.kill()
        wait_until(lambda: not there(space))


def test_a_machine_has_a_name_nowhere() -> None:
    """So none is left behind, whoever is killed."""
    names = Path("/run/netns")
    before = os.listdir(names) if names.exists() else []
    with Crowd(1):
        assert (os.listdir(names) if names.exists() else []) == before
