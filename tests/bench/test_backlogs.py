"""A long backlog beside a short one: tiny real runs of the command, and what its figures are of."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

import meshmsg
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.commands import backlogs, spools
from meshmsg.bench.commands.backlogs import backlog_case, backlog_load, check_room
from meshmsg.bench.commands.report import wrong_with
from meshmsg.bench.ends.backlogs import pile_unmet, take_late
from meshmsg.bench.ends.lead import Gathered
from meshmsg.bench.measure.launch import LIMIT
from meshmsg.bench.peers.mesh_spool import SpoolReplayer, path_of
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.peers.seam import Peer, Receiver, Sender
from tests.support.benched import measured, record

SMALL = ("--count", "200", "--times", "3", "--size", "10")
WIRED, ALONE = "meshmsg-spooled", ("meshmsg-spool", "meshmsg-spool-many")
URL = "tcp://127.0.0.1:7"
Usage = namedtuple("Usage", "total used free")


class Line:
    """A parent that notes what it is told, in its order."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def endpoint(self, url: str) -> None:
        """Where it is bound."""
        self._log.append(f"endpoint {url}")

    def ready(self, *, waits: bool) -> None:
        """It is warm."""
        self._log.append("waits" if waits else "ready")

    def hear(self, word: str) -> None:
        """Nothing."""


class Noted(Peer):
    """Whose ends note what they do."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def keeper(self, task: Task) -> Sender:
        """It."""
        log = self._log

        class Keeper(Sender):
            """It sends nothing."""

            endpoint = URL

            def send(self, body: bytes) -> None:
                """Never."""
                raise AssertionError

            def send_count(self, body: bytes, count: int) -> None:
                """Note it."""
                log.append(f"sent {count}")

            def close(self) -> None:
                """Nothing."""

        log.append("opened")
        return Keeper()

    def latecomer(self, task: Task) -> Receiver:
        """It."""
        log = self._log

        class Late(Receiver):
            """It receives nothing."""

            def recv(self) -> bytes:
                """Never."""
                raise AssertionError

            def recv_count(self, count: int) -> None:
                """Note it."""
                log.append(f"took {count}")

            def close(self) -> None:
                """Nothing."""

        log.append(f"came {task.url}")
        return Late()


def gathered(count: int, rates: tuple[float, ...], growths: tuple[float, ...]) -> Gathered:
    """As the ends would say it: at such rates, and with such megabytes more."""
    said = [{"count": count, "seconds": count / rate, "before_kib": 10 * 1024.0} for rate in rates]
    used = [{"cpu_s": 1.0, "rss_mb": 10.0 + more} for more in growths]
    return Gathered(said, used)


def test_a_long_backlog_is_kept_and_read_and_compared_with_a_short_one() -> None:
    """Of who sends, by tcp; of who reads, alone; each ratio is one of that round."""
    found = measured("backlog", *SMALL)
    assert [(row["kind"], row["transport"], row["peer"]) for row in found] == [
        ("backlog", "tcp", WIRED),
        *(("backlog", "disk", name) for name in ALONE),
    ]
    for row in found:
        assert (row["load"], row["count"], row["times"]) == (backlog_load(10, 3), 200, 3)
        (one,) = row["each_round"]
        assert one["rate_ratio"] == pytest.approx(one["long_per_s"] / one["short_per_s"])
        assert one["memory_ratio"] == pytest.approx(one["long_mb"] / one["short_mb"])
        assert one["short_mb"] > 0 < one["t_sync_us"]
        assert ("put_ratio" in one) is ("short_receiver_mb" in one) is (row["peer"] == WIRED)
    assert wrong_with({"facts": {}, "options": {}, "rows": found}) == ""


def test_nobody_can_come_before_all_is_kept() -> None:
    """The end that keeps tells where it is when it has sent all; then the other comes."""
    log: list[str] = []
    peer, line = Noted(log), Line(log)
    end, kept = pile_unmet(peer, Task("backlog", "", False, "tcp://127.0.0.1:*", 5, 9), line)
    assert log == ["opened", "sent 9", f"endpoint {URL}", "ready"]
    log.clear()
    end, came = take_late(peer, Task("backlog", "", True, URL, 5, 9), line)
    assert log == ["waits", f"came {URL}", "took 9"]
    assert kept["count"] == came["count"] == 9
    assert kept["before_kib"] > 0 < came["before_kib"]
    end.close()


def test_what_is_kept_arrives_whole_though_its_receiver_comes_late(tmp_path: Path) -> None:
    """By the ends that are measured."""
    peer = PEERS[WIRED]
    task = Task("backlog", WIRED, False, "tcp://127.0.0.1:*", 10, 300, folder=str(tmp_path))
    keeper = peer.keeper(task)
    keeper.send_count(task.body(), 300)
    late = peer.latecomer(Task("backlog", WIRED, True, keeper.endpoint, 10, 300))
    late.recv_count(299)
    assert late.recv() == task.body()
    late.close()
    keeper.close()
    with meshmsg.Spool(path_of(task)) as spool:
        assert spool.info().last_seq == 300


@pytest.mark.parametrize("name", [WIRED, "meshmsg-spool"])
def test_the_long_one_is_first_or_last_in_turn_and_the_warm_up_is_short(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it may take as long as so many messages need."""
    asked: list[tuple[int, str, int, float]] = []

    def gather(peer: Any, transport: str, tasks: list[Task], limit: float) -> Gathered:
        count = tasks[0].count
        asked.append((count, transport, len(tasks), limit))
        rates, growths = (1e5, 5e4) if count == 10 else (2e5, 4e4), (2.0, 1.0)
        wired = len(tasks) == 2
        return gathered(count, rates if wired else rates[1:], growths if wired else growths[:1])

    monkeypatch.setattr(backlogs, "gather", gather)
    monkeypatch.setattr(spools, "sync_us", lambda: 1.0)
    case = backlog_case(PEERS[name], 10, 50, 64, 1)
    for warming in (True, False, False):
        figures = case.measure(warming)
    assert [count for count, *_ in asked] == [10, 10, 500, 10, 10, 500]
    transport, ends = ("tcp", 2) if name == WIRED else ("disk", 1)
    assert {told[1:3] for told in asked} == {(transport, ends)}
    assert asked[-1][3] == LIMIT + 500 / backlogs.SLOWEST_PER_S
    assert figures["rate_ratio"] == pytest.approx(0.8)
    assert figures["memory_ratio"] == pytest.approx(1.0)
    assert figures["long_cpu_us"] == pytest.approx(2000.0)
    if name == WIRED:
        assert figures["put_ratio"] == pytest.approx(2.0)
        assert (figures["long_mb"], figures["long_receiver_mb"]) == (2.0, 1.0)


