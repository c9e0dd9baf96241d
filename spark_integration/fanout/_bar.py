"""The bar of `FanOut(progress=True)`: tqdm's, in a terminal or a notebook.

Not here: when it is told (_fanout.py). Law: tqdm is imported once a bar is asked for, not before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

from meshmsg import ResourceError

from ._told import FanOutStats

Progress: TypeAlias = Callable[[FanOutStats], object]
"""Is told the counts."""


class Bar:
    """Shows items that are done, of those that were submitted, on standard error.

    Raises:
        ResourceError: tqdm is not there.
    """

    def __init__(self) -> None:
        try:
            made: Any = importlib.import_module("tqdm.auto")
        except ImportError as error:
            raise ResourceError(
                f"progress=True needs tqdm, which cannot be imported ({error}): "
                "pip install 'meshmsg[progress]'"
            ) from error
        kind: Any = type("Bar", (made.tqdm,), {"monitor_interval": 0})  # it has no thread
        self._bar = kind(total=0, unit=" items")

    def __call__(self, counts: FanOutStats) -> None:
        """Show these counts: what failed is settled, too, and is said."""
        self._bar.total = counts.submitted
        self._bar.n = counts.done + counts.failed
        said = {"failed": counts.failed, "again": counts.again}
        self._bar.set_postfix({name: count for name, count in said.items() if count})

    def close(self) -> None:
        """Leave the last line as it is."""
        self._bar.close()


def teller_of(progress: object) -> Progress | None:
    """Return what is told the counts: a bar for True, nothing for False or None.

    Raises:
        TypeError: It is none of these, and cannot be called.
        ResourceError: It is True, and tqdm is not there.
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if not callable(progress):
        raise TypeError(
            f"progress is {progress!r}; it is True for a bar, or a function that gets the counts"
        )
    return progress
