"""Surveys of meshmsg: how each of its peers asks, and how its respondents share a process."""

from __future__ import annotations

import asyncio

import meshmsg
from meshmsg import aio

from ..base.task import PATIENCE, STOP, Task
from .looped import Looped
from .seam import Respondents, Surveyor


class MeshSurveyor(Surveyor):
    """A Surveyor that is iterated over."""

    def __init__(self, task: Task) -> None:
        self._socket = meshmsg.Surveyor(bind=task.url)
        self.endpoint = self._socket.endpoint

    def meet(self, answers: int) -> None:
        """Wait for the connections: who is connected is asked."""
        self._socket.wait_for_peers(answers, timeout=PATIENCE)

    def survey(self, body: bytes) -> int:
        """Ask once."""
        return sum(1 for _ in self._socket.survey(body, deadline=PATIENCE))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class AioSurveyor(Looped, Surveyor):
    """The same, awaited."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task.url))
        self.endpoint = self._socket.endpoint

    async def _open(self, url: str) -> None:
        self._socket = aio.Surveyor(bind=url)

    def meet(self, answers: int) -> None:
        """Wait for the connections."""
        self._run(self._socket.wait_for_peers(answers, timeout=PATIENCE))

    async def _survey(self, body: bytes) -> int:
        came = 0
        async for _ in self._socket.survey(body, deadline=PATIENCE):
            came += 1
        return came

    def survey(self, body: bytes) -> int:
        """Ask once."""
        return self._run(self._survey(body))


class MeshRespondents(Respondents):
    """One thread, that waits for them by a Poller."""

    def __init__(self, task: Task) -> None:
        self._sockets = [meshmsg.Respondent(connect=task.url) for _ in range(task.connections)]

    def answer_all(self) -> None:
        """Answer until all are done."""
        if len(self._sockets) == 1:
            self._answer_alone(self._sockets[0])
            return
        left = len(self._sockets)
        with meshmsg.Poller(self._sockets) as poller:
            while left:
                for socket in poller.poll():
                    question = socket.recv()
                    question.reply(question)
                    left -= len(question) == len(STOP)
        for socket in self._sockets:
            socket.drain(timeout=PATIENCE)

    def _answer_alone(self, socket: meshmsg.Respondent) -> None:
        """As a service does: who has one socket waits in it."""
        for question in socket:
            question.reply(question)
            if len(question) == len(STOP):
                break
        socket.drain(timeout=PATIENCE)

    def close(self) -> None:
        """Close the sockets."""
        for socket in self._sockets:
            socket.close()


class AioRespondents(Looped, Respondents):
    """One loop, and a task for each."""

    def __init__(self, task: Task) -> None:
        self._run(self._open(task.url, task.connections))

    async def _open(self, url: str, count: int) -> None:
        self._sockets = [aio.Respondent(connect=url) for _ in range(count)]

    async def _answer(self, socket: aio.Respondent) -> None:
        async for request in socket:
            request.reply(request)
            if len(request) == len(STOP):
                return

    async def _answer_all(self) -> None:
        await asyncio.gather(*map(self._answer, self._sockets))
        for socket in self._sockets:
            await socket.drain(timeout=PATIENCE)

    def answer_all(self) -> None:
        """Answer until all are done."""
        self._run(self._answer_all())

    async def _shut(self) -> None:
        for socket in self._sockets:
            socket.close()
