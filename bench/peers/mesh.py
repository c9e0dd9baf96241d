"""meshmsg as most programs use it: one call a message, iteration to receive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import meshmsg

from ..base.task import PATIENCE, Task
from .mesh_push import MeshSender
from .mesh_survey import MeshRespondents, MeshSurveyor
from .mesh_workers import MeshDispatcher, MeshWorker
from .seam import Answerer, Asker, Peer, Receiver, Respondents, Sender, Surveyor, Worker

AT_ONCE_MAX = 100_000
"""Connections a measurement may want."""
SPIN_S = 0.01
"""How long a receive may watch before it sleeps, where spinning is measured."""


class MeshPublisher(MeshSender):
    """A Pub that waits for slow subscribers, so that nothing is lost."""

    def __init__(self, task: Task) -> None:
        self._socket: meshmsg.Pub = meshmsg.Pub(
            bind=task.url, overflow="block", connections_max=AT_ONCE_MAX, half_open_max=AT_ONCE_MAX
        )
        self.endpoint = self._socket.endpoint

    def wait_for_subscribers(self, count: int) -> None:
        """Wait until so many would get it."""
        self._socket.wait_for_subscribers(count=count, timeout=PATIENCE)


class MeshReceiver(Receiver):
    """A Pull, or a Sub, that is iterated over."""

    def __init__(self, task: Task, **options: Any) -> None:
        self._socket: meshmsg.Pull | meshmsg.Sub = meshmsg.Pull(
            bind=task.url,
            connections_max=AT_ONCE_MAX,
            half_open_max=AT_ONCE_MAX,
            insecure=task.insecure,
            **options,
        )
        self.endpoint = self._socket.endpoint
        self._messages: Iterator[bytes] = iter(self._socket)

    def recv(self) -> bytes:
        """Receive one."""
        return next(self._messages)

    def recv_count(self, count: int) -> None:
        """Receive so many."""
        for _ in islice(self._messages, count):
            pass

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MeshSubscriber(MeshReceiver):
    """A Sub to everything."""

    def __init__(self, task: Task) -> None:
        self._socket = meshmsg.Sub(connect=task.url, topics="")
        self._messages = iter(self._socket)


class MeshAsker(Asker):
    """A Req."""

    def __init__(self, task: Task, **options: Any) -> None:
        self._socket = meshmsg.Req(connect=task.url, **options)

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._socket.request(body)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MeshAnswerer(Answerer):
    """A Rep."""

    def __init__(self, task: Task, **options: Any) -> None:
        self._socket = meshmsg.Rep(bind=task.url, **options)
        self.endpoint = self._socket.endpoint

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        recv = self._socket.recv
        for _ in range(count):
            request = recv()
            request.reply(request)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MeshSpinAsker(MeshAsker):
    """A Req that watches for its reply instead of sleeping."""

    def __init__(self, task: Task) -> None:
        role: Any = meshmsg.Req
        self._socket = role(connect=task.url, spin=SPIN_S)


class MeshSpinAnswerer(MeshAnswerer):
    """A Rep that watches for requests."""

    def __init__(self, task: Task) -> None:
        role: Any = meshmsg.Rep
        self._socket = role(bind=task.url, spin=SPIN_S)
        self.endpoint = self._socket.endpoint


class Mesh(Peer):
    """meshmsg, message by message."""

    name = "meshmsg"
    offers = True
    kinds: tuple[str, ...] = (
        *("thr", "lat", "rate", "fanout", "connections", "survey"),
        *("credits", "mesh", "slow"),
    )

    def version(self) -> str:
        """Of the core that runs, installed or from a tree."""
        return meshmsg.__version__

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return MeshSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return MeshReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A Req."""
        return MeshAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""
        return MeshAnswerer(task)

    def publisher(self, task: Task) -> Sender:
        """A Pub."""
        return MeshPublisher(task)

    def subscriber(self, task: Task) -> Receiver:
        """A Sub."""
        return MeshSubscriber(task)

    def surveyor(self, task: Task) -> Surveyor:
        """A Surveyor."""
        return MeshSurveyor(task)

    def respondents(self, task: Task) -> Respondents:
        """Respondents."""
        return MeshRespondents(task)

    def dispatcher(self, task: Task) -> Sender:
        """A Push."""
        return MeshDispatcher(task)

    def worker(self, task: Task) -> Worker:
        """A Pull."""
        return MeshWorker(task)


class MeshSpin(Mesh):
    """meshmsg allowed to burn a core while it waits."""

    name = "meshmsg-spin"
    kinds: tuple[str, ...] = ("lat",)

    def missing(self) -> str | None:
        """Whether this meshmsg can."""
        role: Any = meshmsg.Req
        try:
            role(spin=SPIN_S).close()
        except TypeError:
            return "this meshmsg has no spin="
        return None

    def asker(self, task: Task) -> Asker:
        """A Req."""
        return MeshSpinAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""
        return MeshSpinAnswerer(task)
