"""A bar on the terminal while something is measured; nothing where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._need import is_there, need


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """A function to call with a few words at the beginning of each of so many measurements."""
    if not sys.stderr.isatty():
        yield lambda _: None
    elif is_there("rich"):
        with _bar(total) as told:
            yield told
    else:
        done = iter(range(1, total + 1))
        yield lambda words: print(f"{next(done, total)} of {total}: {words}", file=sys.stderr)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str], None]]:
    shown: Any = need("rich.progress", "a progress bar")
    console = need("rich.console", "a progress bar").Console(stderr=True)
    columns = (
        shown.TextColumn("{task.description}"),
        shown.BarColumn(),
        shown.MofNCompleteColumn(),
        shown.TimeElapsedColumn(),
    )
    with shown.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def told(words: str) -> None:
            nonlocal begun
            bar.update(task, description=words, advance=1 if begun else 0)
            begun = True

        yield told
