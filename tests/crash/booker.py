"""A worker that books each message in a database, and dies at a moment it is told. Usage: python -m
tests.crash.booker ENDPOINTS DATABASE WINDOW MOMENT AFTER [REPEATS].

ENDPOINTS has commas between them. DATABASE is a file of sqlite3, or the folder of a PostgreSQL
server's socket. WINDOW is the limit of a dedupe window; 0: it books without one. REPEATS is a file
that gets a line for each message that the window knew. Law: it acknowledges behind the commit.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import meshmsg as mm
from tests.crash.worker import HEARTBEAT_S, SILENT_S, die
from tests.support.postgres import USER

MOMENTS = ("received", "added", "booked", "committed", "acked")
"""Behind what it dies, of the message it dies at: the receive, the look-up, the effect, the commit,
the acknowledgement."""
PREFETCH = 10
AGAIN_S = 0.2
"""Between attempts to find a sender that died, at most."""
LOCK_S = 60.0
"""For which a worker may wait for another one's transaction."""


def connect(database: str) -> Any:
    """Open a connection of its own."""
    if os.path.isdir(database):
        import psycopg

        return psycopg.connect(host=database, user=USER, dbname="postgres")
    connection = sqlite3.connect(database, timeout=LOCK_S, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")  # a process dies here, not the machine
    return connection


@contextmanager
def booking(window: mm.DedupeWindow | None, connection: Any, message: Any) -> Iterator[bool]:
    """A transaction for a message; says whether to book it."""
    if window is not None:
        with window.transaction(connection) as transaction:
            yield transaction.add(message)
        return
    connection.cursor().execute("BEGIN")
    yield True
    connection.cursor().execute("COMMIT")


def work(
    pull: mm.Pull, connection: Any, window: Any, past: Callable[[str], None], repeats: int
) -> None:
    """Book messages for ever, or until it is time to die."""
    while True:
        message: Any = pull.recv()
        past("received")
        with booking(window, connection, message) as new:
            past("added")
            if new:
                connection.cursor().execute(f"INSERT INTO effects VALUES ({int(message):d})")
            elif repeats >= 0:
                os.write(repeats, message + b"\n")
            past("booked")
        past("committed")
        message.ack()
        past("acked")


def main() -> None:
    """Work as the command line says."""
    endpoints, database, limit, moment, after, *more = sys.argv[1:]
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    repeats = os.open(more[0], flags, 0o600) if more else -1
    window = mm.DedupeWindow("bookings", limit=int(limit)) if int(limit) else None
    connection, count = connect(database), 0

    def past(what: str) -> None:
        nonlocal count
        count += what == "received"
        if (what, count) == (moment, int(after)):
            die()

    beats = {
        "heartbeat_interval": HEARTBEAT_S,
        "heartbeat_timeout": SILENT_S,
        "reconnect_max": AGAIN_S,
    }
    with mm.Pull(connect=endpoints.split(","), ack="manual", prefetch=PREFETCH, **beats) as pull:
        work(pull, connection, window, past, repeats)


if __name__ == "__main__":
    main()
