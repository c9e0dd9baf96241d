"""Workers that die by SIGKILL while they write to one database: each message takes effect once.

Twenty rounds here, a few where a heartbeat or a server is waited for; `make crash` has 1,000 of
each. Not here: that none is lost (test_workers.py), what a window says (tests/unit/test_window.py).
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crash.booker import MOMENTS, connect
from tests.crash.crew import (
    AFTER_MAX,
    BURST_MAX,
    PLAIN_ROUNDS,
    QUEUE_MESSAGES,
    ROUNDS,
    SEED,
    CrewBase,
)
from tests.support.forks import Forked, Forks
from tests.support.pairs import WAIT_S, wait_until
from tests.support.windows import effects

LIMIT = 2_000
"""Messages of the window: more than what may be redelivered at any moment, so none is outside."""


class Crew(CrewBase):
    """Workers that write to one database."""

    def __init__(self, stack: ExitStack, forks: Forks, database: str, limit: int = LIMIT) -> None:
        super().__init__(stack, forks)
        self.database, self.limit = database, limit
        self.rounds = ROUNDS if Path(database).is_dir() else PLAIN_ROUNDS  # a server takes longer
        self.connection = connect(database)
        stack.callback(self.connection.close)
        cursor = self.connection.cursor()
        for table in ("effects", "meshmsg_bookings_ids", "meshmsg_bookings_floors"):
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.execute("CREATE TABLE effects (number INTEGER)")
        self.connection.commit()

    def worker(self, moment: str = "never", after: int = 0) -> Forked:
        """Start one; at the end of the test it is gone."""
        return self.start("booker", self.database, self.limit, moment, after)

    def booked(self) -> Counter[int]:
        """How often each number took effect, once all are acknowledged; none is missing."""
        self.wait_until_acked()
        found = Counter(effects(self.connection))
        assert sorted(found) == list(range(self.sent))
        return found

    def kill_at(self, moment: str, dice: random.Random) -> None:
        """Have workers die at this moment, while another one goes on."""
        self.worker()
        for _ in range(self.rounds):
            victim = self.worker(moment, 1 + dice.randrange(AFTER_MAX))
            self.until_dead(victim, dice)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the workers write: a file, or the folder of a server's socket."""
    if request.param == "sqlite":
        return str(tmp_path / "file")
    pytest.importorskip("psycopg")
    return str(request.getfixturevalue("postgres"))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_that_dies_does_nothing_twice(forks: Forks, database: str, moment: str) -> None:
    """At each moment of its work; each effect is there, once."""
    with ExitStack() as stack:
        crew = Crew(stack, forks, database)
        crew.kill_at(moment, random.Random(f"{SEED} {moment}"))
        assert set(crew.booked().values()) == {1}
        if moment != "acked":  # where nothing may be left with who dies
            assert crew.push.stats().redelivered_messages > 0


def test_without_a_window_it_would(forks: Forks, tmp_path: Path) -> None:
    """The same workers, the same moment: so the tests above do show something."""
    with ExitStack() as stack:
        crew = Crew(stack, forks, str(tmp_path / "file"), limit=0)
        crew.kill_at("committed", random.Random(f"{SEED} without"))
        booked = crew.booked()
        assert booked.total() - len(booked) >= PLAIN_ROUNDS


def test_workers_that_are_killed_from_outside_do_nothing_twice(forks: Forks, database: str) -> None:
    """At any moment, in the middle of a commit, too, as they are not asked."""
    dice = random.Random(f"{SEED} outside")
    with ExitStack() as stack:
        crew = Crew(stack, forks, database)
        crew.worker()
        for _ in range(crew.rounds):
            victim = crew.worker()
            crew.push.wait_for_peers(2, timeout=WAIT_S)
            for _ in range(dice.randrange(100)):
                crew.send(1 + dice.randrange(BURST_MAX))
            victim.send_signal(signal.SIGKILL)
            crew.send(1)
            victim.wait(WAIT_S)
        assert set(crew.booked().values()) == {1}


def test_a_worker_that_is_stopped_and_goes_on_does_nothing_twice(
    forks: Forks, database: str
) -> None:
    """SIGSTOP, wherever it is: what it had was done by another one when it goes on, or it is the
    one that does it."""
    with ExitStack() as stack:
        crew = Crew(stack, forks, database)
        crew.worker()
        frozen = crew.worker()
        for _ in range(ROUNDS):
            crew.push.wait_for_peers(2, timeout=WAIT_S)
            crew.send(QUEUE_MESSAGES)
            crew.stop(frozen)
            wait_until(lambda: len(crew.push.peers()) == 1)
            frozen.send_signal(signal.SIGCONT)
        assert set(crew.booked().values()) == {1}
