"""What the main thread has the thread of a mesh do, as a signal's function may break in anywhere.

Such a function runs on the main thread, in the midst of what that does. So a lock that the main
thread holds there is not released before it is back; and `leave` in it waits for the thread of the
mesh. Therefore the main thread holds no lock that the other one needs.

Not here: what is done (_driver.py). Law: who waits here holds nothing; what was asked for is done,
also if who asked was interrupted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

_FoundT = TypeVar("_FoundT")


class Latch:
    """Opened once, by any thread; `threading.Event` has a lock that its waiters hold at times."""

    def __init__(self) -> None:
        self._open = False
        self._waiting: deque[Any] = deque()

    def open(self) -> None:
        """Have all go on who wait, and who come later; again: nothing."""
        self._open = True
        while True:
            try:
                one = self._waiting.popleft()
            except IndexError:
                return
            one.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is open; false: it was not in time."""
        mine = threading.Lock()
        mine.acquire()
        self._waiting.append(mine)
        try:
            if not self._open:
                most = threading.TIMEOUT_MAX
                mine.acquire(timeout=-1 if timeout is None else min(max(timeout, 0), most))
        finally:
            with suppress(ValueError):  # who opens it has taken it
                self._waiting.remove(mine)
        return self._open


class _Call:
    """One, and what came of it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._found: Any = None
        self._error: BaseException | None = None
        self.done = Latch()

    def run(self) -> None:
        try:
            self._found = self._function()
        except BaseException as error:  # for who asked
            self._error = error
        self.done.open()

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._found


class Calls:
    """Those that wait for the thread of one mesh."""

    def __init__(self) -> None:
        self._asked: deque[_Call] = deque()
        self._over = False

    def ask(self, function: Callable[[], _FoundT], ring: Callable[[], None]) -> _FoundT:
        """Have it done, and return what it returns; ring: has the thread look."""
        asked = _Call(function)
        self._asked.append(asked)
        ring()
        if self._over:
            self.answer()
        asked.done.wait()
        found: _FoundT = asked.result()
        return found

    def answer(self) -> None:
        """Do all that was asked for. On the thread; when that is over, on any."""
        while True:
            try:
                one = self._asked.popleft()
            except IndexError:
                return
            one.run()

    def end(self) -> None:
        """The thread is over: who asks does it himself."""
        self._over = True
        self.answer()
