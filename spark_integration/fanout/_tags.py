"""How a job of Spark is cancelled from another thread: by a tag that it had as it was begun.

A session of Spark Connect has tags of its own; of the others only those of their SparkContext reach
jobs of other threads.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_S = 0.5
"""Seconds until it is cancelled once more: it may not have begun."""


def _context(session: SparkSession) -> Any:
    with suppress(Exception):  # Spark Connect raises, in the words of its version
        return session.sparkContext
    return None


def tag_jobs(session: SparkSession, tag: str) -> None:
    """Have the jobs that this thread begins bear a tag."""
    context = _context(session)
    if context is not None:
        context.addJobTag(tag)
    else:
        session.addTag(tag)


def cancel_jobs(session: SparkSession, tag: str, thread: threading.Thread) -> None:
    """Cancel what a thread runs with that tag, until the thread has ended."""
    context = _context(session)
    while thread.is_alive():
        if context is not None:
            context.cancelJobsWithTag(tag)
        else:
            session.interruptTag(tag)
        thread.join(LOOK_S)
