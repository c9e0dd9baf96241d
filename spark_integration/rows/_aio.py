"""map_rows for asyncio: the same job, whose results are awaited.

Not here: what it does (_rows.py).  Law: no call blocks the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Literal

from meshmsg import Engine, Policy, Profile, TimedOutError, WouldBlockError
from meshmsg.aio import Pull

from ._progress import RowStats
from ._rows import LOOK_S, RESULTS_AT_ONCE, Given

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


async def map_rows(
    rows: DataFrame,
    fn: Callable[[bytes], bytes],
    *,
    column: str = "value",
    max_attempts: int = 4,
    errors: Literal["raise", "return"] = "raise",
    results: str = "tcp://127.0.0.1:0",
    advertise: str | None = None,
    patience: float = 60.0,
    progress: Callable[[RowStats], object] | bool | None = None,
    total: int | None = None,
    insecure: bool = False,
    engine: Engine | None = None,
    security: Policy | Profile | None = None,
    task_security: str | None = None,
) -> AsyncIterator[Any]:
    """Call `fn` with each row of a DataFrame; give the results as they come, to `async for`.

    As `meshmsg.spark.map_rows`, with the same arguments. The first iteration begins it. Who leaves
    the loop early ends the job by `aclosing(map_rows(...))`.

    Thread-safe: no; as its loop.

    Args:
        rows: The DataFrame.
        fn: Is called in a task with the bytes of a row, and returns bytes.
        column: Which column has them.
        max_attempts: How often `fn` is called with a row for which it raises.
        errors: "raise" or "return", as there.
        results: Where tasks push results.
        advertise: The host by which tasks reach this program.
        patience: Seconds that a task waits for this program before it fails.
        progress: True for a bar, or a function, as there; it is called in the loop.
        total: How many rows there are, for `progress`.
        insecure: Allow a bind outside loopback without security.
        engine: The engine to use; None takes that of the process.
        security: What protects the socket.
        task_security: The path of a file of policies where tasks run.

    Yields:
        A result a row, in the order they come; with `errors="return"` also an `ItemError`.

    Raises:
        ItemError, FanOutError, UsageError, TypeError, AddressError, InsecureBindError,
            ResourceError: As there.
    """
    given = Given(rows, fn, column, max_attempts, errors, task_security, progress, total)
    async with Pull(bind=results, insecure=insecure, engine=engine, security=security) as pull:
        job = await asyncio.to_thread(given.job, pull.endpoint, advertise, patience)
        job.begin()
        try:
            over = False
            while not over:
                over = job.ended
                try:
                    messages = await pull.recv_many(
                        RESULTS_AT_ONCE, timeout=0.0 if over else LOOK_S
                    )
                except (TimedOutError, WouldBlockError):
                    continue
                over = False  # there may be more
                for result in job.came(messages):
                    yield result
        finally:
            await asyncio.to_thread(job.end)
        job.check()
