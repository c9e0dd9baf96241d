"""The one shape all peers have: ends of a measurement, and who makes them.

A Python peer is a Peer whose methods open ends in this process; a program (rivals/programs.py) is a
Peer that only has a command. Nothing here takes the time but Asker.ask_times: the clock belongs
between the call and the return, inside a loop's coroutine too.
"""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..base.task import Task

TRANSPORTS = ("tcp", "ipc", "inproc")
UP, DOWN = "up", "down"
"""What members of a mesh say of others, with when."""
ONLY_WAITS = "has no non-blocking send"
"""What a row says of a peer whose sender was not to wait, and can do nothing else."""


class End(ABC):
    """One end of a measurement."""

    endpoint: str = ""
    """Where the other end finds it, for ends that bind."""

    @abstractmethod
    def close(self) -> None:
        """Release everything."""


class Sender(End):
    """Sends; a publisher too."""

    @abstractmethod
    def send(self, body: bytes) -> None:
        """Send one message, waiting for room."""

    @abstractmethod
    def send_count(self, body: bytes, count: int) -> None:
        """Send so many equal messages, in the way that is measured."""

    def offer(self, body: bytes) -> bool:
        """Send one message if there is room now; whether it was."""
        raise BenchError(ONLY_WAITS)

    def flush(self) -> None:
        """Send what is only collected yet."""

    def wait_for_subscribers(self, count: int) -> None:
        """Of a publisher, or of who hands out work: wait until so many would get what it sends."""
        raise BenchError("this end publishes nothing")


class Receiver(End):
    """Receives; a subscriber too."""

    @abstractmethod
    def recv(self) -> bytes:
        """Receive one message."""

    @abstractmethod
    def recv_count(self, count: int) -> None:
        """Receive so many, in the way that is measured."""


class Worker(End):
    """Takes work from who hands it out; it connects."""

    @abstractmethod
    def take(self, seconds: float) -> bytes | None:
        """The next message, being done with the one before; None if none comes in that time."""


class Asker(End):
    """Asks and waits for the reply."""

    @abstractmethod
    def ask(self, body: bytes) -> None:
        """Ask once, and take the reply."""

    def ask_times(self, body: bytes, count: int) -> list[int]:
        """Ask so many times; the nanoseconds each took."""
        ask, clock, times = self.ask, time.perf_counter_ns, []
        for _ in range(count):
            start = clock()
            ask(body)
            times.append(clock() - start)
        return times


class Answerer(End):
    """Answers with what it was asked."""

    @abstractmethod
    def answer_count(self, count: int) -> None:
        """Answer so many times."""


class Surveyor(End):
    """Asks many at once; it binds."""

    @abstractmethod
    def meet(self, answers: int) -> None:
        """Wait until a survey gets so many answers."""

    @abstractmethod
    def survey(self, body: bytes) -> int:
        """Ask everybody once, and take all answers; how many came."""

    def survey_times(self, body: bytes, answers: int, count: int) -> list[int]:
        """Survey so many times; the nanoseconds from asking to the last answer."""
        survey, clock, times = self.survey, time.perf_counter_ns, []
        for _ in range(count):
            start = clock()
            came = survey(body)
            times.append(clock() - start)
            if came != answers:
                raise BenchError(f"a survey got {came} answers, not {answers}")
        return times


class Respondents(End):
    """Sockets that answer surveys, each on a connection of its own."""

    @abstractmethod
    def answer_all(self) -> None:
        """Answer each survey with its question, until each has answered one of a byte."""


class Appender(End):
    """Keeps messages on a disk."""

    @abstractmethod
    def append_count(self, body: bytes, count: int) -> list[int]:
        """Keep so many, all of which are on the disk at the end.

        The nanoseconds that each took; empty, if they are kept many at once.
        """


class Replayer(End):
    """Has a spool that is full, and reads it."""

    @abstractmethod
    def replay(self) -> int:
        """Read all of it; how many messages came."""


class Opener(End):
    """Opens what was not closed."""

    @abstractmethod
    def seal(self, files: int) -> None:
        """Have so many sealed segment files, each with a message and as large as one that is full,
        but without its room on the disk."""

    @abstractmethod
    def leave(self, count: int) -> None:
        """Have a process keep so many messages, and be killed while it puts more."""

    @abstractmethod
    def forget(self) -> None:
        """Have the system keep nothing of it in memory."""

    @abstractmethod
    def open_ns(self) -> int:
        """Open and close it; the nanoseconds that opening took."""


