"""Sources of Spark in the bench: what is pushed to tasks, and rows of a peer without Spark."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.commands.sources import source_case, trigger_case
from meshmsg.bench.measure.rounds import run
from meshmsg.bench.peers.roster import peer_named
from meshmsg.bench.peers.seam import Peer
from meshmsg.bench.rivals.spark_items import WARM_ITEMS, handed_rate
from meshmsg.bench.rivals.spark_pacing import STAMP, Rate, paced
from meshmsg.bench.rivals.spark_pushing import shares
from meshmsg.bench.rivals.spark_putting import put_all
from meshmsg.bench.rivals.spark_taking import take_all


class Counted(Peer):
    """A source that is read in no time, and notes its tasks."""

    name, kinds, transports = "counted", ("source",), ("spark",)

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def source_rate(self, task: Task) -> float:
        """Note it."""
        self.tasks.append(task)
        return 1000.0


@pytest.mark.parametrize("count", [1, 2, 4095, 4096, 4097, 20_001])
@pytest.mark.parametrize("run_of", [1, 4096])
def test_tasks_get_all_messages_in_runs(count: int, run_of: int) -> None:
    """None is left out, and no run is empty or too long."""
    found = shares(count, 2, run_of)
    assert sum(map(sum, found)) == count
    assert all(0 < one <= run_of for own in found for one in own)
    assert abs(sum(found[0]) - sum(found[1])) <= 1


def test_a_source_is_filled_once_for_all_rounds() -> None:
    """The folder of its task stays, and the row has messages and megabytes a second."""
    peer = Counted()
    (row,) = run([source_case(peer, 1024, 10, 1)], 2)
    assert [task.count for task in peer.tasks] == [10] * 3
    assert len({task.folder for task in peer.tasks}) == 1
    assert row["figures"]["messages_per_s"]["median"] == 1000
    assert row["figures"]["mb_per_s"]["median"] == pytest.approx(1.024)


@pytest.mark.parametrize("kind", ["sink", "items"])
def test_what_is_written_and_worked_on_is_a_row_of_its_own_kind(kind: str) -> None:
    """With the figures of what is read."""
    peer = Counted()
    peer.kinds = (kind,)
    (row,) = run([source_case(peer, 64, 10, 1, kind=kind)], 2)
    assert (row["kind"], row["figures"]["messages_per_s"]["median"]) == (kind, 1000)


def test_a_put_for_each_message_and_as_many_as_lines_say() -> None:
    """What puts is told how many, again and again."""
    put: list[bytes] = []
    put_all(put.append, b"x", ["2\n", "0\n", "3\n"])
    assert put == [b"x"] * 5


def test_what_takes_rows_says_when_it_has_as_many_as_a_line_says() -> None:
    """However many come at once."""
    said: list[str] = []
    take_all(lambda left: min(left, 2), ["3\n", "4\n"], said.append)
    assert said == ["3", "4"]


def test_items_by_hand_come_back_from_all_tasks_and_tasks_end() -> None:
    """Tasks are threads here; each gets an end marker."""
    done: list[int] = []

    def job(work: Any) -> None:
        tasks = [threading.Thread(target=lambda: done.extend(work([]))) for _ in range(2)]
        for task in tasks:
            task.start()
        for task in tasks:
            task.join()

    assert handed_rate(job, 2, b"item", 50) > 0
    assert len(done) == 2
    assert sum(done) == 2 * WARM_ITEMS + 50


def test_who_is_no_source_says_so() -> None:
    """A row with the reason, and no figures."""
    (row,) = run([source_case(peer_named("meshmsg"), 1024, 10, 1)], 1)
    assert row["missing"]
    with pytest.raises(BenchError, match="no source of Spark"):
        peer_named("meshmsg").source_rate(Task("source", "meshmsg", True, "spark"))


class Slow(Peer):
    """A stream that says what it took."""

    name, kinds, transports = "slow", ("trigger",), ("spark",)

    def trigger_costs(self, task: Task) -> dict[str, float]:
        """A figure of each."""
        return {"p50_ms": 2.0, "trigger_ms": float(task.count)}


def test_a_stream_of_few_messages_is_a_row_of_its_own() -> None:
    """Its figures are milliseconds; who is no stream says so."""
    (row,) = run([trigger_case(Slow(), 1024, 10, 1)], 2)
    assert row["figures"]["p50_ms"]["median"] == 2
    assert row["figures"]["trigger_ms"]["median"] == 10
    with pytest.raises(BenchError, match="no stream of Spark"):
        peer_named("pyzmq-spark").trigger_costs(Task("trigger", "pyzmq-spark", True, "spark"))


def test_what_is_put_says_when_and_ends_with_what_tells_the_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A body has its size, and a stamp that is not behind now."""
    more, found = threading.Event(), list[bytes]()

    def put(body: bytes) -> None:
        found.append(body)
        if len(found) == 3:
            more.set()

    def told() -> Iterator[str]:
        yield "10000\n"
        more.wait()

    monkeypatch.setattr(sys, "stdin", told())
    paced(put, 64, Rate())
    assert len(found) >= 3
    assert {len(body) for body in found} == {64}
    assert all(0 < STAMP.unpack_from(body)[0] <= time.time_ns() for body in found)
