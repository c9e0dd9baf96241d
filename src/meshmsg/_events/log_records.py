"""Records of logging, and the thread that gives them to its handlers.

A handler is a user's: it may be slow, hold a lock of its own, raise, or send on a socket of ours.
Not here: what the records say (event_log.py). Law: who writes here never waits for a handler; so
many records wait, what comes then is left out, counted and told of; the thread is there while there
is something to give.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from traceback import print_exception
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from meshmsg._hints.plural import counted, plural

if TYPE_CHECKING:
    from meshmsg._binding.snapshots import Event

log = logging.getLogger("meshmsg")

WAITING_MAX = 1024
"""Records that wait for the log's handlers; more are left out, and counted."""


def tell_of_error(where: str) -> None:
    """Tell of the error that is being handled, where no caller is there to have it; raises none."""
    try:
        kind, error, trace = sys.exc_info()
        if sys.unraisablehook is not sys.__unraisablehook__:
            told: Any = SimpleNamespace(
                exc_type=kind, exc_value=error, exc_traceback=trace, err_msg=where, object=None
            )
            sys.unraisablehook(told)
        elif sys.stderr is not None:  # Python's own takes nothing that is made here
            print(f"meshmsg: {where}", file=sys.stderr)
            print_exception(kind, error, trace)
    except BaseException:
        return  # standard error is closed, or there is no memory: there is nobody left to tell


def until_over(turn: Callable[[], bool]) -> None:
    """Call it until it says that it is over, also when there is no memory, not even to tell of
    that."""
    over = False
    while not over:
        try:
            over = turn()
        except BaseException:
            continue


def block_signals() -> bool:
    """Leave signals to the program's own threads; a turn of one of ours, and then it is over."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return True


def record_of(level: int, words: str, event: Event | None = None, error: Any = None) -> Any:
    """Make a record, with the time of the event; None: nobody wants one of this level, or did as
    the words were to be found, and there are none."""
    if not words or not log.isEnabledFor(level):
        return None
    extra = None if event is None else {"event": event}
    record = log.makeRecord(log.name, level, __file__, 0, words, (), error, extra=extra)
    if event is not None:
        record.relativeCreated += (event.time - record.created) * 1000
        record.created = event.time
        record.msecs = int(event.time % 1 * 1000)
    return record


def give(record: logging.LogRecord | None) -> None:
    """Call the handlers here and now; one that fails is in nobody's way."""
    if record is None:
        return
    try:
        log.handle(record)
    except Exception:  # of a filter, say
        tell_of_error("a filter or handler of the log 'meshmsg' raised an error")


class Records:
    """The records that wait, and the thread that gives them."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """In the child: what waits is the parent's, and so is the thread."""
        self._lock = threading.RLock()
        self._waiting: deque[logging.LogRecord] = deque()
        self._left_out = 0
        self._thread: threading.Thread | None = None
        """The one that gives; an older one that finds another here ends."""
        self._over = False

    def put(self, record: logging.LogRecord | None) -> None:
        """Have a record given soon."""
        if record is None:
            return
        with self._lock:
            if len(self._waiting) >= WAITING_MAX or self._over:
                self._left_out += 1
                return
            self._note_left_out()
            self._waiting.append(record)
        self._begin()

    def _note_left_out(self) -> None:
        if not self._left_out or self._over:
            return
        words = (
            f"{counted(self._left_out, 'record')} {plural(self._left_out, 'was', 'were')} left out "
            "here: the log's handlers are slower than what happens, and "
            f"{WAITING_MAX} records waited for them"
        )
        self._left_out = 0
        record = record_of(logging.WARNING, words)
        if record is not None:
            self._waiting.append(record)

    def _begin(self) -> None:
        """Start the thread, unless it runs; a signal's function may have prevented that before."""
        with self._lock:
            thread = self._thread
            if not self._waiting or (thread is not None and thread.is_alive()):
                return
            thread = threading.Thread(target=self._run, name="meshmsg-log", daemon=True)
            self._thread = thread
        try:
            thread.start()
        except RuntimeError:  # there is no thread left: the caller's own
            self._thread = threading.current_thread()
            until_over(self._give_one)

    def _run(self) -> None:
        until_over(block_signals)
        until_over(self._give_one)

    def _give_one(self) -> bool:
        """Give the next record; true: there is none, or another thread gives them."""
        with self._lock:
            if self._thread is not threading.current_thread():
                return True
            if not self._waiting:
                self._note_left_out()
            if not self._waiting or self._over:
                self._thread = None
                return True
            record = self._waiting.popleft()
        try:
            give(record)
        except BaseException:
            tell_of_error("a handler of the log 'meshmsg' raised what ends a program")
        return False

    def wait(self, seconds: float) -> None:
        """Wait until all were given, but not for a handler that does not return."""
        self._begin()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            with suppress(RuntimeError):  # another thread is about to start it
                thread.join(seconds)

    def end(self) -> int:
        """At exit: give no more; say how many were not given."""
        with self._lock:
            self._over = True
            return len(self._waiting) + self._left_out


records = Records()

os.register_at_fork(after_in_child=records.after_fork)
