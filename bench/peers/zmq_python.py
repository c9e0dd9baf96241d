"""pyzmq: one call a message, batches joined by hand, and its asyncio sockets."""

from __future__ import annotations

import struct
from itertools import accumulate, pairwise
from typing import Any

from ..base.keys import CLIENT, SERVER
from ..base.need import is_there, need
from ..base.task import PATIENCE, Task
from .looped import LoopedAnswerer, LoopedAsker, LoopedReceiver, LoopedSender
from .seam import Answerer, Asker, Peer, Receiver, Sender

BATCH = 1000
"""Messages joined into one, where the user does it by hand."""


def zmq() -> Any:
    """The library."""
    return need("zmq", "the peer pyzmq")


def protect(socket: Any, *, binds: bool) -> None:
    """By CURVE; who binds is the server, and takes whoever knows its key: it has no list."""
    public, secret = SERVER if binds else CLIENT
    socket.curve_publickey, socket.curve_secretkey = public.encode(), secret.encode()
    if binds:
        socket.curve_server = True
    else:
        socket.curve_serverkey = SERVER[0].encode()


def opened(
    role: str, task: Task, *, binds: bool, asyncio: bool = False, curve: bool = False
) -> tuple[Any, str]:
    """A socket, and where it is to be found."""
    library = zmq()
    context = need("zmq.asyncio", "").Context() if asyncio else library.Context.instance()
    context.max_sockets = max(context.max_sockets, 2 * task.connections + 100)
    socket = context.socket(getattr(library, role))
    socket.linger = int(PATIENCE * 1000)
    if curve:
        protect(socket, binds=binds)
    if role == "XPUB":
        socket.setsockopt(library.XPUB_NODROP, 1)
        socket.setsockopt(library.XPUB_VERBOSE, 1)
    if role == "SUB":
        socket.setsockopt(library.SUBSCRIBE, b"")
    if binds:
        socket.backlog = max(100, task.connections)
        socket.bind(task.url.replace(":0", ":*") if task.url.startswith("tcp:") else task.url)
    else:
        socket.connect(task.url)
    return socket, socket.last_endpoint.decode().rstrip("\0")


