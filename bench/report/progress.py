"""A bar on the terminal while something is measured; nothing where nobody watches.

Law: one bar a run. It goes to the error output, is not there while a table is printed, and is gone
at the end, so that what the run printed stays as it would be without it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.need import is_there, need


class Progress:
    """How far a run is; this one says nothing."""

    def begin(self, done: int, words: str) -> None:
        """One more measurement begins, after so many."""

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Room for a table."""
        yield


class Lines(Progress):
    """A line a measurement, where nothing can draw."""

    def __init__(self, total: int) -> None:
        self._total = total

    def begin(self, done: int, words: str) -> None:
        """Say which it is."""
        print(f"{done + 1} of {self._total}: {words}", file=sys.stderr, flush=True)


class Bar(Progress):
    """A bar, drawn by rich."""

    def __init__(self, total: int) -> None:
        shown: Any = need("rich.progress", "a progress bar")
        console = need("rich.console", "a progress bar").Console(stderr=True)
        self._bar = shown.Progress(
            shown.TextColumn("{task.description}"),
            shown.BarColumn(),
            shown.MofNCompleteColumn(),
            shown.TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,  # tables may go to a file while the bar is on the terminal
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=total)

    def begin(self, done: int, words: str) -> None:
        """Move on."""
        self._bar.update(self._task, description=words, completed=done)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take it away, and draw it again."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    @contextmanager
    def drawn(self) -> Iterator[Progress]:
        """As long as this lasts."""
        with self._bar:
            yield self


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """Show how far a run of so many measurements is."""
    if not sys.stderr.isatty():
        yield Progress()
    elif is_there("rich"):
        with Bar(total).drawn() as bar:
            yield bar
    else:
        yield Lines(total)
