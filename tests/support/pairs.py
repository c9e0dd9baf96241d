"""Two sockets that are connected before a test begins. No sleeps.

Not here: what is sent over them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WAIT_S = 20.0
"""Seconds a test waits for what must happen; only a broken build needs them."""

_names = itertools.count()


def endpoint_for(transport: str, folder: Path) -> str:
    """Return an endpoint of a transport that nobody uses."""
    return {
        "tcp": "tcp://127.0.0.1:0",
        "tcp6": "tcp://[::1]:0",
        "name": "tcp://localhost:0",
        "ipc": f"ipc://{folder}/s{next(_names)}",
        "inproc": f"inproc://pair-{next(_names)}",
    }[transport]


@contextmanager
def joined(
    first: Any, second: Any, url: str = "tcp://127.0.0.1:0", **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Open two sync sockets, the first binding, and give them out once both see each other."""
    with first(bind=url, **options) as a, second(connect=a.endpoint, **options) as b:
        a.wait_for_peers(timeout=WAIT_S)
        b.wait_for_peers(timeout=WAIT_S)
        yield a, b
