"""Topologies built from sockets, with public `meshmsg` names only.

`import meshmsg` does not import this package; take what you need: `from meshmsg.patterns import
Forward`.  `meshmsg.patterns.aio` has them for asyncio.
"""

from .forward import Flow as Flow
from .forward import Forward as Forward
from .forward import ForwardStats as ForwardStats
from .idle import IdleQueue as IdleQueue
from .idle import IdleStats as IdleStats
from .idle import IdleWorker as IdleWorker
from .idle import Job as Job

__all__ = ["Flow", "Forward", "ForwardStats", "IdleQueue", "IdleStats", "IdleWorker", "Job"]
