"""Poller: one thread waits for several sockets, and other descriptors, at once.

Not here: the sockets (sockets.py), descriptors (descriptors.py), and what is told of
both (ready.py). Law: what it tells of was so at that moment, and is told of again as long
as it is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

from meshmsg._binding.core import (
    EAGAIN,
    EINTR,
    LEAST_S,
    error_for,
    lib,
    native,
    on_main_thread,
    text_of,
    to_ms,
)
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._hints.absent_names import ElsewherePoller
from meshmsg._socket.base import SocketBase
from meshmsg._sync.polling.descriptors import Descriptors, HasFileno, descriptor_of
from meshmsg._sync.polling.ready import READABLE, WRITABLE, Ready, told_from, told_of
from meshmsg._sync.polling.sockets import Sockets, unsure, wishes

if TYPE_CHECKING:
    from typing_extensions import Self

MemberT = TypeVar("MemberT", bound="SocketBase | HasFileno | int")

SLICE_S = 1.0
"""Seconds between looks at connection trouble while descriptors are waited for."""

SHOWN = 4
"""Members that `repr` names."""

_WISHES = {0: "", READABLE: "readable", WRITABLE: "writable", READABLE | WRITABLE: "both"}

_lock = threading.RLock()


class Poller(ElsewherePoller, Generic[MemberT]):
    """Waits for several sockets at once, for a thread that serves them all.

    It needs no descriptors, and where nobody else waits its thread reads the connections itself,
    as a lone `recv` does. Files, pipes and other descriptors may be waited for as well; then it
    has two of its own. A poller that is dropped is closed.

    For threads: asyncio needs none, a task awaits each socket. For type checkers a mixture is
    named: `Poller[Pull | Rep]([pull, rep])`; else `poll` gives what all have in common.

    Args:
        members: What to wait for to be readable; `add` takes more, and other wishes.

    Raises:
        UsageError, ClosedError: As `add`.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(self, members: Iterable[MemberT] = ()) -> None: ...
        @overload  # of no common kind
        def __init__(
            self: Poller[SocketBase | HasFileno | int],
            members: Iterable[SocketBase | HasFileno | int],
        ) -> None: ...

    def __init__(self: Poller[Any], members: Iterable[Any] = ()) -> None:
        self._closed = False
        self._waiting = False  # for descriptors
        self._pid = os.getpid()
        self._sockets = Sockets()
        self._descriptors: Descriptors | None = None
        try:
            for member in members:
                self.add(member)
        except BaseException:
            self.close()
            raise

    def add(
        self,
        member: MemberT,
        *flags: NoReturn,
        readable: bool | None = None,
        writable: bool = False,
    ) -> None:
        """Wait for this one as well, also if another thread is in `poll` already.

        From then on, and after `remove` too, a socket takes messages from the core one call at a
        time, as after `fileno()`. A descriptor is to be removed before it is closed.

        Thread-safe: yes. Adding again changes what is waited for.

        Args:
            member: A socket, not an asyncio one, of the same engine as the others; or a descriptor,
                or what has a `fileno()`, that epoll can wait for.
            flags: None: what to wait for is said by name.
            readable: Wait until something can be received, or read; None: if it ever can, or
                nothing else is asked.
            writable: Wait until it takes a message of up to 1 KiB, or octets, without waiting; it
                does, unless others send or its peer leaves in between. Not for those who write to
                one peer by name, to a topic or by a key (Router, Pub, XPub, a Push with
                `routing="hash"`), and not for those who ask (Req, Surveyor): there it depends on
                the message.

        Raises:
            UsageError: It is none of those, or cannot do that.
            ClosedError: The socket or this poller was closed.
            ForkedError: The socket or this poller was opened before a fork.
            ResourceError: There is no descriptor left to wait with.
        """
        if flags:
            raise TypeError(
                "what to wait for is said by name: add(socket, readable=True, writable=True)"
            )
        if isinstance(member, SocketBase):
            self._add_socket(member, wishes(member, readable, writable))
            return
        fd = descriptor_of(member)
        if fd is None:
            what = f"{type(member).__module__}.{type(member).__name__}"
            raise UsageError(f"{what} is no socket, no descriptor, and has no fileno()")
        asked = READABLE * (readable is not False) | WRITABLE * writable
        if not asked:
            raise UsageError("nothing to wait for: ask for readable, writable or both")
        with _lock:
            if self._closed:
                raise self._error(lib.MM_ECLOSED)
            if self._sockets.handle or self._descriptors is not None:
                self._check_fork()
            self._pid = os.getpid()
            if self._sockets.handle and not self._sockets.slice_ms:
                raise _simulated()
            fresh = self._descriptors is None
            descriptors = self._descriptors or Descriptors()
            try:
                descriptors.add(member, fd, asked)
                if fresh and self._sockets.handle:
                    descriptors.listen_to(self._sockets.fileno())
            except BaseException:
                if fresh:
                    descriptors.close()
                raise
            self._descriptors = descriptors

    def _add_socket(self, socket: Any, asked: int) -> None:
        with _lock:  # the core's poller and this one change together
            if self._descriptors is not None and not socket._slice_ms:
                raise _simulated()
            if self._closed:
                raise self._error(lib.MM_ECLOSED)
            fresh = not self._sockets.handle
            if not fresh or self._descriptors is not None:
                self._check_fork()
            self._pid = os.getpid()
            rc = self._sockets.watch(socket, asked)
            if rc >= 0 and fresh and self._descriptors is not None:
                self._descriptors.listen_to(self._sockets.fileno())
        if rc < 0:
            if rc == lib.MM_EINVAL:  # the poller is no longer there
                raise self._error(lib.MM_ECLOSED)
            if rc == lib.MM_ENOTSUP:
                raise unsure(socket)
            socket._check(rc, "cannot be waited for")
        if socket._receives:
            socket._watch()

    def _check_fork(self) -> None:
        if os.getpid() != self._pid:
            raise self._error(lib.MM_EFORKED)

    def remove(self, member: MemberT) -> None:
        """Wait for this one no longer.

        Thread-safe: yes. Removing one that is not in it, or was closed, is harmless; in a forked
        child nothing happens to the parent's.

        Args:
            member: As it was given to `add`.
        """
        with _lock:
            if os.getpid() != self._pid:
                return
            if not isinstance(member, SocketBase):
                if self._descriptors is not None:
                    self._descriptors.remove(member)
            else:
                self._sockets.remove(member)

    def poll(self, timeout: float | None = None) -> Ready[MemberT]:
        """Wait until one or more of them are ready for what was asked.

        One is told of as long as it is ready, so one message of each is enough. If other threads
        receive from a socket as well, receive with timeout=0: they may have been faster. A closed
        socket is told of once, so that `recv` raises ClosedError, and is then no longer waited for.

        Thread-safe: one thread at a time; a second one gets UsageError.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            A list of all that are ready, 256 sockets at most, the others first next time; empty
            when time is up. Its `readable` and `writable` tell what they are ready for.

        Raises:
            UsageError: There is nothing to wait for; another thread is waiting here.
            ClosedError: The poller was closed.
            ForkedError: It was opened before a fork.
        """
        ms = -1 if timeout is None else to_ms(timeout)
        if self._descriptors is not None:
            return self._poll_both(None if timeout is None else time.monotonic() + timeout)
        sockets = self._sockets
        if not sockets.members:
            raise (
                self._error(lib.MM_ECLOSED)
                if self._closed
                else UsageError("this Poller has no sockets to wait for; `add` some")
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        found: Any = native.poll(sockets.handle, sockets.members, ms, sockets.slice_ms)
        if found.__class__ is list and found:
            return Ready(found)
        return self._poll_on(found, ms, deadline)

    def _poll_both(self, deadline: float | None) -> Ready[MemberT]:
        """Wait for sockets and descriptors; a poller that has only had those, too."""
        with _lock:
            self._check_fork()
            descriptors = self._descriptors
            if descriptors is None:
                raise self._error(lib.MM_ECLOSED)
            if self._waiting:
                raise self._error(lib.MM_ESTATE)
            if not self._sockets.members and not descriptors.members:
                raise UsageError("this Poller has nothing to wait for; `add` something")
            self._waiting = True
        try:
            while True:
                ready = self._look(descriptors)
                left = None if deadline is None else deadline - time.monotonic()
                if ready or (left is not None and left <= 0):
                    return ready
                descriptors.wait(SLICE_S if left is None else min(SLICE_S, left))
                self._sockets.log_events()
        finally:
            with _lock:
                self._waiting = False
                if self._closed:
                    descriptors.close()

    def _look(self, descriptors: Descriptors) -> Ready[MemberT]:
        """What is ready now."""
        if self._closed:
            raise self._error(lib.MM_ECLOSED)
        sockets = self._sockets
        found: Any = native.poll(sockets.handle, sockets.members, 0, 0) if sockets.handle else []
        if found == lib.MM_ECLOSED and not self._closed:
            found = self._engine_is_gone()
        elif found.__class__ is int and found not in (EAGAIN, EINTR, lib.MM_ETIMEDOUT):
            raise self._error(found)
        ready = [] if found.__class__ is int else told_from(found)
        others = [] if self._closed else descriptors.ready()
        events = [*map(told_from(ready).events_of, ready), *(event for _, event in others)]
        return told_of([*ready, *(member for member, _ in others)], events)

    def _poll_on(self, found: Any, ms: int, deadline: float | None) -> Ready[MemberT]:
        """Wait on after a first try that gave this; in between, signal handlers run."""
        sockets, slice_ms = self._sockets, self._sockets.slice_ms
        while found.__class__ is int or not told_from(found):
            if found == EAGAIN:
                return Ready()
            if found == lib.MM_ETIMEDOUT:
                self._sockets.log_events()
                return Ready()
            if found == lib.MM_ECLOSED and not self._closed:
                return self._engine_is_gone()
            if found == EINTR:
                self._sockets.log_events()
                slice_ms = slice_ms if on_main_thread() else 0
                with _lock:  # whoever adds the first one while this waits has it set then
                    both = self._descriptors is not None
                if both:
                    return self._poll_both(deadline)
            elif found.__class__ is int:
                raise self._error(found)
            if deadline is not None and ms > 0:
                ms = to_ms(max(deadline - time.monotonic(), LEAST_S))
            found = native.poll(sockets.handle, sockets.members, ms, slice_ms)
        return told_from(found)

    def _engine_is_gone(self) -> Ready[MemberT]:
        """All sockets were closed with it."""
        with _lock:
            told = list(self._sockets.members.values())
            self._sockets.forget()
            if self._descriptors is not None:
                self._descriptors.forget_sockets()
        return told_of(told, [0] * len(told))

    def _error(self, code: int) -> MeshError:
        if code == lib.MM_ECLOSED:
            return error_for(code, "this Poller was closed; make a new one")
        if code == lib.MM_EFORKED:
            return error_for(
                code, f"this Poller was made in process {self._pid}; make a new one after fork"
            )
        if code == lib.MM_ESTATE:
            return error_for(code, "another thread is waiting in this Poller; one at a time may")
        return error_for(code, f"cannot wait for sockets: {text_of(code)}")

    @property
    def closed(self) -> bool:
        """Whether the poller was closed."""
        return self._closed

    def close(self) -> None:
        """Close the poller, and none of its sockets. Who waits in it gets ClosedError.

        Thread-safe: yes. Closing twice is harmless.
        """
        with _lock:
            self._closed = True
            handle = self._sockets.forget()
            descriptors, self._descriptors = self._descriptors, None
            if descriptors is not None:
                if self._waiting and os.getpid() == self._pid:
                    descriptors.wake()  # and whoever waits there closes them
                else:
                    descriptors.close()
        if handle:
            lib.mm_pollset_close(handle)

    def __del__(self) -> None:
        sockets = getattr(self, "_sockets", None)
        if sockets is not None and sockets.handle:
            lib.mm_pollset_close(sockets.handle)
        descriptors = getattr(self, "_descriptors", None)
        if descriptors is not None:
            descriptors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return "<meshmsg.Poller closed>"
        with _lock:
            members = [
                (repr(socket), self._sockets.asked.get(handle, 0))
                for handle, socket in self._sockets.members.items()
            ]
            if self._descriptors is not None:
                others = self._descriptors.members.items()
                members += [(f"descriptor {fd}", asked) for fd, (_, asked) in others]
        shown = [f"{name} {_WISHES[asked]}" for name, asked in members[:SHOWN]]
        if len(members) > SHOWN:
            shown.append(f"{len(members) - SHOWN} more")
        return f"<meshmsg.Poller of {len(members)}: {', '.join(shown) or 'nothing'}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a Poller cannot be pickled: it waits in this process; make one there")


def _simulated() -> UsageError:
    return UsageError(
        "a Poller of simulated sockets waits in their time, and cannot wait for descriptors"
    )


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)
