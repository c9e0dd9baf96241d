"""Each customer's orders are worked on in order, by one worker of several, though one is lost.

Then all of it by one worker, and another one that stands by (an exclusive consumer).

Run it: python examples/ordered_by_key.py
"""

import random
import threading
from collections import defaultdict

import meshmsg as mm

CUSTOMERS = 20
ORDERS = 2000
LOST_AFTER = 50


class Book:
    """What was worked on, by whom."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.orders: defaultdict[bytes, list[int]] = defaultdict(list)
        self.workers: defaultdict[bytes, list[str]] = defaultdict(list)

    def write(self, customer: bytes, order: int, worker: str) -> None:
        """Write it down: what comes again was done, or not, by a worker that was lost."""
        with self.lock:
            self.orders[customer].append(order)
            if worker not in self.workers[customer]:
                self.workers[customer].append(worker)

    def in_order(self) -> bool:
        """Whether each customer's orders are there, in order."""
        return all(orders == sorted(orders) for orders in self.orders.values())


def work(orders_at: str, name: str, book: Book, lost_after: int | None = None) -> None:
    """Work until there is nothing more, or until this worker is lost, in the midst of its work."""
    with mm.Pull(connect=orders_at, identity=name.encode(), ack="manual", prefetch=10) as pull:
        for count, message in enumerate(pull):
            if count == lost_after:
                return
            if message.key is not None:
                book.write(message.key, int(message), name)
            message.ack()
            if message.key is None:
                return


def groups() -> None:
    """Three workers share the customers; one of them is lost, and its customers go to others."""
    book = Book()
    with mm.Push(bind="tcp://127.0.0.1:0", routing="hash", delivery="at_least_once") as push:
        workers = [
            threading.Thread(target=work, args=(push.endpoint, name, book, lost))
            for name, lost in (("ann", None), ("bob", None), ("carl", LOST_AFTER))
        ]
        for worker in workers:
            worker.start()
        push.wait_for_peers(3, timeout=10)
        for order in range(ORDERS):
            push.send(b"%d" % order, key=f"customer {random.randrange(CUSTOMERS)}")
        push.drain(timeout=60).raise_for_loss()
        workers[2].join()
        for _ in range(2):
            push.send(b"the end")  # without a key: to each in turn
        for worker in workers:
            worker.join()
    done = sum(len(orders) for orders in book.orders.values())
    moved = [names for names in book.workers.values() if len(names) > 1]
    print(f"{ORDERS} orders of {CUSTOMERS} customers, all done: {done == ORDERS}")
    print(f"each customer's in order: {book.in_order()}")
    print(f"only customers of the lost worker have a new one: {all(n[0] == 'carl' for n in moved)}")


def exclusive() -> None:
    """Two workers of one name: the first one has everything, the second one takes over."""
    with mm.Push(bind="tcp://127.0.0.1:0", routing="hash", delivery="at_least_once") as push:
        first = mm.Pull(connect=push.endpoint, identity=b"booking", ack="manual")
        push.wait_for_peers(1, timeout=10)
        second = mm.Pull(connect=push.endpoint, identity=b"booking", ack="manual")
        push.wait_for_peers(2, timeout=10)
        for order in range(6):
            push.send(b"%d" % order, key=f"customer {order}")
        done = []
        for _ in range(3):
            with first.recv(timeout=10) as message:
                done.append(int(message))
        first.close()  # it has more, and gives it back
        for _ in range(3):
            with second.recv(timeout=10) as message:
                done.append(int(message))
        push.drain(timeout=10).raise_for_loss()
        second.close()
    print(f"one worker at a time, in order: {done == list(range(6))}")


if __name__ == "__main__":
    groups()
    exclusive()
