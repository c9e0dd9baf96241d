"""The work queue of `meshmsg.patterns.aio`, where users of Spark look for it."""

from meshmsg.patterns.aio import WorkBatch as WorkBatch
from meshmsg.patterns.aio import Worker as Worker
from meshmsg.patterns.aio import WorkQueue as WorkQueue
from meshmsg.patterns.aio import WorkStats as WorkStats
from meshmsg.patterns.aio import work as work

from .fanout._aio import FanOut as FanOut

__all__ = ["FanOut", "WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"]
