"""IdleQueue: each request goes to the worker that has been idle longest.

`_books` is the queue without sockets, and `_presence` tells it who is connected; `_idle` and `_aio`
are drivers, for threads and for asyncio.
"""

from ._books import IdleStats as IdleStats
from ._idle import IdleQueue as IdleQueue
from ._idle import IdleWorker as IdleWorker
from ._idle import Job as Job

__all__ = ["IdleQueue", "IdleStats", "IdleWorker", "Job"]
