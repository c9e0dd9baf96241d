"""The books of publishers: what was sent, and what became of each copy of it.

Not here: the books of all sockets (tests/sim/scenes.py, check_counters).
Law: a message is sent once; it has a copy for each peer that is subscribed to it in that moment,
and one without any is unwanted.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, room

TOPICS = ["", "a", "ab", "b", "nobody"]
WANTED = ["a", "ab", "b"]
STEPS = 300
SEND_SIDE = [
    "dropped_overflow",
    "dropped_peer_gone",
    "dropped_closed",
    "dropped_unencodable",
    "dropped_no_peer",
]


def check_books(pub: Any, sent: int, copies: int, unwanted: int) -> None:
    """Each message and each copy is in one counter."""
    stats = pub.stats()
    dropped = sum(getattr(stats, name) for name in SEND_SIDE)
    assert stats.sent_messages == sent
    assert stats.unwanted_messages == unwanted
    assert stats.written_messages + stats.queued_out_messages + dropped == copies


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest", "block", "error"])
@pytest.mark.parametrize("role", ["Pub", "XPub"])
@pytest.mark.parametrize("seed", range(4))
def test_every_copy_is_written_queued_or_dropped_and_without_a_copy_it_is_unwanted(
    seed: int, role: str, overflow: str
) -> None:
    """Subscribers come, go, change their topics and read slowly."""
    dice = random.Random(seed)
    sent = copies = unwanted = 0
    with room(seed, latency=(0.001, 0.01), buffer_size=4096) as r:
        options: dict[str, Any] = {"overflow": overflow, "send_queue_messages": 3}
        pub = r.open(role, engine=r.hub, bind=UP, **options)
        subs: list[Any] = []
        for _ in range(STEPS):
            what = dice.randrange(20)
            if what == 0 and len(subs) < 4:
                topics = dice.sample(WANTED, dice.randrange(3))
                subs.append(
                    r.open("Sub", connect=pub.endpoint, topics=topics, recv_queue_messages=2)
                )
            elif what == 1 and subs:
                subs.pop(dice.randrange(len(subs))).close()
            elif what == 2 and subs:
                dice.choice(subs).subscribe(dice.choice(WANTED))
            elif what == 3 and subs:
                try:
                    dice.choice(subs).recv_many(timeout=0)
                except mm.WouldBlockError:
                    pass
            elif what < 6:
                r.world.run(dice.uniform(0.0, 0.1))
            else:
                topic = dice.choice(TOPICS)
                reach = pub.subscribers(topic)
                try:
                    pub.send(bytes(dice.choice([1, 2000])), topic=topic, timeout=0)
                except mm.WouldBlockError:
                    continue
                sent += 1
                copies += reach
                unwanted += reach == 0
            check_books(pub, sent, copies, unwanted)
        r.world.run(1.0)
        check_books(pub, sent, copies, unwanted)
        assert 0 < unwanted < sent
        assert copies > 0


def test_a_welcome_counts_as_sent_once_for_each_who_gets_it() -> None:
    """And as one copy; it is never unwanted."""
    with room() as r:
        xpub = r.open("XPub", engine=r.hub, bind=UP, welcome=b"a: hello")
        subs = [r.open("Sub", connect=xpub.endpoint, topics="a") for _ in range(3)]
        xpub.wait_for_subscribers("a", len(subs), timeout=10)
        r.world.run(1.0)
        xpub.send(b"x", topic="nobody")
        xpub.send(b"x", topic="a")
        r.world.run(1.0)
        check_books(xpub, sent=len(subs) + 2, copies=2 * len(subs), unwanted=1)
