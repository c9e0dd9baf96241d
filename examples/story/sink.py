"""The sink: rows of a batch go back over meshmsg, from the executors, each acknowledged.

This is the one place that says how rows are sent: `send_rows`, as `foreachBatch` calls it. A batch
may come twice; who receives it knows by its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import meshmsg

SEND_S = 60.0
"""Seconds until rows that nobody acknowledges fail their task."""


def push_rows(endpoint: str, batch: int, rows: Iterable[Any]) -> None:
    """In a task: send rows, and return once the consumer has acknowledged all of them."""
    bodies = [json.dumps({"batch": batch, **row.asDict()}).encode() for row in rows]
    if not bodies:
        return
    with meshmsg.Push(connect=endpoint, delivery="at_least_once") as push:
        push.send_many(bodies, timeout=SEND_S)
        push.drain(timeout=SEND_S).raise_for_loss()


def send_rows(endpoint: str, frame: Any, batch: int) -> None:
    """On the driver: have the executors send the rows of a batch."""
    frame.foreachPartition(partial(push_rows, endpoint, batch))
