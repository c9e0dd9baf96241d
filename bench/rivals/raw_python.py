"""Plain sockets from Python: what the machine gives a program without any library.

Throughput sends 256 KiB of framed messages a call and the receiver only counts frames of the known
size; latency is one small send and one receive.
"""

from __future__ import annotations

import platform
import socket
from urllib.parse import urlsplit

from ..base.task import Task
from ..peers.seam import Answerer, Asker, End, Peer, Receiver, Sender

CHUNK = 256 * 1024
"""Bytes a call."""
HEAD = 4
"""Bytes before each body: its size."""


def address(url: str) -> tuple[int, object]:
    """Family and address of a URL."""
    parts = urlsplit(url)
    if parts.scheme == "tcp":
        return socket.AF_INET, (parts.hostname, parts.port)
    return socket.AF_UNIX, parts.path


class RawEnd(End):
    """A stream, by listening or by connecting."""

    def __init__(self, task: Task) -> None:
        family, at = address(task.url)
        self._size = HEAD + task.size
        first = socket.socket(family, socket.SOCK_STREAM)
        self._listener: socket.socket | None = None
        if task.receives:
            if family == socket.AF_INET:  # the last round's connection may still linger there
                first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            first.bind(at)  # type: ignore[arg-type]
            first.listen(1)
            self._listener = first
            name = first.getsockname()
            self.endpoint = f"tcp://{name[0]}:{name[1]}" if family == socket.AF_INET else task.url
        else:
            first.connect(at)  # type: ignore[arg-type]
            self._take(first)

    def _take(self, stream: socket.socket) -> None:
        if stream.family == socket.AF_INET:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = stream

    def _accept(self) -> None:
        if self._listener is not None:
            self._take(self._listener.accept()[0])
            self._listener.close()
            self._listener = None

    def _frame(self, body: bytes) -> bytes:
        return len(body).to_bytes(HEAD, "little") + body

    def _recv_exactly(self, size: int) -> bytes:
        whole = self._stream.recv(size, socket.MSG_WAITALL)
        if len(whole) < size:
            raise ConnectionError("the other end is gone")
        return whole[HEAD:]

    def close(self) -> None:
        """Close the stream."""
        self._accept()
        self._stream.close()


class RawSender(RawEnd, Sender):
    """Sends."""

    def send(self, body: bytes) -> None:
        """Send one."""
        self._stream.sendall(self._frame(body))

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many, many a call."""
        at_once = max(1, CHUNK // self._size)
        chunk = self._frame(body) * at_once
        for _ in range(count // at_once):
            self._stream.sendall(chunk)
        self._stream.sendall(chunk[: count % at_once * self._size])


class RawReceiver(RawEnd, Receiver):
    """Receives."""

    def recv(self) -> bytes:
        """Receive one."""
        self._accept()
        return self._recv_exactly(self._size)

    def recv_count(self, count: int) -> None:
        """Receive so many, in one buffer again and again."""
        self._accept()
        left = count * self._size
        buffer = memoryview(bytearray(CHUNK))
        while left:
            got = self._stream.recv_into(buffer[: min(left, CHUNK)])
            if not got:
                raise ConnectionError("the other end is gone")
            left -= got


class RawAsker(RawEnd, Asker):
    """Asks."""

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._stream.sendall(self._frame(body))
        self._recv_exactly(self._size)


class RawAnswerer(RawEnd, Answerer):
    """Answers."""

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        self._accept()
        for _ in range(count):
            self._stream.sendall(self._frame(self._recv_exactly(self._size)))


class RawPython(Peer):
    """Plain Python sockets."""

    name = "raw-python"
    connections_max = 1
    transports: tuple[str, ...] = ("tcp", "ipc")

    def version(self) -> str:
        """There is no library: that of Python."""
        return f"Python {platform.python_version()}"

    def sender(self, task: Task) -> Sender:
        """A stream."""
        return RawSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A stream."""
        return RawReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A stream."""
        return RawAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A stream."""
        return RawAnswerer(task)
