"""A process that waits for a message does next to nothing meanwhile."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S

WAIT_ONE_S = 1.0
WAKES_MAX = 60
"""In that time, of all threads: the main thread's looks at signals, ten a second, and the runner's
after each. It was woken a hundred times a second once, to see whether somebody still polls."""


def switches() -> int:
    """Count how often this process's threads went to sleep."""
    count = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            lines = (task / "status").read_text().splitlines()
        except OSError:  # it has ended
            continue
        count += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary"))
    return count


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts by Linux's /proc")
def test_who_waits_for_a_request_is_not_woken_for_nothing() -> None:
    """After requests came so quickly that the one who waits polls itself."""
    with mm.Engine() as other, mm.Rep(bind="tcp://127.0.0.1:0") as rep:
        asked = 20

        def ask() -> None:
            with mm.Req(connect=rep.endpoint, engine=other) as req:
                for _ in range(asked):
                    req.request(b"?", timeout=WAIT_S)

        asking = threading.Thread(target=ask)
        asking.start()
        for _ in range(asked):
            rep.recv(timeout=WAIT_S).reply(b"!")
        asking.join()
        before = switches()
        threading.Event().wait(WAIT_ONE_S)  # what other tests left in this process goes on
        others = switches()
        with pytest.raises(mm.TimedOutError):
            rep.recv(timeout=WAIT_ONE_S)
        assert switches() - others < WAKES_MAX + others - before


def asleep(thread: threading.Thread) -> int:
    """Count how often a thread went to sleep."""
    lines = Path(f"/proc/self/task/{thread.native_id}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary"))


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts by Linux's /proc")
def test_who_tells_of_events_sleeps_while_there_are_none() -> None:
    """Between peers that are connected and do not speak, nothing wakes it."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull, mm.Push(connect=pull.endpoint) as push:
        push.wait_for_peers(timeout=WAIT_S)
        (teller,) = (t for t in threading.enumerate() if t.name == "meshmsg-events")
        events = pull.watch()
        assert [next(events).kind for _ in range(2)][1] is mm.EventKind.PEER_UP
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=0.2)  # its pause after the last event is over
        before = asleep(teller)
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=WAIT_ONE_S)
        assert asleep(teller) == before
