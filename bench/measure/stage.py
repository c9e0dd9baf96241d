"""The processes of one step: consumers on the receiving side, producers on the sending side.

Both sides may be on one machine or on two (meet.py). Law: consumers are there before producers
start, all are warm before any is told to go, and nothing ends before everything was received.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ..base.hosts import LOOPBACK, host_of, is_loopback
from ..base.need import BenchError
from ..base.task import Task
from ..peers.roster import peer_named
from ..peers.seam import Peer
from ..scenarios.scenario import Producer, Scenario, Step
from .launch import LIMIT, Process, processes, scratch, time_for, url_for

WARM = 100
WARM_SECONDS = 1.0
"""How long the warm-up round runs at most, where there is a rate."""
WARM_PART = 10
"""The part of the messages a warm-up round sends, where there is none."""
Facts = dict[str, Any]


def messages_of(one: Producer, warming: bool) -> int:
    """How many it sends in this round."""
    if not warming:
        return one.messages
    most = one.rate * WARM_SECONDS if one.rate else one.messages / WARM_PART
    return max(2, one.burst, min(one.messages, round(most)))


def limit_of(step: Step) -> float:
    """Seconds a step may take: its schedules run at the same time, what has none takes turns."""
    needs = [(one.rate, time_for(one.messages, one.size, one.rate)) for one in step.producers]
    longest = max((time for rate, time in needs if rate), default=0.0)
    return LIMIT + longest + sum(time for rate, time in needs if not rate)


class Consumers:
    """The receiving side of one step after the other, on this machine."""

    def __init__(self, scenario: Scenario, *, insecure: bool = False, host: str = LOOPBACK) -> None:
        """host: as what this machine is reached; consumers that say nothing else bind there."""
        self._scenario, self._insecure, self._host = scenario, insecure, host
        self._stack = ExitStack()
        self._running: dict[str, Process] = {}
        self._peer: Peer | None = None

    def begin(self, number: int, name: str, warming: bool, offset_ns: int = 0) -> dict[str, str]:
        """Start the consumers of a step; where each is to be found."""
        self.finish()
        step, peer = self._scenario.steps[number], peer_named(name)
        self._check_places(step)
        self._peer = peer
        start = self._stack.enter_context(processes(limit_of(step)))
        there = {}
        for one in step.consumers:
            url = self._stack.enter_context(url_for(peer, step.transport, one.bind, self._host))
            first = next(p for p in step.producers if p.to == one.name)
            task = Task(
                step.kind,
                name,
                True,
                url,
                first.size,
                messages_of(first, warming),
                WARM,
                ends=step.ends_at(one.name),
                offset_ns=offset_ns,
                insecure=self._insecure,
            )
            self._running[one.name] = process = start(peer.command(task))
            there[one.name] = str(process.line()["endpoint"])
        return there

    def _check_places(self, step: Step) -> None:
        """Refuse what the other side would not reach, and what nobody allowed."""
        if step.transport == "ipc" and not is_loopback(self._host):
            raise BenchError(f"ipc stays on one machine, and the two meet at {self._host}")
        for one in step.consumers:
            inside = step.transport != "tcp" or is_loopback(host_of(one.bind) or LOOPBACK)
            if not (inside or self._insecure):
                raise BenchError(f"{one.name} would bind {one.bind}: --insecure allows it")

    def ready(self) -> None:
        """Wait until all are warm."""
        for process in self._running.values():
            process.line()
        if self._peer is not None:
            self._peer.measuring()

    def results(self) -> dict[str, Facts]:
        """What they received, when all have everything."""
        return {name: process.line() for name, process in self._running.items()}

    def broker_use(self) -> dict[str, float]:
        """What the broker used since all were warm; empty where there is none."""
        return self._peer.broker_use() if self._peer is not None else {}

    def kill(self) -> None:
        """End them now, from any thread; who leads them gets an error."""
        for process in list(self._running.values()):
            process.kill()

    def end(self) -> dict[str, Facts]:
        """Let them end; what they used."""
        for process in self._running.values():
            process.word("end")
        return {name: process.line() for name, process in self._running.items()}

    def finish(self) -> None:
        """Be done with the step, whatever state it is in."""
        self._running = {}
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    def abandon(self, error: BaseException) -> None:
        """Be done with a step that failed: what still runs is killed."""
        self._running = {}
        stack, self._stack = self._stack, ExitStack()
        stack.__exit__(type(error), error, error.__traceback__)


def produce(
    scenario: Scenario, number: int, name: str, warming: bool, side: Any, offset_ns: int = 0
) -> Facts:
    """Run one step once; what everybody said, by name, and what they used."""
    step, peer = scenario.steps[number], peer_named(name)
    try:
        there = side.begin(number, name, warming, offset_ns)
        with scratch() as folder, processes(limit_of(step)) as start:
            running: dict[str, Process] = {}
            for index, one in enumerate(step.producers):
                task = Task(
                    step.kind,
                    name,
                    False,
                    there[one.to],
                    one.size,
                    messages_of(one, warming),
                    WARM,
                    scenario.seed,
                    number=index,
                    folder=folder,
                )
                task = replace(task, connections=one.connections, rate=one.rate, burst=one.burst)
                running[one.name] = start(peer.command(replace(task, blocking=one.blocking)))
            for process in running.values():
                process.line()
            side.ready()
            for process in running.values():
                process.word("go")
            sent = {name: process.line() for name, process in running.items()}
            received = side.results()
            broker_use = side.broker_use()
            for process in running.values():
                process.word("end")
            used = {name: process.line() for name, process in running.items()}
            received_use = side.end()
    except BaseException as error:
        side.abandon(error)
        raise
    side.finish()
    return {
        "sent": sent,
        "received": received,
        "used": used,
        "received_use": received_use,
        "broker_use": broker_use,
    }
