"""Receiving many, with the n-th allocation of the interpreter failing, for every n there is.

Not here: the core's own (tests/sim/test_no_memory.py). Law: a call that found no memory has taken
nothing: all messages come afterwards, in order.
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, joined

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The interpreter is one: a thread that tells of events may meet an allocation that fails, and says
so (test_telling_no_memory.py)."""

COUNT = 40
POINTS = 120
"""More than such a call allocates."""


@pytest.mark.parametrize("frames", [1, 3])
def test_a_receive_of_many_that_finds_no_memory_has_taken_nothing(frames: int) -> None:
    """Not the message either for which its list had no room, nor one that has half its frames."""
    memory = pytest.importorskip("_testcapi")
    bodies = [b"%d" % number for number in range(COUNT)]
    with joined(mm.Push, mm.Pull, "tcp://127.0.0.1:0") as (push, pull):
        for n in range(POINTS * frames):
            for body in bodies:
                push.send_frames([b"frame"] * (frames - 1) + [body])
            push.drain(timeout=WAIT_S)
            got: list[mm.Message] = []
            memory.set_nomemory(n, n + 1)
            try:
                got = pull.recv_many(COUNT, timeout=WAIT_S)
            except MemoryError:
                pass
            finally:
                memory.remove_mem_hooks()
            while len(got) < COUNT:
                try:
                    got += pull.recv_many(COUNT, timeout=1.0)
                except mm.TimedOutError:
                    break
            assert got == bodies, n
            assert {len(message.frames) for message in got} == {frames}
