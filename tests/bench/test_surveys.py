"""The command survey, and the peers that speak the second wire: tiny real runs."""

from __future__ import annotations

from typing import Any

import pytest

from meshmsg.bench.base.task import Task
from meshmsg.bench.commands.surveys import survey_parts
from meshmsg.bench.peers.roster import peer_named
from meshmsg.bench.peers.seam import Respondents, Surveyor
from tests.support.benched import bench, rows


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_every_survey_is_timed_to_its_last_answer(transport: str) -> None:
    """Of few and of several respondents in two processes, by each way of ours to ask."""
    peers = "meshmsg,meshmsg-sp,meshmsg-asyncio"
    found = rows("survey", "--respondents", "1,5", "--processes", "2", "--count", "20",
                 "--transport", transport, "--peer", peers)  # fmt: skip
    assert [(row["peer"], row["respondents"]) for row in found] == [
        (peer, number) for number in (1, 5) for peer in peers.split(",")
    ]
    for row in found:
        assert row["missing"] is None, row
        assert sum(count for _, count in row["latency_ns"]) == row["count"] == 20
        figures = {name: figure["median"] for name, figure in row["figures"].items()}
        assert 0 < figures["p50_us"] <= figures["p99_us"] <= figures["max_us"]
        assert figures["surveys_per_s"] > 0


def test_rivals_are_surveyed_the_same_way_when_they_are_there() -> None:
    """A bare machine has neither; what is there must not fail."""
    found = rows("survey", "--respondents", "5", "--processes", "2", "--count", "20",
                 "--peer", "meshmsg,nanomsg,pynng,raw-c-epoll")  # fmt: skip
    for row in found:
        reason = row["missing"] or ""
        assert reason == "" or "is not" in reason, row
        if not reason:
            assert sum(count for _, count in row["latency_ns"]) == 20


def test_who_has_no_surveys_is_a_row_that_says_so() -> None:
    """And the run goes on with the others."""
    found = rows("survey", "--respondents", "2", "--processes", "1", "--count", "2",
                 "--peer", "pyzmq,meshmsg")  # fmt: skip
    assert [row["missing"] for row in found] == ["has no survey", None]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--respondents", "0"), "a whole number from 1 on"),
        (("--size", "1"), "a whole number from 2 on"),
    ],
)
def test_surveys_that_cannot_be_are_refused(arguments: tuple[str, ...], words: str) -> None:
    """The one-byte question has a meaning of its own."""
    done = bench("survey", *arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_the_second_wire_is_measured_like_the_first(transport: str) -> None:
    """Throughput and round trips; over inproc there is no wire."""
    found = rows("thr", "--transport", transport, "--size", "10", "--count", "2500",
                 "--peer", "meshmsg-sp,meshmsg-sp-batch")  # fmt: skip
    found += rows("lat", "--transport", transport, "--size", "10", "--count", "50",
                  "--peer", "meshmsg-sp")  # fmt: skip
    assert [row["missing"] for row in found] == [None] * 3
    found = rows("thr", "--transport", "inproc", "--size", "10", "--count", "100",
                 "--peer", "meshmsg-sp,meshmsg")  # fmt: skip
    assert found[0]["missing"] == "has no inproc"


def opened(name: str, count: int) -> tuple[Surveyor, Respondents]:
    """Both ends of a survey, in this process."""
    peer = peer_named(name)
    task = Task("survey", name, False, "tcp://127.0.0.1:0", connections=count)
    asks = peer.surveyor(task)
    return asks, peer.respondents(Task("survey", name, True, asks.endpoint, connections=count))


def test_respondents_over_sp_come_by_the_second_wire() -> None:
    """Else two rows would measure the same."""
    for name, wire in (("meshmsg", "zmtp"), ("meshmsg-sp", "sp")):
        asks, answers = opened(name, 2)
        asks.meet(2)
        seen: Any = asks
        assert {peer.wire for peer in seen._socket.peers()} == {wire}
        answers.close()
        asks.close()


@pytest.mark.parametrize(
    ("respondents", "cores", "parts"),
    [(100, 4, [2, 3, 4]), (2, 8, [2]), (5, 1, [1]), (100, 2, [1, 2])],
)
def test_respondents_are_tried_with_and_without_cores_for_who_asks(
    respondents: int, cores: int, parts: list[int]
) -> None:
    """Never in more processes than there are of them."""
    assert survey_parts(respondents, cores) == parts
