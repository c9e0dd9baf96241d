"""P16: what was promised of spools.

Not here: how it is measured (commands/spools.py, commands/backlogs.py), and by whom (targets.py).
"""

from __future__ import annotations

from ..commands.backlogs import SIZE, TIMES, backlog_load
from ..commands.spools import (
    APPEND_SIZES,
    OPENING_MIB,
    SEALED_FILES,
    SEALED_MIB,
    opening_load,
)
from .target import Target, least

LONE, MANY, SENT = "meshmsg-spool", "meshmsg-spool-many", "meshmsg-spooled"
SYNCED = ("redis-stream-always", "rabbitmq-durable", "nats-jetstream-always", "kafka-flushed")
"""Brokers that sync before they answer."""
IN_MEMORY = ("redis", "nats")
"""Brokers that keep nothing on a disk, and where nobody says that he is done: the aim."""
KAFKA_PUT, KAFKA_READ = 165_000, 3_000_000
"""Messages of 1 KiB a second that were published of Kafka: put by one thread and durable; read."""
NOISE = 0.2
"""By which two measurements of the same may differ: as long a backlog costs nothing within that."""
BATCH_SIZES = (64, 1024, 16384)
"""Of P2."""


def spools() -> list[Target]:
    """All of them."""
    return [*put(), *sent(), *replayed(), *opened(), *behind()]


def put() -> list[Target]:
    """Beside the disk alone, and what Kafka puts."""
    lone = [
        Target("P16", "append disk", "p50_us", LONE, "raw-fdatasync", 1.3, low=True, at=size)
        for size in APPEND_SIZES
    ]
    return [
        *lone,
        Target("P16", "append disk", "messages_per_s", MANY, "", 200_000, at=200),
        Target("P16", "append disk", "messages_per_s", MANY, "", KAFKA_PUT, at=1024),
        *(
            Target("P16", "append disk", "mb_per_s", peer, f"raw-fdatasync-{room}", 0.6, at=1024)
            for peer, room in ((MANY, "new"), ("meshmsg-spool-full", "4m"))
        ),
    ]


def sent() -> list[Target]:
    """Beside brokers that sync before they answer, those in memory, and no spool."""
    return [
        *(t for rival in SYNCED for t in least("P16", "spooled tcp", SENT, rival, {1024: 2})),
        *(t for rival in IN_MEMORY for t in least("P16", "spooled tcp", SENT, rival, {1024: 1})),
        *least("P16", "spooled tcp", f"{SENT}-os", "meshmsg-batch", {1024: 0.6}),
    ]


def replayed() -> list[Target]:
    """By itself, what Kafka's consumer reads, and beside the batches of P2."""
    return [
        Target("P16", "replay disk", "mb_per_s", MANY, "", 1000, at=1024),
        Target("P16", "replay disk", "messages_per_s", MANY, "", 1_000_000, at=200),
        Target("P16", "replay disk", "messages_per_s", MANY, "", KAFKA_READ, at=1024),
        *(
            Target("P16", "replay disk", "messages_per_s", LONE, "", 300_000, at=size)
            for size in APPEND_SIZES
        ),
        *(
            Target("P16", "replay disk", "messages_per_s", MANY, "meshmsg-batch", 0.6, at=size)
            for size in BATCH_SIZES
        ),
    ]


def opened() -> list[Target]:
    """After a kill: with the files in memory, and, of many, from the disk."""
    many = opening_load(SEALED_MIB, SEALED_FILES)
    return [
        Target("P16", "opening disk", figure, LONE, "", 200, low=True, at=load)
        for figure, load in (
            ("open_ms", opening_load(OPENING_MIB)),
            ("open_ms", many),
            ("cold_ms", many),
        )
    ]


def behind() -> list[Target]:
    """A long backlog costs neither memory nor throughput, of who sends, and of who reads."""
    load = backlog_load(SIZE, TIMES)
    return [
        one
        for transport, peer in (("tcp", SENT), ("disk", LONE), ("disk", MANY))
        for one in (
            Target(
                "P16",
                f"backlog {transport}",
                "memory_ratio",
                peer,
                "",
                1 + NOISE,
                low=True,
                at=load,
            ),
            Target("P16", f"backlog {transport}", "rate_ratio", peer, "", 1 - NOISE, at=load),
        )
    ]
