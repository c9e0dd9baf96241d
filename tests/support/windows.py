"""What tests of dedupe windows share: a table of effects, and messages by their numbers.

Not here: the windows (src/meshmsg/_dedupe).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.together import together

T = TypeVar("T")
SENDER = 2**64 - 5
"""The connection of a sender; the largest ones are negative in a database."""


def make_effects(connection: Any) -> None:
    """Make a table in which a message that took effect twice stands twice."""
    connection.cursor().execute("CREATE TABLE effects (number INTEGER)")
    connection.commit()


def effect(connection: Any, number: int) -> None:
    """What a message does."""
    connection.cursor().execute(f"INSERT INTO effects VALUES ({number:d})")


def effects(connection: Any) -> list[int]:
    """What was done and committed, in order; ends the transaction it looks in."""
    cursor = connection.cursor()
    cursor.execute("SELECT number FROM effects ORDER BY number")
    found = [int(row[0]) for row in cursor.fetchall()]
    connection.commit()
    return found


def do(window: mm.DedupeWindow, connection: Any, number: int, epoch: int = SENDER) -> bool:
    """Work on a message as a worker does; whether it was new."""
    with window.transaction(connection) as transaction:
        new = transaction.add((epoch, number))
        if new:
            effect(connection, number)
    return new


def all_at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Call each in a thread of its own, from one moment on; what they gave, as they ended."""
    barrier, gave = threading.Barrier(len(calls)), []

    def call(one: Callable[[], T]) -> None:
        barrier.wait()
        gave.append(one())

    together([lambda one=one: call(one) for one in calls], WAIT_S)
    return gave
