"""Engines: the threads and connections under the sockets.

Most programs never see one: the first socket of a process makes the default engine. Law: no engine
exists before the first socket, so importing starts no thread, and a forked child makes its own.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from meshmsg._binding.core import SLICE_MS, exiting, ffi, lib, raise_for, to_ms
from meshmsg._binding.errors import UsageError
from meshmsg._events import event_thread
from meshmsg._events.ended import Ended, end_engine
from meshmsg._events.log_records import records
from meshmsg._hints.plural import counted, plural
from meshmsg._security.environment.variable import FromEnvironment
from meshmsg._security.policy import Security, check_security
from meshmsg._socket import door

if TYPE_CHECKING:
    from typing_extensions import Self

CLOSE_TIMEOUT_S = 1.0
"""Seconds the engines' queues have to go out when the program ends."""

_lock = threading.RLock()
_open: dict[int, dict[int, Engine]] = {}
_shared: dict[tuple[int, str], Engine] = {}
"""By process and purpose; "" is the default one."""


class Engine:
    """Owns connections, queues and the thread that serves them.

    Sockets share the process's default engine unless they are given one. Engines do not share a
    lock, so two busy groups of sockets run side by side on two engines.

    At the end of a `with` block it is closed; what is lost by that is told by a RuntimeWarning.

    Thread-safe: yes.

    Args:
        poller: "epoll", or "poll" for systems without it.
        security: What protects its sockets that have no `security` of their own, for endpoints that
            leave the process: a `Curve`, `Plain`, `Tls`, `Secret`, `Local` or `Profile`, or
            `meshmsg.NONE` for nothing. None is what the environment's MESHMSG_SECURITY names, and
            without that nothing.

    Raises:
        ResourceError: No descriptors, threads or memory; 256 engines are the limit.
    """

    def __init__(
        self,
        *,
        poller: Literal["epoll", "poll"] = "epoll",
        security: Security | None = None,
    ) -> None:
        if poller not in ("epoll", "poll"):
            raise UsageError(f"poller is {poller!r}; it is 'epoll' or 'poll'")
        check_security(security)
        self._security = security
        out = ffi.new("mm_handle *")
        flags = lib.MM_ENGINE_POLL if poller == "poll" else 0
        try:
            raise_for(lib.mm_engine_open(flags, out), "opening an engine")
            self._register(out[0])
        except BaseException:  # of a signal's function, too, wherever it came
            if out[0]:
                _open.get(os.getpid(), {}).pop(out[0], None)
                lib.mm_engine_close(out[0], 0, ffi.new("uint64_t *"))
            raise

    _security: Security | None = None
    """What its sockets have, but for those with their own."""
    _slice_ms = SLICE_MS
    """How long a blocking call sleeps before signals are looked at; 0 where time is simulated."""

    def _register(self, handle: int) -> None:
        self._handle: int = handle
        self._pid = os.getpid()
        self._environment = FromEnvironment()
        with _lock:
            _open.setdefault(self._pid, {})[handle] = self

    @classmethod
    def _adopt(cls, handle: int) -> Self:
        """Wrap an engine that was opened elsewhere (a simulated one)."""
        self = cls.__new__(cls)
        self._slice_ms = 0
        self._register(handle)
        return self

    def _security_of_sockets(self) -> Security | None:
        """What its sockets have that say nothing themselves.

        Raises:
            UsageError: The environment's file is wrong.
        """
        if self._security is not None or self._slice_ms == 0:
            return self._security  # a simulated world does not leave the process
        return self._environment.security()

    def close(self, *, timeout: float = CLOSE_TIMEOUT_S) -> int:
        """Close all sockets of this engine, give their queues some time, and end its thread.

        Thread-safe: yes. Closing twice is harmless.

        Args:
            timeout: Seconds for what is queued to be written.

        Returns:
            How many messages were still queued then, and are lost; the log says of which sockets.
            What sockets closed before had dropped is in it only if nobody was told.
        """
        ms = to_ms(timeout)
        with _lock:
            _open.get(self._pid, {}).pop(self._handle, None)
            for key in [key for key, one in _shared.items() if one is self]:
                del _shared[key]
        teller = event_thread.engine_closing(self._handle)
        here, lost, left = True, 0, list[Ended]()
        try:
            here, lost, left = end_engine(self._handle, ms)
        finally:  # also if a signal's function raises
            if here:
                event_thread.engine_closed(teller, left)
        door.engine_closed(self._handle)
        return lost

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        lost = self.close()
        if lost:
            warnings.warn(
                f"meshmsg: {_still_queued(lost)} when {self!r} was closed and "
                f"{plural(lost, 'is', 'are')} lost; call drain() before",
                RuntimeWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return f"<meshmsg.Engine {self._handle:#x}>"


def default_engine() -> Engine:
    """Return this process's engine; the first call makes it."""
    return _engine_for("")


def engine_apart(purpose: str) -> Engine:
    """Return this process's engine for sockets that work beside its own; the first call makes it.

    Some ways are the fastest where a thread or a socket is the only one of its engine.
    """
    return _engine_for(purpose)


def _engine_for(purpose: str) -> Engine:
    """Return the one that is shared for that; it is opened without the lock."""
    key = os.getpid(), purpose
    engine = _shared.get(key)
    if engine is None:
        made = Engine()
        with _lock:
            engine = _shared.setdefault(key, made)
        if engine is not made:
            made.close(timeout=0)
    return engine


def close_all() -> int:
    """Close every engine of this process; return how many messages are lost by it."""
    with _lock:
        engines = list(_open.get(os.getpid(), {}).values())
    deadline = time.monotonic() + CLOSE_TIMEOUT_S
    lost = sum(engine.close(timeout=max(deadline - time.monotonic(), 0.0)) for engine in engines)
    records.wait(CLOSE_TIMEOUT_S)
    return lost


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)


def _still_queued(count: int) -> str:
    return f"{counted(count, 'message')} {plural(count, 'was', 'were')} still queued"


def _close_at_exit() -> None:
    """At exit: no thread of ours runs while the interpreter goes away; bounded by the linger."""
    exiting.set()
    abandoned = close_all()
    unlogged = records.end()
    if unlogged:
        warnings.warn(
            f"meshmsg: {counted(unlogged, 'record')} of the log "
            f"{plural(unlogged, 'was', 'were')} left out at exit: its handlers are slow",
            RuntimeWarning,
            stacklevel=1,
        )
    if abandoned:
        warnings.warn(
            f"meshmsg: {_still_queued(abandoned)} as their socket ended (its linger, or this "
            f"exit) and {plural(abandoned, 'is', 'are')} lost; call drain() first",
            RuntimeWarning,  # a ResourceWarning would not be shown
            stacklevel=1,
        )


atexit.register(_close_at_exit)  # before the end of logging, which was imported before: LIFO
