"""The command slow: subscribers beside one that reads next to nothing, and without it, in turn."""

from __future__ import annotations

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands import slow
from tests.support.benched import record

SHORT = ("--seconds", "0.2", "--rounds", "2", "--others", "1")


def test_what_the_others_lose_is_a_ratio_of_each_round_and_the_slow_one_drops() -> None:
    """Two sizes do not meet."""
    rows = record("slow", "--size", "512,1024", *SHORT)["rows"]
    assert [(row["missing"], row["load"]) for row in rows] == [
        (None, "512 B, 5,000/s to 1"),
        (None, "1,024 B, 5,000/s to 1"),
    ]
    for row in rows:
        assert len(row["each_round"]) == 2
        for figures in row["each_round"]:
            beside, alone = figures["beside_p99_us"], figures["alone_p99_us"]
            assert figures["p99_ratio"] == pytest.approx(beside / alone)
            assert figures["dropped"] > 0


def test_one_that_drops_nothing_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is a sentence: nothing would be compared."""
    one = slow.Slow(100.0, 64, 1, 0.05)
    monkeypatch.setattr(slow, "QUEUES", 64)
    try:
        with pytest.raises(BenchError, match="nothing was dropped"):
            one._begin()
            one._phase(True, 0.05)
    finally:
        one.close()


def test_others_than_meshmsg_are_not_asked() -> None:
    """They have no part in the promise."""
    _, row = record("slow", "--peer", "meshmsg,pyzmq", *SHORT)["rows"]
    assert row["missing"] == "has no slow"
