"""A part of pytest for tests/mutants: runs the tests that a list names, and keeps a journal.

The journal tells the runner which test runs and how it ended, also when the process dies in it.
Not here: what is done about it (run.py). Law: a test that the list names and that is not there is
told; nothing is left out in silence.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.mutants.blocks import TRACE_SIZE, noted


class Journal:
    """Writes one line when a test starts, and one when it has ended."""

    def __init__(self, path: str, only: str, starts: str, trace: str) -> None:
        """Take the names of files: the journal, the list of tests ("" for all), where blocks start
        and the notes of what has run ("" for both: nothing is noted)."""
        self._out = open(path, "a", buffering=1, encoding="utf-8")
        self._only = only
        self._notes: mmap.mmap | None = None
        self._failed = False
        self._starts: list[int] = []
        if trace:
            self._starts = json.loads(Path(starts).read_text(encoding="utf-8"))
            with open(trace, "r+b") as notes:
                self._notes = mmap.mmap(notes.fileno(), TRACE_SIZE)

    def _write(self, **fields: object) -> None:
        self._out.write(json.dumps(fields) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Keep what the list names."""
        if not self._only:
            return
        wanted = set(Path(self._only).read_text(encoding="utf-8").splitlines())
        items[:] = [item for item in items if item.nodeid in wanted]
        missing = wanted - {item.nodeid for item in items}
        if missing and not session.testsfailed:
            self._write(missing=sorted(missing))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure of the test, or of what it needs."""
        self._failed = self._failed or report.failed

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, None]:
        """Tell that the test starts and how it ended, and keep the notes of what it ran."""
        self._write(start=item.nodeid)
        self._failed = False
        began = time.monotonic()
        yield
        seconds = round(time.monotonic() - began, 3)
        blocks = 0
        if self._notes is not None:
            blocks = noted(self._starts, self._notes)
            self._notes[:] = bytes(TRACE_SIZE)
        self._write(end=item.nodeid, ok=not self._failed, seconds=seconds, blocks=f"{blocks:x}")


def pytest_configure(config: pytest.Config) -> None:
    """Start the journal."""
    names = (os.environ.get(f"MUTANTS_{name}", "") for name in ("JOURNAL", "ONLY", "STARTS"))
    config.pluginmanager.register(Journal(*names, os.environ.get("MESHMSG_TRACE", "")))
