"""The writers of Spark 4.0: of batches by Arrow, of streams by rows.

Not here: sending (sending.py), and streams by Arrow (arrow_stream_writer.py). Law: a writer is
pickled: it has options and names, and nothing that is open.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)

from .._source.schema import arrow_schema
from .options import CONTENT, SinkOptions
from .ordering import ORDER
from .sending import name_of, send

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("meshmsg.spark")
ROWS_AT_ONCE = 1_000
"""Rows that are made one record batch, where Spark gives rows."""
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass
class Sent(WriterCommitMessage):
    """What a task has sent.

    Attributes:
        partition: Which one.
        rows: How many.
        octets: Of their values.
    """

    partition: int
    rows: int
    octets: int


def of_task() -> TaskContext:
    """Return the task that this is.

    Raises:
        RuntimeError: It is none.
    """
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this is no task of Spark's")
    return context


def sent(batches: Iterable[pa.RecordBatch], options: SinkOptions, *whose: object) -> Sent:
    """Send the rows of this task; their name has the order in it, if that is ours."""
    partition = of_task().partitionId()
    order = (ORDER,) if options.row_order == CONTENT else ()
    rows, octets = send(batches, options, name_of(*whose, partition, *order))
    return Sent(partition, rows, octets)


def sent_of_stream(batches: Iterable[pa.RecordBatch], options: SinkOptions) -> Sent:
    """Send the rows of this task, which has them of a batch of a stream."""
    context = of_task()
    query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if query is None or batch is None:
        raise RuntimeError("Spark does not say which query and batch this task is of")
    return sent(batches, options, query, batch)


def told(messages: Iterable[Any], what: str) -> None:
    """Log what became of a job."""
    done = [one for one in messages if isinstance(one, Sent)]
    LOG.info(
        "%s: %d rows, %d bytes, by %d tasks",
        what,
        sum(one.rows for one in done),
        sum(one.octets for one in done),
        len(done),
    )


class BatchWriter(DataSourceArrowWriter):
    """Of `df.write`: one name for the job, so that tasks that run again send under it; or that of
    the user, so that the same write is known again."""

    def __init__(self, options: SinkOptions, columns: tuple[str, ...]) -> None:
        self._options, self._columns = options, columns
        said = options.write_id
        self._job = ("job", uuid.uuid4().hex) if said is None else ("write", said)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Send the rows of a task."""
        return sent(iterator, self._options, *self._job)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Tell what was sent."""
        told(messages, "sent")

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Tell what was sent: it stays sent."""
        told(messages, "failed, and sent all the same")


class RowStreamWriter(DataSourceStreamWriter):
    """Of `df.writeStream`, where Spark has no writer by Arrow."""

    def __init__(self, options: SinkOptions, columns: tuple[str, ...]) -> None:
        self._options, self._columns = options, columns

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Send the rows of a task."""
        return sent_of_stream(self._batches(iterator), self._options)

    def _batches(self, rows: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        """Make batches of the types that Spark has: rows without any key do not tell its type."""
        import pyarrow as pa

        schema = arrow_schema(self._columns)
        while some := list(islice(rows, ROWS_AT_ONCE)):
            table = {name: [_plain(row[name]) for row in some] for name in self._columns}
            yield pa.record_batch(table, schema=schema)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Tell what was sent."""
        told(messages, f"batch {batchId}: sent")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Tell what was sent: it stays sent."""
        told(messages, f"batch {batchId}: failed, and sent all the same")


def _plain(value: Any) -> Any:
    """Return what Arrow knows: headers as pairs, text and octets as bytes."""
    if isinstance(value, list):
        return [None if one is None else (one["key"], _plain(one["value"])) for one in value]
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, bytearray) else value
