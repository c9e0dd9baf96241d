"""What only users of Spark need.

The work queue whose records Spark's tasks ask for needs no Spark and lives in `meshmsg.patterns`;
its names are here, too, as here is where users of Spark look for them.  `import meshmsg` does not
import this package.

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

from meshmsg.patterns import WorkBatch as WorkBatch
from meshmsg.patterns import Worker as Worker
from meshmsg.patterns import WorkQueue as WorkQueue
from meshmsg.patterns import WorkStats as WorkStats
from meshmsg.patterns import work as work

__all__ = ["WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"]
