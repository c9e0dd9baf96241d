"""Many rounds of kills of one query: two producers, a driver, and what each of them started.

Each round puts messages, has a read wait, kills while it waits, starts anew what is gone, and waits
until all was read. Law: a kill is at a read that waits for its answer, never at a time.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.spark.killing import (
    children_of,
    connected_from,
    executors_of,
    is_executor,
    kill,
    runners_of,
    workers_of,
)
from tests.support.pairs import free_endpoints, of_its_own
from tests.support.programs import running

KINDS = (
    *(("worker",), ("runner",), ("driver",), ("producer",)),
    *(("worker", "runner"), ("worker", "producer"), ("runner", "producer"), ("driver", "producer")),
    ("worker", "driver"),
    ("producer", "other producer"),
)
"""Who is killed in a round: each alone, and pairs."""
CLUSTER_KINDS = (("executor", "producer"), ("executor", "driver"), ("worker", "producer"))
"""The same, where executors are processes of their own. One that is killed is the one that reads;
others outlive a driver that is killed, until they notice."""
PUTS = 300
"""Messages of each producer in a round: of more bytes than a read gives."""
LIMIT = 400
"""Rows of a batch."""
HELD_MAX = 4
"""Up to which read of a round one waits."""
STEP_S = 300.0
"""Seconds that anything may take on a busy machine; only what is broken needs them."""


class Child:
    """A program, and the lines that it has said in all its lives."""

    def __init__(self, module: str, *arguments: object) -> None:
        self._command = [sys.executable, "-m", f"tests.spark.{module}", *arguments]
        self._stack = ExitStack()
        self._changed = threading.Condition()
        self.lines: list[tuple[str, str]] = []
        self.process: subprocess.Popen[bytes] | None = None
        self._ended: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        """Begin a life."""
        self.process = self._stack.enter_context(running(self._command, stdin=-1, stdout=-1))
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in iter(process.stdout.readline, b""):
            word, _, rest = line.decode().rstrip("\n").partition(" ")
            with self._changed:
                self.lines.append((word, rest))
                self._changed.notify_all()
        with self._changed:
            self._ended = process
            self._changed.notify_all()

    def tell(self, line: str) -> None:
        """Tell it something."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def said(self, word: str) -> list[str]:
        """Return what stood behind a word, each time that it was said."""
        with self._changed:
            return [rest for one, rest in self.lines if one == word]

    def until(self, look: Callable[[], Any]) -> Any:
        """Wait until its lines are so, and return what was looked for."""
        with self._changed:
            self._changed.wait_for(lambda: look() or self._ended is self.process, STEP_S)
            found = look()
        assert found, (self._command, self.lines[-5:])
        return found

    def kill(self) -> int:
        """Kill it, and return how many processes were."""
        assert self.process is not None
        killed = kill([self.process.pid])
        assert self.process.wait(STEP_S) == -signal.SIGKILL
        return killed

    def close(self) -> None:
        """End it."""
        self._stack.close()


class Campaign:
    """The processes of one query, and what became of them."""

    def __init__(self, folder: Path, dice: Random, cluster: str | None) -> None:
        self._dice, self._upto = dice, 0
        where = [of_its_own(f"ipc://{folder}/{name}.sock") for name in "ab"]
        if cluster is not None:  # who reads is found by the port that it is connected from
            where = free_endpoints(2)
        self._orphans: list[int] = []
        self.killed: Counter[str] = Counter()
        """By who it was: how many processes were killed."""
        self._stack = ExitStack()
        with ExitStack() as stack:
            self.producers = [
                self._child(stack, "holding", folder / name, url)
                for name, url in zip("ab", where, strict=True)
            ]
            given = (folder, ",".join(where), LIMIT, *([cluster] if cluster else []))
            self.driver = self._child(stack, "driving_on", *given)
            self._stack = stack.pop_all()
        self.uuids = [one.until(lambda one=one: one.said("is"))[0] for one in self.producers]
        self.put()
        self._read_all()

    def _child(self, stack: ExitStack, module: str, *arguments: object) -> Child:
        child = Child(module, *arguments)
        stack.callback(child.close)
        return child

    def put(self) -> None:
        """Have each producer put its messages of a round."""
        self._upto += PUTS
        for one in self.producers:
            one.tell(f"upto {self._upto}")

    @property
    def count(self) -> int:
        """How many messages each producer has put."""
        return self._upto

    def again(self) -> int:
        """Return how many reads were of what had been read before."""
        found = [Counter(one.said("read")) for one in self.producers]
        return sum(count - 1 for reads in found for count in reads.values())

    def round(self, who: tuple[str, ...]) -> None:
        """Kill them while a read waits."""
        one, other = self._dice.sample(self.producers, 2)
        held, again, failed = len(one.said("held")), self.again(), len(self.driver.said("failed"))
        one.tell(f"hold {self._dice.randint(1, HELD_MAX)}")
        self.put()
        one.until(lambda: len(one.said("held")) > held)
        for name in who:
            self._kill(name, one, other)
        if "producer" not in who:
            one.tell("go")
        for name, child in (("producer", one), ("other producer", other), ("driver", self.driver)):
            if name in who:
                child.begin()
        for child in self.producers:
            child.tell(f"upto {self._upto}")
        if "runner" in who:  # Spark sees it as it plans the next batch
            self.driver.until(lambda: len(self.driver.said("failed")) > failed)
        self._read_all()
        assert who == ("runner",) or self.again() > again, who

    def _kill(self, name: str, one: Child, other: Child) -> None:
        assert self.driver.process is not None
        root = self.driver.process.pid
        if name in ("producer", "other producer"):
            killed = (one if name == "producer" else other).kill()
        elif name == "driver":
            self._orphans += (spared := executors_of(root))
            spared = [*spared, *(pid for executor in spared for pid in children_of(executor))]
            below = [pid for pid in children_of(root) if pid not in spared]
            killed = kill(below) + self.driver.kill()
        elif name == "executor":
            address = one.said("held")[-1].split()[1]
            found = executors_of(root)
            killed = kill([pid for pid in found if connected_from(address, children_of(pid))])
        else:
            killed = kill(workers_of(root) if name == "worker" else runners_of(root))
        assert killed > 0, name
        self.killed[name] += killed

    def _read_all(self) -> None:
        """Wait until the query has had all that was put."""
        want = {uuid: self._upto + 1 for uuid in self.uuids}

        def done() -> bool:
            said = self.driver.said("at")
            places = json.loads(said[-1])["p"] if said else {}
            return {uuid: one["next"] for uuid, one in places.items()} == want

        self.driver.until(done)

    def table(self) -> list[Any]:
        """End the query, and return what is in its table: see driving_on."""
        assert self.driver.process is not None
        assert self.driver.process.stdin is not None
        self.driver.process.stdin.close()
        found: list[Any] = json.loads(self.driver.until(lambda: self.driver.said("table"))[0])
        return found

    def close(self) -> None:
        """End all of them."""
        self._stack.close()
        kill([pid for pid in self._orphans if is_executor(pid)])  # that have not noticed yet


@contextmanager
def campaign(folder: Path, dice: Random, cluster: str | None = None) -> Iterator[Campaign]:
    """Begin one; in a local cluster, if its master is said."""
    made = Campaign(folder, dice, cluster)
    try:
        yield made
    finally:
        made.close()
