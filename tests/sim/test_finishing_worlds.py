"""Push.finish() in worlds that cut and reorder: receivers that come, go and lose their connections
all learn the end, and none before every message was done.

Not here: calls and words (tests/unit/test_finishing.py).
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.sim.scenes import HEALED_WITHIN_S
from tests.support.room import UP, room
from tests.support.stalled import PATIENCE_S

SEEDS = range(60)
MESSAGES = 60
FAULTS = SimFaults(split=0.3, short_write=0.3, eagain=0.2, reset=0.003)


def play(seed: int) -> tuple[Counter[int], int, int]:
    """What was done, how many receivers heard the end, and how many there were."""
    dice = random.Random(seed)
    done: Counter[int] = Counter()
    ended: set[int] = set()
    with room(seed, faults=FAULTS, buffer_size=dice.choice([512, 65536])) as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        options = {"ack": "manual", "prefetch": dice.choice([1, 3, 50])}
        pulls = [r.open("Pull", connect=push.endpoint, **options) for _ in range(3)]
        for number in range(MESSAGES):
            push.send(b"%d" % number, timeout=PATIENCE_S * 20)
            if number == MESSAGES // 2:
                r.world.reset_all()
        push.finish()
        for step in range(round(HEALED_WITHIN_S) * 10):
            if step == MESSAGES:
                r.world.heal()
            if dice.random() < 0.02:
                pulls.pop(dice.randrange(len(pulls))).close()
                pulls.append(r.open("Pull", connect=push.endpoint, **options))
                ended.clear()
            for i, pull in enumerate(pulls):
                try:
                    message = pull.recv(timeout=0)
                except mm.WouldBlockError:
                    continue
                except mm.EndOfStreamError:
                    assert sorted(done) == list(range(MESSAGES))  # and not before
                    ended.add(i)
                    continue
                if dice.random() < 0.1:
                    message.nack()
                else:
                    done[int(message)] += 1  # the work, and then its acknowledgement
                    message.ack()
            r.world.run(dice.choice([0.001, 0.05, 0.3]))
            if len(ended) == len(pulls):
                break
        stats = push.stats()
        assert stats.queued_out_messages + stats.unacked_messages == 0
        assert stats.finished_peers >= len(pulls)
        return done, len(ended), len(pulls)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_learn_the_end_when_all_is_done(seed: int) -> None:
    """Whatever becomes of connections, and of some of the receivers."""
    done, ended, there = play(seed)
    assert sorted(done) == list(range(MESSAGES))
    assert ended == there
