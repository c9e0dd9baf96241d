"""The producer: reads the records and hands them out to the tasks that ask.

A process of its own: `python -m examples.demo.producer --telemetry URL --passes N --partitions N`.
It tells the collector its endpoint, then its counts, and ends when every record is acknowledged
and every task has been told that there is no more.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys

import meshmsg
from meshmsg.patterns import WorkQueue

from . import records
from .children import leave_with_parent
from .meter import BACKLOG, Meter, tell


def main(arguments: list[str]) -> int:
    """Hand everything out; 0 when all of it was acknowledged."""
    parser = argparse.ArgumentParser(prog="examples.demo.producer")
    parser.add_argument("--telemetry", required=True)
    parser.add_argument("--passes", type=int, required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--timeout", type=float, required=True)
    options = parser.parse_args(arguments)
    leave_with_parent()
    with (
        meshmsg.Push(connect=options.telemetry) as push,
        WorkQueue(batch_messages=options.batch, backlog_messages=20_000) as queue,
    ):
        push.wait_for_peers(1, timeout=10)
        tell(push, "ready", endpoint=queue.endpoint)
        sockets = {"producer PUSH, out": queue.socket_stats}
        numbers = {
            "sent": lambda: queue.stats().put - queue.stats().waiting,
            BACKLOG: lambda: queue.stats().waiting,
        }
        queue.wait_for_workers(options.partitions, timeout=options.timeout)
        with Meter(push, sockets, numbers):
            sent = queue.put_many(records.stream(options.passes), timeout=options.timeout)
            queue.finish()
            report = queue.join(workers=options.partitions, timeout=options.timeout)
        assert sent == report.put
        tell(push, "done", who="producer", **dataclasses.asdict(report))
        push.drain(timeout=10).raise_for_loss()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
