"""`Push(peers_min=)` and `Pub(members_min=)`: nothing is handed out before so many are there, so a
backlog keeps the order of each key; for threads and asyncio.

Not here: who has which key (test_routing.py, tests/c/test_route.c), what a group does otherwise
(test_groups.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import UP, World, nothing
from tests.support.grouped import info, joined, member, shared
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing

COUNT, KEYS, LEAST = 600, 20, 3


def backlog(path: Path) -> None:
    """A spool that an earlier life has filled."""
    with mm.Spool(path, durability="os") as spool:
        for i in range(COUNT):
            spool.append(b"%d" % i, topic="t", key=b"k%d" % (i % KEYS))


def in_order(got: list[list[Any]], count: int = COUNT) -> None:
    """All came once; each key to one of them, in order."""
    assert sorted(int(message) for own in got for message in own) == list(range(count))
    at: dict[bytes, int] = {}
    for number, own in enumerate(got):
        last: dict[bytes, int] = {}
        for message in own:
            assert at.setdefault(message.key, number) == number
            assert last.get(message.key, -1) < int(message)
            last[message.key] = int(message)
    assert len(set(at.values())) == len(got)


def test_a_group_hands_out_its_backlog_once_enough_members_are_there(
    world: World, tmp_path: Path
) -> None:
    """Who comes first gets nothing meanwhile, and the counters say for how many it waits."""
    backlog(tmp_path / "s")
    with publishing(world, tmp_path / "s", pub_members_min=LEAST) as (_, pub):
        pub.seek_group("w", "earliest")
        assert pub.stats().missing_peers == 0  # nobody has come to any group
        members: list[Any] = []
        for count in range(1, LEAST):
            members.append(member(world, pub))
            joined(pub, count)
            for one in members:
                nothing(one)
            assert pub.stats().missing_peers == LEAST - count
            assert (info(pub).members, info(pub).lag, info(pub).unacked) == (count, COUNT, 0)
        members.append(member(world, pub))
        in_order(shared(members, COUNT))
        assert pub.stats().missing_peers == 0
        for one in members:
            one.close()


def test_a_push_by_keys_hands_out_its_backlog_once_enough_peers_are_there(
    world: World, tmp_path: Path
) -> None:
    """Who comes first gets nothing meanwhile, as a group's members do."""
    backlog(tmp_path / "s")
    with (
        world.spool(tmp_path / "s") as spool,
        world.push(spool, routing="hash", peers_min=LEAST) as push,
    ):
        pulls: list[Any] = []
        for count in range(1, LEAST):
            pulls.append(world.socket("Pull", connect=push.endpoint))
            push.wait_for_peers(count, timeout=WAIT_S)
            for one in pulls:
                nothing(one)
            assert push.stats().missing_peers == LEAST - count
        pulls.append(world.socket("Pull", connect=push.endpoint))
        in_order(shared(pulls, COUNT))
        assert push.stats().missing_peers == 0
        for one in pulls:
            one.close()


def test_without_a_spool_a_send_waits_for_them(world: World) -> None:
    """As it does where nobody is there."""
    with (
        world.socket("Push", bind=UP, routing="hash", peers_min=2) as push,
        world.socket("Pull", connect=push.endpoint) as one,
    ):
        push.wait_for_peers(1, timeout=WAIT_S)
        with pytest.raises(mm.WouldBlockError):
            push.send(b"x", key=b"k", timeout=0)
        with world.socket("Pull", connect=push.endpoint) as other:
            push.send(b"x", key=b"k", timeout=WAIT_S)
            assert [bytes(m) for own in shared([one, other], 1) for m in own] == [b"x"]


def test_who_leaves_before_is_missing_again_and_who_leaves_later_is_not(
    world: World, tmp_path: Path
) -> None:
    """Once enough were there, the last one has all."""
    backlog(tmp_path / "s")
    with publishing(world, tmp_path / "s", pub_members_min=2) as (_, pub):
        pub.seek_group("w", "earliest")
        for stops in (False, True):
            one = member(world, pub)
            joined(pub, 1)
            assert pub.stats().missing_peers == 1
            if stops:
                one.stop_receiving()
                assert list(one) == []
            one.close()
            wait_until(lambda: pub.stats().missing_peers == 2)
        a, b = member(world, pub, prefetch=1), member(world, pub, prefetch=1)
        joined(pub, 2)
        a.close()
        got = {int(b.recv(timeout=WAIT_S)) for _ in range(COUNT)}
        assert got == set(range(COUNT))
        assert pub.stats().missing_peers == 0
        b.close()


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "3", 2**32])
def test_what_is_no_number_of_peers_is_refused(tmp_path: Path, bad: Any) -> None:
    """And what has no keys."""
    wrong = mm.UsageError if isinstance(bad, int) and not isinstance(bad, bool) else TypeError
    with pytest.raises(wrong, match=r"peers_min is .*; it is a whole number"):
        mm.Push(routing="hash", peers_min=bad)
    with (
        mm.Spool(tmp_path / "s") as spool,
        pytest.raises(wrong, match=r"members_min is .*; it is a whole number"),
    ):
        mm.Pub(spool=spool, members_min=bad)


def test_without_keys_there_is_no_order_to_wait_for() -> None:
    """Nor groups without a spool."""
    for routing in ("round_robin", "least_loaded"):
        with pytest.raises(mm.UsageError, match='peers_min is for routing="hash"'):
            mm.Push(routing=routing, peers_min=2)  # type: ignore[arg-type]
    with pytest.raises(mm.UsageError, match=r"members_min, .* are for the groups of a Pub"):
        mm.Pub(members_min=2)
