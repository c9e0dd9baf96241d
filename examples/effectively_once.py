"""Orders are booked in a database once each, though workers are killed between commit and ack.

Run it: python examples/effectively_once.py
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing

import meshmsg as mm

ORDERS = 200
KILLED = 3


def work(orders_at: str, database: str, dies_after: int) -> None:
    """Book orders for ever, or until it is killed: the order is booked, and nobody is told."""
    window = mm.DedupeWindow("orders", limit=10_000)
    with (
        closing(sqlite3.connect(database, timeout=60)) as connection,
        mm.Pull(connect=orders_at, ack="manual", prefetch=10) as pull,
    ):
        for count, order in enumerate(pull, 1):
            with window.transaction(connection) as transaction:  # one commit for both
                if transaction.add(order):
                    connection.execute("INSERT INTO orders VALUES (?)", (int(order),))
                else:
                    connection.execute("INSERT INTO again VALUES (?)", (int(order),))
            if count == dies_after:
                os.kill(os.getpid(), signal.SIGKILL)
            order.ack()


def run(database: str) -> None:
    """Send orders while workers are killed, and look at what is booked."""
    with mm.Push(bind="tcp://127.0.0.1:0", delivery="at_least_once") as push:
        command = [sys.executable, __file__, push.endpoint, database]
        push.send_many([b"%d" % number for number in range(ORDERS)])
        for _ in range(KILLED):
            assert subprocess.call([*command, "5"]) == -signal.SIGKILL
        last = subprocess.Popen([*command, "0"])
        push.drain(timeout=60).raise_for_loss()
        last.kill()
        last.wait()
    with closing(sqlite3.connect(database)) as connection:
        booked = sorted(row[0] for row in connection.execute("SELECT number FROM orders"))
        [(again,)] = connection.execute("SELECT COUNT(*) FROM again")
    print(f"{KILLED} workers were killed behind a commit")
    print(f"what they had booked came again: {again >= KILLED}")
    print(f"{ORDERS} orders, each booked once: {booked == list(range(ORDERS))}")


def main() -> None:
    """With a database in a file that all workers share."""
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "orders.db")
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("CREATE TABLE orders (number INTEGER)")
            connection.execute("CREATE TABLE again (number INTEGER)")
        run(database)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main()
