"""Acknowledged messages and work that is handed out: tiny real runs, and their figures."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

import meshmsg
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.commands import workers
from meshmsg.bench.commands.workers import PILES, Done, Pile, credits_case, custom, held_up
from meshmsg.bench.ends.lead import Gathered
from meshmsg.bench.peers.mesh_acked import AckedAnswerer
from meshmsg.bench.peers.roster import PEERS
from tests.support.benched import bench, measured

OURS = "meshmsg,meshmsg-batch,meshmsg-acked,meshmsg-acked-batch"


def test_acknowledged_messages_are_counted_like_others() -> None:
    """Beside those that are not; the rows are of a kind of their own."""
    found = measured("acked", "--size", "10", "--count", "2500", "--peer", OURS)
    assert [(row["kind"], row["peer"]) for row in found] == [("acked", p) for p in OURS.split(",")]
    for row in found:
        assert row["count"] == 2500
        assert row["figures"]["receiver_per_s"]["min"] > 0


def test_one_message_at_a_time_is_timed_until_it_is_acknowledged() -> None:
    """The receiver's next call says so, also of the last one."""
    (row,) = measured("lat", "--transport", "tcp", "--size", "10", "--count", "50",
                      "--peer", "meshmsg-acked-receipt")  # fmt: skip
    assert sum(count for _, count in row["latency_ns"]) == 50


def test_who_sends_the_next_before_the_last_is_done_is_found_out() -> None:
    """Else the row would time something else."""
    answerer = PEERS["meshmsg-acked-receipt"].answerer(Task("lat", "", True, "tcp://127.0.0.1:0"))
    assert isinstance(answerer, AckedAnswerer)
    real: Any = answerer._socket

    class Full:
        """It always has one more."""

        def recv(self, timeout: float | None = None) -> bytes:
            """One more."""
            return b"x"

    faked: Any = answerer
    faked._socket = Full()
    with pytest.raises(BenchError, match="before the one before was acknowledged"):
        answerer.answer_count(2)
    faked._socket = real
    answerer.close()


@pytest.mark.parametrize(
    ("slow", "others", "most"),
    [
        ([], [], 0),
        ([], [(0, 1), (1, 2)], 0),
        ([(0, 10)], [(1, 1), (2, 2)], 1),
        ([(0, 10), (1, 20), (4, 30)], [(2, 1), (3, 2), (5, 25)], 2),
        ([(0, 1), (9, 2)], [(1, 3), (2, 4)], 0),  # nothing later was done before
        ([(3, 1), (0, 9)], [(1, 2), (5, 3)], 1),  # in another order than it was sent in
        ([(0, 5), (1, 6), (2, 7)], [(3, 4), (4, 8)], 3),
    ],
)
def test_a_message_is_held_up_while_later_ones_are_done(
    slow: Done, others: Done, most: int
) -> None:
    """The most there were at a time."""
    assert held_up(slow, others) == most


def test_a_slow_worker_has_no_more_than_its_prefetch() -> None:
    """And every message is done, once."""
    (row,) = measured("credits", "--workers", "3", "--prefetch", "4", "--seconds", "0.1",
                      "--peer", "meshmsg-acked")  # fmt: skip
    assert (row["load"], row["workers"], row["count"]) == ("3 workers, prefetch 4", 3, 210)
    assert row["figures"]["held_up"]["max"] <= 4
    assert 0 < row["figures"]["slow_share"]["min"] < 1


def test_workers_of_one_that_acknowledges_nothing_are_measured_beside_it() -> None:
    """Its queues are what bounds them."""
    (row,) = measured("credits", "--workers", "2", "--prefetch", "2", "--seconds", "0.02",
                      "--peer", "meshmsg")  # fmt: skip
    assert row["figures"]["done_per_s"]["min"] > 0


def test_work_that_nobody_did_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row says how much."""
    said: list[dict[str, Any]] = [
        {"count": 3, "start_ns": 0},
        {"count": 1, "done": [[0, 9]]},
        {"count": 1, "done": [[2, 5]]},
    ]
    monkeypatch.setattr(workers, "gather", lambda *_: Gathered(said, []))
    chosen = argparse.Namespace(seconds=0.0027, seed=1)
    case = credits_case(PEERS["meshmsg-acked"], "tcp", 2, 1, chosen)
    assert case.facts["count"] == 3
    with pytest.raises(BenchError, match="2 of 3 messages were done"):
        case.measure(False)


def test_what_nobody_is_done_with_fills_the_limits_and_no_more() -> None:
    """Each of 64 bytes is charged 128, for two receivers and what waits for either."""
    (row,) = measured("unacked", "--count", "2000", "--receivers", "2", "--queue-kib", "64")
    assert row["load"] == "2,000 of 64 B, 64 KiB a peer"
    assert row["figures"]["held"]["max"] == 3 * 64 * 1024 // 128
    (row,) = measured("unacked", "--count", "100", "--receivers", "2", "--queue-kib", "64",
                      "--rate", "10000")  # fmt: skip
    assert row["figures"]["held"]["max"] == 100
    assert {"of_limits", "message_bytes", "sender_mb"} <= row["figures"].keys()


def test_piles_are_those_of_the_targets_unless_something_is_said() -> None:
    """Each under a name of its own."""
    nothing = argparse.Namespace(count=None, size=None, rate=None, receivers=None, queue_kib=None)
    assert custom(nothing) == list(PILES.values())
    some = argparse.Namespace(**{**vars(nothing), "size": 8, "queue_kib": [1, 2]})
    assert custom(some) == [Pile(1_000_000, kib, size=8) for kib in (1, 2)]
    slowly = argparse.Namespace(**{**vars(nothing), "rate": 50.0, "count": 7})
    assert [pile.name for pile in custom(slowly)] == [
        "7 of 64 B, 50/s, 8,192 KiB a peer",
        "7 of 64 B, 50/s, 2,048 KiB a peer",
    ]


def test_an_older_meshmsg_has_no_such_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says why."""
    monkeypatch.delattr(meshmsg, "LeasedMessage")
    assert PEERS["meshmsg-acked"].missing() == "this meshmsg acknowledges nothing"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("credits", "--workers", "1"), "a whole number from 2 on"),
        (("credits", "--prefetch", "0"), "a whole number from 1 on"),
        (("unacked", "--queue-kib", "0"), "a whole number from 1 on"),
        (("unacked", "--rate", "0"), "a number above 0"),
    ],
)
def test_work_that_cannot_be_is_refused(arguments: tuple[str, ...], words: str) -> None:
    """By a sentence."""
    done = bench(*arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
