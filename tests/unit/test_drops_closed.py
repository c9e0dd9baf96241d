"""What a socket dropped is in the log once it is closed, however soon after it began that is.

Not here: why messages are dropped (test_drops_told.py), how often that is told (test_log.py).
"""

from __future__ import annotations

import logging
import re

import pytest

import meshmsg as mm
from tests.support.pairs import wait_until
from tests.unit.test_dead_letters import UP

COUNT = re.compile(r"([\d,]+) messages? dropped.*?(?:\(([\d,]+) since the last record of it\))?$")


def loud(caplog: pytest.LogCaptureFixture) -> int:
    """How many messages were dropped, as records that are loud say."""
    count = 0
    for record in caplog.records:
        found = COUNT.search(record.getMessage())
        if record.levelno == logging.WARNING and found is not None:
            count += int((found[2] or found[1]).replace(",", ""))
    return count


@pytest.mark.parametrize("ends", ["socket", "engine"])
def test_all_that_was_dropped_is_told_at_the_end(
    ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also what was quiet, as the same trouble had been told a moment before."""
    engine = mm.Engine()
    push = mm.Push(bind=UP, no_peer="drop", engine=engine)
    push.send(b"first")
    wait_until(lambda: loud(caplog) == 1)
    for _ in range(5):
        push.send(b"x")
        push.events()
    push.send_many([b"x"] * 94)
    if ends == "socket":
        push.close()
    engine.close()
    push.close()
    wait_until(lambda: loud(caplog) == 100)
