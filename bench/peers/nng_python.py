"""pynng: the Python binding of NNG."""

from __future__ import annotations

from typing import Any

from .._need import is_there, need
from .._task import PATIENCE, Task
from .seam import Answerer, Asker, End, Peer, Receiver, Sender


class NngEnd(End):
    """A socket of pynng."""

    role = ""

    def __init__(self, task: Task) -> None:
        pynng = need("pynng", "the peer pynng")
        self._socket: Any = getattr(pynng, self.role)(
            recv_timeout=int(PATIENCE * 1000), send_timeout=int(PATIENCE * 1000)
        )
        if task.receives:
            listener = self._socket.listen(task.url)
            self.endpoint = task.url
            if task.url.startswith("tcp:"):
                self.endpoint = f"tcp://{listener.local_address}"
        else:
            self._socket.dial(task.url, block=True)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class NngSender(NngEnd, Sender):
    """A Push0."""

    role = "Push0"

    def send(self, body: bytes) -> None:
        """Send one."""
        self._socket.send(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""
        send = self._socket.send
        for _ in range(count):
            send(body)


class NngReceiver(NngEnd, Receiver):
    """A Pull0."""

    role = "Pull0"

    def recv(self) -> bytes:
        """Receive one."""
        body: bytes = self._socket.recv()
        return body

    def recv_count(self, count: int) -> None:
        """Receive so many."""
        recv = self._socket.recv
        for _ in range(count):
            recv()


class NngAsker(NngEnd, Asker):
    """A Req0."""

    role = "Req0"

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._socket.send(body)
        self._socket.recv()


class NngAnswerer(NngEnd, Answerer):
    """A Rep0."""

    role = "Rep0"

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        for _ in range(count):
            self._socket.send(self._socket.recv())


class Pynng(Peer):
    """pynng."""

    name = "pynng"
    package = "pynng"

    def missing(self) -> str | None:
        """Whether it is installed."""
        return None if is_there("pynng") else "pynng is not installed"

    def sender(self, task: Task) -> Sender:
        """A Push0."""
        return NngSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A Pull0."""
        return NngReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A Req0."""
        return NngAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A Rep0."""
        return NngAnswerer(task)
