"""A work queue by credits: workers ask for work, and what a lost worker had goes to another.

Run it: python examples/work_queue.py
"""

import threading

from meshmsg.patterns import Worker, WorkQueue, work


def square(endpoint: str, name: str, done: dict[str, list[int]]) -> None:
    """Do whatever there is to do, until there is no more."""
    done[name] = []
    for batch in work(endpoint):
        done[name].extend(int(record) ** 2 for record in batch)


def main() -> None:
    """One worker leaves with work in hand, one stops cleanly; two others do all that is left."""
    done: dict[str, list[int]] = {}
    with WorkQueue(batch_messages=10) as queue:
        queue.put_many(str(number).encode() for number in range(1000))
        queue.finish()
        with Worker(queue.endpoint) as unlucky:
            batch = next(iter(unlucky))
            print(
                f"one worker takes records {list(batch.records[:3])} ... and disappears with them"
            )
        with Worker(queue.endpoint) as careful:
            done["cas"] = []
            for batch in careful:
                careful.stop()  # as at SIGTERM: signal.signal(SIGTERM, lambda *_: careful.stop())
                done["cas"].extend(int(record) ** 2 for record in batch)
        threads = [
            threading.Thread(target=square, args=(queue.endpoint, name, done))
            for name in ("ann", "bob")
        ]
        for thread in threads:
            thread.start()
        stats = queue.join(workers=2, timeout=30)
        for thread in threads:
            thread.join()
    results = [result for results in done.values() for result in results]
    for name, theirs in sorted(done.items()):
        print(f"{name} did {len(theirs)} records")
    print(f"put {stats.put}, acknowledged {stats.acknowledged}")
    print(f"{stats.batches_again} batches came back, and were handed out again")
    print(
        f"sum of squares {sum(results)}, right: {sum(results) == sum(n * n for n in range(1000))}"
    )


if __name__ == "__main__":
    main()
