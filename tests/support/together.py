"""Several calls at once, each in a thread of its own.

Not here: what they do; how they wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def together(calls: Sequence[Callable[[], None]], patience_s: float) -> None:
    """Run all of them at once; the first error is ours, and so is one that does not end."""
    errors: list[BaseException] = []

    def run(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience_s)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)
