"""What a Push has put is no log for a Pub, and a log with groups is not for a Push: both say so.

Not here: two sockets at one moment (test_replay_odd.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.feeding import UP, World, settled, taken
from tests.support.grouped import info
from tests.support.spooled import body, small

COUNT = 30


def test_a_log_with_groups_is_not_for_a_push(world: World, tmp_path: Path) -> None:
    """It says which groups; nothing is removed, and no cursor is made."""
    with world.spool(tmp_path / "s") as spool:
        with world.socket("Pub", bind=UP, spool=spool) as pub:
            pub.seek_group("billing", "earliest")
            pub.seek_group("audit", "earliest")
            for seq in range(1, COUNT + 1):
                pub.send(body(seq), topic="t")
        with pytest.raises(mm.UsageError, match=r"groups \(audit, billing\)") as raised:
            world.push(spool)
        assert "delete_cursor('group.audit')" in str(raised.value)
        assert [one.name for one in spool.cursors()] == ["group.audit", "group.billing"]
        with world.socket("Pub", bind=UP, spool=spool) as pub:
            assert (info(pub, "billing").lag, info(pub, "audit").lag) == (COUNT, COUNT)


def test_groups_that_are_given_up_keep_no_push_out(world: World, tmp_path: Path) -> None:
    """As the error says; and a cursor that is no group's never did."""
    with small(tmp_path / "s") as own, own.cursor("group."), own.cursor("audit"):
        pass
    with world.spool(tmp_path / "s") as spool:
        with world.socket("Pub", bind=UP, spool=spool) as pub:
            pub.seek_group("w", "earliest")
            pub.send(b"x", topic="t")
        with pytest.raises(mm.UsageError, match=r"groups \(w\)"):
            world.push(spool)
        spool.delete_cursor("group.w")
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            assert pull.recv().frames[-1] == b"x"


@pytest.mark.parametrize("done", [False, True])
def test_what_a_push_put_is_not_for_a_pub(world: World, tmp_path: Path, done: bool) -> None:
    """Whether all of it is done or not: the answer is the same in each life of the Pub."""
    with world.life(tmp_path / "s") as (_, push):
        push.send(b"an order")
        if done:
            with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
                pull.recv().ack()
                settled(push)
    with world.spool(tmp_path / "s") as spool:
        with pytest.raises(mm.UsageError, match=r"of a Push: .* delete_cursor\('push'\)"):
            world.socket("Pub", bind=UP, spool=spool)
        assert [one.lag for one in spool.cursors()] == [0 if done else 1]
    if not done:
        with world.life(tmp_path / "s") as (_, push):
            with world.socket("Pull", connect=push.endpoint) as pull:
                assert taken(pull, 1) == [b"an order"]
    with world.spool(tmp_path / "s") as spool:
        spool.delete_cursor("push")
        world.socket("Pub", bind=UP, spool=spool).close()
