"""A call of a test that waits, in a thread beside it.

Not here: what it waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.pairs import WAIT_S


@contextmanager
def aside(call: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Make a call in a thread, which has ended behind this; what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield raised
    finally:
        thread.join(WAIT_S)
        assert not thread.is_alive()
