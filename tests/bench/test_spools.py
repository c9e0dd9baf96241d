"""What is kept on a disk: tiny real runs of each command, and what their figures are of."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

import meshmsg
from meshmsg.bench.base import disk
from meshmsg.bench.base.disk import ZeroedFile, file_system, sync_us
from meshmsg.bench.base.facts import facts
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.commands import spools
from meshmsg.bench.commands.report import wrong_with
from meshmsg.bench.commands.spools import append_case, opening_load, replay_case, spooled_case
from meshmsg.bench.ends.lead import Gathered
from meshmsg.bench.ends.spools import open_again, replay_all
from meshmsg.bench.peers import mesh_spool
from meshmsg.bench.peers.mesh_spool import SpoolOpener
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.peers.seam import Replayer
from meshmsg.bench.rivals.raw_disk import batch_of
from tests.support.benched import bench, measured

ALONE = (
    "meshmsg-spool,meshmsg-spool-many,meshmsg-spool-full,"
    "raw-fdatasync,raw-fdatasync-4m,raw-fdatasync-new"
)
SPOOLED = "meshmsg-spooled,meshmsg-spooled-os"
BLOCK = 512
"""Octets of a block, as stat(2) counts them."""


class Line:
    """A parent that lets an end go on at once."""

    def endpoint(self, url: str) -> None:
        """It is alone."""
        assert url == ""

    def ready(self, *, waits: bool) -> None:
        """Go on."""
        assert waits

    def hear(self, word: str) -> None:
        """Nothing."""


def test_what_is_put_one_by_one_is_timed_each_and_many_are_not() -> None:
    """Beside the raw disk, and what a sync takes."""
    found = measured("append", "--size", "10", "--count", "30", "--peer", ALONE)
    assert [(row["kind"], row["transport"], row["count"]) for row in found] == [
        ("append", "disk", 30)
    ] * len(ALONE.split(","))
    for row in found:
        one_by_one = row["peer"] in ("meshmsg-spool", "raw-fdatasync")
        assert ("p50_us" in row["figures"]) is one_by_one
        assert sum(count for _, count in row.get("latency_ns", [])) == (30 if one_by_one else 0)
        assert row["figures"]["messages_per_s"]["min"] > 0
        assert row["figures"]["t_sync_us"]["min"] > 0


def test_a_warm_up_tells_how_many_take_the_time_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once are looked at twice: a few of them are one sync."""
    asked: list[int] = []

    def gathered(peer: Any, transport: str, tasks: list[Task]) -> Gathered:
        (task,) = tasks
        asked.append(task.count)
        many = peer.name.endswith(("many", "full"))
        rate, times = (1e6, []) if many else (1e4, [(100_000, task.count)])
        said = {"count": task.count, "seconds": task.count / rate, "latency_ns": times}
        return Gathered([said], [{"cpu_s": 0.0, "rss_mb": 1.0}])

    monkeypatch.setattr(spools, "gather", gathered)
    chosen = argparse.Namespace(count=None, seconds=0.5, seed=1)
    for name, counts in (
        ("meshmsg-spool", [300, 5000, 5000]),
        ("meshmsg-spool-many", [300, 500_000, 500_000, 500_000]),
        ("meshmsg-spool-full", [300, 500_000, 500_000, 500_000]),
    ):
        asked.clear()
        case = append_case(PEERS[name], 200, chosen)
        for warming in (True, False, False):
            figures = case.measure(warming)
        assert asked == counts
        case.forget()
        assert figures["mb_per_s"] == pytest.approx(figures["messages_per_s"] * 200 / 1e6)
        known = case.extra()
        assert known["count"] == counts[-1]
        assert known.get("latency_ns", [(100_000, 5000)]) == [(100_000, 5000)]  # of one round


def test_messages_kept_by_the_sender_are_counted_like_others() -> None:
    """At each level; also by the command thr."""
    found = measured("spooled", "--size", "10", "--count", "500", "--peer", SPOOLED)
    found += measured("thr", "--size", "10", "--count", "500", "--transport", "tcp",
                      "--peer", "meshmsg-spooled")  # fmt: skip
    assert [row["kind"] for row in found] == ["spooled", "spooled", "thr"]
    assert all(row["figures"]["receiver_per_s"]["min"] > 0 for row in found)
    assert ["t_sync_us" in row["figures"] for row in found] == [True, True, False]


def test_a_full_spool_is_read_to_its_end() -> None:
    """As messages, and as tables."""
    found = measured("replay", "--size", "1024", "--mib", "1")
    assert [(row["peer"], row["count"]) for row in found] == [
        ("meshmsg-spool", 1024),
        ("meshmsg-spool-many", 1024),
    ]
    assert all(row["figures"]["mb_per_s"]["min"] > 0 for row in found)


