"""What only users of Spark need: the source `format("meshmsg")`, and tasks that open sockets, by
`FanOut`, `map_rows`, `run_tasks` and `executors_as_mesh`.

`register(spark)` makes the source known where Spark does not find it by itself, and
`progress_listener()` prints how far queries are.

The work queue that such tasks ask for records needs no Spark and lives in `meshmsg.patterns`; its
names are here, too, as here is where users of Spark look for them.  `import meshmsg` does not
import this package, nor does this package import pyspark before it needs it.

Example, in a Spark job::

    from meshmsg.spark import run_tasks, work

    def task(partition: int, attempt: int) -> int:
        done = 0
        with meshmsg.Push(connect=RESULTS) as results:
            for batch in work(WORK):
                results.send_many(transform(record) for record in batch)
                results.drain(timeout=30).raise_for_loss()   # only now ask for more
                done += len(batch)
        return done

    print(run_tasks(spark, task, count=2))
"""

from meshmsg.patterns import WorkBatch as WorkBatch
from meshmsg.patterns import Worker as Worker
from meshmsg.patterns import WorkQueue as WorkQueue
from meshmsg.patterns import WorkStats as WorkStats
from meshmsg.patterns import work as work

from ._counts import SourceCounts as SourceCounts
from ._counts import count_reads as count_reads
from ._progress import progress_listener as progress_listener
from ._register import register as register
from ._tasks import run_tasks as run_tasks
from .executors import TaskNode as TaskNode
from .executors import Topology as Topology
from .executors import executors_as_mesh as executors_as_mesh
from .fanout import FanOut as FanOut
from .fanout import FanOutError as FanOutError
from .fanout import FanOutStats as FanOutStats
from .fanout import ItemError as ItemError
from .rows import RowStats as RowStats
from .rows import map_rows as map_rows

__all__ = [
    "FanOut",
    "FanOutError",
    "FanOutStats",
    "ItemError",
    "RowStats",
    "SourceCounts",
    "TaskNode",
    "Topology",
    "WorkBatch",
    "WorkQueue",
    "WorkStats",
    "Worker",
    "count_reads",
    "executors_as_mesh",
    "map_rows",
    "progress_listener",
    "register",
    "run_tasks",
    "work",
]
