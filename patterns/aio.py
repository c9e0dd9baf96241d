"""The patterns for asyncio: the same names and options, awaitable, no threads."""

from .forward._aio import Forward as Forward
from .forward._flow import Flow as Flow
from .forward._flow import ForwardStats as ForwardStats
from .idle._aio import IdleQueue as IdleQueue
from .idle._aio import IdleWorker as IdleWorker
from .idle._aio import Job as Job
from .idle._books import IdleStats as IdleStats
from .workqueue._aio_queue import WorkQueue as WorkQueue
from .workqueue._aio_worker import WorkBatch as WorkBatch
from .workqueue._aio_worker import Worker as Worker
from .workqueue._aio_worker import work as work
from .workqueue._books import WorkStats as WorkStats

__all__ = [
    "Flow",
    "Forward",
    "ForwardStats",
    "IdleQueue",
    "IdleStats",
    "IdleWorker",
    "Job",
    "WorkBatch",
    "WorkQueue",
    "WorkStats",
    "Worker",
    "work",
]
