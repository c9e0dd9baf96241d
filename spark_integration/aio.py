"""FanOut and map_rows for asyncio; and the work queue of `meshmsg.patterns.aio`, where users of
Spark look for it."""

from meshmsg.patterns.aio import WorkBatch as WorkBatch
from meshmsg.patterns.aio import Worker as Worker
from meshmsg.patterns.aio import WorkQueue as WorkQueue
from meshmsg.patterns.aio import WorkStats as WorkStats
from meshmsg.patterns.aio import work as work

from .fanout._aio import FanOut as FanOut
from .rows._aio import map_rows as map_rows

__all__ = ["FanOut", "WorkBatch", "WorkQueue", "WorkStats", "Worker", "map_rows", "work"]
