"""What a fan-out is given, checked at once.

Law: what is no number of its kind is a TypeError, what is out of its range a UsageError; both name
the argument, its value, and what it may be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from meshmsg import TooLargeError, UsageError

from ._words import GROUP_MAX, ITEM_BYTES_MAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
WORKERS_MAX = 100_000
"""Tasks of one job."""
WAITING_MAX = 2**31
"""Items that may wait."""
ATTEMPTS_MAX = 10_000
PATIENCE_MAX = 1e6
"""Seconds."""
ANY_HOST = frozenset({"0.0.0.0", "[::]", "*"})


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number within its limits."""
    words = f"{name} is {value!r}; it is a whole number from {low:,} to {high:,}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(words)
    if not low <= value <= high:
        raise UsageError(words)
    return value


def numbers_of(
    group_items: object,
    waiting_items: object,
    max_attempts: object,
    restarts: object,
    patience: object,
) -> None:
    """Check those that need nothing else."""
    whole("group_items", group_items, 1, GROUP_MAX)
    whole("waiting_items", waiting_items, 1, WAITING_MAX)
    whole("max_attempts", max_attempts, 1, ATTEMPTS_MAX)
    whole("restarts", restarts, 0, ATTEMPTS_MAX)
    words = f"patience is {patience!r}; it is seconds, above 0, up to {PATIENCE_MAX:,.0f}"
    if isinstance(patience, bool) or not isinstance(patience, (int, float)):
        raise TypeError(words)
    if not 0 < patience <= PATIENCE_MAX:
        raise UsageError(words)


def slots_of(session: SparkSession, workers: object) -> int:
    """Return how many tasks are wanted; None: as many as run at once."""
    if workers is not None:
        return whole("workers", workers, 1, WORKERS_MAX)
    try:
        return int(session.sparkContext.defaultParallelism)
    except Exception:  # of Spark Connect, in the words of its version
        raise UsageError(
            "workers= is needed: this session does not tell how many tasks run at once"
        ) from None


def returns_errors(errors: object) -> bool:
    """Return whether errors are given in the place of results."""
    if errors not in ("raise", "return"):
        raise UsageError(f"errors is {errors!r}; it is 'raise' or 'return'")
    return errors == "return"


def checked_call(name: str, function: Callable[[T], object] | None) -> Callable[[T], object] | None:
    """Return a function that is told of something, or None."""
    if function is not None and not callable(function):
        raise TypeError(
            f"{name} is {function!r}; it is a function that is told, such as append of a list"
        )
    return function


def checked_body(body: object) -> bytes:
    """Return an item as it is sent."""
    if type(body) is bytes and len(body) <= ITEM_BYTES_MAX:
        return body
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"an item is {type(body).__name__}; it is bytes, or what encode= makes bytes of"
        )
    octets = bytes(body)
    if len(octets) > ITEM_BYTES_MAX:
        raise TooLargeError(
            f"an item of {len(octets):,} bytes; up to {ITEM_BYTES_MAX:,} can be sent"
        )
    return octets


def checked_path(path: object) -> str | None:
    """Return the name of a file of policies where tasks run."""
    if path is None:
        return None
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"task_security is {type(path).__name__}; it is the path of a file of policies where "
            "the tasks run: keys are not sent to executors"
        )
    return os.fspath(path)


def told_to(endpoint: str, advertise: str | None) -> str:
    """Return an endpoint as tasks are told it."""
    scheme, _, rest = endpoint.partition("://")
    host, _, port = rest.rpartition(":")
    if advertise is None:
        if host in ANY_HOST:
            raise UsageError(
                f"{endpoint} is bound on all interfaces: advertise= says by which host tasks "
                "reach it"
            )
        return endpoint
    return f"{scheme}://{advertise}:{port}"
