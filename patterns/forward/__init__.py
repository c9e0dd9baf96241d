"""Forward: two sockets joined, so that peers which cannot reach each other meet in one place.

`_way` is one direction without who drives it; `_forward` and `_aio` are drivers, for threads and
for asyncio.
"""

from ._flow import Flow as Flow
from ._flow import ForwardStats as ForwardStats
from ._forward import Forward as Forward

__all__ = ["Flow", "Forward", "ForwardStats"]