def test_what_is_read_stands_beside_what_comes_by_the_wire() -> None:
    """Of a peer without a spool it is the rate of its receiver, over tcp, at that size."""
    arguments = ("--size", "64", "--mib", "1", "--seconds", "0.01")
    found = measured("replay", *arguments, "--peer", "meshmsg-spool-many,meshmsg-batch")
    assert [(row["kind"], row["transport"], row.get("over")) for row in found] == [
        ("replay", "disk", None),
        ("replay", "disk", "tcp"),
    ]
    assert all(row["figures"]["messages_per_s"]["min"] > 0 for row in found)
    rates = found[1]["figures"]
    assert rates["mb_per_s"]["min"] == pytest.approx(rates["messages_per_s"]["min"] * 64 / 1e6)


def test_a_spool_is_opened_after_a_kill_with_and_without_memory() -> None:
    """Both are told; also of one that has sealed files before."""
    found = measured("opening", "--mib", "1") + measured("opening", "--mib", "1", "--files", "3")
    assert [row["load"] for row in found] == [opening_load(1), "3 sealed files"]
    for row in found:
        assert row["count"] == 1024
        assert row["figures"]["open_ms"]["min"] > 0
        assert row["figures"]["cold_ms"]["min"] > 0


def test_sealed_files_are_large_and_take_no_room(tmp_path: Path) -> None:
    """Each has a message, all can be read, and what is put then is behind them."""
    task = Task("opening", "meshmsg-spool", False, "", 10, 5, folder=str(tmp_path), files=4)
    end, said = open_again(PEERS["meshmsg-spool"], task, Line())
    end.close()
    assert said["count"] == 5
    sealed = sorted(Path(mesh_spool.path_of(task)).glob("*.seg"))[:4]
    about = [path.stat() for path in sealed]
    assert [one.st_size for one in about] == [mesh_spool.SEALED_BYTES] * 4
    assert all(one.st_blocks * BLOCK < mesh_spool.SEALING_BYTES * 2 for one in about)
    with meshmsg.SpoolView(mesh_spool.path_of(task)) as view:
        sizes = [len(bytes(one)) for one in view.reader()]  # type: ignore[arg-type]
    assert sizes[:10] == [mesh_spool.SEALING_BODY] * 5 + [10] * 5
    assert len(sizes) >= 15  # as many once more, before it was opened from the disk


def test_files_that_were_not_sealed_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file had room for more than one message, so there are fewer."""
    monkeypatch.setattr(mesh_spool, "SEALING_BODY", 10)
    task = Task("opening", "meshmsg-spool", False, "", 10, 5, folder=str(tmp_path))
    with pytest.raises(BenchError, match="0 of 3 segment files were sealed"):
        SpoolOpener(task).seal(3)


def test_what_a_killed_process_put_is_there(tmp_path: Path) -> None:
    """All that it was told had been kept; so the second kill adds to the first."""
    task = Task("opening", "meshmsg-spool", False, "", 10, 50, folder=str(tmp_path))
    end, said = open_again(PEERS["meshmsg-spool"], task, Line())
    end.close()
    assert said["count"] == 50
    with meshmsg.Spool(mesh_spool.path_of(task)) as spool:
        assert not spool.recovery.unclean
        assert spool.info().last_seq >= 51


def test_a_spool_that_was_closed_in_order_is_no_measure(tmp_path: Path) -> None:
    """And one that cannot be filled says why."""
    task = Task("opening", "meshmsg-spool", False, "", 10, 5, folder=str(tmp_path))
    opener = SpoolOpener(task)
    opener.leave(5)
    assert opener.open_ns() > 0
    with pytest.raises(BenchError, match="closed in order"):
        opener.open_ns()
    with (
        meshmsg.Spool(mesh_spool.path_of(task)),
        pytest.raises(BenchError, match=r"was to fill the spool failed: [\s\S]*is open"),
    ):
        opener.leave(5)


def test_who_takes_too_long_to_fill_a_spool_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a sentence."""
    monkeypatch.setattr(mesh_spool, "FILL_SECONDS", 1e-6)
    task = Task("opening", "meshmsg-spool", False, "", 10, 5, folder=str(tmp_path))
    with pytest.raises(BenchError, match="was not full after"):
        SpoolOpener(task).leave(5)


def test_a_spool_that_gives_too_few_is_an_error() -> None:
    """The row says how many."""

    class Few(Replayer):
        """It loses one."""

        def replay(self) -> int:
            """Two."""
            return 2

        def close(self) -> None:
            """Nothing."""

    class Losing(type(PEERS["meshmsg-spool"])):  # type: ignore[misc]
        """Whose spool that is."""

        def replayer(self, task: Task) -> Replayer:
            """It."""
            return Few()

    with pytest.raises(BenchError, match="2 of 3 messages were read"):
        replay_all(Losing(), Task("replay", "", False, "", 10, 3), Line())