class Peer:
    """Somebody who is measured."""

    name: str = ""
    transports: tuple[str, ...] = TRANSPORTS
    kinds: tuple[str, ...] = ("thr", "lat", "rate")
    connections_max: int = 1000
    """Connections to one receiver."""
    package: str = ""
    """The distribution whose version is told."""
    in_python: bool = True
    """Whether its ends are Python's, so that many can be threads of one process."""
    offers: bool = False
    """Whether its senders can refuse a message instead of waiting for room."""

    def missing(self) -> str | None:
        """Why it cannot be measured here; None if it can."""
        return None

    def fetch(self) -> None:
        """Fetch what it is made of, if that is not here: before anybody is measured."""

    def version(self) -> str:
        """Of what is measured, for the record."""
        try:
            return version(self.package) if self.package else ""
        except PackageNotFoundError:
            return ""

    def command(self, *tasks: Task) -> list[str]:
        """What to run as a process for one end, or (inproc) for both."""
        self.check_sending(*tasks)
        told = json.dumps([task.as_json() for task in tasks])
        return [sys.executable, "-m", f"{BENCH}.ends.process", told]

    def check_sending(self, *tasks: Task) -> None:
        """Refuse a sender that shall not wait, where there is no such thing."""
        if not self.offers and any(not one.blocking and not one.receives for one in tasks):
            raise BenchError(ONLY_WAITS)

    @contextmanager
    def place(self, url: str) -> Iterator[str]:
        """Where the ends meet, while it lasts: the URL given, or that of a broker it starts."""
        yield url

    @contextmanager
    def meeting(self) -> Iterator[str | None]:
        """What members of a mesh meet at, while it lasts; None: at the first of them."""
        yield None

    def member_command(self, name: str, seed: str | None) -> list[str]:
        """What to run as a process that is a member of a mesh, and finds the others there."""
        seeds = [] if seed is None else [seed]
        return [sys.executable, "-m", f"{BENCH}.ends.member", self.name, name, *seeds]

    def member_said(self, line: str) -> dict[str, Any]:
        """What a line of that process tells, as ends/member.py has it; empty if it is nothing."""
        told: dict[str, Any] = json.loads(line)
        return told

    def measuring(self) -> None:
        """All are warm, and nothing was measured yet: what a broker uses counts from here."""

    def broker_use(self) -> dict[str, float]:
        """CPU and memory of the broker; empty where there is none."""
        return {}

    def source_rate(self, task: Task) -> float:
        """Have Spark read, write or work on so many messages once; how many a second."""
        raise BenchError(f"{self.name} is no source of Spark")

    def trigger_costs(self, task: Task) -> dict[str, float]:
        """Read so many rows that come slowly in a stream of Spark; milliseconds, by figure."""
        raise BenchError(f"{self.name} is no stream of Spark")

    def sender(self, task: Task) -> Sender:
        """Open the end that sends."""
        raise BenchError(f"{self.name} has no sender in Python")

    def receiver(self, task: Task) -> Receiver:
        """Open the end that receives."""
        raise BenchError(f"{self.name} has no receiver in Python")

    def asker(self, task: Task) -> Asker:
        """Open the end that asks."""
        raise BenchError(f"{self.name} has no requests in Python")

    def answerer(self, task: Task) -> Answerer:
        """Open the end that answers."""
        raise BenchError(f"{self.name} has no replies in Python")

    def publisher(self, task: Task) -> Sender:
        """Open the end that publishes; it binds."""
        raise BenchError(f"{self.name} has no publisher here")

    def subscriber(self, task: Task) -> Receiver:
        """Open an end that gets all that is published; it connects."""
        raise BenchError(f"{self.name} has no subscriber here")

    def surveyor(self, task: Task) -> Surveyor:
        """Open the end that surveys."""
        raise BenchError(f"{self.name} has no surveys in Python")

    def respondents(self, task: Task) -> Respondents:
        """Open as many ends that answer surveys as the task has connections."""
        raise BenchError(f"{self.name} has no surveys in Python")

    def dispatcher(self, task: Task) -> Sender:
        """Open the end that hands out work, each message to one worker; it binds."""
        raise BenchError(f"{self.name} hands out no work here")

    def worker(self, task: Task) -> Worker:
        """Open an end that has as many messages as the task's prefetch at a time."""
        raise BenchError(f"{self.name} has no workers here")

    def keeper(self, task: Task) -> Sender:
        """Open an end that keeps what it sends until somebody comes; it binds."""
        raise BenchError(f"{self.name} keeps nothing for who comes late")

    def latecomer(self, task: Task) -> Receiver:
        """Open an end that receives what was kept until it came; it connects."""
        raise BenchError(f"{self.name} keeps nothing for who comes late")

    def appender(self, task: Task) -> Appender:
        """Open the end that keeps messages in the task's folder."""
        raise BenchError(f"{self.name} keeps nothing on a disk")

    def replayer(self, task: Task) -> Replayer:
        """Fill a spool in the task's folder, and open the end that reads it."""
        raise BenchError(f"{self.name} replays nothing")

    def opener(self, task: Task) -> Opener:
        """Open the end that opens what was left behind in the task's folder."""
        raise BenchError(f"{self.name} opens nothing that was left behind")

    def why_not(self, kind: str, transport: str) -> str | None:
        """Why this peer has no figure there; None if it has."""
        if kind not in self.kinds:
            return f"has no {kind}"
        if transport not in self.transports:
            return f"has no {transport}"
        return self.missing()
