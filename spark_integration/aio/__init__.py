"""The work queue and its workers for asyncio: the same names and options, awaitable.

The same books and the same words as in `meshmsg.spark`, so that queues and workers of both kinds
work together; no threads, but two tasks of the loop for each queue.
"""

from .._ledger import WorkStats as WorkStats
from ._queue import WorkQueue as WorkQueue
from ._worker import WorkBatch as WorkBatch
from ._worker import Worker as Worker
from ._worker import work as work

__all__ = ["WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"]
