"""What a group holds and trims at one server, and another run that reads for it: real servers, and
a clock of our own, of both sides.

Not here: who asks when (test_spark_watch.py), the error that a query has of it
(test_spark_planning.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg.spark._source.holding import HOLDER, PATIENCE_S, RUN_S, SHARE, Held, Holding
from tests.support.pairs import of_its_own
from tests.support.sparked import options


class Side:
    """A spool with its server, and one who asks it; all have this clock."""

    now = 0.0

    def __init__(self, spool: mm.Spool, server: mm.SpoolServer, remote: mm.RemoteSpool) -> None:
        self.spool, self.remote = spool, remote
        server._answers._clock = lambda: self.now

    def run(self, name: bytes, **given: object) -> Holding:
        """Return one run of a query with a group."""
        said = options(**{"groupId": "g", **given})
        return Holding("tcp://a:1", said, name, lambda: self.now)

    def keep(self, holding: Holding, first: int, done: int = 0) -> None:
        """Have it hold from there on, as the spool is now."""
        group = holding._options.group
        holding.keep(self.remote, self.remote.info(), Held(first, done, group))


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    """A thousand messages; the server trims for others."""
    with (
        mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own(), trim=True) as server,
        mm.RemoteSpool(server.endpoint, holder=HOLDER) as remote,
    ):
        spool.append_many([b"x" * 1000] * 1000)
        yield Side(spool, server, remote)


def test_a_second_run_of_a_group_trims_nothing_and_becomes_an_error(
    side: Side, caplog: pytest.LogCaptureFixture
) -> None:
    """As the first one lives on: at once it is said, later it is refused."""
    one, two = side.run(b"one"), side.run(b"two")
    side.keep(one, 100)
    while side.now < PATIENCE_S:
        side.keep(one, 100)
        side.keep(two, 900, 899)
        assert not two.clash
        side.now += RUN_S / SHARE
    side.keep(one, 100)
    side.keep(two, 900, 899)
    assert "another query reads with groupId 'g'" in two.clash
    assert (one.clash, two.leased, two.trimmed) == ("", None, 0)
    side.spool.trim(900)
    assert side.spool.info().first_seq <= 100
    assert sum("nothing is held or trimmed" in record.message for record in caplog.records) == 1


def test_a_run_behind_one_that_died_has_the_group_once_that_is_over(side: Side) -> None:
    """Whose lease stays in between: nothing goes that it needs, and then it trims."""
    one, two = side.run(b"one"), side.run(b"two")
    side.keep(one, 300)
    side.now = RUN_S - 1
    side.keep(two, 300, 299)
    assert two.leased is None
    side.spool.trim(900)
    assert side.spool.info().first_seq <= 300
    side.now = RUN_S
    side.keep(two, 700, 699)
    assert two.leased is not None
    assert (two.leased[2], two.trimmed, two.clash) == (700, 699, "")
    assert 300 < side.spool.info().first_seq <= 700


def test_who_stood_still_for_too_long_lets_go(side: Side) -> None:
    """A machine that slept: the other one has the group by now, and is not trimmed under."""
    one, two = side.run(b"one"), side.run(b"two")
    side.keep(one, 100)
    side.now = RUN_S
    side.keep(two, 100)
    side.keep(one, 900, 899)
    assert (one.trimmed, two.clash) == (0, "")
    side.now += RUN_S / SHARE + 1
    side.keep(two, 100)
    assert two.leased is not None


def test_two_groups_are_none_of_each_other_s_business(side: Side) -> None:
    """Each holds its own."""
    one, two = side.run(b"one"), side.run(b"two", groupId="h")
    side.keep(one, 100)
    side.keep(two, 900, 899)
    assert (one.clash, two.clash) == ("", "")
    assert two.trimmed == 899
    assert side.spool.info().first_seq <= 100
