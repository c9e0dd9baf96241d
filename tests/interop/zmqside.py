"""The pyzmq side of the interop tests: sockets of a context of their own, with bounded waits.

Not here: meshmsg.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import zmq

from tests.support.pairs import WAIT_S

WAIT_MS = int(WAIT_S * 1000)


@contextmanager
def zmq_socket(kind: int, **options: Any) -> Iterator[Any]:
    """Open a socket of its own context; everything of it is gone afterwards."""
    context = zmq.Context()
    socket = context.socket(kind)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RCVTIMEO, WAIT_MS)
    socket.setsockopt(zmq.SNDTIMEO, WAIT_MS)
    socket.setsockopt(zmq.IPV6, 1)
    for name, value in options.items():
        socket.setsockopt(getattr(zmq, name), value)
    try:
        yield socket
    finally:
        socket.close()
        context.term()


def bind(socket: Any, url: str) -> str:
    """Bind, and return the endpoint with its port."""
    socket.bind(url)
    return str(socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0"))
