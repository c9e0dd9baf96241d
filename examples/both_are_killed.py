"""Orders are booked once each, though producer and worker are both killed with SIGKILL, repeatedly.

Run it: python examples/both_are_killed.py
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing

import meshmsg as mm

KILLED = 3
DIES_AFTER = 20


def produce(folder: str) -> None:
    """Keep orders and send them, for ever; say the number of each once it is on the disk."""
    with (
        mm.Spool(f"{folder}/orders") as spool,
        mm.Push(spool=spool, bind=f"ipc://{folder}/door") as push,
    ):
        push.wait_for_peers()
        while True:
            order = spool.info().last_seq + 1
            push.send(b"%d" % order)  # returns when it is on the disk
            print(order, flush=True)


def work(folder: str, dies_after: int) -> None:
    """Book orders until there are no more, or until it dies: one is booked, and nobody is told."""
    window = mm.DedupeWindow("orders", limit=10_000)
    with (
        closing(sqlite3.connect(f"{folder}/booked.db", timeout=60)) as connection,
        mm.Pull(connect=f"ipc://{folder}/door", ack="manual", prefetch=10) as pull,
    ):
        for count, order in enumerate(pull, 1):
            with window.transaction(connection) as transaction:  # one commit for both
                table = "orders" if transaction.add(order) else "again"
                connection.execute(f"INSERT INTO {table} VALUES (?)", (int(order),))
            if count == dies_after:
                os.kill(os.getpid(), signal.SIGKILL)
            order.ack()


def kill_both(folder: str) -> int:
    """Have both at work, and kill both; return the last order that was said to be kept."""
    me = [sys.executable, __file__, folder]
    with (
        subprocess.Popen([*me, "produce"], stdout=subprocess.PIPE, text=True) as producer,
        subprocess.Popen([*me, str(DIES_AFTER)]) as worker,
    ):
        assert producer.stdout is not None
        said = 0
        for line in producer.stdout:  # to the end: what it said as it died counts, too
            if line.endswith("\n"):
                said = int(line)
            if worker.poll() is not None:
                producer.kill()
        assert producer.wait() == worker.wait() == -signal.SIGKILL
    return said


def main() -> None:
    """Kill both, three times; then have what is left booked, and look at all of it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(sqlite3.connect(f"{folder}/booked.db")) as connection,
    ):
        connection.execute("CREATE TABLE orders (number INTEGER)")
        connection.execute("CREATE TABLE again (number INTEGER)")
        said = [kill_both(folder) for _ in range(KILLED)]
        with (
            mm.Spool(f"{folder}/orders") as spool,
            mm.Push(spool=spool, bind=f"ipc://{folder}/door") as push,
        ):
            push.finish()  # the worker is told once all of them are done
            subprocess.run([sys.executable, __file__, folder, "0"], check=True)
            orders = spool.info().last_seq
        booked = sorted(row[0] for row in connection.execute("SELECT number FROM orders"))
        [(again,)] = connection.execute("SELECT COUNT(*) FROM again")
    print(f"{KILLED} producers and {KILLED} workers were killed")
    print(f"orders kept: {orders}; all that was said to be kept: {orders >= max(said) > 0}")
    print(f"what workers had booked as they died came again: {again >= KILLED}")
    print(f"each order is booked once: {booked == list(range(1, orders + 1))}")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[2] == "produce":
        produce(sys.argv[1])
    else:
        work(sys.argv[1], int(sys.argv[2]))
