"""Dead letters that go to a socket which has a spool: `dead_letter=Push(spool=)`, and a Pub.

Not here: other places for them (test_dead_places.py, test_dead_spools.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"


@pytest.mark.parametrize("durability", ["os", "disk"])
@pytest.mark.parametrize("role", ["Push", "Pub"])
def test_letters_are_in_the_spool_each_once_with_key_and_headers(
    tmp_path: Path, role: str, durability: str
) -> None:
    """Nobody has to be there to take them."""
    with (
        mm.Spool(tmp_path / "s", durability=durability) as spool,
        getattr(mm, role)(bind=UP, spool=spool) as place,
        mm.Push(bind=UP, delivery="at_least_once", max_attempts=1, dead_letter=place) as push,
        mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull,
    ):
        for number in range(3):
            push.send(b"%d" % number, key=b"k", headers={"own": "1"}, timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S).nack() is True
        wait_until(lambda: spool.info().last_seq >= 3)
        spool.flush(timeout=WAIT_S)
        kept = spool.read(1).messages
        assert [one.frames[-1] for one in kept] == [b"0", b"1", b"2"]
        assert {one.key for one in kept} == {b"k"}
        assert {one.headers["x-dead-reason"] for one in kept} == {"attempts"}
        assert {one.headers["own"] for one in kept} == {"1"}


def test_a_full_spool_has_letters_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are not given up as of a place that fails: as it closes, the Push still has them."""
    with (
        mm.Spool(tmp_path / "s", max_messages=2, durability="os") as spool,
        mm.Push(bind=UP, spool=spool) as place,
    ):
        with (
            mm.Push(bind=UP, delivery="at_least_once", max_attempts=1, dead_letter=place) as push,
            mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull,
        ):
            for number in range(4):
                push.send(b"%d" % number, timeout=WAIT_S)
                assert pull.recv(timeout=WAIT_S).nack() is True
            wait_until(lambda: push.stats().dead_messages == 4)
            wait_until(lambda: spool.info().last_seq == 2)
        wait_until(lambda: "2 dead letters of a Push were lost" in caplog.text)
        assert "raised an error" not in caplog.text
