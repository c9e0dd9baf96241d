"""A call in a thread of its own, of which it is asked later how it ended.

Law: nobody waits for it for ever; a thread that hangs does not keep the process from ending.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.support.pairs import WAIT_S


class Later:
    """It has begun once this is there."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._found: Any = None
        self._error: BaseException | None = None
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._begun.wait(WAIT_S), "the call never began"

    def _run(self) -> None:
        self._begun.set()
        try:
            self._found = self._call()
        except BaseException as error:
            self._error = error

    def error(self) -> BaseException | None:
        """What it raised, once it has ended; None: nothing."""
        joined(self._thread)
        return self._error

    def result(self) -> Any:
        """What it returned, or raised."""
        if (error := self.error()) is not None:
            raise error
        return self._found


def joined(*threads: threading.Thread) -> None:
    """Wait until they have ended; one that does not fails the test."""
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive(), f"{thread.name} still runs"
