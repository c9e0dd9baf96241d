"""Fixtures of the suites that run for threads and for asyncio."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.inloop import LoopThread
from tests.support.patterned import Kit


@pytest.fixture(params=["sync", "asyncio"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """One for each."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield Kit(thread)
    if thread is not None:
        thread.close()
