"""A program that pushes messages by pyzmq to the tasks of Spark, a socket for each, until all went.
Usage: python -m bench.rivals.spark_pushing COUNT SIZE TASKS RUN.

The first line of standard output is JSON: the endpoints. RUN messages of a task are one message
of ZeroMQ, end to end; 1 sends each by itself.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

LINGER_MS = 60_000
"""How long what was sent has to go out."""


def push(socket: Any, size: int, counts: list[int]) -> None:
    """Send so many messages in each of ZeroMQ's, and close."""
    body = os.urandom(size)
    blobs = {count: body * count for count in set(counts)}
    for count in counts:
        socket.send(blobs[count], copy=size * count < 65536)
    socket.close(LINGER_MS)


def shares(count: int, tasks: int, run: int) -> list[list[int]]:
    """How many messages go together, for each task."""
    each = [count // tasks + (index < count % tasks) for index in range(tasks)]
    return [[run] * (own // run) + [own % run] * bool(own % run) for own in each]


def main() -> None:
    """Push as the command line says."""
    import zmq

    count, size, tasks, run = map(int, sys.argv[1:])
    context = zmq.Context()
    sockets = [context.socket(zmq.PUSH) for _ in range(tasks)]
    for socket in sockets:
        socket.bind("tcp://127.0.0.1:*")
    print(json.dumps([one.getsockopt_string(zmq.LAST_ENDPOINT) for one in sockets]), flush=True)
    threads = [
        threading.Thread(target=push, args=(socket, size, own))
        for socket, own in zip(sockets, shares(count, tasks, run), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context.term()


if __name__ == "__main__":
    main()
