"""WorkQueue: records are handed out to workers that ask, and again when one is lost.

`WorkQueue` runs where the records are; `work` (or `Worker`) runs where the work is done: threads,
processes, other machines, or tasks of Spark (`meshmsg.spark`).  Both are thin: a Push that delivers
at least once, and Pulls that acknowledge by hand.  `_books` is the queue without sockets, `_held`
the worker without sockets, `_batch` what goes between them, and `_delivery` what both ask of the
core; the other files are drivers, for threads and (`_aio_*`) for asyncio.  The folder is not called
`work`, as that is the name of the function.
"""

from ._books import WorkStats as WorkStats
from ._queue import WorkQueue as WorkQueue
from ._worker import WorkBatch as WorkBatch
from ._worker import Worker as Worker
from ._worker import work as work

__all__ = ["WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"]
