"""What every socket has, sync or asyncio: its life, its endpoints, and what is seen of it from
outside. Nothing waits here.

Not here: what a failed call says (failures.py), sending and receiving (_sync/sending.py,
_sync/receiving.py, aio). Law: a socket holds a handle, never a pointer; whatever state it is in,
every method either works or raises one of ours.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from meshmsg._binding.addresses import address_error
from meshmsg._binding.core import NativeSocket, error_for, ffi, lib, raise_for
from meshmsg._binding.data import encode_url, several
from meshmsg._binding.errors import MeshError
from meshmsg._binding.snapshots import Event, PeerInfo, Stats, peer_of, stats_of
from meshmsg._events import event_thread
from meshmsg._events.event_thread import check_on_event
from meshmsg._events.log_records import give, record_of
from meshmsg._events.outlet import Outlet, read_events
from meshmsg._hints.absent_names import Listed, of_other_libraries, there
from meshmsg._hints.wrong_role import of_other_roles
from meshmsg._socket.causes import What
from meshmsg._socket.engine import Engine, default_engine
from meshmsg._socket.failures import error_of, too_large
from meshmsg._socket.options import SocketOptions, build_options
from meshmsg._socket.signature import describe

if TYPE_CHECKING:
    from typing_extensions import Unpack

_alive: weakref.WeakSet[SocketBase] = weakref.WeakSet()


@of_other_libraries
@of_other_roles
class SocketBase(NativeSocket, metaclass=Listed):
    """A socket of one role. Use the classes of the roles: Push, Pull, Pub, Sub, ...

    Args:
        bind: Endpoints to listen on: tcp://host:port (port 0 or *: any), ipc://path, ipc://@name
            (no file), ipc://* (a fresh path), inproc://name. Peers of ZMTP
            and of SP (NNG, nanomsg) may come to the same one.
        connect: Endpoints to connect to, and to keep connected; sp+tcp:// and sp+ipc:// over SP.
        engine: The engine that serves it; None is the process's default one.
        options: See `help()` of a role's class.

    Raises:
        UsageError: An option is wrong.
        AddressError: An endpoint is malformed, unknown, in use or not permitted.
        InsecureBindError: `bind` is outside loopback, without insecure=True.
        ResourceError: No memory or descriptors.
    """

    _role: ClassVar[int] = 0
    _receives: ClassVar[bool] = False
    """Whether the role receives messages."""
    _sends: ClassVar[bool] = False
    """Whether the role sends to whoever has room, so that it can be said if there is any."""
    _stops = False
    """Whether it was to stop receiving."""

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
    ) -> None:
        opts = build_options(self._role, options, identity=identity, flags=flags)
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
        on_event = options.get("on_event")
        check_on_event(on_event, simulated=self._slice_ms == 0)
        loop = self._loop_of_events() if on_event is not None else None
        self._outlet = Outlet(type(self).__name__, on_event, loop)
        out = ffi.new("mm_handle *")
        try:
            rc = lib.mm_socket_open(self._engine._handle, self._role, opts, out)
            if rc == lib.MM_ECLOSED:
                raise error_for(rc, f"opening a {type(self).__name__}: its engine was closed")
            raise_for(rc, f"opening a {type(self).__name__}")
            self._handle = out[0]
            self._opened()
            _alive.add(self)
            self._tell_events(needed=on_event is not None)
            self._attach(bind, connect)
        except BaseException:  # of a signal's function, too, wherever it came
            self._handle = out[0]
            if self._handle:
                self.close()
            raise

    def _loop_of_events(self) -> Any:
        """The event loop that `on_event` is called on; None: a thread of its own."""
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

    # ---- looking in ----

    def _prepare(self) -> None:
        """Make what the socket's other parts need, before it is opened."""
        self._event_seq = 1
        self._event_lock = threading.RLock()

    def _opened(self) -> None:
        """Tell the socket's other parts its handle."""

    def _forget(self) -> None:
        """After a fork, in the child: locks may be held by threads that are not here."""
        self._event_lock = threading.RLock()
        self._outlet.after_fork()

    def _discard(self) -> int:
        """Drop what was received and not taken; tell how many messages."""
        return 0

    def _held(self) -> tuple[int, int]:
        """Tell how many messages and bytes were received and not taken yet."""
        return 0, 0

    def peers(self) -> list[PeerInfo]:
        """Tell who is connected now, with queues, counters and round-trip times.

        Thread-safe: yes.

        Returns:
            One entry a peer.

        Raises:
            ClosedError: The socket was closed.
        """
        cap = 16
        while True:
            found, count = self._first_peers(cap)
            if count <= cap:
                return found
            cap = count + 16

    def _first_peers(self, cap: int) -> tuple[list[PeerInfo], int]:
        """Some peers, and how many there are."""
        out = ffi.new("mm_peer[]", cap)
        count = ffi.new("uint32_t *")
        self._check(lib.mm_socket_peers(self._handle, out, cap, count), "listing peers")
        return [peer_of(out[i]) for i in range(min(count[0], cap))], int(count[0])

    def stats(self) -> Stats:
        """Tell the socket's counters.

        Thread-safe: yes.

        Returns:
            A frozen snapshot.

        Raises:
            ClosedError: The socket was closed.
        """
        out = ffi.new("mm_stats *")
        self._check(lib.mm_socket_stats(self._handle, out), "reading counters")
        return stats_of(out, *self._held())

    def events(self, *, since: int | None = None) -> list[Event]:
        """Tell what happened to the connections since the last call.

        Thread-safe: yes; each event is given to one caller, but to all that say `since`.

        Args:
            since: The `seq` of the last event that you know, 0 at first: all newer ones, whoever
                has had them, and without taking them from anybody.

        Returns:
            The new events, oldest first. The socket remembers 256; a gap in `seq` shows lost ones.

        Raises:
            ClosedError: The socket was closed.
        """
        if since is not None:
            return self._read_events(since + 1)[0]
        with self._event_lock:
            found, self._event_seq = self._read_events(self._event_seq)
        return found

    def _read_events(self, seq: int) -> tuple[list[Event], int]:
        code, found, seq = read_events(self._handle, seq)
        self._check(code, "reading events")
        return found, seq

    def _log_events(self) -> None:
        """Log what is new, where no thread does: without a descriptor for it, or simulated."""
        self._outlet.log_new()

    # ---- errors ----

    def _about(self) -> str:
        """Say which socket this is, for messages."""
        places = [f"bound to {bound}" for _, bound in self._bound]
        places += [f"connected to {url}" for url in self._connected]
        count = self._peer_count()
        if not places:
            places.append("neither bound nor connected")
        if count > 0 or (count == 0 and (self._bound or self._connected)):
            places.append("1 peer" if count == 1 else f"{count} peers")
        return f"{type(self).__name__} {', '.join(places)}"

    def _peer_count(self) -> int:
        """How many peers there are; below 0: the socket is closed."""
        count = ffi.new("uint32_t *")
        rc = int(lib.mm_peer_count(self._handle, count))
        return rc if rc < 0 else int(count[0])

    def _peers_of(self, count: int) -> What:
        """What a wait for so many peers says that ends without them."""

        def told() -> str:
            there = self._peer_count()
            return f"waiting for {count} peers" if there < 0 else f"{there} of {count} peers"

        return told

    def _error(
        self, code: int, what: What, timeout: float | None = None, *, address: str = ""
    ) -> MeshError:
        """Make the error of a failed call: what was tried, where, and what is known of the
        cause."""
        return error_of(self, code, what, timeout, address=address)

    def _check(self, code: int, what: What, *, address: str = "") -> None:
        if code < 0:
            raise self._error(code, what, address=address)

    def _too_large(self, size: int, count: int) -> MeshError:
        return too_large(self, size, count)

    # ---- endpoints ----

    def bind(self, url: str) -> str:
        """Listen on an endpoint.

        Thread-safe: yes. Looking up a name may take its time.

        Args:
            url: tcp://host:port (port 0 or *: any free one), ipc://path, ipc://@name (no file),
                ipc://* (a fresh path), inproc://name. Over tcp and ipc, a peer's
                first octet tells whether it speaks ZMTP or SP.

        Returns:
            The endpoint as bound, with the port or path that was chosen.

        Raises:
            AddressError: Malformed, unknown, in use or not permitted.
            InsecureBindError: Outside loopback, without insecure=True.
            ClosedError: The socket was closed.
        """
        out = ffi.new("char[]", lib.MM_ENDPOINT_MAX + 1)
        rc = lib.mm_bind(self._handle, encode_url(url), out, len(out))
        if rc == lib.MM_EINSECURE:
            raise error_for(
                rc,
                f"binding {url} would let anybody in who can reach this machine, as nothing "
                "protects the connections; bind to 127.0.0.1, or say insecure=True if the "
                "network is trusted",
                address=url,
            )
        self._check_url(rc, f"binding {type(self).__name__} to {url}", url, lib.MM_USE_BIND)
        bound = str(ffi.string(out).decode())
        self._bound.append((url, bound))
        return bound

    def connect(self, url: str) -> None:
        """Connect to an endpoint, and again whenever the connection ends.

        Returns at once: connecting goes on in the background (`wait_for_peers`, `events`).

        Thread-safe: yes.

        Args:
            url: tcp://host:port, ipc://path, ipc://@name, inproc://name; for a peer that speaks
                SP (NNG, nanomsg) sp+tcp://host:port, sp+ipc://path.

        Raises:
            AddressError: The endpoint is malformed.
            UsageError: sp+ of a role that SP has not.
            ClosedError: The socket was closed.
        """
        self._connect(url, lib.mm_connect(self._handle, encode_url(url)))

    def _connect(self, url: str, rc: int) -> None:
        """Note an endpoint that was connected to, or raise why it was not."""
        if rc == lib.MM_ENOTSUP:
            raise error_for(rc, f"{type(self).__name__} speaks no SP: {url}", address=url)
        self._check_url(rc, f"connecting {type(self).__name__} to {url}", url, lib.MM_USE_CONNECT)
        self._connected.append(url)

    def unbind(self, url: str) -> None:
        """Stop listening on an endpoint; who is connected stays.

        Thread-safe: yes.

        Args:
            url: The endpoint, as bound or as it was given to `bind`.

        Raises:
            AddressError: It is not bound.
            ClosedError: The socket was closed.
        """
        rc = lib.mm_unbind(self._handle, encode_url(url))
        gone = f"it is not bound here; bound: {', '.join(self.endpoints) or 'nothing'}"
        self._check_url(rc, f"unbinding {url}", url, lib.MM_USE_BIND, gone)
        for pair in self._bound:
            if url in pair:
                self._bound.remove(pair)
                break

    def disconnect(self, url: str) -> None:
        """Leave the peer at an endpoint: the connection is not made again, and ends within linger.

        What is queued and not begun goes to other peers or is kept for the next, by roles that
        share out; by others it still goes out. See docs/semantics.md, "Closing".

        Thread-safe: yes.

        Args:
            url: The endpoint, as it was given to `connect`.

        Raises:
            AddressError: It is not connected to.
            ClosedError: The socket was closed.
        """
        rc = lib.mm_disconnect(self._handle, encode_url(url))
        gone = f"it is not connected to; connected to: {', '.join(self._connected) or 'nothing'}"
        self._check_url(rc, f"disconnecting {url}", url, lib.MM_USE_CONNECT, gone)
        if url in self._connected:
            self._connected.remove(url)

    def _check_url(self, code: int, doing: str, url: str, use: int, gone: str = "") -> None:
        """Raise what a call about an endpoint came to; gone: what no such endpoint means."""
        if code in (lib.MM_ECLOSED, lib.MM_EFORKED):
            raise self._error(code, doing, address=url)
        if code < 0:
            raise address_error(code, doing, url, use, gone)

    @property
    def endpoint(self) -> str:
        """The endpoint bound last, "" when there is none."""
        return self._bound[-1][1] if self._bound else ""

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All bound endpoints."""
        return tuple(bound for _, bound in self._bound)

    # ---- the end ----

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
        try:
            self._outlet.finish()
        finally:  # also if a signal's function raises
            lib.mm_socket_close(self._handle)
            count = self._discard()
            name = type(self).__name__
            words = f"{name} closed with {count} messages received and not taken" if count else ""
            event_thread.leave(self._outlet, self._engine._handle, words)

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
        return f"<meshmsg.{self._about()}, queued {queued}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it is a connection of this process; "
            "pass its endpoint, and open a socket there"
        )


def _after_fork_in_child() -> None:
    for socket in list(_alive):
        socket._forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
