"""delivery="at_most_once": tasks that receive from Push sockets what comes while they run.

Not here: ranges, which lose nothing. Law: what a task received and did not hand on is lost with its
process: nothing of this is read twice. Offsets count batches, and nothing else.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

import meshmsg as mm

from .._protected import protected
from .options import SourceOptions
from .schema import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

LIVE_MESSAGES = 65_536
"""Messages of a record batch."""
_LOCK = threading.Lock()
_PULLS: dict[tuple[Any, ...], mm.Pull] = {}
"""The sockets of a process: what waits in one is for its next task."""


def pull_of(options: SourceOptions) -> mm.Pull:
    """Return the socket of this process, opened if there is none."""
    key = (os.getpid(), options.endpoints, options.security)
    with _LOCK:
        if key not in _PULLS:
            with protected(options.security):
                _PULLS[key] = mm.Pull(connect=list(options.endpoints))
        return _PULLS[key]


def close_pulls() -> None:
    """Close the sockets of this process."""
    with _LOCK:
        for (process, *_), pull in _PULLS.items():
            if process == os.getpid():
                pull.close()
        _PULLS.clear()


class LiveStreamReader(DataSourceStreamReader):
    """Of `readStream`: what comes within `liveWindow` seconds of each batch."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._count = 0

    def initialOffset(self) -> dict[str, Any]:
        """Return the number of no batch."""
        return {"live": 0}

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        """Return the number of the next batch: there is always one."""
        self._count += 1
        return {"live": self._count}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return tasks that receive; their ranges are those of the clock."""
        self._count = max(self._count, start["live"], end["live"])  # also behind a restart
        if start == end:
            return []
        return [InputPartition(at) for at in range(self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Receive for `liveWindow` seconds, in an executor."""
        return received(pull_of(self._options), self._options)


def received(pull: mm.Pull, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """Receive batches until the time is up."""
    until = time.monotonic() + options.live_window
    while (left := until - time.monotonic()) > 0:
        try:
            messages = pull.recv_many(LIVE_MESSAGES, timeout=left)
        except mm.TimedOutError:
            return
        yield live_batch(messages, options)


def live_batch(messages: list[mm.Message], options: SourceOptions) -> pa.RecordBatch:
    """Return received messages as the columns that were asked for."""
    import pyarrow as pa

    rows = len(messages)
    made: dict[str, Any] = {
        "value": [bytes(one) for one in messages],
        "key": [one.key for one in messages],
        "topic": [options.topic] * rows,
        "timestamp": [
            None if one.timestamp is None else int(one.timestamp * 1e6) for one in messages
        ],
        "headers": [
            [
                {"key": name, "value": value.encode() if isinstance(value, str) else value}
                for name, value in one.headers.items()
            ]
            for one in messages
        ],
        "endpoint": [",".join(options.endpoints)] * rows,
    }
    schema = arrow_schema(options.columns)
    return pa.RecordBatch.from_arrays(
        [pa.array(made.get(one.name, [None] * rows), type=one.type) for one in schema],
        schema=schema,
    )
