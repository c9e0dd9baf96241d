"""What is empty or false is no value that was left out.

Not here: values that are too large, or of another meaning (test_push_spool_odd.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.spooled import small


@pytest.mark.parametrize("delay", [False, "", b"", [], ()])
@pytest.mark.parametrize("spooled", [False, True])
def test_a_delay_is_a_number(tmp_path: Path, spooled: bool, delay: Any) -> None:
    """With a spool as without one, and as of `append`."""
    with (
        small(tmp_path / "s") as spool,
        mm.Push(spool=spool) if spooled else mm.Push(delivery="at_least_once") as push,
    ):
        with pytest.raises(TypeError, match="delay is"):
            push.send(b"x", delay=delay)
        with pytest.raises(TypeError, match="delay is"):
            spool.append(b"x", delay=delay)
        assert spool.info().last_seq == 0


@pytest.mark.parametrize("delivery", ["", 0, [], False])
def test_delivery_is_a_word(delivery: Any) -> None:
    """One of two."""
    with pytest.raises(mm.UsageError, match="delivery is"):
        mm.Push(delivery=delivery)
