"""One process of a measurement: `python -m meshmsg.bench._peer` with its task as JSON argument.

It speaks JSON lines with its parent: first {"endpoint": ...} from the end that binds, then
{"ready": true} when one message has passed; the end that connects then measures on the line "go",
reports, and on another "go" closes.
Law: the clock runs only between the first and the last measured message of this end.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ._libraries import LATENCY, THROUGHPUT, End

Say = Callable[[dict[str, object]], None]
Go = Callable[[], None]


@dataclass(frozen=True)
class Task:
    """What one end shall do."""

    kind: str
    """thr or lat."""
    library: str
    binds: bool
    url: str
    size: int
    count: int


def run(task: Task, say: Say, go: Go) -> None:
    """Open the end, pass one message, wait for the word, measure, report."""
    ends = (THROUGHPUT if task.kind == "thr" else LATENCY)[task.library]
    end = ends[0 if task.binds else 1](task.url)
    body = b"x" * task.size
    try:
        if task.binds:
            say({"endpoint": end.endpoint})
        end.move(body, 1)
        say({"ready": True})
        if not task.binds:
            go()
        say(_throughput(end, body, task) if task.kind == "thr" else _latency(end, body, task))
        if not task.binds:
            go()  # the other end has everything: closing can take nothing away
    finally:
        end.close()


def _throughput(end: End, body: bytes, task: Task) -> dict[str, object]:
    if task.binds:
        end.move(body, 1)  # a receiver's clock starts with the first message
    start = time.perf_counter()
    end.move(body, task.count - task.binds)
    return {"count": task.count - task.binds, "seconds": time.perf_counter() - start}


def _latency(end: End, body: bytes, task: Task) -> dict[str, object]:
    if task.binds:
        end.move(body, task.count)
        return {"count": task.count}
    times = []
    for _ in range(task.count):
        start = time.perf_counter_ns()
        end.move(body, 1)
        times.append(time.perf_counter_ns() - start)
    times.sort()
    return {
        "count": task.count,
        "p50_us": times[len(times) // 2] / 1000,
        "p99_us": times[min(len(times) - 1, len(times) * 99 // 100)] / 1000,
    }


def both(first: Task, second: Task) -> tuple[dict[str, object], dict[str, object]]:
    """Both ends in this process, as threads: what inproc needs."""
    said: queue.Queue[dict[str, object]] = queue.Queue()
    results: dict[bool, list[dict[str, object]]] = {True: [], False: []}

    def end(task: Task) -> None:
        def say(fact: dict[str, object]) -> None:
            results[task.binds].append(fact)
            said.put(fact)

        run(task, say, lambda: None)

    threads = [threading.Thread(target=end, args=(task,), daemon=True) for task in (first, second)]
    threads[0].start()
    said.get()  # the endpoint: bound
    threads[1].start()
    for thread in threads:
        thread.join()
    return results[True][-1], results[False][-1]


def main() -> None:
    """Run as a process."""
    given = json.loads(sys.argv[1])

    def say(fact: dict[str, object]) -> None:
        print(json.dumps(fact), flush=True)

    if "first" in given:
        for fact in both(Task(**given["first"]), Task(**given["second"])):
            say(fact)
    else:
        run(Task(**given), say, lambda: wait_for_go(sys.stdin.readline()))


def wait_for_go(line: str) -> None:
    """The parent's word; anything else means that it is gone."""
    if line.strip() != "go":
        raise SystemExit("the parent is gone")


if __name__ == "__main__":
    main()
