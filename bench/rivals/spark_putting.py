"""A program that puts messages into a spool, one call for each, where a stream of Spark reads them.
Usage: python -m bench.rivals.spark_putting FOLDER SIZE.

The first line of standard output is the endpoint. Each line of standard input is how many it puts;
it ends with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

import meshmsg


def put_all(put: Callable[[bytes], object], body: bytes, counts: Iterable[str]) -> None:
    """Put as many as each line says."""
    for line in counts:
        for _ in range(int(line)):
            put(body)


def main() -> None:
    """Put as the command line says."""
    folder, size = sys.argv[1:]
    with (
        meshmsg.Spool(folder, durability="buffered") as spool,
        meshmsg.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server,
    ):
        print(server.endpoint, flush=True)
        put_all(spool.append, os.urandom(int(size)), sys.stdin)


if __name__ == "__main__":
    main()
