"""meshmsg.aio: one await a message."""

from __future__ import annotations

import meshmsg
from meshmsg import aio

from ..base.task import PATIENCE, Task
from .looped import LoopedAnswerer, LoopedAsker, LoopedReceiver, LoopedSender
from .mesh_survey import AioRespondents, AioSurveyor
from .seam import Answerer, Asker, Peer, Receiver, Respondents, Sender, Surveyor


class AioSender(LoopedSender):
    """A Push."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task.url))

    async def _open(self, url: str) -> None:
        self._socket = aio.Push(connect=url)

    async def _shut(self) -> None:
        await self._socket.drain(timeout=PATIENCE)
        self._socket.close()


class AioReceiver(LoopedReceiver):
    """A Pull that is iterated over."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task.url, insecure=task.insecure))
        self.endpoint = self._socket.endpoint

    async def _open(self, url: str, *, insecure: bool) -> None:
        self._socket = aio.Pull(bind=url, insecure=insecure)

    def recv_count(self, count: int) -> None:
        """Receive so many."""

        async def receiving() -> None:
            left = count
            if not left:
                return
            async for _ in self._socket:
                left -= 1
                if not left:
                    return

        self._run(receiving())


class AioAsker(LoopedAsker):
    """A Req."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task.url))

    async def _open(self, url: str) -> None:
        self._socket = aio.Req(connect=url)

    async def _ask(self, body: bytes) -> None:
        await self._socket.request(body)


class AioAnswerer(LoopedAnswerer):
    """A Rep."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task.url))
        self.endpoint = self._socket.endpoint

    async def _open(self, url: str) -> None:
        self._socket = aio.Rep(bind=url)

    async def _answer(self) -> None:
        request = await self._socket.recv()
        request.reply(request)


class MeshAio(Peer):
    """meshmsg from asyncio."""

    name = "meshmsg-asyncio"
    kinds: tuple[str, ...] = ("thr", "lat", "survey")

    def version(self) -> str:
        """Of the core that runs, installed or from a tree."""
        return meshmsg.__version__

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return AioSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return AioReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A Req."""
        return AioAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""
        return AioAnswerer(task)

    def surveyor(self, task: Task) -> Surveyor:
        """A Surveyor."""
        return AioSurveyor(task)

    def respondents(self, task: Task) -> Respondents:
        """Respondents."""
        return AioRespondents(task)
