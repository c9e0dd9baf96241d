"""What runs in Spark's workers between the source and the sums: a line becomes numbers.

Importable by the executors, so that only its name is pickled. One worker kills itself in the
middle, once: the task is tried again, and reads the same messages.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "file int, month int, first double, second double"
KILLED, AGAIN = "killed", "again-"
"""Files that say that a worker killed itself, and that a task was tried again."""


@dataclass(frozen=True)
class Kill:
    """When a worker kills itself."""

    folder: str
    """Where it notes that it did: there is one kill, however often a task is tried."""
    offset: int
    """At the first message of a spool from this number on; 0: never."""

    def due(self, last: int) -> bool:
        """Whether to do it now, having read a message of that number; it is told once."""
        if not self.offset or last < self.offset:
            return False
        try:
            os.close(os.open(Path(self.folder) / KILLED, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def parsed(kill: Kill, batches: Iterable[Any]) -> Iterator[Any]:
    """Parse record batches of `value` and `offset`."""
    import pyarrow as pa
    from pyspark import TaskContext

    from examples.demo import records

    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber():
        (Path(kill.folder) / f"{AGAIN}{context.taskAttemptId()}").touch()
    for batch in batches:
        rows = [records.parse(value) for value in batch.column("value").to_pylist()]
        if rows and kill.due(batch.column("offset")[-1].as_py()):
            os.kill(os.getpid(), signal.SIGKILL)
        columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
        kinds = (pa.int32(), pa.int32(), pa.float64(), pa.float64())
        arrays = [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=["file", "month", "first", "second"])


def killed(folder: str | Path) -> tuple[bool, int]:
    """Whether a worker killed itself, and how many tasks were tried again."""
    return (Path(folder) / KILLED).exists(), len(list(Path(folder).glob(f"{AGAIN}*")))
