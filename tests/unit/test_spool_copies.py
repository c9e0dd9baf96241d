"""A spool and a copy of it that are both open and go on: who reads both is told.

Not here: one copy, sound and in the place of its original (test_spool_copy.py); ranges of a copy
(test_ranges_odd.py).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing
from tests.support.spooled import bodies, small

BEFORE, AFTER = 10, 10
"""Messages that both have; that each has of its own."""


def two_of_one(tmp_path: Path) -> tuple[Path, Path]:
    """Make a spool, and a copy of it; each went on by itself."""
    with small(tmp_path / "one") as spool:
        spool.append_many(b"both %d" % seq for seq in range(1, BEFORE + 1))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name in ("one", "two"):
        with small(tmp_path / name) as spool:
            spool.append_many(b"%s %d" % (name.encode(), seq) for seq in range(AFTER))
    return tmp_path / "one", tmp_path / "two"


def test_each_is_a_spool_of_its_own(tmp_path: Path) -> None:
    """Both may be open; each has what was put into it, under its epoch; so has a cursor of each."""
    one, two = two_of_one(tmp_path)
    with small(one) as first, small(two) as second:
        assert first.info().uuid == second.info().uuid
        assert first.info().epoch != second.info().epoch
        for spool, name in ((first, b"one"), (second, b"two")):
            got = bodies(spool)
            assert got[:BEFORE] == [b"both %d" % seq for seq in range(1, BEFORE + 1)]
            assert all(one.startswith(name) for one in got[BEFORE:])
        pairs = [{(m.epoch, m.seq) for m in spool.reader(BEFORE + 1)} for spool in (first, second)]
        assert not pairs[0] & pairs[1]
        with first.cursor("c") as cursor, second.cursor("c") as other:
            cursor.done_up_to(BEFORE + 5)
            assert other.floor == 0


def heard(sub: Any, count: int) -> list[Any]:
    """Receive so many."""
    return [sub.recv(timeout=WAIT_S) for _ in range(count)]


def told(sub: Any, text: str) -> None:
    """Wait until it is told so, by REPLAY_LOST."""
    kind = mm.EventKind.REPLAY_LOST
    wait_until(lambda: any(e.kind is kind and text in e.detail for e in sub.events()))


def test_who_hears_both_at_once_is_told(world: World, tmp_path: Path) -> None:
    """That two say they are one; what each of them sends comes, and is known by its epoch."""
    one, two = two_of_one(tmp_path)
    with publishing(world, one) as (_, pub), publishing(world, two) as (_, other):
        options: dict[str, Any] = {"topics": "", "replay": "earliest"}
        with world.socket("Sub", connect=pub.endpoint, **options) as sub:
            got = heard(sub, BEFORE + AFTER)
            assert [m.seq[1] for m in got] == list(range(1, BEFORE + AFTER + 1))
            sub.connect(other.endpoint)
            told(sub, "two publishers say")
            other.send(b"live")
            assert heard(sub, 1) == [b"live"]


EPOCH_STEP = 16_384
"""How much higher the epoch of the next life of a spool is, at most."""


def ahead(path: Path, of: Path) -> None:
    """Let a spool have lives until its epoch is above that of the next one of another."""
    with small(of) as other:
        least = other.info().epoch + EPOCH_STEP
    epoch = 0
    while epoch <= least:
        with small(path) as spool:
            epoch = spool.info().epoch


@pytest.mark.parametrize("earlier", [True, False])
def test_a_copy_in_the_place_of_its_original_is_told_if_its_life_says_so(
    world: World, tmp_path: Path, earlier: bool
) -> None:
    """One whose life is an earlier one cannot go on where the other was."""
    first, then = two_of_one(tmp_path)
    ahead(*((first, then) if earlier else (then, first)))
    options: dict[str, Any] = {"topics": "", "replay": "earliest"}
    with publishing(world, first) as (_, pub):
        bound = pub.endpoint
        with world.socket("Sub", connect=bound, **options) as sub:
            heard(sub, BEFORE + AFTER)
            pub.send(b"live")
            last = heard(sub, 1)[0].seq
            pub.close()
            with publishing(world, then, bind=bound) as (_, again):
                again.wait_for_subscribers(timeout=WAIT_S)
                again.send(b"1")
                got = heard(sub, 1)[0]
                assert got == b"1"
                assert got.seq[0] != last[0]
                kind = mm.EventKind.REPLAY_LOST
                found = [e.detail for e in sub.events() if e.kind is kind]
                assert any("in an earlier life" in why for why in found) is earlier
