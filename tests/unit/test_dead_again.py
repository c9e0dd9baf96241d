"""Dead letters that are sent on, and become dead letters again: what their headers say then.

Not here: letters that die once (test_dead_places.py, test_groups_dead.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.unit.test_dead_letters import UP

ONCE: dict[str, Any] = {"delivery": "at_least_once", "max_attempts": 1}


def give_back(pull: mm.Pull) -> None:
    """Take one, and give it back."""
    assert pull.recv(timeout=WAIT_S).nack() is True


def history(letter: mm.Message | mm.SpoolMessage) -> dict[str, Any]:
    """What its headers say of it."""
    return {name: value for name, value in letter.headers.items() if name.startswith("x-dead-")}


def test_a_letter_that_dies_again_has_the_history_of_its_last_death(tmp_path: Path) -> None:
    """And of its own what it had."""
    with (
        mm.Spool(tmp_path / "dead", durability="os") as dead,
        mm.Push(bind=UP, **ONCE, dead_letter=dead) as second,
        mm.Push(bind=UP, **ONCE, dead_letter=second) as first,
        mm.Pull(connect=first.endpoint, ack="manual", prefetch=1) as one,
        mm.Pull(connect=second.endpoint, ack="manual", prefetch=1) as other,
    ):
        second.wait_for_peers(timeout=WAIT_S)
        second.send(b"before", timeout=WAIT_S)
        assert other.recv(timeout=WAIT_S).ack() is True
        first.send(b"bad", key=b"k", headers={"own": "1"}, timeout=WAIT_S)
        give_back(one)
        letter = other.recv(timeout=WAIT_S)
        assert str(letter.headers["x-dead-seq"]).endswith(":1")
        assert letter.seq is not None
        assert letter.nack() is True
        (again,) = dead.read(1, timeout=WAIT_S).messages
        assert (again, again.key, again.headers["own"]) == (b"bad", b"k", "1")
        assert history(again) == {
            "x-dead-reason": "attempts",
            "x-dead-attempts": "1",
            "x-dead-seq": "{}:{}".format(*letter.seq),
        }
        assert letter.seq[1] == 2  # its number where it died last


def test_one_that_was_not_handed_out_again_has_no_number_of_before(tmp_path: Path) -> None:
    """Nor the group that did not do it: a Pub has no part in this death."""
    with (
        mm.Spool(tmp_path / "dead", durability="os") as dead,
        mm.Push(bind=UP, **ONCE, dead_letter=dead) as push,
    ):
        came = {"x-dead-group": "w", "x-dead-seq": "7:7", "x-dead-attempts": "5", "own": "1"}
        push.send(b"late", headers=came, ttl=0.05)
        (late,) = dead.read(1, timeout=WAIT_S).messages
        assert late.headers["own"] == "1"
        assert history(late) == {"x-dead-reason": "expired", "x-dead-attempts": "0"}
