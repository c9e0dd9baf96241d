"""Two machines, one scenario: the sender leads, the receiver serves, over a Req and a Rep.

Each has the same scenario file; only numbers and names of it travel, so a stranger who asks can
make the receiver do nothing but the steps of its own file. Law: the machines' clocks are compared
before each step, and the uncertainty (half the shortest round trip) stands in the record; a side
that went away is noticed, and the other one ends with a sentence.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import meshmsg

from ..base.hosts import LOOPBACK, host_of, reached
from ..base.need import BenchError
from ..scenarios.scenario import Scenario
from .stage import Consumers, Facts, limit_of

COMPARISONS = 50
MEET_S = 30.0
"""How long the sender looks for the receiver."""
PATIENCE_S = 600.0
"""How long the other side may take for one thing, besides what a step may take."""
ABANDON_S = 2.0
"""How long the sender tries to tell that it gave up, or that all is done."""
GONE_S = 10.0
"""How long a sender that began may be without a connection until it counts as gone."""
LOOK_S = 0.2
"""How often the receiver looks whether it is."""
DRAIN_S = 5.0
"""How long the last answer may take to arrive."""
LOST = "the receiver is gone"


class Served:
    """The receiving side: does what it is asked, step by step, until all is done."""

    def __init__(self, scenario: Scenario, url: str, *, insecure: bool) -> None:
        try:
            self._rep = meshmsg.Rep(bind=url, insecure=insecure)
        except meshmsg.InsecureBindError:
            raise BenchError(
                f"--meet {url} is outside loopback, where anybody may ask: --insecure allows it"
            ) from None
        except (meshmsg.MeshError, ValueError) as error:
            raise BenchError(f"--meet {url}: {error}") from None
        self.endpoint = self._rep.endpoint
        host = host_of(self.endpoint) or LOOPBACK
        self._consumers = Consumers(scenario, insecure=insecure, host=host)
        self._scenario = scenario
        self._begun = threading.Event()
        self._gone = False

    def serve(self) -> None:
        """Serve one sender to its end."""
        try:
            with self._rep, self._watched():
                while not self._serve_one():
                    pass
                self._rep.drain(timeout=DRAIN_S)
        except meshmsg.MeshError as error:
            gone = f"the sender went away, and was not back within {GONE_S:g} s"
            raise BenchError(gone if self._gone else str(error)) from None
        finally:
            self._consumers.abandon(BenchError("the receiver ends"))

    def _serve_one(self) -> bool:
        """Do one thing; whether all is done."""
        request = self._rep.recv()
        done = False
        try:
            asked = json.loads(request)
            answer = self._answer(asked)
            done = asked["do"] == "done"
        except (BenchError, ValueError, KeyError, TypeError, IndexError) as error:
            answer = {"error": str(error) or type(error).__name__}
            if isinstance(error, BenchError):
                self._consumers.abandon(error)
        request.reply(json.dumps(answer).encode())
        return done

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Look for the sender meanwhile."""
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    def _watch(self, ended: threading.Event) -> None:
        """End all when a sender that began is gone: whoever waits here, waits for ever else."""
        away_s = 0.0
        while not ended.wait(LOOK_S):
            try:
                away = self._begun.is_set() and not self._rep.peers()
            except meshmsg.ClosedError:
                return  # all is done, or somebody else ended it
            away_s = away_s + LOOK_S if away else 0.0
            if away_s > GONE_S:
                self._gone = True
                self._rep.close()
                self._consumers.kill()
                return

    def _answer(self, asked: Any) -> Facts:
        do = asked["do"]
        if do == "clock":
            return {"ns": time.monotonic_ns()}
        if do == "begin":
            if asked["peer"] not in self._scenario.peers or asked["step"] < 0:
                raise BenchError("that is not in the scenario of this side")
            self._begun.set()
            return self._consumers.begin(
                asked["step"], asked["peer"], bool(asked["warming"]), int(asked["offset_ns"])
            )
        if do == "ready":
            self._consumers.ready()
            return {}
        if do == "results":
            return self._consumers.results()
        if do == "broker_use":
            return dict(self._consumers.broker_use())
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

    def __init__(self, url: str, scenario: Scenario) -> None:
        """Look for it."""
        self._scenario = scenario
        self._host = host_of(url) or LOOPBACK
        self._patience_s = PATIENCE_S
        self._begun = self._lost = False
        self.uncertain_ns = 0
        try:
            self._req = meshmsg.Req(connect=url)
        except (meshmsg.MeshError, ValueError) as error:
            raise BenchError(f"--meet {url}: {error}") from None
        try:
            self._look(
                f"no receiver at {url} within {MEET_S:g} s: it is to be started first, with the "
                "same scenario, --role receiver and the same --meet"
            )
        except BaseException:
            self._req.close()
            raise

    def __enter__(self) -> Distant:
        """It is there."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Let the receiver end, if all is done; else it notices by itself."""
        with self._req:
            if error is None and not self._lost:
                with suppress(meshmsg.MeshError):
                    self._req.request(b'{"do": "done"}', timeout=ABANDON_S)

    def _look(self, otherwise: str) -> None:
        """Be sure that it is there: a question to nobody would wait long."""
        if self._lost:
            raise BenchError(LOST)
        try:
            self._req.wait_for_peers(1, timeout=MEET_S)
        except meshmsg.MeshError as error:
            self._lost = True
            late = isinstance(error, meshmsg.TimedOutError)
            raise BenchError(otherwise if late else f"{LOST}: {error}") from None

    def _ask(self, do: str, **more: Any) -> Facts:
        message = json.dumps({"do": do, **more}).encode()
        if do != "clock":  # its time is taken
            self._look(f"{LOST}, and was not back within {MEET_S:g} s")
        try:
            answer: Facts = json.loads(self._req.request(message, timeout=self._patience_s))
        except meshmsg.MeshError as error:
            self._lost = True
            raise BenchError(f"{LOST}: {error}") from None
        except ValueError:
            raise BenchError("who answers there is no receiver of this bench") from None
        if not isinstance(answer, dict):
            raise BenchError("who answers there is no receiver of this bench")
        if "error" in answer:
            raise BenchError(f"the receiver: {answer['error']}")
        return answer

    def compare_clocks(self) -> int:
        """How far the receiver's clock is ahead of this one, in nanoseconds.

        What is less than uncertain is nothing: clocks of two machines, which count from when each
        was started, are not that near, and one machine has one clock.
        """
        best: tuple[int, int] | None = None
        for _ in range(COMPARISONS):
            before = time.monotonic_ns()
            there = int(self._ask("clock")["ns"])
            after = time.monotonic_ns()
            found = (after - before, there - (before + after) // 2)
            best = min(best, found) if best else found
        assert best is not None
        self.uncertain_ns = best[0] // 2
        return best[1] if abs(best[1]) > self.uncertain_ns else 0

    def begin(self, number: int, name: str, warming: bool, offset_ns: int = 0) -> dict[str, str]:
        """Start the consumers there."""
        self._look(f"{LOST}, and was not back within {MEET_S:g} s")
        offset_ns = self.compare_clocks()
        self._patience_s = PATIENCE_S + limit_of(self._scenario.steps[number])
        self._begun = True
        there = self._ask("begin", step=number, peer=name, warming=warming, offset_ns=offset_ns)
        return {name: reached(url, self._host) for name, url in there.items()}

    def ready(self) -> None:
        """Wait until all are warm."""
        self._ask("ready")

    def results(self) -> dict[str, Facts]:
        """What they received."""
        return self._ask("results")

    def broker_use(self) -> dict[str, float]:
        """What the broker used there."""
        return self._ask("broker_use")

    def end(self) -> dict[str, Facts]:
        """Let them end."""
        return self._ask("end")

    def finish(self) -> None:
        """Be done with the step."""
        self._ask("finish")
        self._begun = False

    def abandon(self, error: BaseException) -> None:
        """Be done with a step that failed, if it began; without waiting for it long."""
        begun, self._begun = self._begun, False
        if begun and not self._lost:
            with suppress(meshmsg.MeshError):
                self._req.request(b'{"do": "abandon"}', timeout=ABANDON_S)
