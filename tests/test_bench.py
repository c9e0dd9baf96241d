"""The bench runs with tiny counts and says what can be read back."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

BENCH = [sys.executable, "-m", "meshmsg.bench"]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it."""
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_throughput_gives_the_rates_of_both_ends(transport: str) -> None:
    """One line a library; medians lie between least and most."""
    done = bench("thr", "--transport", transport, "--size", "10", "--count", "500", "--json",
                 "--repeat", "2", "--library", "meshmsg", "meshmsg-many")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["library"] for row in rows] == ["meshmsg", "meshmsg-many"]
    for row in rows:
        assert (row["transport"], row["size"], row["count"]) == (transport, 10, 500)
        for rate in (row["sender_per_s"], row["receiver_per_s"]):
            assert 0 < rate["min"] <= rate["median"] <= rate["max"]


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_latency_gives_percentiles(transport: str) -> None:
    """The 99th percentile is not below the median."""
    done = bench("lat", "--transport", transport, "--size", "0", "--count", "50", "--json",
                 "--repeat", "1", "--library", "meshmsg")  # fmt: skip
    assert done.returncode == 0, done.stderr
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert 0 < row["p50_us"]["median"] <= row["p99_us"]["median"]


def test_pyzmq_is_measured_beside_it_when_it_is_there() -> None:
    """The same tasks, the same lines, for people."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    for kind in ("thr", "lat"):
        done = bench(kind, "--transport", "tcp", "--size", "10", "--count", "50", "--repeat", "1")
        assert done.returncode == 0, done.stderr
        assert [line.split()[3] for line in done.stdout.splitlines()][-1] == "pyzmq"


def test_what_is_not_there_is_an_error_with_the_names_that_are() -> None:
    """A typing error in a name gives a sentence and not a traceback."""
    done = bench("thr", "--library", "carrier-pigeon")
    assert done.returncode == 2
    assert "not here: carrier-pigeon; there are meshmsg" in done.stderr
