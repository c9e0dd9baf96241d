"""Receipts that are asked once their socket is closed: they say what was known by then.

Not here: receipts of an open socket (test_receipts.py, test_receipt_runs.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import UP, World, reason_of
from tests.support.pairs import WAIT_S, wait_until

MANY = 200
"""Messages of a run: those of several blocks of receipts."""
HALF = 130
"""Of them, those that are acknowledged: the last ones of a block are not."""


class Sender:
    """A Push that keeps its messages in memory, or in a spool."""

    def __init__(self, world: World, path: Path | None) -> None:
        self.world, self._path = world, path

    @contextmanager
    def push(self) -> Iterator[Any]:
        """Open it."""
        if self._path is None:
            with self.world.socket("Push", bind=UP, delivery="at_least_once") as push:
                yield push
        else:
            with self.world.life(self._path / "s") as (_, push):
                yield push


@pytest.fixture(params=["memory", "spool"])
def sender(request: pytest.FixtureRequest, world: World, tmp_path: Path) -> Sender:
    """Each of both, for threads and for asyncio."""
    return Sender(world, tmp_path if request.param == "spool" else None)


def work(push: Any, count: int) -> None:
    """Acknowledge until so many are, and wait until the Push knows it; no receipt is asked."""
    with mm.Pull(connect=push.endpoint, ack="manual") as pull:
        for _ in range(count - push.stats().acked_messages):
            assert pull.recv(timeout=WAIT_S).ack()
        wait_until(lambda: push.stats().acked_messages == count)


def test_what_was_done_before_is_told_of_each(sender: Sender) -> None:
    """By `wait`, and by `outcome`; as often as it is asked."""
    with sender.push() as push:
        receipts = [push.send(b"%d" % i, confirm=True) for i in range(3)]
        work(push, 3)
    for _ in range(2):
        sender.world.wait(receipts[0], timeout=0)
    assert [receipt.outcome for receipt in receipts] == ["acked"] * 3


@pytest.mark.parametrize("ask", ["wait", "tally", "outcomes", "one"])
def test_what_was_done_before_is_told_of_many(sender: Sender, ask: str) -> None:
    """By each way to ask for them."""
    with sender.push() as push:
        receipts = push.send_many([b"%d" % i for i in range(MANY)], confirm=True)
        one = receipts[MANY - 1]
        work(push, MANY)
    if ask == "wait":
        sender.world.wait(receipts, timeout=0)
    elif ask == "tally":
        assert receipts.tally()["acked"] == MANY
    elif ask == "outcomes":
        assert receipts.outcomes() == ["acked"] * MANY
    else:
        sender.world.wait(one, timeout=0)
        assert receipts[0].outcome == "acked"


def test_what_was_not_done_before_is_not_known(sender: Sender) -> None:
    """ClosedError of those alone; closing again changes nothing."""
    with sender.push() as push:
        receipts = push.send_many([b"%d" % i for i in range(MANY)], confirm=True)
        work(push, HALF)
    push.close()
    for call in (receipts.outcomes, receipts.tally, lambda: sender.world.wait(receipts)):
        with pytest.raises(mm.ClosedError):
            call()
    for at, receipt in enumerate(receipts):
        if at < HALF:
            assert receipt.outcome == "acked"
        else:
            with pytest.raises(mm.ClosedError):
                sender.world.wait(receipt)


def test_why_one_was_not_delivered_is_still_known(sender: Sender) -> None:
    """It expired, and nobody has asked before."""
    with sender.push() as push:
        receipt = push.send(b"late", ttl=0.001, confirm=True)
        wait_until(lambda: push.stats().dropped_expired > 0)
    assert reason_of(sender.world, receipt) == "expired"


def test_who_waited_in_vain_before_is_told_too(sender: Sender) -> None:
    """What that call took out of the core, and what came after it."""
    with sender.push() as push:
        receipts = push.send_many([b"%d" % i for i in range(MANY)], confirm=True)
        work(push, HALF // 2)
        with pytest.raises(mm.TimedOutError):
            sender.world.wait(receipts, timeout=0.01)
        work(push, HALF)
    assert [one.outcome for one in receipts[:HALF]] == ["acked"] * HALF
