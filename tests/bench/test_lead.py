"""One end and many around it: over inproc as threads, and as many processes as suit a peer."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from meshmsg.bench.base.task import Task
from meshmsg.bench.commands import many
from meshmsg.bench.commands.many import Fanout, fanout_case, fanout_parts
from meshmsg.bench.ends.lead import (
    LEADS,
    Around,
    Gathered,
    ThreadEnd,
    lead_one,
    lead_others,
    lead_pair,
)
from meshmsg.bench.ends.process import WORKS
from meshmsg.bench.peers.roster import PEERS, peer_named
from tests.support.benched import rows

USED = {"cpu_s": 2.0, "rss_mb": 10.0}


class FakeEnd:
    """An end that notes what it is told, and says what an end says."""

    def __init__(self, log: list[str], task: Task) -> None:
        self._log, self._name = log, f"{task.url}/{task.connections}"
        first = [{"endpoint": "there"}] if task.url == "" else []
        self._lines = iter([*first, {"ready": True}, {"count": task.connections}, USED])

    def line(self) -> dict[str, Any]:
        """What it says next."""
        return next(self._lines)

    def word(self, word: str) -> None:
        """Note it."""
        self._log.append(f"{self._name} {word}")


@pytest.mark.parametrize(
    ("lead", "counts", "words"),
    [
        (lead_one, (3, 1, 2), ["warm", "/3 go", "done", "/3 end", "there/1 end", "there/2 end"]),
        (lead_others, (3, 1, 2), ["warm", "there/1 go", "there/2 go", "there/1 idle",
                                  "there/2 idle", "done", "/3 end", "there/1 end", "there/2 end"]),
        (lead_pair, (3, 1), ["warm", "there/1 go", "done", "/3 end", "there/1 end"]),
    ],
)  # fmt: skip
def test_the_ends_are_led_in_the_same_steps_however_they_run(
    lead: Any, counts: tuple[int, ...], words: list[str]
) -> None:
    """Those that connect go to where the first is; who begins depends on the kind."""
    log: list[str] = []
    tasks = [Task("fanout", "x", False, "", connections=n) for n in counts]
    around = Around(lambda: log.append("warm"), lambda: log.append("done"))
    found = lead(lambda task: FakeEnd(log, task), tasks, around)
    assert log == words
    assert found.said == [{"count": n} for n in counts]
    assert found.used == [USED] * len(counts)


def test_use_is_of_each_process_or_of_the_one_there_is() -> None:
    """CPU as microseconds each."""
    apart = Gathered([], [{"cpu_s": 1.0, "rss_mb": 5.0}, USED, USED]).use_figures(1000)
    assert apart == {
        "sender_cpu_us": 1000.0, "sender_rss_mb": 5.0,
        "receiver_cpu_us": 4000.0, "receiver_rss_mb": 20.0, "cpu_us": 5000.0,
    }  # fmt: skip
    one = Gathered([], [USED]).use_figures(1000)
    assert one == {"receiver_cpu_us": 2000.0, "receiver_rss_mb": 10.0, "cpu_us": 2000.0}


def test_what_stops_a_thread_is_raised_where_it_is_waited_for() -> None:
    """After what it said before."""

    def work(say: Any, hear: Any) -> None:
        say({"ready": True})
        hear("go")
        raise OSError("it broke")

    end = ThreadEnd(work)
    assert end.line() == {"ready": True}
    end.word("go")
    with pytest.raises(OSError, match="it broke"):
        end.line()
    end.join()


def test_fanout_within_a_process_delivers_everything_to_everybody() -> None:
    """Threads instead of processes; figures of the one process."""
    peers = "meshmsg,meshmsg-batch,meshmsg-sp,pyzmq"
    found = rows("fanout", "--subscribers", "1,5", "--count", "300", "--size", "16",
                 "--transport", "inproc", "--peer", peers)  # fmt: skip
    for row in found:
        reason = row["missing"] or ""
        assert reason in ("", "has no fanout", "has no inproc", "pyzmq is not installed"), row
        if not reason:
            assert row["figures"]["deliveries_per_s"]["min"] > 0
            assert "sender_rss_mb" not in row["figures"]
    assert [row["missing"] for row in found[:2]] == [None, None]
    assert found[2]["missing"] == "has no inproc"


def test_surveys_within_a_process_are_timed_to_the_last_answer() -> None:
    """A rival that is two programs says so."""
    peers = "meshmsg,meshmsg-asyncio,pynng,nanomsg"
    found = rows("survey", "--respondents", "5", "--processes", "2", "--count", "20",
                 "--transport", "inproc", "--peer", peers)  # fmt: skip
    for row in found[:3]:
        if row["missing"] != "pynng is not installed":
            assert row["missing"] is None, row
            assert sum(count for _, count in row["latency_ns"]) == 20
    assert "program" in found[3]["missing"] or "is not there" in found[3]["missing"]


def test_connections_within_a_process_are_counted() -> None:
    """Their memory is that of both ends."""
    found = rows("connections", "--number", "20", "--transport", "inproc",
                 "--peer", "meshmsg,pyzmq")  # fmt: skip
    for row in found:
        if row["missing"] != "pyzmq is not installed":
            assert row["missing"] is None, row
            assert row["figures"]["connects_per_s"]["min"] > 0
            assert "both_bytes" in row["figures"]
            assert "server_bytes" not in row["figures"]


def test_every_kind_that_is_led_over_inproc_is_one_the_worker_knows() -> None:
    """Else it would start two ends and wait for more."""
    assert set(LEADS) == {kind for kind, _ in WORKS}
    assert {"fanout", "survey", "connections"} <= {k for p in PEERS.values() for k in p.kinds}


@pytest.mark.parametrize(
    ("subscribers", "cores", "parts"),
    [(100, 4, [2, 3]), (1, 4, [1]), (100, 1, [1]), (100, 2, [1]), (100, 3, [1, 2]), (3, 8, [3])],
)
def test_one_or_two_cores_are_left_for_the_publisher(
    subscribers: int, cores: int, parts: list[int]
) -> None:
    """At least one process, at most one a subscriber, and nothing is tried twice."""
    assert fanout_parts(subscribers, cores) == parts


def measuring(best: int, log: list[int], parts: list[int], seconds: float | None) -> Fanout:
    """A fanout whose deliveries the test makes: 1,000 a second, twice that at its best."""
    task = Task("fanout", "meshmsg", False, "", count=300, connections=100)

    class Known(Fanout):
        """It measures nothing."""

        def _once(self, parts: int) -> dict[str, float]:
            log.append(parts)
            return {"deliveries_per_s": 2e6 if parts == best else 1e6}

    return Known(peer_named("meshmsg"), "tcp", task, parts, seconds)


@pytest.mark.parametrize("best", [2, 3])
def test_each_peer_keeps_the_number_of_processes_with_which_it_delivers_more(best: int) -> None:
    """The warm-up tries both, twice in turn; measured rounds do not."""
    log: list[int] = []
    one = measuring(best, log, [2, 3], None)
    assert one(True) == {"deliveries_per_s": 2e6}
    assert log == [2, 3, 2, 3]
    one(False)
    one(False)
    assert log[4:] == [best, best]
    assert one.known() == {"count": 300, "processes": best}


def test_the_warm_up_finds_the_count_for_the_time_wanted() -> None:
    """Of the number of processes that it keeps."""
    log: list[int] = []
    one = measuring(3, log, [2, 3], 2.0)
    one(True)
    assert log == [2, 2, 3, 2, 3]
    assert one.known() == {"count": 40_000, "processes": 3}  # 2 s of 2 M/s to 100


def test_processes_that_are_asked_for_are_not_chosen(monkeypatch: Any) -> None:
    """One number, the same for all peers, and never more than there are subscribers."""
    monkeypatch.setattr(many.os, "sched_getaffinity", lambda _: set(range(8)))
    chosen = argparse.Namespace(processes=5, count=200, seconds=1.0, seed=1)
    for subscribers, parts in ((100, [5]), (3, [3])):
        case = fanout_case(peer_named("meshmsg"), "tcp", 64, subscribers, chosen)
        assert isinstance(case.measure, Fanout)
        assert case.measure._parts == parts
    chosen.processes = None
    case = fanout_case(peer_named("meshmsg"), "tcp", 64, 100, chosen)
    assert isinstance(case.measure, Fanout)
    assert case.measure._parts == [6, 7]


def test_the_row_of_a_fanout_tells_its_processes() -> None:
    """In the record; the table has a column for it."""
    (row,) = rows("fanout", "--subscribers", "3", "--count", "200", "--size", "16",
                  "--peer", "meshmsg")  # fmt: skip
    assert 1 <= row["processes"] <= 3
