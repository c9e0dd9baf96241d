"""A DataFrame that is none: attempts at one partition, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

from meshmsg.spark.rows import _task
from tests.spark.support import Session


class Rows:
    """Each attempt has these rows; all run at once, and the last one counts for Spark."""

    def __init__(self, *attempts: Sequence[bytes | None], batch_rows: int = 10_000) -> None:
        self.sparkSession = Session()
        self._attempts = attempts
        self._batch_rows = batch_rows
        self._task: Callable[[Any], Any] = list
        self.cancelled = False

    def __getitem__(self, name: str) -> Rows:
        return self

    def cast(self, kind: str) -> Rows:
        """Be binary."""
        return self

    alias = select = cast

    def mapInArrow(self, task: Callable[[Any], Any], schema: str) -> Rows:
        """Take what each attempt runs."""
        self._task = task
        return self

    def collect(self) -> list[list[int]]:
        """Run them; what the last one told, or what one raised."""
        errors: list[BaseException] = []
        told: dict[int, list[list[int]]] = {}

        def run(number: int) -> None:
            try:
                batches = self._task(iter(self._batches(self._attempts[number])))
                told[number] = [[id_] for batch in batches for id_ in batch["id"].to_pylist()]
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(self._attempts))]
        with patch.object(_task, "Push", self.sparkSession.sparkContext.push):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return told[len(self._attempts) - 1]

    def _batches(self, rows: Sequence[bytes | None]) -> list[Any]:
        import pyarrow as pa

        return [
            pa.record_batch({"value": pa.array(rows[i : i + self._batch_rows], pa.binary())})
            for i in range(0, len(rows), self._batch_rows)
        ]
