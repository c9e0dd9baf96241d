"""Fixed rates, fanout, connections and CPU: tiny real runs of each command."""

from __future__ import annotations

import shutil

import pytest

from meshmsg.bench.commands.rate import late_figures
from tests.support.benched import bench, measured

NO_COMPILER = not any(shutil.which(name) for name in ("cc", "gcc", "clang"))


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_a_fixed_rate_counts_every_message(transport: str) -> None:
    """Over several connections; the distribution holds each once."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    row, _ = measured("rate", "--size", "64", "--rate", "20000", "--connections", "3",
                      "--seconds", "0.05", "--transport", transport, "--peer",
                      "meshmsg")  # fmt: skip
    assert sum(count for _, count in row["latency_ns"]) == row["count"] == 1000
    figures = row["figures"]
    assert figures["refused"]["max"] == 0
    assert 0 < figures["p50_us"]["median"] <= figures["max_us"]["median"]
    assert figures["sender_late_max_us"]["median"] <= figures["max_us"]["median"]
    assert row["hdr"]


def test_what_the_sender_was_late_itself_is_told_apart() -> None:
    """As far up as there are samples; a program that does not say tells nothing."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    many = late_figures([(1_000, 99_990), (5_000_000, 10)])
    assert many["sender_late_p99_us"] == pytest.approx(1, rel=0.01)
    assert many["sender_late_max_us"] == pytest.approx(5_000, rel=0.01)
    assert "sender_late_p99.99_us" in many
    assert "sender_late_p99.99_us" not in late_figures([(1_000, 100)])
    assert late_figures(None) == {}


@pytest.mark.skipif(NO_COMPILER, reason="there is no C compiler")
def test_rivals_in_c_keep_a_schedule_too() -> None:
    """In bursts; without the stamps nothing would be counted."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    row, _ = measured("rate", "--size", "64", "--rate", "20000", "--burst", "10", "--seconds",
                      "0.05", "--peer", "raw-c")  # fmt: skip
    assert sum(count for _, count in row["latency_ns"]) == row["count"] == 1000


def test_one_way_latency_is_a_fixed_rate() -> None:
    """A thousand a second."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    row, _ = measured("lat", "--one-way", "--count", "20", "--size", "16", "--transport", "inproc",
                      "--peer", "meshmsg")  # fmt: skip
    assert (row["kind"], row["count"], row["rate"]) == ("rate", 20, 1000.0)


def test_more_connections_than_a_peer_can_take_are_a_row_that_says_so() -> None:
    """A raw stream is one connection."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    done = bench("rate", "--load", "1K-20k/s-25", "--peer", "raw-python", "--rounds", "1")
    assert done.returncode == 1
    assert "raw-python: not measured: has at most 1 connection" in done.stdout


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_fanout_delivers_everything_to_everybody(transport: str) -> None:
    """Several subscribers in several processes, message by message and in batches."""
    found = measured("fanout", "--subscribers", "1,5", "--processes", "2", "--count", "300",
                     "--size", "16", "--transport", transport, "--peer",
                     "meshmsg,meshmsg-batch")  # fmt: skip
    assert [row["subscribers"] for row in found] == [1, 1, 5, 5]
    for row in found:
        assert row["figures"]["deliveries_per_s"]["min"] > 0


def test_pyzmq_is_asked_to_lose_nothing_in_a_fanout() -> None:
    """Its high water mark makes it wait, as ours does: the run ends."""
    pytest.importorskip("zmq", reason="pyzmq is not installed")
    (row,) = measured("fanout", "--subscribers", "3", "--processes", "1", "--count", "3000",
                      "--size", "16", "--peer", "pyzmq")  # fmt: skip
    assert row["count"] == 3000


def test_connections_are_counted_when_each_has_said_a_word() -> None:
    """Rate, and memory of both sides."""
    (row,) = measured("connections", "--number", "20", "--peer", "meshmsg")
    assert row["figures"]["connects_per_s"]["min"] > 0
    assert {"server_bytes", "client_bytes"} <= row["figures"].keys()


def test_cpu_time_is_a_figure_of_its_own() -> None:
    """Of both sides together, and of each."""
    (row,) = measured("cpu", "--count", "2000", "--size", "64", "--peer", "meshmsg")
    figures = row["figures"]
    both = figures["sender_cpu_us"]["median"] + figures["receiver_cpu_us"]["median"]
    assert row["kind"] == "cpu"
    assert figures["cpu_us"]["median"] == pytest.approx(both)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rate", "--size", "64"), "--size goes with --rate"),
        (("rate", "--rate", "64"), "--rate goes with --size"),
        (("rate", "--load", "heavy"), "loads are 256B-3k/s"),
        (("rate", "--size", "3", "--rate", "1"), "a whole number from 16 on"),
        (("fanout", "--subscribers", "0"), "a whole number from 1 on"),
        ((), "required"),
    ],
)
def test_wrong_arguments_are_sentences(arguments: tuple[str, ...], words: str) -> None:
    """And no traceback."""
    done = bench(*arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
