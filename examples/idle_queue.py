"""A queue of idle workers: each request goes to the one that has been idle longest.

Run it: python examples/idle_queue.py
"""

import threading

import meshmsg as mm
from meshmsg.patterns import IdleQueue, IdleWorker


def work(worker: IdleWorker) -> None:
    """Answer whatever comes, until the worker is closed."""
    for job in worker:
        if job == b"divide by zero":
            job.refuse("nobody can do that")
        else:
            job.reply(job.upper())


def main() -> None:
    """One worker disappears with a request in hand; two others answer it, and the rest."""
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:
        with IdleWorker(queue.back.endpoint) as unlucky:
            answers = []
            asking = threading.Thread(
                target=lambda: answers.append(client.request(b"first", timeout=30))
            )
            asking.start()
            print(f"one worker takes {bytes(next(iter(unlucky)))!r}, and disappears with it")
        workers = [IdleWorker(queue.back.endpoint) for _ in range(2)]
        threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        asking.join()
        for body in (b"second", b"third"):
            answers.append(client.request(body, timeout=30))
        print(f"answers: {b', '.join(answers).decode()}")
        try:
            client.request(b"divide by zero", timeout=30)
        except mm.RefusedError as error:
            print(f"refused: {error}")
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join()
        print(f"asked of another worker: {queue.stats().retried}")


if __name__ == "__main__":
    main()
