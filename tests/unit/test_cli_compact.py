"""`meshmsg spool compact`, and what the other commands say of a spool that was compacted.

Not here: what compaction is (test_spool_compact.py), other commands (test_cli_spool.py).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from meshmsg._cli.codes import Code
from meshmsg._cli.program import main
from tests.support.spooled import segments, small
from tests.unit.test_spool_compact import expected, put, sealed_end

Told = pytest.CaptureFixture[str]


def run(capsys: Told, *words: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it printed."""
    code = main(["spool", *map(str, words)])
    told = capsys.readouterr()
    return code, told.out, told.err


def made(path: Path) -> tuple[list[int], int]:
    """Make a spool, and return which numbers are to be there behind a compaction; and the last."""
    with small(path) as spool:
        last = put(spool, 5)
    return expected(sealed_end(path), last), last


def test_it_compacts_a_spool_that_nobody_has_open(tmp_path: Path, capsys: Told) -> None:
    """And tells what it came to, for people and as JSON; `info` and `verify` tell of it, too."""
    path = tmp_path / "s"
    wanted, last = made(path)
    end = sealed_end(path)
    before = sum(file.stat().st_size for file in segments(path))
    code, out, _ = run(capsys, "compact", path, "--json")
    told = json.loads(out)
    assert code == Code.OK
    assert told["messages"] == last - len(wanted)
    assert 0 < told["bytes"] <= before
    code, out, _ = run(capsys, "compact", path)
    assert (code, "messages: 0" in out) == (Code.OK, True)
    code, out, _ = run(capsys, "info", path, "--json")
    assert json.loads(out)["clean_seq"] >= end - 1
    code, out, _ = run(capsys, "verify", path, "--json")
    told = json.loads(out)
    assert (code, told["harmed"]) == (Code.OK, [])
    assert told["messages"] + told["compacted"] == last
    code, out, _ = run(capsys, "verify", path)
    assert (code, "of its numbers were compacted" in out) == (Code.OK, True)


def test_a_tombstone_has_its_time_there_too(tmp_path: Path, capsys: Told) -> None:
    """As `--tombstone-age` says."""
    path = tmp_path / "s"
    with small(path) as spool:
        spool.append(b"", key=b"dead")
        put(spool, 3)
    assert '"tombstones": 0' in run(capsys, "compact", path, "--json")[1]
    assert '"tombstones": 1' in run(capsys, "compact", path, "--json", "--tombstone-age", 0)[1]
    code, _, err = run(capsys, "compact", path, "--tombstone-age", -1)
    assert code == Code.USAGE
    assert "tombstone_age is -1.0" in err


def test_of_one_that_is_open_it_says_who_can(tmp_path: Path, capsys: Told) -> None:
    """And nothing is touched."""
    path = tmp_path / "s"
    made(path)
    with small(path) as spool:
        last = spool.info().last_seq
        code, out, err = run(capsys, "compact", path)
        assert (code, out) == (Code.FAILED, "")
        assert f"process {os.getpid()}" in err
        assert "compact=True" in err
        assert len(spool.read(1)) == last


@pytest.mark.leaves_threads
def test_a_range_is_exported_by_its_numbers(tmp_path: Path, capsys: Told) -> None:
    """Those that are there: as lines, and as Parquet."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "s"
    wanted, last = made(path)
    with small(path) as spool:
        spool.compact()
        wanted = [one.seq for one in spool.read(1).messages]
    upto = wanted[len(wanted) // 2]
    some = [n for n in wanted if 3 <= n <= upto]
    code, out, _ = run(capsys, "export", path, "--first", 3, "--last", upto)
    assert code == Code.OK
    assert [json.loads(line)["seq"] for line in out.splitlines()] == some
    file = tmp_path / "some.parquet"
    code, _, _ = run(capsys, "export", path, file, "--first", 3, "--last", upto)
    assert code == Code.OK
    assert parquet.read_table(file)["seq"].to_pylist() == some
    assert last >= upto
