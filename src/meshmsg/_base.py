"""What every socket has, sync or asyncio: its life, its endpoints, and looking in. Nothing waits here.

Not here: sending and receiving (_send, _recv, aio). Law: a socket holds a handle, never a pointer;
whatever state it is in, every method either works or raises one of ours.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from meshmsg._core import error_for as _error_for
from meshmsg._core import ffi, lib, local, raise_for, text_of
from meshmsg._engine import Engine, default_engine
from meshmsg._errors import MeshError, TooLargeError
from meshmsg._info import (
    Event,
    EventKind,
    PeerInfo,
    Reason,
    Stats,
    event_of,
    peer_of,
    stats_of,
)
from meshmsg._message import Message
from meshmsg._options import SocketOptions, build_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger("meshmsg")

_EVENTS_AT_ONCE = 64
_TROUBLE = (EventKind.CONNECT_FAILED, EventKind.HANDSHAKE_FAILED, EventKind.PEER_DOWN)


def encode_url(url: str) -> bytes:
    """Return an endpoint as C wants it."""
    if not isinstance(url, str):
        raise TypeError(f"an endpoint is a str like 'tcp://127.0.0.1:5555', not {type(url).__name__}")
    if "\0" in url:
        raise _error_for(lib.MM_EADDRINVAL, f"{url!r} has a zero byte in it", address=url)
    return url.encode()


def encode_topic(topic: str | bytes) -> bytes:
    """Return a topic as bytes; str is UTF-8, with surrogateescape for what came in as other bytes."""
    if isinstance(topic, str):
        return topic.encode("utf-8", "surrogateescape")
    return bytes(topic)


def _several(endpoints: str | Iterable[str] | None) -> list[str]:
    if endpoints is None:
        return []
    return [endpoints] if isinstance(endpoints, str) else list(endpoints)


class SocketBase:
    """A socket of one role. Use the classes of the roles: Push, Pull, Pub, Sub, ...

    Args:
        bind: Endpoints to listen on: tcp://host:port (port 0 or *: any), ipc://path, inproc://name.
        connect: Endpoints to connect to, and to keep connected.
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
        self._handle: int = 0
        self._ready: deque[Message] = deque()
        self._fileno_taken = False
        self._opts = opts
        self._bound: list[str] = []
        self._connected: list[str] = []
        self._event_seq = 1
        self._log_seq = 1
        self._event_lock = threading.Lock()
        self._opened_pid = os.getpid()
        self._engine = engine if engine is not None else default_engine()
        self._slice_ms = self._engine._slice_ms
        out = ffi.new("mm_handle *")
        rc = lib.mm_socket_open(self._engine._handle, self._role, opts, out)
        raise_for(rc, f"opening a {type(self).__name__}")
        self._handle = out[0]
        try:
            self._attach(bind, connect)
        except BaseException:
            self.close()
            raise

    def _attach(
        self, bind: str | Iterable[str] | None, connect: str | Iterable[str] | None
    ) -> None:
        for url in _several(bind):
            self.bind(url)
        for url in _several(connect):
            self.connect(url)

    # ---- endpoints ----

    def bind(self, url: str) -> str:
        """Listen on an endpoint.

        Thread-safe: yes. Looking up a name may take its time.

        Args:
            url: tcp://host:port (port 0 or *: any free one), ipc://path, inproc://name.

        Returns:
            The endpoint as bound, with the port that was chosen.

        Raises:
            AddressError: Malformed, unknown, in use or not permitted.
            InsecureBindError: Outside loopback, without insecure=True.
        """
        out = local.text
        rc = lib.mm_bind(self._handle, encode_url(url), out, len(out))
        if rc == lib.MM_EINSECURE:
            raise _error_for(
                rc,
                f"binding {url} would let anybody in who can reach this machine, as nothing protects "
                "the connections; bind to 127.0.0.1, or say insecure=True if the network is trusted",
                address=url,
            )
        raise_for(rc, f"binding {type(self).__name__} to {url}", address=url)
        bound = str(ffi.string(out).decode())
        self._bound.append(bound)
        return bound

    def connect(self, url: str) -> None:
        """Connect to an endpoint, and again whenever the connection ends.

        Returns at once: connecting goes on in the background (`wait_for_peers`, `events`).

        Thread-safe: yes.

        Args:
            url: tcp://host:port, ipc://path, inproc://name.

        Raises:
            AddressError: The endpoint is malformed.
        """
        rc = lib.mm_connect(self._handle, encode_url(url))
        raise_for(rc, f"connecting {type(self).__name__} to {url}", address=url)
        self._connected.append(url)

    def unbind(self, url: str) -> None:
        """Stop listening on an endpoint; who is connected stays.

        Thread-safe: yes.

        Args:
            url: The endpoint, as bound or as it was given to `bind`.

        Raises:
            AddressError: It is not bound.
        """
        raise_for(lib.mm_unbind(self._handle, encode_url(url)), f"unbinding {url}", address=url)
        if url in self._bound:
            self._bound.remove(url)

    def disconnect(self, url: str) -> None:
        """Close the connection to an endpoint and do not make it again.

        Thread-safe: yes.

        Args:
            url: The endpoint, as it was given to `connect`.

        Raises:
            AddressError: It is not connected to.
        """
        rc = lib.mm_disconnect(self._handle, encode_url(url))
        raise_for(rc, f"disconnecting {url}", address=url)
        if url in self._connected:
            self._connected.remove(url)

    @property
    def endpoint(self) -> str:
        """The endpoint bound last, "" when there is none."""
        return self._bound[-1] if self._bound else ""

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All bound endpoints."""
        return tuple(self._bound)

    # ---- looking in ----

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
            out = ffi.new("mm_peer[]", cap)
            count = ffi.new("uint32_t *")
            self._check(lib.mm_socket_peers(self._handle, out, cap, count), "listing peers")
            if count[0] <= cap:
                return [peer_of(out[i]) for i in range(count[0])]
            cap = count[0] + 16

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
        held = list(self._ready)
        return stats_of(out, len(held), sum(map(len, held)))

    def events(self) -> list[Event]:
        """Tell what happened to the connections since the last call.

        Thread-safe: yes; each event is given to one caller.

        Returns:
            The new events, oldest first. The socket remembers 256; a gap in `seq` shows lost ones.

        Raises:
            ClosedError: The socket was closed.
        """
        with self._event_lock:
            found, self._event_seq = self._read_events(self._event_seq)
        return found

    def _read_events(self, seq: int) -> tuple[list[Event], int]:
        found: list[Event] = []
        out = ffi.new("mm_event[]", _EVENTS_AT_ONCE)
        next_seq = ffi.new("uint64_t *")
        while True:
            count = lib.mm_socket_events(self._handle, seq, out, _EVENTS_AT_ONCE, next_seq)
            self._check(count, "reading events")
            found += [event_of(out[i]) for i in range(count)]
            seq = next_seq[0]
            if count < _EVENTS_AT_ONCE:
                return found, seq

    def _log_events(self) -> None:
        """Pass new connection trouble to logging; called from slow paths only."""
        try:
            with self._event_lock:
                found, self._log_seq = self._read_events(self._log_seq)
        except MeshError:
            return
        for event in found:
            trouble = event.kind in _TROUBLE and event.reason not in (Reason.EOF, Reason.LOCAL)
            level = logging.WARNING if trouble else logging.DEBUG
            log.log(
                level, "%s %s %s: %s", type(self).__name__, event.endpoint, event.kind.name, event.detail
            )

    def fileno(self) -> int:
        """Return a descriptor that is readable exactly while a receive would find a message.

        For event loops of others: level-triggered; do not read from it. Once it was asked for, the
        socket takes messages from the core one call at a time.

        Thread-safe: yes.

        Returns:
            The descriptor, the same each time; it belongs to the socket.

        Raises:
            ClosedError: The socket was closed.
        """
        out = ffi.new("int *")
        self._check(lib.mm_fileno(self._handle, out), "asking for the descriptor")
        self._fileno_taken = True
        if self._ready:
            lib.mm_fileno_hold(self._handle, 1)
        return int(out[0])

    # ---- errors ----

    def _about(self) -> str:
        """Say which socket this is, for messages."""
        places = [f"bound to {url}" for url in self._bound]
        places += [f"connected to {url}" for url in self._connected]
        name = type(self).__name__
        count = local.u32
        if lib.mm_peer_count(self._handle, count) == 0:
            peers = "1 peer" if count[0] == 1 else f"{count[0]} peers"
            places.append(peers)
        return f"{name} {', '.join(places)}"

    def _last_trouble(self) -> str:
        try:
            with self._event_lock:
                found, _ = self._read_events(1)
        except MeshError:
            return ""
        bad = [event for event in found if event.kind in _TROUBLE]
        return f"; last: {bad[-1].endpoint} {bad[-1].detail}" if bad else ""

    def _error(self, code: int, what: str, timeout: float | None = None) -> MeshError:
        """Make the error of a failed call: what was tried, where, and what is known of the cause."""
        if code in (lib.MM_ETIMEDOUT, lib.MM_EAGAIN):
            self._log_events()
            waited = f" within {timeout} s" if code == lib.MM_ETIMEDOUT else " now"
            return _error_for(code, f"{what}{waited} ({self._about()}{self._last_trouble()})")
        if code == lib.MM_ECLOSED:
            return _error_for(code, f"this {type(self).__name__} was closed")
        if code == lib.MM_EFORKED:
            return _error_for(
                code,
                f"this {type(self).__name__} was opened in process {self._opened_pid}; "
                "open a new one after fork",
            )
        return _error_for(code, f"{what} ({self._about()}): {text_of(code)}")

    def _check(self, code: int, what: str) -> None:
        if code < 0:
            raise self._error(code, what)

    def _too_large(self, size: int, count: int) -> MeshError:
        limit = int(self._opts.message_size_max)
        frames = int(self._opts.frames_max)
        return TooLargeError(
            f"a message of {size} bytes in {count} frames; this {type(self).__name__} takes "
            f"{limit} bytes (message_size_max) in {frames} frames (frames_max)",
            code=lib.MM_EMSGSIZE,
            size=size,
            limit=limit,
        )

    # ---- the end ----

    @property
    def closed(self) -> bool:
        """Whether the socket was closed here."""
        return bool(lib.mm_peer_count(self._handle, local.u32) == lib.MM_ECLOSED)

    def close(self) -> None:
        """Close the socket. Never blocks.

        Whoever waits in another thread gets ClosedError. What was sent and is not written yet has
        `linger` seconds to go out in the background; to know that it arrived, `drain` first.
        Messages received and not taken are dropped.

        Thread-safe: yes. Closing twice is harmless.
        """
        self._log_events()
        self._ready.clear()
        lib.mm_socket_close(self._handle)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", 0)
        if handle and lib.mm_peer_count(handle, ffi.new("uint32_t *")) == 0:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=1)
            lib.mm_socket_close(handle)

    def __repr__(self) -> str:
        if self.closed:
            return f"<meshmsg.{type(self).__name__} closed>"
        try:
            stats = self.stats()
        except MeshError:
            return f"<meshmsg.{type(self).__name__} of another process>"
        depth = f"{stats.queued_out_messages} out, {stats.queued_in_messages} in"
        return f"<meshmsg.{self._about()}, queued {depth}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it is a connection of this process; "
            "pass its endpoint, and open a socket there"
        )

    # ---- making messages ----

    def _unpack(self, batch: Any) -> list[Message]:
        """Turn what C handed over into messages."""
        if batch.big != ffi.NULL:
            frames = self._big_frames(batch)
            return [self._message(frames, int(batch.peer[0]), int(batch.envelope[0]))]
        count = batch.message_count
        offsets = ffi.unpack(batch.offset, batch.frame_count + 1)
        data = ffi.buffer(batch.data, offsets[-1])
        peers = ffi.unpack(batch.peer, count)
        if batch.frame_count == count:
            return self._single(data, offsets, peers, batch)
        firsts = ffi.unpack(batch.first_frame, count + 1)
        envelopes = ffi.unpack(batch.envelope, count)
        found: list[Message] = []
        for i in range(count):
            at = range(firsts[i], firsts[i + 1])
            frames = [data[offsets[j] : offsets[j + 1]] for j in at]
            found.append(self._message(frames, peers[i], envelopes[i]))
        return found

    def _single(self, data: Any, offsets: list[int], peers: list[int], batch: Any) -> list[Message]:
        """The common case, every message a single frame: no frame lists."""
        found: list[Message] = []
        start = offsets[0]
        for peer, end in zip(peers, offsets[1:], strict=True):
            message = Message(data[start:end])
            message.peer = peer
            found.append(message)
            start = end
        return found

    @staticmethod
    def _big_frames(batch: Any) -> list[bytes]:
        big = batch.big
        size = ffi.new("uint64_t *")
        try:
            frames: list[bytes] = []
            for i in range(lib.mm_msg_frame_count(big)):
                data = lib.mm_msg_frame(big, i, size)
                frames.append(ffi.buffer(data, size[0])[:] if size[0] else b"")
            return frames
        finally:
            lib.mm_msg_free(big)

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> Message:
        """Make a message of its frames; roles that read them differently override this."""
        message = Message(frames[-1])
        message.peer = peer
        message._frames = tuple(frames)
        return message

    def _take_ready(self) -> Message | None:
        """One prefetched message, or None."""
        try:
            message = self._ready.popleft()
        except IndexError:
            return None
        if self._fileno_taken and not self._ready:
            lib.mm_fileno_hold(self._handle, 0)
        return message


def own_topics(topics: str | bytes | Iterable[str | bytes]) -> list[bytes]:
    """Return the topics of a Sub's constructor as bytes."""
    if isinstance(topics, (str, bytes)):
        return [encode_topic(topics)]
    return [encode_topic(topic) for topic in topics]