class ZmqSender(Sender):
    """A PUSH, or an XPUB that blocks."""

    def __init__(self, task: Task, role: str = "PUSH", *, curve: bool = False) -> None:
        self._socket, self.endpoint = opened(role, task, binds=role == "XPUB", curve=curve)
        self._again: type[Exception] = zmq().Again

    def send(self, body: bytes) -> None:
        """Send one."""
        self._socket.send(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""
        send = self._socket.send
        for _ in range(count):
            send(body)

    def offer(self, body: bytes) -> bool:
        """Send one if there is room."""
        try:
            self._socket.send(body, flags=zmq().NOBLOCK)
        except self._again:
            return False
        return True

    def wait_for_subscribers(self, count: int) -> None:
        """Take so many subscriptions."""
        for _ in range(count):
            self._socket.recv()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class ZmqReceiver(Receiver):
    """A PULL or a SUB."""

    def __init__(self, task: Task, role: str = "PULL", *, curve: bool = False) -> None:
        self._socket, self.endpoint = opened(role, task, binds=role == "PULL", curve=curve)

    def recv(self) -> bytes:
        """Receive one."""
        body: bytes = self._socket.recv()
        return body

    def recv_count(self, count: int) -> None:
        """Receive so many."""
        recv = self._socket.recv
        for _ in range(count):
            recv()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class ZmqAsker(Asker):
    """A REQ."""

    def __init__(self, task: Task, *, curve: bool = False) -> None:
        self._socket, _ = opened("REQ", task, binds=False, curve=curve)

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._socket.send(body)
        self._socket.recv()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class ZmqAnswerer(Answerer):
    """A REP."""

    def __init__(self, task: Task, *, curve: bool = False) -> None:
        self._socket, self.endpoint = opened("REP", task, binds=True, curve=curve)

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        send, recv = self._socket.send, self._socket.recv
        for _ in range(count):
            send(recv())

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Pyzmq(Peer):
    """pyzmq, message by message."""

    name = "pyzmq"
    package = "pyzmq"
    offers = True
    kinds: tuple[str, ...] = ("thr", "lat", "rate", "fanout", "connections")

    def missing(self) -> str | None:
        """Whether it is installed."""
        return None if is_there("zmq") else "pyzmq is not installed"

    def version(self) -> str:
        """Of the binding and of libzmq."""
        return f"{super().version()} (libzmq {zmq().zmq_version()})"

    def sender(self, task: Task) -> Sender:
        """A PUSH."""
        return ZmqSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A PULL."""
        return ZmqReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A REQ."""
        return ZmqAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A REP."""
        return ZmqAnswerer(task)

    def publisher(self, task: Task) -> Sender:
        """An XPUB with XPUB_NODROP: it waits for slow subscribers, as ours does."""
        return ZmqSender(task, "XPUB")

    def subscriber(self, task: Task) -> Receiver:
        """A SUB."""
        return ZmqReceiver(task, "SUB")


class PyzmqCurve(Pyzmq):
    """pyzmq with CURVE, message by message."""

    name = "pyzmq-curve"
    transports: tuple[str, ...] = ("tcp", "ipc")
    kinds: tuple[str, ...] = ("thr", "lat", "connections")

    def missing(self) -> str | None:
        """Whether it is installed, and was built with libsodium."""
        why = super().missing()
        return why or (None if zmq().has("curve") else "this libzmq has no CURVE")

    def sender(self, task: Task) -> Sender:
        """A PUSH."""
        return ZmqSender(task, curve=True)

    def receiver(self, task: Task) -> Receiver:
        """A PULL."""
        return ZmqReceiver(task, curve=True)

    def asker(self, task: Task) -> Asker:
        """A REQ."""
        return ZmqAsker(task, curve=True)

    def answerer(self, task: Task) -> Answerer:
        """A REP."""
        return ZmqAnswerer(task, curve=True)


class BatchSender(ZmqSender):
    """A PUSH given joined messages: a count, the sizes, the bodies."""

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""
        while count:
            part = [body] * min(count, BATCH)
            sizes = struct.pack(f"<I{len(part)}I", len(part), *map(len, part))
            self._socket.send(sizes + b"".join(part))
            count -= len(part)


class BatchReceiver(ZmqReceiver):
    """A PULL that cuts them apart again."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._kept: list[bytes] = []

    def recv_count(self, count: int) -> None:
        """Receive so many; what a joined one has over that is for the next call."""
        while count > len(self._kept):
            count -= len(self._kept)
            self._kept = cut(self._socket.recv())
        del self._kept[:count]


def cut(joined: bytes) -> list[bytes]:
    """The messages of a joined one."""
    (count,) = struct.unpack_from("<I", joined)
    sizes = struct.unpack_from(f"<{count}I", joined, 4)
    ends = accumulate(sizes, initial=4 + 4 * count)
    return [joined[begin:end] for begin, end in pairwise(ends)]


class PyzmqBatch(Pyzmq):
    """pyzmq with batches made by hand: what a batch call should be compared with, too."""

    name = "pyzmq-batch"
    kinds: tuple[str, ...] = ("thr",)

    def sender(self, task: Task) -> Sender:
        """A PUSH."""
        return BatchSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A PULL."""
        return BatchReceiver(task)


class AioSender(LoopedSender):
    """An asyncio PUSH."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task))

    async def _open(self, task: Task) -> None:
        self._socket, _ = opened("PUSH", task, binds=False, asyncio=True)


class AioReceiver(LoopedReceiver):
    """An asyncio PULL."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task))

    async def _open(self, task: Task) -> None:
        self._socket, self.endpoint = opened("PULL", task, binds=True, asyncio=True)


class AioAsker(LoopedAsker):
    """An asyncio REQ."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task))

    async def _open(self, task: Task) -> None:
        self._socket, _ = opened("REQ", task, binds=False, asyncio=True)


class AioAnswerer(LoopedAnswerer):
    """An asyncio REP."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task))

    async def _open(self, task: Task) -> None:
        self._socket, self.endpoint = opened("REP", task, binds=True, asyncio=True)


class PyzmqAio(Pyzmq):
    """pyzmq from asyncio."""

    name = "pyzmq-asyncio"
    kinds: tuple[str, ...] = ("thr", "lat")
    transports: tuple[str, ...] = ("tcp", "ipc")

    def sender(self, task: Task) -> Sender:
        """A PUSH."""
        return AioSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A PULL."""
        return AioReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A REQ."""
        return AioAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A REP."""
        return AioAnswerer(task)
