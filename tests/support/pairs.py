"""Two sockets that are connected before a test begins. No sleeps.

Not here: what is sent over them.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import meshmsg as mm

WAIT_S = 60.0
"""Seconds a test waits for what must happen; only a broken build needs them."""
LOOK_S = 0.005

_names = itertools.count()


def wait_until(true: Callable[[], object]) -> None:
    """Wait for what nothing can be waited on for; only a broken build needs all the looks."""
    pause = threading.Event()
    for _ in range(int(WAIT_S / LOOK_S)):
        if true():
            return
        pause.wait(LOOK_S)
    raise AssertionError("it never became true")


def of_its_own(url: str = "tcp://127.0.0.1:0") -> str:
    """Return the endpoint on a loopback address nobody else uses.

    So its port stays free while nobody has it bound: no other test and no other program is given it
    in between.
    """
    pid, count = os.getpid(), next(_names)
    address = f"127.{1 + pid // 250 % 250}.{pid % 250}.{2 + count % 250}"
    return url.replace("127.0.0.1", address)


def free_endpoints(count: int) -> list[str]:
    """Return so many that can be bound, by whoever is begun later, on such an address."""
    with ExitStack() as stack:
        address = of_its_own()
        return [stack.enter_context(mm.Pull(bind=address)).endpoint for _ in range(count)]


def told(socket: Any, text: str) -> None:
    """Wait until an event of the socket has this text in its details."""
    wait_until(lambda: any(text in event.detail for event in socket.events()))


def told_all() -> None:
    """Wait until the threads that tell of events are gone: all sockets were closed."""
    names = ("meshmsg-events", "meshmsg-log")
    wait_until(lambda: all(thread.name not in names for thread in threading.enumerate()))


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
