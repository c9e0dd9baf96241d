"""What a receipt says of where its message is kept: what it survived when `send` returned.

Not here: that it does survive that (tests/crash), what becomes of the message (test_receipts.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from tests.support.feeding import UP, World, all_of

LEVELS = ["buffered", "os", "disk"]
CALLS = ["send_many", "generator", "send_batch"]
ROOM = 3
"""Messages of a spool that is full soon."""


def run_of(push: Any, call: str, bodies: list[bytes], **more: Any) -> Any:
    """Send them with receipts."""
    if call == "send_batch":
        return push.send_batch(pa.array(bodies, pa.binary()), confirm=True, **more)
    source = bodies if call == "send_many" else iter(bodies)
    return push.send_many(source, confirm=True, **more)


@pytest.mark.parametrize("level", LEVELS)
def test_one_says_as_what_its_spool_kept_it(world: World, tmp_path: Path, level: str) -> None:
    """And under which number; before, while and after it is done."""
    with world.life(tmp_path / "s", durability=level) as (spool, push):
        first = push.send(b"1", confirm=True)
        second = push.send_frames([b"2", b"3"], confirm=True)
        assert (first.kept, second.kept) == (level, level)
        assert (first.seq, second.seq) == (1, 2)
        assert repr(first) == f"<meshmsg.Receipt 1: open, kept: {level}>"
        if level == "disk":
            assert spool.info().durable_seq == 2
        elif level == "os":
            assert spool.info().written_seq == 2
        with world.socket("Pull", connect=push.endpoint) as pull:
            all_of(push, pull)
        assert (first.outcome, first.kept, first.seq) == ("acked", level, 1)
        assert repr(first) == f"<meshmsg.Receipt 1: acked, kept: {level}>"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("level", LEVELS)
def test_so_does_each_of_many(world: World, tmp_path: Path, level: str, call: str) -> None:
    """And all of them together."""
    with world.life(tmp_path / "s", durability=level) as (_, push):
        push.send(b"0")
        receipts = run_of(push, call, [b"1", b"2", b"3"])
        assert receipts.kept == level
        assert [(one.kept, one.seq) for one in receipts] == [(level, n) for n in (2, 3, 4)]
        assert repr(receipts).endswith(f"when it was asked last, kept: {level}>")


def test_without_a_spool_it_is_in_memory(world: World) -> None:
    """Which survives nothing of the process; it has no number that anybody else knows."""
    with world.socket("Push", bind=UP, delivery="at_least_once") as push:
        one = push.send(b"1", confirm=True)
        more = run_of(push, "send_many", [b"2", b"3"])
        assert [(r.kept, r.seq) for r in (one, *more)] == [("memory", None)] * 3
        assert more.kept == "memory"
        assert repr(one).endswith(": open, kept: memory>")
        push.close()


@pytest.mark.parametrize("call", CALLS)
def test_what_a_full_spool_does_not_keep_says_so(world: World, tmp_path: Path, call: str) -> None:
    """It has no level and no number, and is none of those that have."""
    options: dict[str, Any] = {"max_messages": ROOM, "overflow": "drop_newest"}
    with world.life(tmp_path / "s", durability="os", **options) as (_, push):
        receipts = run_of(push, call, [b"x"] * (ROOM + 2))
        assert receipts.kept == "os"
        assert [one.kept for one in receipts] == ["os"] * ROOM + [None] * 2
        assert [one.seq for one in receipts] == [*range(1, ROOM + 1), None, None]
        alone, other = (push.send(b"x", confirm=True) for _ in range(2))
        assert (alone.kept, alone.seq, alone.outcome) == (None, None, "dropped")
        assert repr(alone) == "<meshmsg.Receipt 0: dropped, not kept>"
        assert len({*receipts, alone, other}) == ROOM + 4
        assert [receipts.index(one) for one in receipts] == list(range(ROOM + 2))


class Stops(Exception):
    """Breaks a call off."""


def test_a_call_that_is_broken_off_promises_no_more_than_it_did(
    world: World, tmp_path: Path
) -> None:
    """Nobody waited for the disk: they are put, and that is all it says."""

    def bodies() -> Any:
        yield from (b"1", b"2")
        raise Stops

    with world.life(tmp_path / "s", durability="disk") as (_, push):
        with pytest.raises(Stops) as raised:
            push.send_many(bodies(), confirm=True)
        receipts = vars(raised.value)["receipts"]
        assert receipts.kept == "buffered"
        assert [(one.kept, one.seq) for one in receipts] == [("buffered", 1), ("buffered", 2)]


def test_a_view_shows_what_it_says_is_on_the_disk(tmp_path: Path) -> None:
    """As a view shows only what is proved to be there; by the number of the receipt."""
    with mm.Spool(tmp_path / "s") as spool, mm.Push(spool=spool) as push:
        receipt = push.send(b"1", confirm=True)
        push.send(b"2")
        with mm.SpoolView(tmp_path / "s") as view, view.reader(receipt.seq) as reader:
            assert reader.read(1) == [b"1"]
