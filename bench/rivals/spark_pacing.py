"""A program that puts messages where a stream of Spark reads them, at a rate that it is told.
Usage: python -m bench.rivals.spark_pacing SIZE spool FOLDER... | kafka SERVERS TOPIC.

The first line of standard output is where: endpoints with commas between. Each line of standard
input is a rate, messages a second; it ends with it. The first 8 octets of a body are when it was
put: nanoseconds since 1970, little-endian. Of several spools each gets one in turn.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from itertools import cycle
from typing import Any

STAMP = struct.Struct("<q")
IDLE_SECONDS = 0.01
"""Until it looks again whether there is a rate."""


class Rate:
    """Messages a second, as it was told last; None: it is to end."""

    def __init__(self) -> None:
        self.now: float | None = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            self.now = float(line)
        self.now = None


def paced(put: Callable[[bytes], object], size: int, rate: Rate) -> None:
    """Put messages at the rate."""
    due = time.monotonic()
    while (now := rate.now) is not None:
        if not now:
            time.sleep(IDLE_SECONDS)
            due = time.monotonic()
            continue
        put(STAMP.pack(time.time_ns()).ljust(size, b"."))
        due += 1 / now
        time.sleep(max(due - time.monotonic(), 0))


def spools(folders: list[str], size: int) -> None:
    """Show spools, and put into one after another."""
    import meshmsg

    with ExitStack() as stack:
        there, endpoints = [], []
        for folder in folders:
            spool = stack.enter_context(meshmsg.Spool(folder, durability="os"))
            server = meshmsg.SpoolServer(spool, bind="tcp://127.0.0.1:0", threads=1)
            stack.enter_context(server)
            there.append(spool)
            endpoints.append(server.endpoint)
        print(",".join(endpoints), flush=True)
        turns = cycle(there)
        paced(lambda body: next(turns).append(body), size, Rate())


def kafka(servers: str, topic: str, size: int) -> None:
    """Put into a topic that is there, without waiting for more to go along."""
    producer: Any = import_module("confluent_kafka").Producer(
        {"bootstrap.servers": servers, "linger.ms": 0}
    )
    print(servers, flush=True)

    def put(body: bytes) -> None:
        producer.produce(topic, body)
        producer.poll(0)

    paced(put, size, Rate())
    producer.flush()


def main() -> None:
    """Put as the command line says."""
    size, kind, *places = sys.argv[1:]
    if kind == "spool":
        spools(places, int(size))
    else:
        kafka(places[0], places[1], int(size))


if __name__ == "__main__":
    main()
