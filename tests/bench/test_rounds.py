"""Interleaving, the warm-up round, peers that are missing or fail, and the table of it all."""

from __future__ import annotations

import argparse

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands import args
from meshmsg.bench.commands.many import shares, suited
from meshmsg.bench.measure.rounds import Case, Figures, order, run
from meshmsg.bench.peers.roster import PEERS, peer_named
from meshmsg.bench.peers.seam import Peer
from meshmsg.bench.report.table import aligned, number, table


class FakePeer(Peer):
    """A peer that is measured by the test."""

    def __init__(self, name: str, reason: str | None = None) -> None:
        self.name, self._reason = name, reason

    def missing(self) -> str | None:
        """What the test wants."""
        return self._reason


def cases(log: list[tuple[str, bool]], *names: str) -> list[Case]:
    """Cases that note when they are measured, and get faster each time."""

    def measuring(name: str) -> Case:
        rates = iter(range(100, 1000, 100))

        def measure(warming: bool) -> Figures:
            log.append((name, warming))
            return {"receiver_per_s": float(next(rates))}

        return Case(FakePeer(name), "thr", "tcp", measure, {"size": 8})

    return [measuring(name) for name in names]


def test_rounds_go_a_b_a_b_and_the_first_is_thrown_away() -> None:
    """Five rounds are six measurements each."""
    log: list[tuple[str, bool]] = []
    rows = run(cases(log, "a", "b"), 2)
    assert log == [("a", True), ("b", True), ("a", False), ("b", False), ("a", False), ("b", False)]
    assert rows[0]["figures"]["receiver_per_s"] == {"median": 250, "min": 200, "max": 300}
    assert [row["rounds"] for row in rows] == [2, 2]
    assert [n for n, _ in order(cases([], "a"), 3)] == [0, 1, 2, 3]


def test_a_peer_that_is_not_there_is_a_row_that_says_so() -> None:
    """And is never measured."""
    log: list[tuple[str, bool]] = []
    (case,) = cases(log, "a")
    case.peer = FakePeer("a", "the sky is cloudy")
    (row,) = run([case], 3)
    assert (row["missing"], row["figures"], log) == ("the sky is cloudy", {}, [])


@pytest.mark.parametrize(("kind", "transport"), [("survey", "tcp"), ("thr", "pigeon")])
def test_what_a_peer_has_not_is_a_row_that_says_so(kind: str, transport: str) -> None:
    """Kinds and transports."""
    (case,) = cases([], "a")
    case.kind, case.transport = kind, transport
    assert run([case], 1)[0]["missing"] == f"has no {kind if kind != 'thr' else transport}"


def test_a_case_may_need_other_things_of_a_peer_than_its_row_says() -> None:
    """A kind, and a transport."""
    for needs, over, reason in (("thr", "tcp", None), ("thr", "disk", "has no disk")):
        (case,) = cases([], "a")
        case.kind, case.transport, case.needs, case.over = "replay", "disk", needs, over
        (row,) = run([case], 1)
        assert (row["missing"], row["kind"], row["transport"]) == (reason, "replay", "disk")


def test_a_peer_that_fails_in_a_later_round_has_no_figures_and_stops_nobody() -> None:
    """The others go on."""
    log: list[tuple[str, bool]] = []
    good, bad = cases(log, "good", "bad")
    calls = iter([{"receiver_per_s": 1.0}, {"receiver_per_s": 1.0}])

    def failing(_: bool) -> Figures:
        try:
            return next(calls)
        except StopIteration:
            raise BenchError("it broke") from None

    bad.measure = failing
    rows = run([good, bad], 3)
    assert [row["missing"] for row in rows] == [None, "it broke"]
    assert rows[1]["each_round"] == []
    assert rows[0]["rounds"] == 3


def test_a_table_compares_with_the_peer_that_was_named() -> None:
    """Or with the first that was measured."""
    rows = run(cases([], "a", "b"), 1)
    rows[0]["figures"]["receiver_per_s"]["median"] = 100.0
    rows[1]["figures"]["receiver_per_s"]["median"] = 300.0
    assert [line.split()[1] for line in table(rows, "b")[2:4]] == ["0.33", "1.00"]
    assert [line.split()[1] for line in table(rows)[2:4]] == ["1.00", "3.00"]
    assert [line.split()[1] for line in table(rows, "nobody")[2:4]] == ["-", "-"]
    rows[0]["missing"] = "gone"
    assert table(rows)[-2] == "a: not measured: gone"
    assert table([rows[0]]) == ["thr 8 B tcp", "a: not measured: gone", ""]


def test_numbers_are_short_and_columns_stand_under_each_other() -> None:
    """For people."""
    shown = [number(v, 1) for v in (0.5, 9999.0, 10_000.0, 1_234_567.0, 45_600_000.0)]
    assert shown == ["0.5", "9,999.0", "10.0k", "1.23M", "45.6M"]
    assert aligned([["a", "bb"], ["ccc", "d"]]) == ["a    bb", "ccc   d"]


def test_peers_have_the_names_they_are_found_by() -> None:
    """And what they can is a kind there is."""
    for name, peer in PEERS.items():
        assert peer_named(name) is peer
        assert peer.name == name
        kinds = {"thr", "lat", "rate", "fanout", "connections", "survey", "credits", "unacked"}
        kinds |= {"append", "opening", "replay", "source", "sink", "items", "trigger", "mesh"}
        kinds |= {"slow", "backlog"}
        assert set(peer.kinds) <= kinds
        assert set(peer.transports) <= {"tcp", "ipc", "inproc", "disk", "spark"}
    with pytest.raises(BenchError, match="no peer 'nobody'; there are meshmsg,"):
        peer_named("nobody")


def test_arguments_are_lists_with_commas_and_numbers_with_bounds() -> None:
    """Each refusal is a sentence."""
    assert args.words("a, b,,a") == ["a", "b"]
    assert args.number_list(0)("64,1e3,1_000") == [64, 1000, 1000]
    assert args.positive("0.5") == 0.5
    assert [peer.name for peer in args.peer_list("raw-c,meshmsg")] == ["raw-c", "meshmsg"]
    for read, text in (
        (args.number_list(1), "0"),
        (args.number_list(1), ""),
        (args.whole(0), "1.5"),
        (args.whole(0), "x"),
        (args.positive, "0"),
        (args.positive, "x"),
        (args.positive, "inf"),
        (args.transport_list, "tcp,udp"),
        (args.transport_list, ""),
        (args.peer_list, "nobody"),
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


def test_shares_are_equal_and_add_up() -> None:
    """Never more parts than there are things."""
    assert shares(10, 3) == [4, 3, 3]
    assert shares(2, 5) == [1, 1]


def test_the_number_of_processes_that_did_best_in_any_trial_is_taken() -> None:
    """They take turns, so that what disturbs one trial does not decide."""
    rates, tried = iter([5.0, 9.0, 8.0, 1.0]), []

    def once(parts: int) -> dict[str, float]:
        tried.append(parts)
        return {"rate": next(rates)}

    assert suited(once, [3, 4], "rate") == (4, {"rate": 9.0})
    assert tried == [3, 4, 3, 4]
