"""Waiting until peers know that nothing more comes, for asyncio.

Not here: saying so (_roles/stopping.py).
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.core import lib
from meshmsg._roles.stopping import check_finished, told_of_end, unfinished
from meshmsg._socket.options import check_count
from meshmsg._socket.signature import verb
from meshmsg.aio._loop import PEERS
from meshmsg.aio._socket import Socket


@verb
async def wait_for_finished(
    self: Socket[Any], count: int = 0, *, timeout: float | None = None
) -> int:
    """Wait until all that was sent is done, and the peers were told that there is no more.

    Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

    Args:
        count: How many peers are to have been told, at least; those that are gone since count, too.
            0: those that are here, and nobody who is on the way back, as of `meshmsg.Push`.
        timeout: Seconds to wait; None waits for ever, 0 only looks.

    Returns:
        How many peers were told so far; 0: nobody was here.

    Raises:
        UsageError, TimedOutError, WouldBlockError, ClosedError: As the sync one.
    """
    check_count("count", count)
    await self._until(
        lambda: check_finished(self, int(lib.mm_wait_finished(self._handle, count, 0, 0))),
        PEERS,
        timeout,
        unfinished(self, count),
    )
    return told_of_end(self, count)
