"""The bar of `progress=True`: tqdm's, in a terminal or a notebook.

Not here: when it is told (_fanout.py, rows/_progress.py). Law: tqdm is imported once a bar is asked
for, not before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from meshmsg import ResourceError

from ._told import FanOutStats


class Shown:
    """A bar on standard error.

    Args:
        unit: What is counted.

    Raises:
        ResourceError: tqdm is not there.
    """

    def __init__(self, unit: str) -> None:
        try:
            made: Any = importlib.import_module("tqdm.auto")
        except ImportError as error:
            raise ResourceError(
                f"progress=True needs tqdm, which cannot be imported ({error}): "
                "pip install 'meshmsg[progress]'"
            ) from error
        kind: Any = type("Bar", (made.tqdm,), {"monitor_interval": 0})  # it has no thread
        self._bar = kind(unit=f" {unit}")

    def show(self, settled: int, total: int | None, **said: int) -> None:
        """Show so many, of so many, if that is known; and what else is said, unless it is 0."""
        self._bar.total = total
        self._bar.n = settled
        self._bar.set_postfix({name: count for name, count in said.items() if count})

    def close(self) -> None:
        """Leave the last line as it is."""
        self._bar.close()


class Bar(Shown):
    """Shows items that are done, of those that were submitted."""

    def __init__(self) -> None:
        super().__init__("items")

    def __call__(self, counts: FanOutStats) -> None:
        """Show these counts: what failed is settled, too, and is said."""
        settled = counts.done + counts.failed
        self.show(settled, counts.submitted, failed=counts.failed, again=counts.again)


def teller_of(progress: object, bar: Callable[[], Any] = Bar) -> Callable[[Any], object] | None:
    """Return what is told the counts: a bar for True, nothing for False or None.

    Args:
        progress: As the user gave it.
        bar: Makes one.

    Raises:
        TypeError: It is none of these, and cannot be called.
        ResourceError: It is True, and tqdm is not there.
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return bar()  # type: ignore[no-any-return]
    if not callable(progress):
        raise TypeError(
            f"progress is {progress!r}; it is True for a bar, or a function that gets the counts"
        )
    return progress
