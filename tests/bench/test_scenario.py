"""Scenarios: what a file may say, what it may not, and tiny real runs of each that is shipped."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands.run import scaled
from meshmsg.bench.measure.stage import messages_of
from meshmsg.bench.scenarios.scenario import Scenario, known, load, scenario_of
from tests.support.benched import BENCH, bench, record


def told(**step: Any) -> dict[str, Any]:
    """A scenario of one step, as a file would hold it."""
    return {
        "title": "t",
        "peers": ["meshmsg"],
        "steps": [
            {
                "name": "s",
                "consumers": [{"name": "c"}],
                "producers": [{"name": "p", "to": "c", "size": 64, "count": 10}],
                **step,
            }
        ],
    }


def producer(**more: Any) -> dict[str, Any]:
    """A step's producers: one, changed."""
    return {"producers": [{"name": "p", "to": "c", "size": 64, "count": 10, **more}]}


def test_a_scenario_is_read_with_defaults() -> None:
    """As fast as it goes, waiting, over one connection."""
    made = scenario_of(told(), "f")
    (one,) = made.steps[0].producers
    assert (one.rate, one.blocking, one.connections, one.messages) == (0.0, True, 1, 10)
    assert (made.rounds, made.steps[0].kind, made.steps[0].ends_at("c")) == (5, "rate", 1)


def test_seconds_and_a_rate_say_how_many() -> None:
    """And a warm-up sends a second of it, or a tenth."""
    (step,) = scenario_of(told(**producer(count=0, rate=100, seconds=30.0)), "f").steps
    one = step.producers[0]
    assert (one.messages, messages_of(one, False), messages_of(one, True)) == (3000, 3000, 100)
    (step,) = scenario_of(told(**producer(count=1000)), "f").steps
    assert messages_of(step.producers[0], True) == 100


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (producer(to="nobody"), "there is no consumer 'nobody'"),
        (producer(size=8), "size is 8; it is at least 16"),
        (producer(connections=0), "connections is 0"),
        (producer(burst=0), "burst is 0"),
        (producer(rate=-1), "0 or more"),
        (producer(rate=float("nan")), "rate and seconds are 0 or more"),
        (producer(rate=float("inf")), "rate and seconds are 0 or more, and at most"),
        (producer(count=0, rate=1, seconds=float("inf")), "at most"),
        (producer(count=0, rate=1, seconds=float("nan")), "rate and seconds are 0 or more"),
        (producer(count=2**40 + 1), "count is 1099511627777; it is at most 1099511627776"),
        (producer(size=10**30), "it is at most"),
        ({"consumers": [{"name": "c", "bind": "hello"}]}, "c binds 'hello'; it is tcp://..."),
        ({"transport": "ipc", "consumers": [{"name": "c", "bind": "tcp://x"}]}, "it is ipc://..."),
        (producer(seconds=1), "count or seconds"),
        (producer(count=0), "a count is wanted"),
        (producer(speed=3), "unknown speed"),
        (producer(size="big"), "size is 'big'; it is int"),
        (producer(blocking=1), "blocking is 1; it is bool"),
        (producer(count=True), "count is True; it is int"),
        ({"producers": []}, "a list of producers is wanted"),
        ({"producers": ["p"]}, "names with values are wanted"),
        ({"producers": [{"name": "p"}]}, "to is wanted"),
        ({"consumers": [{"name": "c"}, {"name": "d"}]}, "nobody sends to d"),
        ({"consumers": [{"name": "c"}, {"name": "c"}]}, "'c' stands there twice"),
        ({"transport": "inproc"}, "transport is 'inproc'"),
        ({"measure": "luck"}, "measure is 'luck'; it is one of throughput, latency"),
        ({"measure": "throughput", **producer(connections=2)}, "one producer"),
        ({"measure": "throughput", **producer(rate=5)}, "measured by its latency"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(step: dict[str, Any], words: str) -> None:
    """With the file and the step."""
    with pytest.raises(BenchError, match=r"^f: ") as caught:
        scenario_of(told(**step), "f")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"peers": ["nobody"]}, "no peer 'nobody'"),
        ({"peers": [1]}, "peers is 1"),
        ({"rounds": 0}, "rounds is 0"),
        ({"steps": None}, "a list of steps is wanted"),
        ({"colour": "red"}, "unknown colour"),
    ],
)
def test_a_scenario_as_a_whole_is_checked_too(changes: dict[str, Any], words: str) -> None:
    """Peers, rounds, steps."""
    with pytest.raises(BenchError, match=words):
        scenario_of({**told(), **changes}, "f")


def test_steps_have_names_of_their_own() -> None:
    """Rows are known by them."""
    twice = told()
    twice["steps"] *= 2
    with pytest.raises(BenchError, match="'s' stands there twice"):
        scenario_of(twice, "f")


