"""Redis Streams that are kept in its append-only file: synced before it answers, or each second.

A stream and its group as those in memory (redis_stream.py), by the thousand. Law: the file is not
rewritten while it is measured.
"""

from __future__ import annotations

from typing import Literal

from ..base.task import Task
from ..peers.seam import Sender
from .redis_stream import PipedSender, RedisStreamBatch

PIPELINED = 1000
"""Entries of a pipeline: as many share a sync."""


class DeepSender(PipedSender):
    """Adds by the thousand."""

    def at_once(self) -> int:
        """Entries of a pipeline."""
        return PIPELINED


class RedisAlways(RedisStreamBatch):
    """Its file is synced before it answers."""

    name = "redis-stream-always"
    synced: Literal["always", "everysec"] = "always"

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """With a file."""
        told = f"--appendonly yes --appendfsync {self.synced} --auto-aof-rewrite-percentage 0"
        plain = super().start_command(program, port, folder)
        at = plain.index("--appendonly")
        return [*plain[:at], *told.split(), *plain[at + 2 :]]

    def sender(self, task: Task) -> Sender:
        """A client."""
        return DeepSender(task)


class RedisEverySecond(RedisAlways):
    """Its file is synced each second, whatever it has answered by then."""

    name = "redis-stream-everysec"
    synced = "everysec"
