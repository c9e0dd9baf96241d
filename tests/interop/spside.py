"""Sockets of NNG (by way of pynng) and of libnanomsg (by way of ctypes) with one face, and a peer
that is only octets.

Not here: meshmsg's sockets; what the octets mean (tests/support/refsp.py). Law: every wait ends.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import refsp as ref
from tests.support.pairs import WAIT_S
from tests.support.spcodec import SpHello, SpReader

WAIT_MS = int(WAIT_S * 1000)
_names = itertools.count()
NNG_CLASSES = {
    **{ref.PAIR0: "Pair0", ref.PAIR1: "Pair1", ref.PUB: "Pub0", ref.SUB: "Sub0", ref.REQ: "Req0"},
    **{ref.REP: "Rep0", ref.PUSH: "Push0", ref.PULL: "Pull0", ref.BUS: "Bus0"},
    **{ref.SURVEYOR: "Surveyor0", ref.RESPONDENT: "Respondent0"},
}


def free_endpoint(transport: str, folder: Path) -> str:
    """Return an endpoint nobody uses: these libraries do not tell which port they were given."""
    if transport == "ipc":
        return f"ipc://{folder}/{next(_names)}"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


class NngSide:
    """A socket of NNG."""

    def __init__(self, protocol: int, url: str, listen: bool = False) -> None:
        pynng = pytest.importorskip("pynng", reason="pynng is not installed")
        options = {"recv_timeout": WAIT_MS, "send_timeout": WAIT_MS}
        self._socket: Any = getattr(pynng, NNG_CLASSES[protocol])(**options)
        if protocol == ref.SUB:
            self._socket.subscribe(b"")
        self._up = threading.Event()
        self._socket.add_post_pipe_connect_cb(lambda _: self._up.set())
        if listen:
            self._socket.listen(url)
        else:
            self._socket.dial(url, block=False)

    def wait(self) -> None:
        """Wait until it has a peer: what BUS and SURVEYOR send before that is gone."""
        assert self._up.wait(WAIT_S)

    def send(self, body: bytes) -> None:
        """Send, or fail after a while."""
        self._socket.send(body)

    def recv(self) -> bytes:
        """Receive, or fail after a while; pynng's recv() itself fails on an empty message."""
        return bytes(self._socket.recv_msg().bytes)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


class NanomsgSide:
    """A socket of libnanomsg; its protocol numbers are those of the wire."""

    AF_SP, SOL_SOCKET, SNDTIMEO, RCVTIMEO, SUBSCRIBE = 1, 0, 4, 5, 1
    CURRENT_CONNECTIONS, RCVMAXSIZE = 201, 16
    MSG = ctypes.c_size_t(-1).value

    def __init__(self, protocol: int, url: str, listen: bool = False) -> None:
        name = ctypes.util.find_library("nanomsg")
        if name is None:
            pytest.skip("libnanomsg is not installed")
        self._lib = ctypes.CDLL(name)
        for call in ("nn_send", "nn_recv", "nn_setsockopt"):
            getattr(self._lib, call).argtypes = {
                "nn_send": [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int],
                "nn_recv": [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int],
                "nn_setsockopt": [ctypes.c_int] * 3 + [ctypes.c_char_p, ctypes.c_size_t],
            }[call]
        self._socket = self._checked(self._lib.nn_socket(self.AF_SP, protocol))
        limit = bytes(ctypes.c_int(WAIT_MS))
        for option in (self.SNDTIMEO, self.RCVTIMEO):
            self._set(self.SOL_SOCKET, option, limit)
        self._set(self.SOL_SOCKET, self.RCVMAXSIZE, bytes(ctypes.c_int(-1)))
        if protocol == ref.SUB:
            self._set(protocol, self.SUBSCRIBE, b"")
        join = self._lib.nn_bind if listen else self._lib.nn_connect
        self._checked(join(self._socket, url.encode()))

    def wait(self) -> None:
        """Wait until it has a peer: what BUS and SURVEYOR send before that is gone."""
        self._lib.nn_get_statistic.restype = ctypes.c_uint64
        end = time.monotonic() + WAIT_S
        while self._lib.nn_get_statistic(self._socket, self.CURRENT_CONNECTIONS) != 1:
            assert time.monotonic() < end, "nanomsg has no connection"
            time.sleep(0)

    def _set(self, level: int, option: int, value: bytes) -> None:
        self._checked(self._lib.nn_setsockopt(self._socket, level, option, value, len(value)))

    def _checked(self, result: int) -> int:
        assert result >= 0, f"nanomsg: error {self._lib.nn_errno()}"
        return result

    def send(self, body: bytes) -> None:
        """Send, or fail after a while."""
        self._checked(self._lib.nn_send(self._socket, body, len(body), 0))

    def recv(self) -> bytes:
        """Receive, or fail after a while."""
        room = ctypes.c_void_p()
        size = self._checked(self._lib.nn_recv(self._socket, ctypes.byref(room), self.MSG, 0))
        body = ctypes.string_at(room, size)
        self._lib.nn_freemsg(room)
        return body

    def close(self) -> None:
        """Close it."""
        self._checked(self._lib.nn_close(self._socket))


class Recorder:
    """A listener that answers as a protocol by way of our codec, and keeps every octet it heard."""

    def __init__(self, protocol: int, folder: str | None = None) -> None:
        self.protocol, self.ipc = protocol, folder is not None
        family = socket.AF_UNIX if folder else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.settimeout(WAIT_S)
        self._listener.bind(f"{folder}/sp" if folder else ("127.0.0.1", 0))
        self._listener.listen()
        self.url = (
            f"ipc://{folder}/sp" if folder else f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        )
        self._peer: socket.socket | None = None
        self.heard = b""

    def accept(self) -> None:
        """Take the next connection and do both hellos."""
        self._peer, _ = self._listener.accept()
        self._peer.settimeout(WAIT_S)
        self.heard = b""
        self._reader = SpReader(self.protocol, ipc=self.ipc)
        self._found: list[tuple[bytes, ...]] = []
        hello = SpHello(self.protocol, answer=True)
        while not hello.feed(self._read()):
            pass
        self.send(hello.output())
        self._found += self._reader.feed(hello.rest)

    def _read(self) -> bytes:
        assert self._peer is not None
        data = self._peer.recv(65_536)
        assert data, "the connection was closed"
        self.heard += data
        return data

    def message(self) -> tuple[bytes, ...]:
        """Return the frames of the next message."""
        while not self._found:
            self._found += self._reader.feed(self._read())
        return self._found.pop(0)

    def hear(self, last: bytes) -> None:
        """Wait until the last octets are these, whatever our reader makes of them."""
        while not self.heard.endswith(last):
            self._read()

    def send(self, data: bytes) -> None:
        """Write octets."""
        assert self._peer is not None
        self._peer.sendall(data)

    def closed(self) -> bool:
        """Wait until the other side closes; what it still says is heard."""
        assert self._peer is not None
        try:
            while data := self._peer.recv(65_536):
                self.heard += data
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        """Close what is open."""
        if self._peer is not None:
            self._peer.close()
        self._listener.close()