def test_a_scenario_has_a_folder_for_what_its_producer_keeps(tmp_path: Path) -> None:
    """So one may name a peer that has a spool."""
    scenario = {
        "title": "t",
        "peers": ["meshmsg-spooled"],
        "rounds": 1,
        "steps": [
            {
                "name": "s",
                "measure": "throughput",
                "consumers": [{"name": "c"}],
                "producers": [{"name": "p", "to": "c", "size": 10, "count": 200}],
            }
        ],
    }
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(scenario))
    (row,) = measured("run", str(path))
    assert row["figures"]["receiver_per_s"]["min"] > 0


@pytest.mark.parametrize("name", [*ALONE.split(","), *SPOOLED.split(",")])
def test_who_keeps_files_wants_a_folder_for_them(name: str) -> None:
    """Whoever leads a measurement has one."""
    peer, task = PEERS[name], Task("thr", name, False, "tcp://127.0.0.1:9", 10)
    open_end: Any = peer.appender if "append" in peer.kinds else peer.sender
    with pytest.raises(BenchError, match="has no folder"):
        open_end(task)


def test_nothing_is_left_of_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it was below the folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    measured("append", "--size", "10", "--count", "2", "--peer", "meshmsg-spool,raw-fdatasync-4m")
    measured("spooled", "--size", "10", "--count", "10", "--peer", "meshmsg-spooled")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_takes_what_is_written_around(tmp_path: Path) -> None:
    """Zeros before; from the beginning again, where the rest does not fit."""
    path = tmp_path / "zeroed"
    one = ZeroedFile(str(path), 10)
    assert path.read_bytes() == bytes(10)
    for octets in (b"aaaa", b"bbbb", b"cccc"):
        one.put(octets)
    one.close()
    assert path.read_bytes() == b"ccccbbbb\0\0"


def test_a_disk_that_takes_less_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would seem to be faster."""
    one = ZeroedFile(str(tmp_path / "zeroed"), 10)
    monkeypatch.setattr(disk.os, "pwrite", lambda *_: 1)
    with pytest.raises(OSError, match="1 of 3 octets"):
        one.put(b"abc")
    one.close()


def test_a_record_tells_where_files_were() -> None:
    """And a sync takes some time."""
    assert sync_us() > 0
    assert facts()["file_system"] == file_system() != ""


@pytest.mark.parametrize("size", [1, 100, 126, 127, 200, 1024, 20_000])
def test_the_raw_disk_gets_as_many_octets_as_a_spool_writes(tmp_path: Path, size: int) -> None:
    """From one batch to the next, of messages that are put one by one."""
    body = b"\xff" * size
    with meshmsg.Spool(tmp_path / "s") as spool:
        for _ in range(3):
            spool.append(body)
    (segment,) = (tmp_path / "s").glob("*.seg")
    octets = segment.read_bytes()
    first = octets.index(b"MMB1")
    second = octets.index(b"MMB1", first + 1)
    assert second - first == len(batch_of(body))
    assert octets.index(b"MMB1", second + 1) - second == len(batch_of(body))


def test_an_older_meshmsg_has_no_spools(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so."""
    monkeypatch.delattr(meshmsg, "Spool")
    for name in ("meshmsg-spool", "meshmsg-spool-many", *SPOOLED.split(",")):
        assert PEERS[name].missing() == "this meshmsg has no spools"


def test_a_record_of_what_is_kept_has_a_page() -> None:
    """And one of what is acknowledged, which a report refused once."""
    chosen = argparse.Namespace(count=10, seconds=1.0, seed=1)
    peer = PEERS["meshmsg-spool"]
    cases = [
        append_case(peer, 10, chosen),
        replay_case(peer, 10, 1, 1),
        spooled_case(PEERS["meshmsg-spooled"], "tcp", 10, chosen),
    ]
    rows = [{**case.row(), "latency_ns": []} for case in cases]
    rows[2]["figures"] = {key: {} for key in ("sender_per_s", "receiver_per_s", "cpu_us")}
    rows.append({**rows[2], "kind": "acked"})
    assert wrong_with({"facts": {}, "options": {}, "rows": rows}) == ""
    rows[3] = {**rows[3], "figures": {}}
    told = wrong_with({"facts": {}, "options": {}, "rows": rows})
    assert told.startswith("row 4 has no sender_per_s")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("append", "--size", "0"), "a whole number from 1 on"),
        (("replay", "--mib", "0"), "a whole number from 1 on"),
        (("opening", "--mib", "x"), "is no number"),
        (("append", "--peer", "pyzmq"), "has no append"),
        (("opening", "--peer", "raw-fdatasync"), "has no opening"),
    ],
)
def test_what_cannot_be_kept_is_refused(arguments: tuple[str, ...], words: str) -> None:
    """By a sentence."""
    done = bench(*arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
