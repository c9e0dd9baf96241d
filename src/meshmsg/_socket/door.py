"""Who answers whether a peer may come in, and looks whether files of keys have changed.

One thread an engine sleeps until the core has a question; another one, if there are files, until a
second is over: a function of a user's may take long, and whom a file no longer has is out all the
same. Not here: which answers there are (_security/allow.py). Law: each question gets an answer, of
an error `Later`; the threads are there while sockets need them, and end with their engine.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
from contextlib import suppress
from inspect import isawaitable
from typing import Any, NamedTuple

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.errors import MeshError, ResourceError
from meshmsg._binding.metadata import metadata_octets
from meshmsg._binding.peer import properties_of
from meshmsg._binding.snapshots import text
from meshmsg._events.event_thread import polled_copy
from meshmsg._events.log_records import (
    block_signals,
    record_of,
    records,
    tell_of_error,
    until_over,
)
from meshmsg._hints.plural import counted
from meshmsg._security.allow import Allow, Applicant, Deny, Later, Rule
from meshmsg._security.allow_list import is_user_id
from meshmsg._security.keys import key_text
from meshmsg._security.policy import Policy

LOOK_MS = 1000
"""Milliseconds between two looks at files of keys, and at who still waits for a coroutine."""
TOLD_AGAIN_S = 1.0
"""Seconds between two errors of a function that the log is told of."""
RAISED_MAX = 80
"""Characters of such an error that the event of the peer has: the log has all of it."""
JOIN_S = 1.0
"""Seconds the end of an engine waits for a function of a user's that is being called."""


class Running(NamedTuple):
    """A coroutine of a function that a loop runs, or is about to, for a question to a socket."""

    socket: int
    loop: Any
    task: Any = None

    def cancel(self) -> None:
        """End it; from any thread."""
        if self.task is not None:
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self.task.cancel)


