"""A program ends although events are told: of functions that block, and forks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.pairs import WAIT_S

PROGRAMS = {
    "a function that never returns": """
        called = threading.Event()
        def hear(event):
            called.set()
            threading.Event().wait()
        push = mm.Push(bind="tcp://127.0.0.1:0", on_event=hear)
        called.wait()
    """,
    "a function that is called as it ends": """
        keep = [mm.Pull(bind="tcp://127.0.0.1:0", on_event=lambda _: None) for _ in range(20)]
    """,
    "a function that uses a socket at exit": """
        called = threading.Event()
        def hear(event):
            called.set()
            mm.Pull().recv(timeout=60)
        push = mm.Push(bind="tcp://127.0.0.1:0", on_event=hear)
        called.wait()
    """,
    "somebody who watches on": """
        pull = mm.Pull(bind="tcp://127.0.0.1:0")
        events = pull.watch()
        next(events)
        threading.Thread(target=lambda: list(events), daemon=True).start()
    """,
    "a fork in the midst of it": """
        heard = threading.Event()
        push = mm.Push(bind="tcp://127.0.0.1:0", on_event=lambda _: heard.set())
        heard.wait()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                pull = mm.Pull(bind="tcp://127.0.0.1:0", on_event=lambda _: None)
                sys.exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """,
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_program_ends_without_a_word(what: str) -> None:
    """Nothing on standard error, and no hanging."""
    lines = [line.removeprefix(" " * 8) for line in PROGRAMS[what].splitlines()]
    text = "import os, signal, sys, threading\nimport meshmsg as mm\n" + "\n".join(lines)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


LAST_RECORDS = """
import meshmsg
import logging.handlers, sys
to = logging.handlers.MemoryHandler(1000, 100, logging.StreamHandler(sys.stdout))
log = logging.getLogger("meshmsg")
log.addHandler(to)
log.setLevel(logging.DEBUG)
push = meshmsg.Push(bind="tcp://127.0.0.1:0", no_peer="drop")
for _ in range(5):
    push.send(b"x")
"""


def test_what_is_told_at_exit_reaches_a_handler_that_keeps_records() -> None:
    """The end of logging, which empties such handlers, comes after ours, whoever imported it."""
    done = subprocess.run(
        [sys.executable, "-c", LAST_RECORDS], capture_output=True, text=True, timeout=WAIT_S
    )
    assert "4 messages dropped" in done.stdout
