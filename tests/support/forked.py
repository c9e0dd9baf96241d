"""What a test has done in the child of a fork.

Law: a child ends, by itself or by an alarm, and its parent hears what it told, or raised.
"""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable

import meshmsg as mm
from tests.support.pairs import WAIT_S

LATE = -signal.SIGALRM
"""How a child ends that hangs."""


class Child:
    """A forked child that does this."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._words, write = os.pipe()
        with warnings.catch_warnings():  # that it has threads: so have all who use sockets
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            self._be_child(work, write)
        os.close(write)
        self._told: str | None = None

    def _be_child(self, work: Callable[[], object], words: int) -> None:
        """Do it, and never return."""
        code = 1
        try:
            os.close(self._words)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(WAIT_S))
            os.write(words, str(work()).encode())
            code = 0
        except BaseException:
            os.write(words, traceback.format_exc().encode())
        finally:
            os._exit(code)

    def told(self) -> str:
        """What came of it, as text, once it has ended; what it raised fails the test."""
        if self._told is None:
            with os.fdopen(self._words, "rb") as words:
                self._told = words.read().decode()
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        assert self._code != LATE, "the child hangs"
        assert self._code == 0, f"the child ended with {self._code}: {self._told}"
        return self._told

    def true(self) -> bool:
        """Whether that was true."""
        return self.told() == "True"


def in_child(work: Callable[[], bool]) -> bool:
    """Whether this is true in a forked child; it fails the test if it raises there, or hangs."""
    return Child(work).true()


def refused(*calls: Callable[[], object]) -> bool:
    """Whether each of them says that it is for the parent."""
    for call in calls:
        try:
            call()
        except mm.ForkedError:
            continue
        return False
    return True
