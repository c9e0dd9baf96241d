"""Throughput and latency run with tiny counts, and what they say can be read back."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.support.benched import bench, record

NO_COMPILER = not any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def check_figures(row: dict[str, Any], *names: str) -> None:
    """Each figure is there, and its median lies between least and most."""
    for name in names:
        figure = row["figures"][name]
        assert 0 <= figure["min"] <= figure["median"] <= figure["max"], name


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_throughput_gives_the_rates_of_both_ends(transport: str) -> None:
    """One row a peer, with what each process used."""
    found = record("thr", "--transport", transport, "--size", "10", "--count", "2500",
                   "--rounds", "2", "--peer", "meshmsg,meshmsg-batch,meshmsg-asyncio")  # fmt: skip
    assert [row["peer"] for row in found["rows"]] == ["meshmsg", "meshmsg-batch", "meshmsg-asyncio"]
    for row in found["rows"]:
        assert row["missing"] is None
        facts = (row["kind"], row["transport"], row["size"], row["count"], row["rounds"])
        assert facts == ("thr", transport, 10, 2500, 2)
        check_figures(row, "sender_per_s", "receiver_per_s", "mb_per_s", "cpu_us")
        check_figures(row, "receiver_cpu_us", "receiver_rss_mb")
        assert ("sender_rss_mb" in row["figures"]) == (transport != "inproc")
        assert row["figures"]["receiver_per_s"]["min"] > 0


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_latency_gives_percentiles_and_the_whole_distribution(transport: str) -> None:
    """Percentiles ascend; the distribution holds each trip of each round once."""
    found = record("lat", "--transport", transport, "--size", "0", "--count", "50",
                   "--rounds", "2", "--peer", "meshmsg,meshmsg-asyncio")  # fmt: skip
    for row in found["rows"]:
        assert row["missing"] is None
        check_figures(row, "p50_us", "p99_us", "max_us")
        one = row["each_round"][0]
        assert one["p50_us"] <= one["p99_us"] <= one["max_us"]
        assert sum(count for _, count in row["latency_ns"]) == 100


def test_without_a_count_the_warm_up_round_chooses_it() -> None:
    """So that fast and slow peers are measured about equally long."""
    (row,) = record("thr", "--transport", "tcp", "--size", "8", "--seconds", "0.01",
                    "--rounds", "1", "--peer", "meshmsg")["rows"]  # fmt: skip
    assert row["count"] >= 1000


@pytest.mark.parametrize("kind", ["thr", "lat"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_plain_python_sockets_are_measured(kind: str, transport: str) -> None:
    """The same tasks without a library."""
    found = record(kind, "--transport", transport, "--size", "100", "--count", "3000",
                   "--rounds", "1", "--peer", "raw-python")  # fmt: skip
    assert [row["missing"] for row in found["rows"]] == [None]


@pytest.mark.skipif(NO_COMPILER, reason="there is no C compiler")
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_the_raw_streams_in_c_are_built_and_measured(transport: str) -> None:
    """All write sizes, sleeping and spinning; a message larger than the buffers too."""
    peers = "raw-c,raw-c-64k,raw-c-8k,raw-c-each"
    found = record("thr", "--transport", transport, "--size", "64,300000", "--count", "500",
                   "--rounds", "1", "--peer", peers)  # fmt: skip
    found["rows"] += record("lat", "--transport", transport, "--size", "64", "--count", "100",
                            "--rounds", "1", "--peer", "raw-c,raw-c-spin")["rows"]  # fmt: skip
    assert [row["missing"] for row in found["rows"]] == [None] * 10
    for row in found["rows"][-2:]:
        assert sum(count for _, count in row["latency_ns"]) == 100


@pytest.mark.parametrize("transport", ["tcp", "inproc"])
def test_pyzmq_and_libzmq_are_measured_beside_it_when_they_are_there(transport: str) -> None:
    """One by one, in hand-made batches, from asyncio, from C."""
    peers = "meshmsg,pyzmq,pyzmq-batch,pyzmq-asyncio,libzmq-c,nanomsg,pynng,zenoh"
    for kind in ("thr", "lat"):
        found = record(kind, "--transport", transport, "--size", "10", "--count", "1500",
                       "--rounds", "1", "--peer", peers)  # fmt: skip
        assert [row["peer"] for row in found["rows"]] == peers.split(",")
        for row in found["rows"]:
            reason = row["missing"] or ""
            assert reason == "" or reason.startswith("has no") or "is not" in reason, row


def test_a_table_for_people_has_medians_ranges_and_ratios() -> None:
    """And says which peers were not measured, and why."""
    done = bench("thr", "--transport", "inproc", "--size", "10", "--count", "100", "--rounds", "1",
                 "--peer", "meshmsg,meshmsg-batch,raw-python", "--base", "meshmsg")  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "TCP " in lines[0]
    assert lines[1] == "thr 10 B inproc, ratios to meshmsg"
    assert lines[2].split()[:3] == ["peer", "x", "receiver"]
    assert lines[3].split()[:2] == ["meshmsg", "1.00"]
    assert lines[4].split()[0] == "meshmsg-batch"
    assert "raw-python: not measured: has no inproc" in lines


def test_an_unknown_peer_is_an_error_with_the_names_there_are() -> None:
    """A typing error in a name gives a sentence and not a traceback."""
    done = bench("thr", "--peer", "carrier-pigeon")
    assert done.returncode == 2
    assert "no peer 'carrier-pigeon'; there are meshmsg, meshmsg-batch" in done.stderr
