"""Jobs that must not be lost: a pool of workers, receipts, and a place for jobs nobody can do.

Run it: python examples/worker_pool.py
"""

import threading

import meshmsg as mm

JOBS = 300
WORKERS = 3
POISON = b"13"


def work(jobs_at: str, done: list[bytes]) -> None:
    """Do jobs one at a time; what fails is given back, and somebody else tries it."""
    with mm.Pull(connect=jobs_at, ack="manual", prefetch=1) as jobs:
        for job in jobs:  # ends when all is done, and no more will come
            try:
                with job:  # done at the end of the block; given back if it raises
                    if job == POISON:
                        raise ValueError("nobody can do that")
                    done.append(bytes(job))
            except ValueError:
                continue


def main() -> None:
    """Send jobs with receipts, and look what became of each."""
    buried: list[mm.DeadLetter] = []
    done: list[bytes] = []
    with mm.Push(
        bind="tcp://127.0.0.1:0",
        delivery="at_least_once",
        max_attempts=3,
        dead_letter=buried.append,
    ) as jobs:
        workers = [
            threading.Thread(target=work, args=(jobs.endpoint, done)) for _ in range(WORKERS)
        ]
        for worker in workers:
            worker.start()
        receipts = {
            b"%d" % i: jobs.send(b"%d" % i, confirm=True, timeout=10, headers={"from": "example"})
            for i in range(JOBS)
        }
        failed = []
        for job, receipt in receipts.items():
            try:
                receipt.wait(timeout=10)
            except mm.UndeliveredError as error:
                failed.append((job.decode(), error.reason))
        jobs.finish()
        for worker in workers:
            worker.join(10)
    print(f"{len(done)} of {JOBS} jobs done, each once: {len(set(done)) == len(done)}")
    print(f"not done: {failed}")
    for letter in buried:
        print(f"dead letter: {letter.decode()} after {letter.attempt} attempts, {letter.reason}")


if __name__ == "__main__":
    main()
