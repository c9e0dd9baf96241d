"""Work items to the tasks of Spark and their results back: by FanOut, and by pyzmq as one would
write it by hand. The work is none: an item is its result.

By hand: a PUSH hands items out in turn and a PULL takes results, until all came. Then end markers
go until each task has one. What a killed worker had is lost, and the job waits for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..base.need import BenchError
from ..base.task import PATIENCE

WARM_ITEMS = 1000
"""Before those that count: the job has begun, and its workers are there."""
GROUP_ITEMS = 1000
"""Items of FanOut that go together at most: they take microseconds."""
TICK_MS = 10
"""Milliseconds between two end markers."""
END = b""


def same(item: bytes) -> bytes:
    """The work."""
    return item


def worked(items: str, results: str) -> Callable[[Iterable[Any]], Iterator[int]]:
    """Return a task by hand: what it gets it sends back, up to an end marker."""

    def run(_rows: Iterable[Any]) -> Iterator[int]:
        import zmq

        done = 0
        with (
            zmq.Context() as context,
            context.socket(zmq.PULL) as pull,
            context.socket(zmq.PUSH) as push,
        ):
            pull.connect(items)
            push.connect(results)
            while (item := pull.recv()) != END:
                push.send(same(item))
                done += 1
        yield done

    return run


def fanned_rate(session: Any, tasks: int, body: bytes, count: int) -> float:
    """Items a second by FanOut, after some."""
    from meshmsg.spark import FanOut

    with FanOut(session, same, workers=tasks, group_items=GROUP_ITEMS) as fan:
        for _ in fan.map([body] * WARM_ITEMS, ordered=False):
            pass
        began = time.monotonic()
        found = sum(1 for _ in fan.map((body for _ in range(count)), ordered=False))
        took = time.monotonic() - began
    if found != count:
        raise BenchError(f"{found:,} of {count:,} items have a result")
    return count / took


def handed_rate(
    job: Callable[[Callable[[Iterable[Any]], Iterator[int]]], object],
    tasks: int,
    body: bytes,
    count: int,
) -> float:
    """Items a second by pyzmq, after some; `job` runs so many tasks, and returns as they end."""
    import zmq

    with (
        zmq.Context() as context,
        context.socket(zmq.PUSH) as push,
        context.socket(zmq.PULL) as pull,
    ):
        pull.setsockopt(zmq.RCVTIMEO, round(PATIENCE * 1000))
        for one in (push, pull):
            one.bind("tcp://127.0.0.1:*")
        where = [one.getsockopt_string(zmq.LAST_ENDPOINT) for one in (push, pull)]
        running = threading.Thread(target=job, args=(worked(*where),))
        running.start()
        _round(push, pull, body, WARM_ITEMS * tasks)
        began = time.monotonic()
        _round(push, pull, body, count)
        took = time.monotonic() - began
        while running.is_alive():
            if push.poll(TICK_MS, zmq.POLLOUT):
                push.send(END)
            running.join(TICK_MS / 1000)
        push.setsockopt(zmq.LINGER, 0)
    return count / took


def _round(push: Any, pull: Any, body: bytes, count: int) -> None:
    """Hand out so many, and take as many results."""

    def hand_out() -> None:
        for _ in range(count):
            push.send(body)

    handing = threading.Thread(target=hand_out)
    handing.start()
    for _ in range(count):
        pull.recv()
    handing.join()