class _Door:
    """The thread of one engine."""

    def __init__(self, engine: int) -> None:
        self.engine = engine
        self.policies: dict[int, tuple[Policy, Any]] = {}
        """By socket: its policy, and its event loop or None."""
        self._ready = select.poll()
        self._question = ffi.new("mm_question *")
        self._data = ffi.new("uint8_t[]", lib.MM_QUESTION_DATA_MAX)
        self.tasks: dict[int, Running] = {}
        """By question: what loops run, which keep none alive themselves."""
        self._ended: set[int] = set()
        """Those of them that were cancelled, once: what they do then may take its time."""
        self._beginning = threading.RLock()
        """Held where a loop begins one, and where one that is not begun is given up."""
        self._told_at = -TOLD_AGAIN_S
        self._untold = 0
        self.thread = threading.Thread(target=self._run, name="meshmsg-allow", daemon=True)
        self.watch: threading.Thread | None = None
        """What looks at files, once there are some."""
        self.over = threading.Event()
        self._open()

    def _open(self) -> None:
        fd, doing = ffi.new("int *"), "asking who may come in"
        raise_for(lib.mm_questions_open(self.engine, fd), doing)
        try:
            self._fd = polled_copy(fd[0], self._ready, doing)
        except BaseException:
            lib.mm_questions_close(self.engine)
            raise

    def _run(self) -> None:
        until_over(block_signals)
        until_over(self._turn)
        self.over.set()
        with _lock:
            if _doors.get(self.engine) is self:
                del _doors[self.engine]
        os.close(self._fd)
        self.cancel(None)

    def cancel(self, socket: int | None) -> None:
        """End what loops run for a socket, or for all; from any thread."""
        for running in list(self.tasks.values()):
            if socket in (running.socket, None):
                running.cancel()

    def _cancel_unasked(self) -> None:
        """End what runs for a peer that has left, or waited too long."""
        for question in list(self.tasks):
            if question in self._ended or lib.mm_question_waits(self.engine, question) >= 0:
                continue
            with self._beginning:
                running = self.tasks.get(question)
                if running is None:
                    continue  # it has ended
                if running.task is None:  # it is not begun, and will not be
                    del self.tasks[question]
                    continue
            self._ended.add(question)
            running.cancel()
        self._ended &= self.tasks.keys()

    def _turn(self) -> bool:
        """Answer what is asked, and wait for more; true: nobody can ask any more."""
        try:
            code = self._answer_all()
            if code < 0 or self._is_over():
                return True
            self._cancel_unasked()
            self._ready.poll(LOOK_MS if self.tasks else None)
        except BaseException:  # no memory, say
            tell_of_error("answering who may come in failed, and goes on")
        return False

    def follow(self) -> None:
        """Have files looked at, if a policy has some. The lock is held."""
        if self.watch is None and any(policy._followed() for policy, _ in self.policies.values()):
            watch = threading.Thread(target=self._watch, name="meshmsg-files", daemon=True)
            watch.start()
            self.watch = watch

    def _watch(self) -> None:
        until_over(block_signals)
        until_over(self._watch_once)

    def _watch_once(self) -> bool:
        """Wait, and look; true: it is over."""
        if self.over.wait(LOOK_MS / 1000):
            return True
        try:
            self._look()
        except BaseException:  # no memory, say
            tell_of_error("looking at files of security= failed, and goes on")
        return False

    def _is_over(self) -> bool:
        with _lock:
            for handle in [one for one in self.policies if not _is_open(one)]:
                del self.policies[handle]
            if self.policies:
                return False
            if _doors.get(self.engine) is self:
                del _doors[self.engine]
                lib.mm_questions_close(self.engine)  # under the lock: before another opens it
            return True

    def _look(self) -> None:
        policies = [policy for policy, _ in list(self.policies.values())]
        followed = {id(one): one for policy in policies for one in policy._followed()}
        for one in followed.values():
            if wrong := one.look():
                records.put(record_of(logging.WARNING, f"security= of a socket: {wrong}"))

    def _answer_all(self) -> int:
        while True:
            with _lock:
                if _doors.get(self.engine) is not self:
                    return -1  # what is asked now is for another one
                count = int(lib.mm_question_take(self.engine, self._question, self._data))
            if count <= 0:
                return count
            question = self._question
            policy, loop = self.policies.get(int(question.socket), (None, None))
            rule = policy._rule if policy is not None else Rule()
            if rule.function is None:
                self._say(int(question.id), Later("its socket has nobody to ask"), "")
                continue
            applicant = _applicant_of(question, self._data)
            if loop is None:
                self._ask(int(question.id), rule, applicant)
                continue
            whose = int(question.id), int(question.socket)
            self.tasks[whose[0]] = Running(whose[1], loop)
            try:
                loop.call_soon_threadsafe(self._ask_on_loop, loop, whose, rule.function, applicant)
            except RuntimeError:
                del self.tasks[whose[0]]
                self._say(int(question.id), Later("the event loop of its socket is closed"), "")

    def _ask(self, question: int, rule: Rule, applicant: Applicant) -> None:
        said: object = None
        with rule.held:
            try:
                said = rule.function(applicant)
            except BaseException as error:
                said = self._raised(error, applicant)
            self._say(question, said, applicant.key or applicant.user)

    def _ask_on_loop(
        self, loop: Any, whose: tuple[int, int], function: Any, applicant: Applicant
    ) -> None:
        question, socket = whose
        with self._beginning:
            if socket not in self.policies or lib.mm_question_waits(self.engine, question) < 0:
                self.tasks.pop(question, None)  # one of them is gone
                return
            task = loop.create_task(self._await(question, function, applicant))
            self.tasks[question] = Running(socket, loop, task)
        task.add_done_callback(lambda _: self.tasks.pop(question, None))

    async def _await(self, question: int, function: Any, applicant: Applicant) -> None:
        said: object = Later("allow= did not end")
        try:
            found = function(applicant)
            said = await found if isawaitable(found) else found
        except Exception as error:
            said = self._raised(error, applicant)
        finally:
            self._say(question, said, applicant.key or applicant.user)

    def _raised(self, error: BaseException, applicant: Applicant) -> Later:
        """Tell of an error of the function, which is being handled; what is answered."""
        if more := self._may_tell():
            told = f"allow= raised an error, for {applicant}: it is to try again{more}"
            try:
                records.put(record_of(logging.ERROR, told, error=sys.exc_info()))
            except BaseException:  # no memory, say; what is answered counts more
                tell_of_error(told)
        words = type(error).__name__
        with suppress(Exception):  # its text is the user's, too
            words = f"{words}: {error}"
        return Later(f"allow= raised {_one_line(words)[:RAISED_MAX]}")

    def _may_tell(self) -> str:
        """Return what is to be added where an error is told of; "" if it is not, as who comes may
        cause one as often as he likes."""
        now = time.monotonic()
        if now - self._told_at < TOLD_AGAIN_S:
            self._untold += 1
            return ""
        untold, self._told_at, self._untold = self._untold, now, 0
        return f"; {counted(untold, 'error')} before it were not told" if untold else "."

    def _say(self, question: int, said: object, known_by: str) -> None:
        """Answer; who asked may be gone by now."""
        if isinstance(said, Allow) and not is_user_id(said.user_id or known_by):
            said = Deny("nobody can be known by that user: it is no printable text")
        if isinstance(said, Allow):
            known_as = (said.user_id or known_by).encode()
            more = metadata_octets(said.metadata)
            lib.mm_question_allow(self.engine, question, known_as, more, len(more))
            return
        if isinstance(said, Deny):
            code, words = lib.MM_DENY, said.why
        elif isinstance(said, Later):
            code, words = lib.MM_LATER, said.why
        else:
            code, words = lib.MM_LATER, f"allow= gave {type(said).__name__}, no Allow, Deny, Later"
            if again := self._may_tell():
                told = f"{words}: the peer is to try again{again}"
                records.put(record_of(logging.ERROR, told))
        try:
            shown = _one_line(str(words))
        except BaseException as error:  # it is any object of the user's
            code, shown = lib.MM_LATER, f"why it may not come in raised {type(error).__name__}"
            if again := self._may_tell():
                tell_of_error(f"{shown}: the peer is to try again{again}")
        lib.mm_question_answer(self.engine, question, code, shown.encode())


