"""A service that scales by starting processes: each worker is told one seed, and nothing else.

Run it: python examples/mesh_workers.py
"""

import subprocess
import sys

import meshmsg as mm
from meshmsg.mesh import Mesh

JOBS = 1_000
WORKERS = 10


def work(name: str, seed: str) -> None:
    """Do jobs of whoever hands them out, until nobody does any more."""
    with (
        Mesh(cluster="example", name=name, seeds=seed) as mesh,
        mesh.connect("results", mm.Push) as results,
        mm.Pull(bind="tcp://127.0.0.1:0") as jobs,
    ):
        mesh.announce("jobs", jobs)
        for job in jobs:
            if job == b"end":
                break
            results.send(job, timeout=60)
        results.drain(timeout=10).raise_for_loss()


def main() -> None:
    """Hand out jobs to one worker, then to ten."""
    with (
        Mesh(cluster="example", name="boss") as mesh,
        mm.Pull(bind="tcp://127.0.0.1:0") as results,
        mesh.connect("jobs", mm.Push) as jobs,
    ):
        mesh.announce("results", results)
        workers: list[subprocess.Popen[bytes]] = []
        done: list[int] = []
        for count in (1, WORKERS):
            while len(workers) < count:
                name = f"worker-{len(workers)}"
                workers.append(subprocess.Popen([sys.executable, __file__, name, mesh.endpoint]))
            found = mesh.wait_for("jobs", count, timeout=120)
            jobs.wait_for_peers(count, timeout=60)
            print(f"{len(found)} of {count} found by one seed")
            first = len(done)
            for number in range(first, first + JOBS):
                jobs.send(str(number).encode(), timeout=60)
            while len(done) < first + JOBS:
                done += [int(result) for result in results.recv_many(timeout=60)]
        jobs.send_many([b"end"] * WORKERS, timeout=60)
        assert [worker.wait(60) for worker in workers] == [0] * WORKERS
        print(f"{2 * JOBS} jobs, each done once: {sorted(done) == list(range(2 * JOBS))}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        work(*sys.argv[1:])
    else:
        main()
