"""The patterns for asyncio: the same names and options, awaitable, no threads."""

from .._flow import Flow as Flow
from .._flow import ForwardStats as ForwardStats
from .._idle import IdleStats as IdleStats
from .forward import Forward as Forward
from .idle import IdleQueue as IdleQueue
from .idle import IdleWorker as IdleWorker
from .idle import Job as Job

__all__ = ["Flow", "Forward", "ForwardStats", "IdleQueue", "IdleStats", "IdleWorker", "Job"]
