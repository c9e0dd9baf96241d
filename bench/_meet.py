"""Two machines, one scenario: the sender leads, the receiver serves, over a Req and a Rep.

Each has the same scenario file; only numbers and names of it travel, so a stranger who asks can
make the receiver do nothing but the steps of its own file. Law: the machines' clocks are compared
before each step, and the uncertainty (half the shortest round trip) stands in the record.
"""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlsplit

import meshmsg

from ._need import BenchError
from ._scenario import Scenario
from ._stage import Consumers, Facts

COMPARISONS = 50
PATIENCE_S = 600.0
"""How long the other side may take for a step."""


class Served:
    """The receiving side: does what it is asked, step by step, until all is done."""

    def __init__(self, scenario: Scenario, url: str, *, insecure: bool) -> None:
        self._consumers = Consumers(scenario, insecure=insecure)
        self._scenario = scenario
        self._rep = meshmsg.Rep(bind=url, insecure=insecure)
        self.endpoint = self._rep.endpoint

    def serve(self) -> None:
        """Serve one sender to its end."""
        with self._rep:
            done = False
            while not done:
                request = self._rep.recv()
                try:
                    asked = json.loads(request)
                    answer = self._answer(asked)
                    done = asked["do"] == "done"
                except (BenchError, ValueError, KeyError, TypeError, IndexError) as error:
                    answer = {"error": str(error) or type(error).__name__}
                    if isinstance(error, BenchError):
                        self._consumers.abandon(error)
                request.reply(json.dumps(answer).encode())
            self._rep.drain(timeout=5)

    def _answer(self, asked: Any) -> Facts:
        do = asked["do"]
        if do == "clock":
            return {"ns": time.monotonic_ns()}
        if do == "begin":
            if asked["peer"] not in self._scenario.peers or asked["step"] < 0:
                raise BenchError("that is not in the scenario of this side")
            return self._consumers.begin(
                asked["step"], asked["peer"], bool(asked["warming"]), int(asked["offset_ns"])
            )
        if do == "ready":
            self._consumers.ready()
            return {}
        if do == "results":
            return self._consumers.results()
        if do == "end":
            return self._consumers.end()
        if do == "abandon":
            self._consumers.abandon(BenchError("the sender gave up"))
            return {}
        if do in ("finish", "done"):
            self._consumers.finish()
            return {}
        raise ValueError(f"cannot do {do!r}")


class Distant:
    """The receiving side, seen from the sender: the same calls as Consumers, over the wire."""

    def __init__(self, url: str) -> None:
        self._req = meshmsg.Req(connect=url)
        self._host = urlsplit(url).hostname or "127.0.0.1"
        self.uncertain_ns = 0

    def _ask(self, do: str, **more: Any) -> Facts:
        message = json.dumps({"do": do, **more}).encode()
        answer: Facts = json.loads(self._req.request(message, timeout=PATIENCE_S))
        if "error" in answer:
            raise BenchError(f"the receiver: {answer['error']}")
        return answer

    def compare_clocks(self) -> int:
        """How far the receiver's clock is ahead of this one, in nanoseconds."""
        best: tuple[int, int] | None = None
        for _ in range(COMPARISONS):
            before = time.monotonic_ns()
            there = int(self._ask("clock")["ns"])
            after = time.monotonic_ns()
            found = (after - before, there - (before + after) // 2)
            best = min(best, found) if best else found
        assert best is not None
        self.uncertain_ns = best[0] // 2
        return best[1]

    def begin(self, number: int, name: str, warming: bool, offset_ns: int = 0) -> dict[str, str]:
        """Start the consumers there."""
        offset_ns = self.compare_clocks()
        there = self._ask("begin", step=number, peer=name, warming=warming, offset_ns=offset_ns)
        return {name: url.replace("//0.0.0.0:", f"//{self._host}:") for name, url in there.items()}

    def ready(self) -> None:
        """Wait until all are warm."""
        self._ask("ready")

    def results(self) -> dict[str, Facts]:
        """What they received."""
        return self._ask("results")

    def end(self) -> dict[str, Facts]:
        """Let them end."""
        return self._ask("end")

    def finish(self) -> None:
        """Be done with the step."""
        self._ask("finish")

    def abandon(self, error: BaseException) -> None:
        """Be done with a step that failed."""
        if not isinstance(error, meshmsg.MeshError):
            self._ask("abandon")

    def close(self) -> None:
        """Let the receiver end."""
        self._ask("done")
        self._req.close()
