"""What every socket has, sync or asyncio: it is opened and closed. Nothing waits here.

Not here: its endpoints (endpoints.py), what is seen of it (inspecting.py), what a failed call says
(failures.py), sending and receiving (_sync/sending.py, _sync/receiving.py, aio). Law: a socket
holds a handle, never a pointer; whatever state it is in, every method either works or raises one of
ours.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from meshmsg._binding.core import NativeSocket, error_for, ffi, lib, raise_for
from meshmsg._binding.data import several
from meshmsg._binding.errors import MeshError
from meshmsg._events import event_thread
from meshmsg._events.event_thread import check_on_event
from meshmsg._events.known import Known
from meshmsg._events.log_records import give, record_of
from meshmsg._events.outlet import Buries, Outlet
from meshmsg._hints.absent_names import Listed, of_other_libraries, there
from meshmsg._hints.plural import counted
from meshmsg._hints.wrong_role import of_other_roles
from meshmsg._socket import door
from meshmsg._socket.causes import What, about
from meshmsg._socket.endpoints import bind, connect, disconnect, unbind
from meshmsg._socket.engine import Engine, default_engine
from meshmsg._socket.failures import check, error_of, too_large
from meshmsg._socket.inspecting import events, peers, stats
from meshmsg._socket.options import SocketOptions, build_options
from meshmsg._socket.signature import describe
from meshmsg._socket.state import Followed, Guard

if TYPE_CHECKING:
    from typing_extensions import Unpack

_alive: weakref.WeakSet[SocketBase] = weakref.WeakSet()


@of_other_libraries
@of_other_roles
class SocketBase(NativeSocket, metaclass=Listed):
    """A socket of one role. Use the classes of the roles: Push, Pull, Pub, Sub, ...

    Args:
        bind: Endpoints to listen on: tcp://host:port (port 0 or *: any), ipc://path, ipc://@name
            (no file), ipc://* (a fresh path), inproc://name. Peers of ZMTP and of SP (NNG,
            nanomsg) may come to the same one.
        connect: Endpoints to connect to, and to keep connected; sp+tcp:// and sp+ipc:// over SP;
            tls+tcp:// and sp+tls+tcp:// over TLS.
        engine: The engine that serves it; None is the process's default one.
        options: See `help()` of a role's class.

    Raises:
        UsageError: An option is wrong.
        AddressError: An endpoint is malformed, unknown, in use or not permitted.
        InsecureBindError: `bind` is outside loopback, without `security` or insecure=True.
        ResourceError: No memory or descriptors.
    """

    _role: ClassVar[int] = 0
    _does: ClassVar[str] = ""
    """What the role does, and how, in words: its form says it."""
    _quiet_to: ClassVar[str] = ""
    """Which of its partners it gives no message unasked, in small letters; "": there is none."""
    _receives: ClassVar[bool] = False
    """Whether the role receives messages."""
    _sends: ClassVar[bool] = False
    """Whether the role sends to whoever has room, so that it can be said if there is any."""
    _stops = False
    """Whether it was to stop receiving."""
    _finished = False
    """Whether it sends nothing more."""
    _spooled: Any = None
    """The spool that its messages are in (_delivery/spooled.py), if they are in one."""
    _follows: tuple[Followed, ...] = ()
    """Services that a mesh keeps it connected to."""
    _left: object = None
    """Another one each time that it has left an endpoint: a mesh may have to dial there again."""

    bind = bind
    connect = connect
    unbind = unbind
    disconnect = disconnect
    peers = peers
    stats = stats
    events = events

    def __init_subclass__(cls, **given: object) -> None:
        super().__init_subclass__(**given)
        describe(cls)

    if not TYPE_CHECKING:  # type checkers refuse it by the signature of __init__

        def __new__(cls, *given: object, **options: object) -> SocketBase:
            if given:
                raise TypeError(
                    f"{cls.__name__}() takes no positional argument: say bind={given[0]!r} to "
                    f"listen there, connect={given[0]!r} to connect"
                )
            return super().__new__(cls)

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        """Open the socket, and bind and connect it; what is taken and raised is said of its
        class."""
        self._open(options, engine, bind, connect)

    def _open(
        self,
        options: SocketOptions,
        engine: Engine | None,
        bind: str | Iterable[str] | None,
        connect: str | Iterable[str] | None,
        *,
        identity: bytes = b"",
        flags: int = 0,
        numbers: Mapping[str, int] | None = None,
        on_dead: Buries | None = None,
    ) -> None:
        opts = build_options(self._role, options, identity=identity, flags=flags, of=type(self))
        for name, value in (numbers or {}).items():
            setattr(opts, name, value)
        self._handle = 0
        self._opts = opts
        self._bound: list[tuple[str, str]] = []
        """What was asked for, and what was bound."""
        self._connected: list[str] = []
        self._opened_pid = os.getpid()
        self._prepare()
        if engine is not None and not isinstance(engine, Engine):
            raise TypeError(
                f"engine is {engine!r}; it is a meshmsg.Engine, or None for the process's own"
            )
        self._engine = engine if engine is not None else default_engine()
        self._slice_ms = self._engine._slice_ms
        own = options.get("security")
        self._guard = Guard(own, self._engine._security_of_sockets() if own is None else None)
        on_event = options.get("on_event")
        check_on_event(on_event, simulated=self._slice_ms == 0)
        called = "" if on_dead is None else "dead_letter="
        called = called if on_event is None else "on_event="
        loop = self._loop_of_events(called) if called else None
        self._outlet = Outlet(type(self).__name__, on_event, loop, opts)
        self._outlet.on_dead = on_dead
        out = ffi.new("mm_handle *")
        try:
            rc = lib.mm_socket_open(self._engine._handle, self._role, opts, out)
            if rc == lib.MM_ECLOSED:
                raise error_for(rc, f"opening a {type(self).__name__}: its engine was closed")
            if rc < 0:
                raise_for(rc, f"opening a {type(self).__name__}")
            self._handle = out[0]
            self._opened()
            _alive.add(self)
            self._tell_events(needed=called != "")
            self._attach(bind, connect)
        except BaseException:  # of a signal's function, too, wherever it came
            self._handle = out[0]
            if self._handle:
                self.close()
            raise

    def _loop_of_events(self, option: str) -> Any:
        """The event loop that a function given as this option is called on; None: a thread of its
        own."""
        return None

    def _tell_events(self, *, needed: bool) -> None:
        """Have events told as they happen."""
        self._outlet.handle = self._handle
        if self._slice_ms == 0:
            return  # simulated: nothing happens but in calls, and those look
        try:
            event_thread.join(self._outlet, self._engine._handle)
        except MeshError as error:
            if needed:
                raise
            words = f"{error}: connection trouble is logged by calls that wait only"
            give(record_of(logging.WARNING, words))

    def _attach(
        self, bind: str | Iterable[str] | None, connect: str | Iterable[str] | None
    ) -> None:
        for url in several(bind):
            self.bind(url)
        for url in several(connect):
            self.connect(url)

    @property
    def endpoint(self) -> str:
        """The endpoint bound last, "" when there is none."""
        return self._bound[-1][1] if self._bound else ""

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All bound endpoints."""
        return tuple(bound for _, bound in self._bound)

    def _prepare(self) -> None:
        """Make what the socket's other parts need, before it is opened."""
        self._event_seq = 1
        self._known = Known()
        self._event_lock = threading.RLock()
        self._guard_lock = threading.RLock()

    def _opened(self) -> None:
        """Tell the socket's other parts its handle."""

    def _forget(self) -> None:
        """After a fork, in the child: locks may be held by threads that are not here."""
        self._event_lock = threading.RLock()
        self._guard_lock = threading.RLock()
        self._outlet.after_fork()

    def _discard(self) -> int:
        """Drop what was received and not taken; tell how many messages."""
        return 0

    _letters: Any = ()
    """Dead letters that were taken and not given out, as a call was interrupted."""
    _keeps_dead: bool = False
    """Whether it keeps dead letters until somebody takes them."""

    def _untaken(self) -> str:
        """Say what else is dropped as the socket is closed, and was worth more: a warning."""
        return ""

    def _unsettled(self) -> str:
        """Say what nobody will know more of once the socket is closed."""
        return ""

    def _held(self) -> tuple[int, int]:
        """Tell how many messages and bytes were received and not taken yet."""
        return 0, 0

    def _group_lag(self) -> dict[str, int | None]:
        """Tell how far the groups of a Pub are behind."""
        return {}

    def _log_events(self) -> None:
        """Log what is new, where no thread does: without a descriptor for it, or simulated."""
        if not self._outlet.told:
            self._outlet.log_new()
            event_thread.log_closed(self._engine._handle)

    def _error(
        self, code: int, what: What, timeout: float | None = None, *, address: str = ""
    ) -> MeshError:
        """Make the error of a failed call: what was tried, where, and what is known of the
        cause."""
        return error_of(self, code, what, timeout, address=address)

    def _check(self, code: int, what: What, *, address: str = "") -> None:
        check(self, code, what, address=address)

    def _too_large(self, size: int, count: int) -> MeshError:
        return too_large(self, size, count)

    @property
    def closed(self) -> bool:
        """Whether the socket was closed here."""
        return bool(lib.mm_peer_count(self._handle, ffi.new("uint32_t *")) == lib.MM_ECLOSED)

    def close(self) -> None:
        """Close the socket. Never blocks.

        Whoever waits in another thread gets ClosedError. What was sent and is not written yet has
        `linger` seconds to go out in the background; to know that it arrived, `drain` first.
        Messages received and not taken are dropped.

        Thread-safe: yes. Closing twice is harmless.
        """
        me, closers = threading.get_ident(), self._outlet.closers
        if me in closers:  # a function that is called meanwhile: what it is in closes it
            return
        try:
            closers.add(me)
            self._shut()
        finally:
            closers.discard(me)

    def _shut(self) -> None:
        """Close it, and what is its own."""
        untaken = open_ones = ""
        try:
            self._outlet.finish()
            self._known.note(self._handle)
            untaken, open_ones = self._untaken(), self._unsettled()
        finally:  # also if a signal's function raises
            lib.mm_socket_close(self._handle)
            door.leave(self._engine._handle, self._handle)
            count = self._discard()
            name = type(self).__name__
            here = counted(count, "message")
            words = f"{name} closed with {here} received and not taken" if count else open_ones
            event_thread.leave(self._outlet, self._engine._handle, words, untaken)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", 0)
        if handle and lib.mm_peer_count(handle, ffi.new("uint32_t *")) == 0:
            text = repr(self)
            lib.mm_socket_close(handle)
            warnings.warn(f"unclosed {text}", ResourceWarning, source=self, stacklevel=1)

    def __dir__(self) -> list[str]:
        return there(type(self), super().__dir__())

    def __repr__(self) -> str:
        out = ffi.new("mm_stats *")
        rc = lib.mm_socket_stats(self._handle, out)
        if rc == lib.MM_EFORKED:
            return f"<meshmsg.{type(self).__name__} of process {self._opened_pid}>"
        if rc < 0:
            return f"<meshmsg.{type(self).__name__} closed>"
        queued = f"{out.queued_out_messages} out, {out.queued_in_messages + self._held()[0]} in"
        return f"<meshmsg.{about(self)}, queued {queued}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it is a connection of this process; "
            "pass its endpoint, and open a socket there"
        )


def _after_fork_in_child() -> None:
    for socket in list(_alive):
        socket._forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
