"""Topologies built from sockets, with public `meshmsg` names only.

Each has a folder of its own: `forward`, `idle`, `workqueue`.  `import meshmsg` does not import this
package; take what you need: `from meshmsg.patterns import Forward`.  `meshmsg.patterns.aio` has the
same names for asyncio.
"""

from .forward import Flow as Flow
from .forward import Forward as Forward
from .forward import ForwardStats as ForwardStats
from .idle import IdleQueue as IdleQueue
from .idle import IdleStats as IdleStats
from .idle import IdleWorker as IdleWorker
from .idle import Job as Job
from .workqueue import WorkBatch as WorkBatch
from .workqueue import Worker as Worker
from .workqueue import WorkQueue as WorkQueue
from .workqueue import WorkStats as WorkStats
from .workqueue import work as work

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
