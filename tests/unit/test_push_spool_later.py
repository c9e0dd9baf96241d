"""`Push(spool=)`: what is in the spool to go later is counted and told of, as in memory.

Not here: when it goes (test_push_spool_fates.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.pairs import wait_until

LATER_S = 5_000.0
"""Seconds that no test waits for."""


def test_what_is_to_go_later_is_counted_and_told_of(world: World, tmp_path: Path) -> None:
    """By stats(), and by the error of who waits for the end; and again by the next Push."""
    for _ in range(2):
        with world.life(tmp_path / "s") as (spool, push):
            if not spool.info().last_seq:
                push.send(b"now")
                push.send(b"later", delay=LATER_S)
                push.send(b"much later", delay=2 * LATER_S)
            wait_until(lambda push=push: push.stats().delayed_messages == 2)
            assert push.stats().delayed_bytes == 0, "they are on the disk"
            push.finish()
            with pytest.raises(mm.TimedOutError, match=r"and 2 to go later \(the next in [45],"):
                push.wait_for_finished(timeout=0.01)


def test_without_any_it_is_as_it_was(world: World, tmp_path: Path) -> None:
    """Nothing is said of what there is none of."""
    with world.life(tmp_path / "s") as (_, push):
        push.send(b"now")
        assert push.stats().delayed_messages == 0
        push.finish()
        with pytest.raises(mm.TimedOutError) as raised:
            push.wait_for_finished(timeout=0.01)
        assert "later" not in str(raised.value)
