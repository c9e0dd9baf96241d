"""Workers that die by SIGKILL, or are stopped for good: no message is lost, whatever the moment.

A few rounds here; `make crash` has 1,000 of each. Not here: worlds in which time and the order of
things are drawn (tests/sim/test_delivery_worlds.py).
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crash.crew import AFTER_MAX, BURST_MAX, QUEUE_MESSAGES, ROUNDS, SEED, CrewBase
from tests.crash.worker import MOMENTS, PREFETCH
from tests.support.forks import Forked, Forks
from tests.support.pairs import WAIT_S


class Crew(CrewBase):
    """Workers that note what they do in a file."""

    def __init__(self, stack: ExitStack, forks: Forks, folder: Path, ack: str) -> None:
        super().__init__(stack, forks)
        self.ack = ack
        self.notes = folder / "notes"

    def worker(self, moment: str = "never", after: int = 0) -> Forked:
        """Start one; at the end of the test it is gone."""
        return self.start("worker", self.notes, self.ack, moment, after)

    def noted(self) -> Counter[int]:
        """Which numbers were worked on, and how often, once all are acknowledged."""
        self.wait_until_acked()
        stats = self.push.stats()
        assert (stats.acked_messages, stats.dropped) == (self.sent, 0)
        return Counter(map(int, self.notes.read_bytes().split()))


def done_by_all(crew: Crew) -> Counter[int]:
    """All that was sent was worked on; how often each was."""
    noted = crew.noted()
    assert sorted(noted) == list(range(crew.sent))
    return noted


@pytest.mark.parametrize("ack", ["auto", "manual"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_that_dies_loses_nothing(
    forks: Forks, tmp_path: Path, moment: str, ack: str
) -> None:
    """At each moment of its work; another one goes on meanwhile."""
    dice = random.Random(f"{SEED} {moment} {ack}")
    with ExitStack() as stack:
        crew = Crew(stack, forks, tmp_path, ack)
        crew.worker()
        for _ in range(ROUNDS):
            victim = crew.worker(moment, 1 + dice.randrange(AFTER_MAX))
            crew.until_dead(victim, dice)
        noted = done_by_all(crew)
        again = noted.total() - len(noted)
        if moment == "between":
            assert again >= ROUNDS  # it had been worked on, and nobody was told
        if moment == "before" and ack == "manual":
            assert again <= ROUNDS * PREFETCH  # acknowledgements of its last messages on their way
        if (moment, ack) != ("after", "manual"):  # where nothing may be left with who dies
            assert crew.push.stats().redelivered_messages > 0


@pytest.mark.parametrize("ack", ["auto", "manual"])
def test_a_worker_that_is_killed_from_outside_loses_nothing(
    forks: Forks, tmp_path: Path, ack: str
) -> None:
    """At any moment, as it is not asked."""
    dice = random.Random(f"{SEED} outside {ack}")
    with ExitStack() as stack:
        crew = Crew(stack, forks, tmp_path, ack)
        crew.worker()
        for number in range(ROUNDS):
            victim = crew.worker()
            crew.push.wait_for_peers(1 + number % 2, timeout=WAIT_S)
            for _ in range(dice.randrange(200)):
                crew.send(1 + dice.randrange(BURST_MAX))
            victim.send_signal(signal.SIGKILL)
            crew.send(1)
            victim.wait(WAIT_S)
        done_by_all(crew)


@pytest.mark.parametrize("ack", ["auto", "manual"])
def test_a_worker_that_is_stopped_loses_nothing_and_may_go_on(
    forks: Forks, tmp_path: Path, ack: str
) -> None:
    """SIGSTOP: its heartbeat ends it, and what it had goes to another one; then SIGCONT."""
    with ExitStack() as stack:
        crew = Crew(stack, forks, tmp_path, ack)
        crew.worker()
        frozen = crew.worker()
        for _ in range(ROUNDS):
            crew.push.wait_for_peers(2, timeout=WAIT_S)
            crew.stop(frozen)
            crew.send(QUEUE_MESSAGES)
            done_by_all(crew)
            frozen.send_signal(signal.SIGCONT)
            crew.send(QUEUE_MESSAGES)
        done_by_all(crew)
