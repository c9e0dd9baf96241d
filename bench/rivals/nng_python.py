"""pynng: the Python binding of NNG."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from ..base.need import is_there, need
from ..base.task import PATIENCE, STOP, Task
from ..peers.seam import Answerer, Asker, End, Peer, Receiver, Respondents, Sender, Surveyor

BUFFERED = 1000
"""Messages a socket keeps in either direction, as the other libraries do; pynng's own are 0, 1."""
MEET_MS = 200
"""How long one survey waits while the respondents are still connecting."""


class NngEnd(End):
    """A socket of pynng."""

    role = ""

    def __init__(self, task: Task) -> None:
        pynng = need("pynng", "the peer pynng")
        self._socket: Any = getattr(pynng, self.role)(
            recv_timeout=int(PATIENCE * 1000),
            send_timeout=int(PATIENCE * 1000),
            recv_buffer_size=BUFFERED,
            send_buffer_size=BUFFERED,
            **self.protected(pynng, task),
        )
        if task.receives:
            listener = self._socket.listen(task.url)
            self.endpoint = task.url
            if task.url.startswith(("tcp:", "tls+tcp:")):
                self.endpoint = f"{task.url.partition(':')[0]}://{listener.local_address}"
        else:
            self._socket.dial(task.url, block=True)

    def protected(self, pynng: Any, task: Task) -> dict[str, Any]:
        """What it is opened with beside."""
        return {}

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class NngSender(NngEnd, Sender):
    """A Push0."""

    role = "Push0"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._full: type[Exception] = need("pynng", "the peer pynng").TryAgain

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
            self._socket.send(body, block=False)
        except self._full:
            return False
        return True


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


class NngSurveyor(NngEnd, Surveyor):
    """A Surveyor0; it binds, and its own survey time is its deadline."""

    role = "Surveyor0"

    def __init__(self, task: Task) -> None:
        super().__init__(replace(task, receives=True))

    def _survey(self, body: bytes, answers: int) -> int:
        """Ask once; how many of those answers came in time."""
        timeout = need("pynng", "the peer pynng").Timeout
        came = 0
        self._socket.send(body)
        try:
            while came < answers:
                self._socket.recv()
                came += 1
        except timeout:
            pass
        return came

    def meet(self, answers: int) -> None:
        """Survey until so many answer."""
        self._answers = answers
        self._socket.survey_time = MEET_MS
        while self._survey(b"meet", answers) < answers:
            pass
        self._socket.survey_time = int(PATIENCE * 1000)

    def survey(self, body: bytes) -> int:
        """Ask once."""
        return self._survey(body, self._answers)


class NngRespondents(Respondents):
    """Respondent0 sockets, a thread each: its calls let go of the interpreter."""

    def __init__(self, task: Task) -> None:
        one = replace(task, receives=False)
        self._ends = [NngRespondent(one) for _ in range(task.connections)]

    def answer_all(self) -> None:
        """Answer until all are done."""
        threads = [threading.Thread(target=end.answer, daemon=True) for end in self._ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def close(self) -> None:
        """Close the sockets."""
        for end in self._ends:
            end.close()


class NngRespondent(NngEnd):
    """One Respondent0."""

    role = "Respondent0"

    def answer(self) -> None:
        """Answer until told to end."""
        more = True
        while more:
            question: bytes = self._socket.recv()
            self._socket.send(question)
            more = len(question) > len(STOP)


class Pynng(Peer):
    """pynng."""

    name = "pynng"
    package = "pynng"
    offers = True
    kinds: tuple[str, ...] = ("thr", "lat", "rate", "survey")

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

    def surveyor(self, task: Task) -> Surveyor:
        """A Surveyor0."""
        return NngSurveyor(task)

    def respondents(self, task: Task) -> Respondents:
        """Respondent0 sockets."""
        return NngRespondents(task)
