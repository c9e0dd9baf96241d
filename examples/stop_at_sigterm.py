"""Workers that end at SIGTERM without losing a job: what they had not got goes to the others.

Run it: python examples/stop_at_sigterm.py
"""

import signal
import subprocess
import sys

import meshmsg as mm

JOBS = 2_000
WORKERS = 4


def work(jobs_at: str, results_at: str) -> None:
    """Do jobs until SIGTERM; then those that have come, and no more."""
    with mm.Pull() as jobs, mm.Push(connect=results_at) as results:
        signal.signal(signal.SIGTERM, lambda *_: jobs.stop_receiving())
        jobs.connect(jobs_at)
        for job in jobs:
            results.send(job)
        results.drain(timeout=10).raise_for_loss()
        jobs.stop_receiving().raise_for_loss()  # all that was on its way has come


def main() -> None:
    """Hand out jobs while workers are stopped, and count what comes back."""
    with mm.Push(bind="tcp://127.0.0.1:0") as jobs, mm.Pull(bind="tcp://127.0.0.1:0") as results:
        command = [sys.executable, __file__, jobs.endpoint, results.endpoint]
        workers = [subprocess.Popen(command) for _ in range(WORKERS)]
        jobs.wait_for_peers(WORKERS, timeout=60)
        done: list[int] = []
        for number in range(JOBS):
            jobs.send(str(number).encode(), timeout=60)
            if number % 500 == 499 and len(workers) > 1:
                done += [int(result) for result in results.recv_many(timeout=60)]
                workers[-1].terminate()
                assert workers.pop().wait(60) == 0
        while len(done) < JOBS:
            done += [int(result) for result in results.recv_many(timeout=60)]
        workers[0].terminate()
        workers[0].wait(60)
        print(f"{WORKERS - len(workers)} workers got SIGTERM while jobs came")
        print(f"{JOBS} jobs, each done once: {sorted(done) == list(range(JOBS))}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        work(*sys.argv[1:])
    else:
        main()
