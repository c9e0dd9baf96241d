"""Programs that tests start again and again leave nothing behind: a thousand are started in one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.forks import Forks
from tests.support.pairs import WAIT_S

MODULE = "tests.crash.keeper"


@pytest.fixture
def forks() -> Iterator[Forks]:
    """A process that forks one program."""
    made = Forks(MODULE)
    yield made
    made.close()


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def test_one_that_has_ended_has_no_descriptor(forks: Forks) -> None:
    """Though its test is not at its end; it may be asked how it ended, again and again."""
    with ExitStack() as stack:
        before = descriptors()
        for _ in range(3):
            one = stack.enter_context(forks.running(MODULE, said=False))
            assert one.wait(WAIT_S) != 0  # it wants arguments
            assert one.poll() == one.wait(WAIT_S) == one.returncode
            one.send_signal(signal.SIGKILL)  # to nobody
        assert descriptors() == before


def test_one_that_is_read_has_none_behind_its_end(forks: Forks) -> None:
    """Also if it is killed there."""
    before = descriptors()
    for _ in range(3):
        with forks.running(MODULE, said=True) as one:
            assert descriptors() > before
            assert one.stdout is not None
        assert one.returncode is not None
        assert descriptors() == before
