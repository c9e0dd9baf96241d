"""A proxy of TCP that stops to pass octets, of one direction or both, or resets what it carries.

Law: what it holds back stays in the sender's way, as behind a network that is cut; no end of a
connection passes it meanwhile either. Not here: what is sent through it.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: a close sends RST."""


def _address(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port)


class _Way:
    """One direction of a connection: octets that were read and not written yet."""

    def __init__(self, source: socket.socket, target: socket.socket, back: bool) -> None:
        self.source, self.target, self.back = source, target, back
        self.data = b""
        self.carried = 0
        self.ended = False


class Proxy:
    """Listens at `endpoint`; who connects there is connected to the target."""

    def __init__(self, target: str) -> None:
        self._target = _address(target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._waker, self._bell = socket.socketpair()
        self._lock = threading.Lock()
        self._ways: list[_Way] = []
        self._held: set[bool] = set()
        self._after: list[int] = []
        self.resets = 0
        """Connections that it has reset."""
        self._open = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def freeze(self, *, there: bool = True, back: bool = True) -> None:
        """Pass nothing on: there is from who connected, back is to them. Nor who connects."""
        with self._lock:
            self._held = {way for way, held in ((False, there), (True, back)) if held}
        self._bell.send(b".")

    def thaw(self) -> None:
        """Pass all on, also what was held back."""
        self.freeze(there=False, back=False)

    def reset_after(self, octets: list[int]) -> None:
        """Reset the next connections, each when it has carried so many octets back."""
        with self._lock:
            self._after = list(octets)

    def close(self) -> None:
        """End it, and all that it carries."""
        self._open = False
        self._bell.send(b".")
        self._thread.join()
        for one in (self._listener, self._waker, self._bell):
            one.close()

    def _run(self) -> None:
        while self._open:
            with self._lock:
                held, ways = self._held, list(self._ways)
            passing = [way for way in ways if way.back not in held]
            reads = [way.source for way in passing if not way.data and not way.ended]
            writes = [way.target for way in passing if way.data]
            newcomers = [] if held else [self._listener]
            ready, free, _ = select.select([self._waker, *newcomers, *reads], writes, [])
            if self._waker in ready:
                self._waker.recv(CHUNK)
                continue  # what is held may be another
            if self._listener in ready:
                self._accept()
            for way in passing:
                self._move(way, way.source in ready, way.target in free)
        for way in self._ways:
            way.source.close()

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        for one in (near, far):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ways += [_Way(near, far, False), _Way(far, near, True)]

    def _move(self, way: _Way, readable: bool, writable: bool) -> None:
        if way not in self._ways:
            return  # its other way ended it
        try:
            if readable and not way.data:
                way.data = way.source.recv(CHUNK)
                way.ended = not way.data
            if way.data and (writable or readable):
                left = self._left(way)
                sent = way.target.send(way.data[:left]) if left > 0 else 0
                way.data, way.carried = way.data[sent:], way.carried + sent
                if sent >= left:
                    self._reset(way)
        except BlockingIOError:
            return
        except OSError:
            way.ended = True
        if way.ended and way in self._ways:
            self._drop(way, reset=False)

    def _left(self, way: _Way) -> int:
        with self._lock:
            return self._after[0] - way.carried if self._after and way.back else 2 * CHUNK

    def _reset(self, way: _Way) -> None:
        with self._lock:
            self._after.pop(0)
        self.resets += 1
        self._drop(way, reset=True)

    def _drop(self, way: _Way, *, reset: bool) -> None:
        for one in (way.source, way.target):
            if reset:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            one.close()
        self._ways = [other for other in self._ways if other.source is not way.target]
        self._ways = [other for other in self._ways if other is not way]


@contextmanager
def proxied(target: str) -> Iterator[Proxy]:
    """A proxy in front of an endpoint; it ends with the block."""
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
