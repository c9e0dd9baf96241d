"""What every socket has, sync or asyncio: its life and its endpoints. Nothing waits here.

Not here: looking in (_looking), sending and receiving (_send, _recv, aio). Law: a socket holds a
handle, never a pointer; whatever state it is in, every method either works or raises one of ours.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from meshmsg._core import NativeSocket, error_for, ffi, lib, raise_for
from meshmsg._data import encode_url, several
from meshmsg._engine import Engine, default_engine
from meshmsg._errors import AddressError
from meshmsg._looking import Looking, log
from meshmsg._options import SocketOptions, build_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

_alive: weakref.WeakSet[SocketBase] = weakref.WeakSet()


class SocketBase(NativeSocket, Looking):
    """A socket of one role. Use the classes of the roles: Push, Pull, Pub, Sub, ...

    Args:
        bind: Endpoints to listen on: tcp://host:port (port 0 or *: any), ipc://path, inproc://name.
            Peers of ZMTP and of SP (NNG, nanomsg) may come to the same one.
        connect: Endpoints to connect to, and to keep connected; sp+tcp:// and sp+ipc:// over SP.
        engine: The engine that serves it; None is the process's default one.
        options: See `meshmsg.SocketOptions`.

    Raises:
        UsageError: An option is wrong.
        AddressError: An endpoint is malformed, unknown, in use or not permitted.
        InsecureBindError: `bind` is outside loopback, without insecure=True.
        ResourceError: No memory or descriptors.
    """

    _role: ClassVar[int] = 0

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(build_options(self._role, options), engine, bind, connect)

    def _open(
        self,
        opts: Any,
        engine: Engine | None,
        bind: str | Iterable[str] | None,
        connect: str | Iterable[str] | None,
    ) -> None:
        self._handle = 0
        self._opts = opts
        self._bound: list[tuple[str, str]] = []
        """What was asked for, and what was bound."""
        self._connected: list[str] = []
        self._opened_pid = os.getpid()
        self._prepare()
        self._engine = engine if engine is not None else default_engine()
        self._slice_ms = self._engine._slice_ms
        out = ffi.new("mm_handle *")
        rc = lib.mm_socket_open(self._engine._handle, self._role, opts, out)
        if rc == lib.MM_ECLOSED:
            raise error_for(rc, f"opening a {type(self).__name__}: its engine was closed")
        raise_for(rc, f"opening a {type(self).__name__}")
        self._handle = out[0]
        self._opened()
        _alive.add(self)
        try:
            self._attach(bind, connect)
        except BaseException:
            self.close()
            raise

    def _attach(
        self, bind: str | Iterable[str] | None, connect: str | Iterable[str] | None
    ) -> None:
        for url in several(bind):
            self.bind(url)
        for url in several(connect):
            self.connect(url)

    # ---- endpoints ----

    def bind(self, url: str) -> str:
        """Listen on an endpoint.

        Thread-safe: yes. Looking up a name may take its time.

        Args:
            url: tcp://host:port (port 0 or *: any free one), ipc://path, inproc://name. Over tcp
                and ipc, a peer's first octet tells whether it speaks ZMTP or SP.

        Returns:
            The endpoint as bound, with the port that was chosen.

        Raises:
            AddressError: Malformed, unknown, in use or not permitted.
            InsecureBindError: Outside loopback, without insecure=True.
            ClosedError: The socket was closed.
        """
        if isinstance(url, str) and url.startswith("sp+"):
            raise AddressError(
                f"{url}: bind to {url[3:]}; a listener takes peers of ZMTP and of SP alike",
                code=lib.MM_EADDRINVAL,
                address=url,
            )
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
        self._check(rc, f"binding {type(self).__name__} to {url}", address=url)
        bound = str(ffi.string(out).decode())
        self._bound.append((url, bound))
        return bound

    def connect(self, url: str) -> None:
        """Connect to an endpoint, and again whenever the connection ends.

        Returns at once: connecting goes on in the background (`wait_for_peers`, `events`).

        Thread-safe: yes.

        Args:
            url: tcp://host:port, ipc://path, inproc://name; for a peer that speaks SP (NNG,
                nanomsg) sp+tcp://host:port, sp+ipc://path.

        Raises:
            AddressError: The endpoint is malformed.
            UsageError: sp+ of a role that SP has not.
            ClosedError: The socket was closed.
        """
        rc = lib.mm_connect(self._handle, encode_url(url))
        if rc == lib.MM_ENOTSUP:
            raise error_for(rc, f"{type(self).__name__} speaks no SP: {url}", address=url)
        self._check(rc, f"connecting {type(self).__name__} to {url}", address=url)
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
        self._check(rc, f"unbinding {url}: it is not bound here", address=url)
        for pair in self._bound:
            if url in pair:
                self._bound.remove(pair)
                break

    def disconnect(self, url: str) -> None:
        """Close the connection to an endpoint and do not make it again.

        Thread-safe: yes.

        Args:
            url: The endpoint, as it was given to `connect`.

        Raises:
            AddressError: It is not connected to.
            ClosedError: The socket was closed.
        """
        rc = lib.mm_disconnect(self._handle, encode_url(url))
        self._check(rc, f"disconnecting {url}: it was not connected to", address=url)
        if url in self._connected:
            self._connected.remove(url)

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
        self._log_events()
        lib.mm_socket_close(self._handle)
        count = self._discard()
        if count:
            log.info(
                "%s closed with %d messages received and not taken", type(self).__name__, count
            )

    def __del__(self) -> None:
        handle = getattr(self, "_handle", 0)
        if handle and lib.mm_peer_count(handle, ffi.new("uint32_t *")) == 0:
            text = repr(self)
            lib.mm_socket_close(handle)
            warnings.warn(f"unclosed {text}", ResourceWarning, source=self, stacklevel=1)

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
