"""`meshmsg spool export` and `tail`: where to, in which form, and who leaves or writes meanwhile.

Not here: which messages (test_cli_spool.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli import spools
from meshmsg._cli.codes import Code
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of, running
from tests.support.spoolcodec import BATCH
from tests.support.spooled import batches, segments, small, turn_bit
from tests.unit.test_cli_spool import Told, made, run


@pytest.mark.leaves_threads
def test_parquet_has_the_columns_of_a_batch(tmp_path: Path, capsys: Told) -> None:
    """The table that `read` gives, whatever is written; also of no message."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append(b"\xff", key=b"k", headers={"a": "b", "c": b"\xff"}, timestamp=5.5)
        spool.append_many(b"%d" % seq for seq in range(2, 30))
        wanted = arrow.Table.from_batches([arrow.record_batch(spool.read(1))])
    to = tmp_path / "out.parquet"
    assert run(capsys, "export", tmp_path / "s", to) == (Code.OK, f"{to}: 29 messages\n", "")
    read = parquet.read_table(to)
    assert read.to_pylist() == wanted.to_pylist()
    assert read.schema.names[:7] == ["seq", "time", "epoch", "topic", "key", "headers", "data"]
    for options, count in ((["--first", 4, "--last", 9], 6), (["--first", 30], 0)):
        assert run(capsys, "export", tmp_path / "s", to, *options)[0] == Code.OK
        read = parquet.read_table(to)
        assert read.to_pylist() == wanted.slice(3, count).to_pylist()
    assert [path.name for path in tmp_path.iterdir() if "parquet" in path.name] == ["out.parquet"]


@pytest.mark.leaves_threads
def test_parquet_leaves_out_what_is_harmed(tmp_path: Path, capsys: Told) -> None:
    """It is told, and exit code 1; also if it is the last of those that are asked for."""
    parquet = pytest.importorskip("pyarrow.parquet")
    last = made(tmp_path / "s")
    first = segments(tmp_path / "s")[0]
    turn_bit(first, batches(first)[1] + BATCH)
    to = tmp_path / "out.parquet"
    for options, wanted in (([], [1, *range(3, last + 1)]), (["--last", 2], [1])):
        code, _, err = run(capsys, "export", tmp_path / "s", to, *options)
        assert (code, err) == (Code.FAILED, "harmed, and not written: 2 to 2\n")
        assert parquet.read_table(to)["seq"].to_pylist() == wanted


@pytest.mark.parametrize("name", ["out.csv", "out.parquet.gz", "out.PARQUET", ".x/out.arrow"])
def test_endings_of_other_files_are_refused(tmp_path: Path, capsys: Told, name: str) -> None:
    """By name, before anything is written."""
    made(tmp_path / "s", 2)
    to = tmp_path / name
    code, out, err = run(capsys, "export", tmp_path / "s", to)
    assert (code, out) == (Code.USAGE, "")
    assert f"{to} ends in {to.suffix}; export writes JSON lines (.jsonl" in err
    assert not to.exists()


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: Told, name: str) -> None:
    """And not the file that would have been written for a while."""
    made(tmp_path / "s", 2)
    to = tmp_path / "away" / name
    code, out, err = run(capsys, "export", tmp_path / "s", to)
    assert (code, out) == (Code.USAGE, "")
    assert f"{to}: there is no folder {to.parent}" in err


@pytest.mark.parametrize("name", ["out.jsonl", "out.ndjson", "out.json", "out", ".out"])
def test_lines_of_json_go_to_files_of_such_names(tmp_path: Path, capsys: Told, name: str) -> None:
    """Or of no ending."""
    made(tmp_path / "s", 2)
    assert run(capsys, "export", tmp_path / "s", tmp_path / name)[0] == Code.OK
    [line, *_] = (tmp_path / name).read_text().splitlines()
    assert json.loads(line)["seq"] == 1


def test_a_hyphen_is_standard_output(
    tmp_path: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no file of that name."""
    made(tmp_path / "s", 2)
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "export", "s", "-") == run(capsys, "export", "s")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("count", [2, 2500])
def test_tail_ends_with_what_was_last_as_it_began(
    tmp_path: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """However much comes meanwhile."""
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append_many([b"x"] * 3000)
        spool.append(b"what is before is durable")
        real = spools.harmed_or_read

        def slowly(*options: Any) -> Iterator[Any]:
            for one in real(*options):
                if one.seq % 500 == 0:
                    spool.append_many([b"more"] * 3)
                yield one

        monkeypatch.setattr(spools, "harmed_or_read", slowly)
        with mm.SpoolView(spool.path) as view:
            last = view.info().last_seq
        code, out, _ = run(capsys, "tail", spool.path, "-n", count, "--json")
    assert code == Code.OK
    got = [json.loads(line)["seq"] for line in out.splitlines()]
    assert got == list(range(last - count + 1, last + 1))


@pytest.mark.parametrize("count", [1, 3000])
@pytest.mark.parametrize("command", ["export", "tail"])
def test_whoever_reads_may_leave(tmp_path: Path, command: str, count: int) -> None:
    """`meshmsg spool export s | head -1`: it ends without a word, as by SIGPIPE."""
    with mm.Spool(tmp_path / "s") as spool:
        spool.append_many(b"x" * 1000 for _ in range(count))
    words = [sys.executable, "-m", "meshmsg", "spool", command, str(tmp_path / "s")]
    words += ["-n", "3000", "--json"] if command == "tail" else []
    with running(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if count > 1:
            assert next(lines_of(process))
        process.stdout.close()
        assert process.wait(WAIT_S) == 141
        assert process.stderr.read() == b""


def test_a_spool_that_is_not_there_is_told_as_that(tmp_path: Path) -> None:
    """In words of spools: they have no endpoints."""
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("none", "nothing of that name"),
        ("empty", "an empty folder without a spool"),
    ):
        with pytest.raises(mm.SpoolError, match=f"there is {said}"):
            mm.SpoolView(tmp_path / name)
    with pytest.raises(mm.SpoolError) as caught:
        mm.Spool(tmp_path / "none" / "s")
    assert "endpoint" not in str(caught.value)
