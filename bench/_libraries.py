"""What is measured, behind one shape: meshmsg one by one, meshmsg in batches, and pyzmq.

A pipe end moves `count` equal messages; a call end asks or answers.  Nothing here takes the time.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

import meshmsg

PATIENCE = 60.0  # seconds until a measurement that hangs is given up


class End(Protocol):
    """One end of a measurement."""

    endpoint: str

    def move(self, body: bytes, count: int) -> None:
        """Send, or receive, so many messages; or ask, or answer, so many times."""

    def close(self) -> None:
        """Release everything."""


Ends = tuple[Callable[[str], End], Callable[[str], End]]  # given a URL: binds, connects


class MeshPush:
    """meshmsg, one call a message."""

    def __init__(self, url: str) -> None:
        self.endpoint = url
        self._socket = meshmsg.Push(connect=url, linger=PATIENCE)

    def move(self, body: bytes, count: int) -> None:
        """Send so many."""
        send = self._socket.send
        for _ in range(count):
            send(body)

    def close(self) -> None:
        """Wait until all has arrived, and close."""
        self._socket.drain(timeout=PATIENCE)
        self._socket.close()


class MeshPushMany(MeshPush):
    """meshmsg, one call a batch."""

    def move(self, body: bytes, count: int) -> None:
        """Send them as one batch."""
        self._socket.send_many([body] * count)


class MeshPull:
    """meshmsg, one call a message."""

    def __init__(self, url: str) -> None:
        self._socket = meshmsg.Pull(bind=url)
        self.endpoint = self._socket.endpoint

    def move(self, body: bytes, count: int) -> None:
        """Receive so many, one by one."""
        recv = self._socket.recv
        for _ in range(count):
            recv()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MeshPullMany(MeshPull):
    """meshmsg, one call a batch."""

    def move(self, body: bytes, count: int) -> None:
        """Receive so many, up to 1,000 at a time."""
        while count:
            count -= len(self._socket.recv_many(min(count, 1000)))


class MeshReq:
    """meshmsg, a request and its reply."""

    def __init__(self, url: str) -> None:
        self.endpoint = url
        self._socket = meshmsg.Req(connect=url)

    def move(self, body: bytes, count: int) -> None:
        """Ask so many times."""
        for _ in range(count):
            self._socket.request(body, timeout=PATIENCE)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MeshRep:
    """meshmsg, answers with what it was asked."""

    def __init__(self, url: str) -> None:
        self._socket = meshmsg.Rep(bind=url)
        self.endpoint = self._socket.endpoint

    def move(self, body: bytes, count: int) -> None:
        """Answer so many times."""
        for _ in range(count):
            request = self._socket.recv()
            request.reply(request)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Zmq:
    """pyzmq; the base of its four ends."""

    role = ""
    binds = False

    def __init__(self, url: str) -> None:
        import zmq

        context: Any = zmq.Context.instance()
        self._socket = context.socket(getattr(zmq, self.role))
        self._socket.setsockopt(zmq.LINGER, int(PATIENCE * 1000))
        if self.binds:
            self._socket.bind(url.replace(":0", ":*") if url.startswith("tcp:") else url)
        else:
            self._socket.connect(url)
        self.endpoint: str = self._socket.last_endpoint.decode().rstrip("\0")

    def move(self, body: bytes, count: int) -> None:
        """Each end has its own."""
        raise AssertionError("an end has its own move")

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class ZmqPush(Zmq):
    """pyzmq, one call a message."""

    role = "PUSH"

    def move(self, body: bytes, count: int) -> None:
        """Send so many."""
        send = self._socket.send
        for _ in range(count):
            send(body)


class ZmqPull(Zmq):
    """pyzmq, one call a message."""

    role = "PULL"
    binds = True

    def move(self, body: bytes, count: int) -> None:
        """Receive so many."""
        recv = self._socket.recv
        for _ in range(count):
            recv()


class ZmqReq(Zmq):
    """pyzmq, a request and its reply."""

    role = "REQ"

    def move(self, body: bytes, count: int) -> None:
        """Ask so many times."""
        for _ in range(count):
            self._socket.send(body)
            self._socket.recv()


class ZmqRep(Zmq):
    """pyzmq, answers with what it was asked."""

    role = "REP"
    binds = True

    def move(self, body: bytes, count: int) -> None:
        """Answer so many times."""
        for _ in range(count):
            self._socket.send(self._socket.recv())


THROUGHPUT: dict[str, Ends] = {  # name: (receiver, sender)
    "meshmsg": (MeshPull, MeshPush),
    "meshmsg-many": (MeshPullMany, MeshPushMany),
    "pyzmq": (ZmqPull, ZmqPush),
}
LATENCY: dict[str, Ends] = {  # name: (answers, asks)
    "meshmsg": (MeshRep, MeshReq),
    "pyzmq": (ZmqRep, ZmqReq),
}


def installed(names: dict[str, Ends]) -> list[str]:
    """The names that can be measured here."""
    return [name for name in names if name != "pyzmq" or find_spec("zmq") is not None]
