"""Kafka whose consumer says what it is done with: synced as it is by default, or each time.

By default it answers when the system has the messages. Law: a message counts when it is consumed;
the offsets behind it are committed while the next ones come, and all of them in the end.
"""

from __future__ import annotations

import time

from ..base.need import BenchError, need
from ..base.task import PATIENCE, Task
from ..peers.seam import Receiver
from .kafka_broker import AT_ONCE, TICK_SECONDS, Kafka, KafkaReceiver


class CommittingReceiver(KafkaReceiver):
    """Consumes, and commits."""

    def _commit(self) -> None:
        """Commit, and wait for it; a group that is new has no coordinator for some moments."""
        failed = need("confluent_kafka", "the peer kafka").KafkaException
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._consumer.commit(asynchronous=False)
            except failed as error:
                if time.monotonic() > end:
                    raise BenchError(f"kafka commits nothing: {error}") from None
                self._producer.poll(TICK_SECONDS)
            else:
                return

    def recv(self) -> bytes:
        """Consume one."""
        body = self._take_one()
        self._commit()
        return body

    def recv_count(self, count: int) -> None:
        """Consume so many."""
        left = count
        while left:
            came = len(self._take(min(left, AT_ONCE)))
            left -= came
            if came and left:
                self._consumer.commit(asynchronous=True)
        if count:
            self._commit()


class KafkaAcked(Kafka):
    """As it is by default: it syncs when its system likes."""

    name = "kafka-acked"
    kinds = ("thr",)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return CommittingReceiver(task)


class KafkaFlushed(KafkaAcked):
    """It syncs before it answers: flush.messages is 1 for all topics."""

    name = "kafka-flushed"
    settings = "log.flush.interval.messages=1\n"