def test_files_that_are_none_are_sentences(tmp_path: Path) -> None:
    """No file, and no YAML."""
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    with pytest.raises(BenchError, match="scenarios by name: backlog, fixed-rate, million, mixed"):
        load(str(tmp_path / "none.yaml"))
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [")
    with pytest.raises(BenchError, match="is no YAML"):
        load(str(bad))
    for text in (b"a: 2020-99-99", b"[" * 100_000):
        bad.write_bytes(text)
        with pytest.raises(BenchError, match="is no YAML"):
            load(str(bad))
    bad.write_bytes(b"title: caf\xe9\n")
    with pytest.raises(BenchError, match="is no UTF-8: byte 10 is none"):
        load(str(bad))
    with pytest.raises(BenchError, match="scenarios by name"):
        load(str(tmp_path))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--role", "receiver", "--meet", "nonsense"], "--meet nonsense: "),
        (["--role", "sender", "--meet", "nonsense"], "--meet nonsense: "),
        (["--role", "receiver", "--meet", "tcp://0.0.0.0:0"], "--insecure allows it"),
        (["--scale", "nan"], "--scale is nan"),
    ],
)
def test_an_ordinary_mistake_is_one_sentence(more: list[str], words: str) -> None:
    """And exit status 1, not a traceback."""
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    done = bench("run", "million", *more)
    assert done.returncode == 1
    assert done.stderr.startswith("python -m meshmsg.bench: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_scaling_keeps_rates() -> None:
    """It changes how much is sent, not how fast."""
    made = scenario_of(told(**producer(count=0, rate=100, seconds=30.0)), "f")
    (one,) = scaled(made, 0.5).steps[0].producers
    assert (one.rate, one.seconds) == (100, 15.0)
    assert scaled(scenario_of(told(), "f"), 0.2).steps[0].producers[0].count == 2
    with pytest.raises(BenchError, match="--scale"):
        scaled(made, 0)


def run(*arguments: str) -> dict[str, Any]:
    """Run one; the record."""
    return record("run", *arguments)


SCALES = {"million": "0.002", "fixed-rate": "0.003", "backlog": "0.1", "mixed": "0.01"}


@pytest.mark.parametrize("name", known())
def test_a_shipped_scenario_runs(name: str) -> None:
    """With a hundredth of its messages, or less; each is received and counted."""
    for library in ("yaml", "hdrh"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    found = run(name, "--peer", "meshmsg", "--rounds", "1", "--scale", SCALES[name])
    made = load(name)
    assert found["title"] == made.title
    assert [row["load"] for row in found["rows"]] == [step.name for step in made.steps]
    for row in found["rows"]:
        assert row["missing"] is None, row
        if row["kind"] == "rate" and name != "mixed":  # mixed may refuse some
            assert sum(count for _, count in row["latency_ns"]) == row["count"]


def test_several_producers_are_told_apart(tmp_path: Path) -> None:
    """Each has its own figures."""
    for library in ("yaml", "hdrh"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    path = tmp_path / "two.yaml"
    path.write_text(json.dumps(two_producers()))
    (row,) = run(str(path))["rows"]
    assert {"p99_us one", "p99_us two"} <= row["figures"].keys()
    counts = {n: sum(c for _, c in p["latency_ns"]) for n, p in row["producers"].items()}
    assert counts == {"one": 30, "two": 20}


def two_producers() -> dict[str, Any]:
    """A scenario of two producers of different sizes, and its JSON is YAML too."""
    return {
        **told(
            producers=[
                {"name": "one", "to": "c", "size": 64, "count": 30},
                {"name": "two", "to": "c", "size": 500, "count": 20, "connections": 2},
            ]
        ),
        "rounds": 1,
    }


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_sender_and_receiver_meet_over_an_endpoint(tmp_path: Path, host: str) -> None:
    """As on two machines; the record says how well their clocks were compared."""
    for library in ("yaml", "hdrh"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    path = tmp_path / "two.yaml"
    path.write_text(json.dumps(two_producers()))
    command = [*BENCH, "run", str(path), "--role", "receiver", "--meet", f"tcp://{host}:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        meet = receiver.stdout.readline().split()[-1]
        (row,) = run(str(path), "--role", "sender", "--meet", meet)["rows"]
        assert receiver.wait(30) == 0
    assert row["missing"] is None
    assert row["clock_uncertain_ns"] > 0
    assert sum(count for _, count in row["latency_ns"]) == 50


def test_a_role_needs_a_place_to_meet(tmp_path: Path) -> None:
    """And one machine needs none."""
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    for more in (["--role", "sender"], ["--meet", "tcp://127.0.0.1:1"]):
        done = bench("run", "million", *more)
        assert done.returncode == 1
        assert "--meet goes with" in done.stderr


def test_every_shipped_scenario_is_sound() -> None:
    """And the two headline experiments are there."""
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    made: dict[str, Scenario] = {name: load(name) for name in known()}
    million = made["million"].steps[0].producers[0]
    assert (million.count, million.size) == (1_000_000, 1024)
    backlog = [step.producers[0] for step in made["backlog"].steps]
    assert [one.burst for one in backlog] == [1, 10, 100, 1000, 10_000]
    assert {(one.rate, one.size, one.seconds) for one in backlog} == {(10_000, 1024, 5)}
    loads = [step.producers[0] for step in made["fixed-rate"].steps]
    assert [(one.size, one.rate, one.connections, one.seconds) for one in loads] == [
        (256, 3000, 1, 30),
        (1024, 3000, 1, 30),
        (5120, 2000, 1, 30),
        (1024, 20000, 25, 30),
        (1024 * 1024, 100, 1, 30),
    ]