def test_a_disk_that_has_no_room_for_it_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is put; with just as much it goes on."""
    task = Task("backlog", WIRED, False, "", 64, 1000)
    needed = 1000 * (64 + backlogs.BESIDE_BYTES) + backlogs.SPARE_BYTES
    monkeypatch.setattr(backlogs.shutil, "disk_usage", lambda _: Usage(0, 0, needed))
    check_room(task)
    monkeypatch.setattr(backlogs.shutil, "disk_usage", lambda _: Usage(0, 0, needed - 1))
    with pytest.raises(BenchError, match=rf"octets free, and this wants {needed:,}"):
        check_room(task)


def test_a_message_takes_no_more_of_the_disk_than_is_asked_for(tmp_path: Path) -> None:
    """Of many, in batches."""
    with meshmsg.Spool(tmp_path / "s") as spool:
        spool.append_many([b"x" * 64] * 20_000)
    (segment,) = (tmp_path / "s").glob("*.seg")
    used = len(segment.read_bytes().rstrip(b"\0"))
    assert used <= 20_000 * (64 + backlogs.BESIDE_BYTES)


def test_nothing_is_left_of_a_backlog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it was below the folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    measured("backlog", *SMALL, "--peer", f"{WIRED},meshmsg-spool")
    assert list(tmp_path.iterdir()) == []


def test_who_reads_has_put_nothing(tmp_path: Path) -> None:
    """Another process filled it, with what the task says; a spool that is there is refused."""

    class Held(SpoolReplayer):
        """Whose spool the test reads."""

        def replay(self) -> int:
            """The messages that are what was to be put."""
            return sum(bytes(one) == task.body() for one in self._spool.reader())  # type: ignore[arg-type]

    task = Task("replay", "meshmsg-spool", False, "", 10, 40, seed=3, folder=str(tmp_path))
    end = Held(task)
    assert end.replay() == 40
    end.close()
    with pytest.raises(BenchError, match="failed: a spool is there already"):
        Held(task)


def test_who_keeps_nothing_says_so() -> None:
    """In a row, and as an error."""
    rows = record("backlog", *SMALL, "--rounds", "1", "--peer", "pyzmq,meshmsg-spool")["rows"]
    assert [row["missing"] for row in rows] == ["has no backlog", None]
    task = Task("backlog", "pyzmq", False, URL)
    for opened in (PEERS["pyzmq"].keeper, PEERS["pyzmq"].latecomer):
        with pytest.raises(BenchError, match="keeps nothing for who comes late"):
            opened(task)
