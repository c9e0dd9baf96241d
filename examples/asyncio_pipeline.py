"""An asyncio pipeline: a source, three workers and a sink, with back-pressure all the way.

Run it: python examples/asyncio_pipeline.py
"""

import asyncio

from meshmsg import aio

JOBS = 10_000
WORKERS = 3


async def source(jobs: aio.Push) -> None:
    """Send the jobs; this waits whenever the workers are behind."""
    await jobs.wait_for_peers(WORKERS, timeout=10)
    await jobs.send_many(str(number).encode() for number in range(JOBS))


async def worker(jobs_at: str, results_at: str) -> None:
    """Square numbers until cancelled."""
    async with aio.Pull(connect=jobs_at) as jobs, aio.Push(connect=results_at) as results:
        async for job in jobs:
            await results.send(str(int(job) ** 2).encode())


async def main() -> None:
    """Run it all in one loop."""
    async with (
        aio.Push(bind="tcp://127.0.0.1:0") as jobs,
        aio.Pull(bind="tcp://127.0.0.1:0") as results,
    ):
        workers = [
            asyncio.create_task(worker(jobs.endpoint, results.endpoint)) for _ in range(WORKERS)
        ]
        sender = asyncio.create_task(source(jobs))
        total = 0
        for _ in range(JOBS):
            total += int(await results.recv(timeout=10))
        await sender
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    right = total == sum(number * number for number in range(JOBS))
    print(f"{JOBS} jobs through {WORKERS} workers: sum of squares {total}, right: {right}")


if __name__ == "__main__":
    asyncio.run(main())
