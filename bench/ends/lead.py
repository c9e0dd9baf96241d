"""Leads the ends of a measurement through it, two or one and the many around it: as processes, or
(inproc) threads.

Not here: what an end does (the files beside), who starts processes (measure/launch.py), and the two
sides of a scenario (measure/stage.py). Law: both ways take the same steps, so that their figures
mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from ..base.task import Task

Fact = dict[str, Any]


class Led(Protocol):
    """An end that is led."""

    def line(self) -> Fact:
        """What it says next."""

    def word(self, word: str) -> None:
        """Tell it to go on."""


@dataclass(frozen=True)
class Gathered:
    """What the ends said, the one that binds first, and what their processes used."""

    said: list[Fact]
    used: list[Fact]
    """As many as there are ends; over inproc only one: of the process that has them all."""

    def use(self) -> Fact:
        """CPU and memory as figures would have it: what stands for the sender, and for others."""
        one, *others = self.used
        return {
            **({"sender_cpu_s": one["cpu_s"], "sender_rss_mb": one["rss_mb"]} if others else {}),
            "receiver_cpu_s": sum(end["cpu_s"] for end in others or [one]),
            "receiver_rss_mb": sum(end["rss_mb"] for end in others or [one]),
            "cpu_s": sum(end["cpu_s"] for end in self.used),
        }

    def use_figures(self, count: int) -> dict[str, float]:
        """The same, CPU as microseconds each."""
        return {
            name.replace("_cpu_s", "_cpu_us").replace("cpu_s", "cpu_us"): value * 1e6 / count
            if name.endswith("cpu_s")
            else value
            for name, value in self.use().items()
        }


Start = Callable[[Task], Led]


def nothing() -> None:
    """Where there is nothing to be done."""


@dataclass(frozen=True)
class Around:
    """What is done around what is measured, by whoever leads: what a broker uses is read then."""

    warm: Callable[[], None] = nothing
    """All are warm, and nothing was measured yet."""
    done: Callable[[], None] = nothing
    """All is measured, and nothing was closed yet."""


Lead = Callable[[Start, Sequence[Task], Around], Gathered]


def opened(start: Start, tasks: Sequence[Task]) -> list[Led]:
    """Start the end that binds, then those that connect to it; all are warm afterwards."""
    one = start(tasks[0])
    url = one.line()["endpoint"]
    ends = [one, *(start(replace(task, url=url)) for task in tasks[1:])]
    for end in ends:
        end.line()  # ready
    return ends


def ended(ends: Sequence[Led]) -> list[Fact]:
    """Let them end; what they used."""
    for end in ends:
        end.word("end")
    return [end.line() for end in ends]


def lead_pair(start: Start, tasks: Sequence[Task], around: Around) -> Gathered:
    """The end that connects begins, and the one that binds says when it has everything."""
    ends = opened(start, tasks)
    around.warm()
    ends[1].word("go")
    said = [ends[1].line(), ends[0].line()]
    around.done()
    return Gathered(said[::-1], ended(ends))


def lead_one(start: Start, tasks: Sequence[Task], around: Around) -> Gathered:
    """The end that binds begins; the others do what comes of it."""
    ends = opened(start, tasks)
    around.warm()
    ends[0].word("go")
    said = [end.line() for end in ends]
    around.done()
    return Gathered(said, ended(ends))


def lead_others(start: Start, tasks: Sequence[Task], around: Around) -> Gathered:
    """The others begin, and go on when the end that binds has them all."""
    ends = opened(start, tasks)
    around.warm()
    for end in ends[1:]:
        end.word("go")
    served = ends[0].line()
    for end in ends[1:]:
        end.word("idle")
    said = [served, *(end.line() for end in ends[1:])]
    around.done()
    return Gathered(said, ended(ends))


LEADS: dict[str, Lead] = {
    "thr": lead_pair,
    "lat": lead_pair,
    "rate": lead_pair,
    "fanout": lead_one,
    "survey": lead_one,
    "credits": lead_one,
    "unacked": lead_one,
    "connections": lead_others,
    "append": lead_one,
    "replay": lead_one,
    "opening": lead_one,
    "backlog": lead_pair,
}
"""By kind of measurement."""


class ThreadEnd:
    """An end that is a thread of this process."""

    def __init__(self, work: Callable[[Callable[[Fact], None], Callable[[str], None]], None]):
        self._said: SimpleQueue[Fact | BaseException] = SimpleQueue()
        self._words: SimpleQueue[str] = SimpleQueue()
        self._work = work
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work(self._said.put, self._hear)
        except BaseException as error:
            self._said.put(error)

    def _hear(self, word: str) -> None:
        heard = self._words.get()
        assert heard == word, f"{heard} instead of {word}"

    def line(self) -> Fact:
        """What it says next; or what stopped it, raised here."""
        said = self._said.get()
        if isinstance(said, BaseException):
            raise said
        return said

    def word(self, word: str) -> None:
        """Tell it to go on."""
        self._words.put(word)

    def join(self) -> None:
        """Wait until it has closed its end."""
        self._thread.join()
