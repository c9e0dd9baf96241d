"""docs/guide/work-that-must-not-be-lost.md does what it says: each of its programs runs, as it
stands there, and prints what it is to show.

Not here: what is promised of each level (tests/sim, tests/crash).
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.guided import Guide, printed_by
from tests.support.pairs import WAIT_S, free_endpoints
from tests.support.programs import running

GUIDE = Guide("work-that-must-not-be-lost.md")

SAYS: dict[str, list[str]] = {
    "2. At least once": ["every job was done: True | not acknowledged: 0"],
    "3. The worker says when": [
        "not done: the disk is full",
        "done: fails once (attempt 2), given back (attempt 2), good (attempt 1)",
    ],
    "4. What nobody can do": [
        "too late expired 0 {}",
        "poison attempts 3 {'order': '4711'}",
    ],
    "5. To know what became of each": [
        "book is done",
        "impossible will not be done: attempts",
        "ship is done",
        "left over: 0",
    ],
    "6. One after the other": [
        "each customer's jobs in order: True",
        "by one worker each: True",
    ],
    "7. Effectively once": [
        "first worker: done",
        "next worker: was done already",
        "orders: 1",
    ],
    "8. Long jobs, jobs for later, urgent jobs": [
        "done: easy, flaky, hangs, later, long, urgent",
        "urgent before long: True",
    ],
    "9. The sender's own end": ["done: a", "done: b", "done: c", "not done: 0"],
    "To see what is going on": [
        "PULL acknowledges: True | has: 2",
        "with workers: 2 | waiting: 3",
        "sent 5 | acknowledged 5",
        "given back, or lost with a worker: 1",
        "events: LISTENING PEER_UP",
    ],
    "To stop, in order": [
        "the first worker did some, and ended: True",
        "each job was done once: True",
    ],
}
"""What the only program of each section prints, among others."""


def test_every_program_is_in_this_test() -> None:
    """None is on the page that is not run."""
    of_all = GUIDE.programs()
    assert len(of_all) == len(SAYS) + len(GUIDE.programs("1. Nothing promised")) == 12
    assert [name for name, _ in of_all if name] == ["jobs.py", "worker.py"]


@pytest.mark.parametrize("title", SAYS)
def test_a_program_runs_as_it_stands_there(title: str, tmp_path: Path) -> None:
    """In an empty folder; it ends by itself, and prints what it shows."""
    [(_, program)] = GUIDE.programs(title)
    printed = printed_by(program, tmp_path)
    for text in SAYS[title]:
        assert text in printed


@pytest.mark.parametrize("first", ["jobs.py", "worker.py"])
def test_the_two_programs_of_the_beginning_meet(first: str, tmp_path: Path) -> None:
    """Whichever is there first."""
    [url] = free_endpoints(1)
    both = GUIDE.programs("1. Nothing promised")
    named = {name: text.replace("tcp://127.0.0.1:5555", url) for name, text in both}
    order = [first, *(name for name in named if name != first)]
    options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        begun = []
        for name in order:
            (tmp_path / name).write_text(named[name])
            begun.append(stack.enter_context(running([sys.executable, name], **options)))
        said = [one.communicate(timeout=2 * WAIT_S)[0] for one in begun]
        assert [one.returncode for one in begun] == [0, 0]
    assert re.fullmatch(r"read: \d+ \| nobody knows: \d+\n", said[order.index("jobs.py")])
    assert said[order.index("worker.py")].splitlines() == [f"did job {n}" for n in range(100)]


def test_its_links_lead_to_pages_and_titles_that_are_there() -> None:
    """By file, and by the title of a section."""
    GUIDE.check_links()