def _one_line(words: str) -> str:
    """Return what the log may have: what a peer says of itself may be in it."""
    return "".join(c if c.isprintable() else " " for c in words)


def _is_open(handle: int) -> bool:
    return int(lib.mm_peer_count(handle, ffi.new("uint32_t *"))) >= 0


def _applicant_of(question: Any, data: Any) -> Applicant:
    sizes = (
        *(question.key_size, question.user_size, question.password_size),
        *(question.certificate_size, question.properties_size),
    )
    buffer = ffi.buffer(data, sum(sizes))
    parts, at = [], 0
    for size in sizes:
        parts.append(buffer[at : at + size])
        at += size
    key, user, password, certificate, properties = parts
    buffer[:] = bytes(at)  # there may have been a password in it
    return Applicant(
        mechanism=text(question.mechanism),
        key=key_text(key) if len(key) == lib.MM_KEY_SIZE else "",
        address=text(question.address),
        endpoint=text(question.endpoint),
        properties=properties_of(properties),
        user=user.decode("utf-8", "surrogateescape"),
        password=password.decode("utf-8", "surrogateescape"),
        uid=None if question.uid < 0 else int(question.uid),
        certificate=bytes(certificate),
    )


_lock = threading.RLock()
_doors: dict[int, _Door] = {}


def join(engine: int, socket: int, policy: Policy, loop: Any) -> None:
    """Have a socket's questions answered and its file looked at, until it is closed.

    Raises:
        ResourceError: There is no descriptor or thread for it.
    """
    with _lock:
        door = _doors.get(engine)
        if door is not None:
            door.policies[socket] = (policy, loop)
            lib.mm_questions_ring(engine)
            try:
                door.follow()
            except RuntimeError as error:
                raise ResourceError(f"looking at files of security=: {error}") from None
            return
        try:
            door = _doors[engine] = _Door(engine)
            door.policies[socket] = (policy, loop)
            door.thread.start()
            door.follow()
        except BaseException as error:  # of a signal's function, too, wherever it came
            _doors.pop(engine, None)
            lib.mm_questions_close(engine)
            if door is not None:
                door.over.set()
                if door.thread.ident is None:  # or it closes that itself
                    os.close(door._fd)
            if isinstance(error, RuntimeError):
                raise ResourceError(f"asking who may come in: {error}") from None
            raise


def leave(engine: int, socket: int) -> None:
    """The socket was closed: nobody asks for it any more."""
    with _lock:
        door = _doors.get(engine)
        if door is None or door.policies.pop(socket, None) is None:
            return
        door.cancel(socket)
        if door.policies:
            return
        del _doors[engine]
        door.over.set()
        with suppress(MeshError):
            lib.mm_questions_close(engine)  # which wakes the thread


def engine_closed(engine: int) -> None:
    """Wait until its thread has ended, but not for a function of a user's that does not return."""
    with _lock:
        door = _doors.pop(engine, None)
    if door is None:
        return
    door.over.set()
    for thread in (door.thread, door.watch):
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)


def _after_fork_in_child() -> None:
    """The threads are not here; the descriptors are copies."""
    global _lock
    _lock = threading.RLock()
    for door in _doors.values():
        with suppress(OSError):
            os.close(door._fd)
    _doors.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
