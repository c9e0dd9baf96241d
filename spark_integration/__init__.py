"""Feed Spark tasks, or any other workers, straight from the program that has the data.

`WorkQueue` runs where the records are; `work` (or `Worker`) runs inside the task and asks for
more when it has finished what it had.  Nothing here imports pyspark: a task is any code that
iterates over batches.  `import meshmsg` does not import this package.

Example, in a Spark job::

    from meshmsg.spark import work

    def partition(_: Iterable[int]) -> Iterator[int]:
        with meshmsg.Push(connect=RESULTS) as results:
            for batch in work(WORK):
                results.send_many(transform(record) for record in batch)
                results.drain(timeout=30).raise_for_loss()   # only now ask for more
            yield batch_count

    spark.sparkContext.parallelize(range(2), 2).mapPartitions(partition).collect()
"""

from ._ledger import WorkStats as WorkStats
from ._queue import WorkQueue as WorkQueue
from ._worker import WorkBatch as WorkBatch
from ._worker import Worker as Worker
from ._worker import work as work

__all__ = ["WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"]
