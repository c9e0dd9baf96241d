"""The machine's own row beside peers at a fixed rate."""

from __future__ import annotations

from typing import Any

import pytest

from meshmsg.bench.commands.rate import LOADS, others_use, rate_cases
from meshmsg.bench.measure.hiccups import SECONDS, Hiccups, hiccups_case, lateness
from meshmsg.bench.measure.launch import Measured
from meshmsg.bench.peers.roster import peer_named
from meshmsg.bench.report.table import table
from tests.support.benched import bench, rows

MS = 1_000_000


class JumpyClock:
    """A clock that is late whenever it is waited for, by what the test says."""

    def __init__(self, late: list[int]) -> None:
        self._at, self._late = 0, iter(late)

    def now(self) -> int:
        """Nanoseconds."""
        return self._at

    def wait_until(self, due: int) -> None:
        """Come back then, or later."""
        self._at = max(self._at, due) + next(self._late)


def test_lateness_counts_from_the_schedule_and_not_from_the_last_moment() -> None:
    """A long interruption makes what was due meanwhile late, too."""
    clock = JumpyClock([0, 25 * MS, 0, 0, 0])
    assert lateness(100.0, 5, clock) == [0, 25 * MS, 15 * MS, 5 * MS, 0]


def test_the_schedule_is_that_of_the_load_for_a_short_while() -> None:
    """A burst is one moment."""
    case = hiccups_case("tcp", "l", 3000.0, 1, 30.0)
    assert (case.peer.name, case.kind, case.facts["count"]) == ("machine", "rate", 3000 * SECONDS)
    one = hiccups_case("tcp", "l", 3000.0, 10, 30.0).measure
    assert isinstance(one, Hiccups)
    assert one.rate == 300.0


def test_it_takes_turns_with_the_peers_of_every_load() -> None:
    """Last, so that ratios are those of peers."""
    cases = rate_cases([peer_named("meshmsg")], "tcp", LOADS["1K-3k/s"], 1.0, 1)
    assert [case.peer.name for case in cases] == ["meshmsg", "machine"]


def test_a_fixed_rate_has_a_row_of_the_machine() -> None:
    """Each moment is counted once; there is no message, and no CPU of the sender."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    own, machine = rows("rate", "--size", "64", "--rate", "2000", "--seconds", "0.05",
                        "--peer", "meshmsg")  # fmt: skip
    assert machine["peer"] == "machine"
    assert machine["missing"] is None
    assert sum(count for _, count in machine["latency_ns"]) == machine["count"] == 100
    assert "receiver_per_s" not in machine["figures"]
    assert "receiver_cpu_us" in own["figures"]
    assert not {"sender_cpu_us", "cpu_us"} & own["figures"].keys()
    assert machine["peer"] in "\n".join(table([own, machine]))


def test_a_run_in_which_only_the_machine_was_measured_has_failed() -> None:
    """And nothing is compared with it."""
    done = bench("rate", "--size", "64", "--rate", "1000", "--connections", "2", "--seconds",
                 "0.05", "--rounds", "1", "--peer", "raw-python")  # fmt: skip
    assert done.returncode == 1
    assert "ratios to" not in done.stdout


def use(cpu: float) -> dict[str, float]:
    """Of a process."""
    return {"cpu_s": cpu, "rss_mb": 1.0}


def test_cpu_at_a_fixed_rate_is_that_of_who_does_not_watch_the_clock() -> None:
    """Of the receiver and a broker; over inproc nobody's, as one process has both ends."""
    apart: Any = others_use(Measured({}, {}, use(5.0), use(1.0), use(2.0)), 1000)
    names = {name for name in apart if name.endswith("cpu_us")}
    assert names == {"receiver_cpu_us", "broker_cpu_us"}
    together = others_use(Measured({}, {}, {}, use(5.0)), 1000)
    assert not any(name.endswith("cpu_us") for name in together)
