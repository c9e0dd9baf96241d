"""What runs inside a Spark task: open the sockets, ask, parse, push, until there is no more.

Importable by the executors, so that only its name is pickled.  A batch is acknowledged (by asking
for the next) only after the collector has confirmed its results: a task may be killed anywhere.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import meshmsg
from meshmsg.spark import WorkBatch, Worker

from . import records
from .meter import Meter


@dataclass(frozen=True)
class Plan:
    """What the driver tells every task."""

    work: str
    """The endpoint of the producer's work queue."""
    results: str
    """The endpoint of the collector."""
    telemetry: str
    """Where samples go."""
    kill_after_batches: int
    """Partition 0 kills itself, once, after pushing the results of this batch; 0: never."""


@dataclass(frozen=True)
class TaskReport:
    """What a task gives back to Spark."""

    partition: int
    attempt: int
    pid: int
    taken: int
    pushed: int


def run(plan: Plan, partition: int, attempt: int) -> TaskReport:
    """Work until the queue says that there is no more."""
    taken = batches = 0
    name = f"task {partition}"
    with (
        meshmsg.Push(connect=plan.results) as results,
        meshmsg.Push(connect=plan.telemetry) as telemetry,
        Worker(plan.work) as worker,
        Meter(
            telemetry,
            {f"{name} PULL, in": worker.stats, f"{name} PUSH, out": results.stats},
            {},
        ),
    ):
        for batch in worker:
            batches += 1
            results.send_many(answers(partition, batch), timeout=60)
            results.drain(timeout=60).raise_for_loss()
            if partition == 0 and attempt == 0 and batches == plan.kill_after_batches:
                os.kill(os.getpid(), signal.SIGKILL)  # after the results, before acknowledging
            taken += len(batch)
        pushed = results.stats().sent_messages
        results.send(records.END + records.LAST.pack(partition, taken, pushed), timeout=60)
        results.drain(timeout=60).raise_for_loss()
    return TaskReport(partition, attempt, os.getpid(), taken, pushed)


def answers(partition: int, batch: WorkBatch) -> Iterator[bytes]:
    """One result for each record of a batch."""
    pack, parse = records.RESULT.pack, records.parse
    for sequence, record in batch.numbered():
        yield pack(sequence, partition, *parse(record))
