"""What tests wait by and start things by: what hangs fails the test, and nothing is left of it."""

from __future__ import annotations

import asyncio
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support import forked, later, looped, programs
from tests.support.disks import failing_disk, full_disk
from tests.support.forked import Child, in_child
from tests.support.later import Later
from tests.support.programs import lines_of, running

WAITS = [sys.executable, "-c", "input()"]


class Oops(Exception):
    """What is raised in these tests."""


def oops() -> bool:
    """Raise it."""
    raise Oops("in the midst of it")


def test_a_child_tells_what_it_did_or_what_it_raised() -> None:
    """In its words."""
    assert in_child(lambda: True)
    assert not in_child(lambda: False)
    assert Child(lambda: "text").told() == "text"
    with pytest.raises(AssertionError, match="Oops: in the midst of it"):
        in_child(oops)


def test_a_child_that_hangs_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its alarm; nobody waits for it for ever."""
    monkeypatch.setattr(forked, "WAIT_S", 1)
    with pytest.raises(AssertionError, match="the child hangs"):
        in_child(lambda: signal.pause() is None)


def test_a_program_is_gone_whatever_becomes_of_the_test() -> None:
    """It was killed, and waited for; its pipes are closed."""
    with pytest.raises(Oops):
        with running(WAITS, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            oops()
    assert process.returncode == -signal.SIGKILL
    assert process.stdin.closed
    assert process.stdout.closed


def test_a_program_that_says_nothing_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it said before is there, a line that was cut as well."""
    with running(WAITS, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        monkeypatch.setattr(programs, "WAIT_S", 0.01)
        with pytest.raises(AssertionError, match="says nothing"):
            next(lines_of(process))
        monkeypatch.undo()
    code = "import os; os.write(1, b'one\\ntwo\\ncut')"
    with running([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert list(lines_of(process)) == [b"one\n", b"two\n", b"cut"]


def test_a_call_that_hangs_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raised, or returned, is told once it ends."""
    assert Later(lambda: 5).result() == 5
    with pytest.raises(Oops):
        Later(oops).result()
    assert isinstance(Later(oops).error(), Oops)
    ends = threading.Event()
    hangs = Later(ends.wait)
    monkeypatch.setattr(later, "WAIT_S", 0.01)
    with pytest.raises(AssertionError, match="still runs"):
        hangs.result()
    monkeypatch.undo()
    ends.set()
    assert hangs.result()


def test_what_never_becomes_true_in_a_loop_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words."""
    monkeypatch.setattr(looped, "WAIT_S", 0.01)
    with pytest.raises(AssertionError, match="never became true"):
        asyncio.run(looped.until(lambda: False))


def test_a_disk_is_full_for_a_while(tmp_path: Path) -> None:
    """For files whose paths begin so, and no others; a file that was closed meanwhile stays so."""
    with (tmp_path / "a").open("wb", 0) as one, (tmp_path / "b").open("wb", 0) as other:
        closed = (tmp_path / "also").open("wb", 0)
        with pytest.raises(OSError, match="No space"), full_disk(tmp_path / "a"):
            other.write(b"there is room")
            closed.close()
            one.write(b"no room")
        one.write(b"again")
    assert (tmp_path / "a").read_bytes() == b"again"
    with pytest.raises(AssertionError, match="no file is open"), full_disk(tmp_path / "a"):
        pass


def test_a_disk_fails_for_a_while(tmp_path: Path) -> None:
    """The limit of the process is as it was, whatever happens."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (tmp_path / "a").open("wb", 0) as one:
        with pytest.raises(OSError, match="too large"), failing_disk():
            one.write(b"no room")
        assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
        one.write(b"again")
