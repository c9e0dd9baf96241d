"""`meshmsg spool`: looks at spools, and harms none.

Not here: what a spool does (test_spool.py).
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meshmsg._cli.codes import Code
from meshmsg._cli.program import main
from tests.support.pairs import WAIT_S
from tests.support.programs import lines_of, running
from tests.support.spoolcodec import BATCH
from tests.support.spooled import batches, bodies, body, fill, segments, small, turn_bit

Told = pytest.CaptureFixture[str]
COMMANDS = ("ls", "info", "verify", "tail", "export", "trim", "compact", "cursors", "seek")

TAKES = {
    "trim": "trim it: by Spool.trim()",
    "compact": "compact it: by Spool.compact(), or Spool(compact=True)",
    "seek": "move a cursor of it: by SpoolCursor.seek(), or Pub.seek_group() of a group",
}
"""What is said of those that take from one that is open."""


def run(capsys: Told, *words: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it printed."""
    code = main(["spool", *map(str, words)])
    told = capsys.readouterr()
    return code, told.out, told.err


def words_of(command: str, path: Path) -> list[object]:
    """Return a command line that is right."""
    more: dict[str, list[object]] = {"trim": [0], "seek": ["one", 1]}
    return [command, path, *more.get(command, [])]


def made(path: Path, files: int = 3) -> int:
    """Make a spool of so many files; return the last number."""
    with small(path) as spool:
        return fill(spool, files)


def test_ls_lists_the_segment_files(tmp_path: Path, capsys: Told) -> None:
    """With the numbers that each has, for people and as JSON."""
    last = made(tmp_path / "s")
    code, out, _ = run(capsys, "ls", tmp_path / "s", "--json")
    rows = json.loads(out)
    assert code == Code.OK
    assert [row["file"] for row in rows] == [path.name for path in segments(tmp_path / "s")]
    assert [row["bytes"] for row in rows] == [p.stat().st_size for p in segments(tmp_path / "s")]
    assert rows[0]["first"] == 1
    assert rows[-1]["last"] == last
    assert [row["first"] for row in rows[1:]] == [row["last"] + 1 for row in rows[:-1]]
    code, out, _ = run(capsys, "ls", tmp_path / "s")
    assert code == Code.OK
    for row, line in zip(rows, out.splitlines()[1:], strict=True):
        name, first, end, size = line.split()
        assert (name, int(first), int(end)) == (row["file"], row["first"], row["last"])
        assert int(size.replace(",", "")) == row["bytes"]


def test_info_tells_what_it_is(tmp_path: Path, capsys: Told) -> None:
    """As `info()` of the spool does."""
    last = made(tmp_path / "s")
    with small(tmp_path / "s") as spool:
        uuid = spool.info().uuid
    code, out, _ = run(capsys, "info", tmp_path / "s", "--json")
    told = json.loads(out)
    assert code == Code.OK
    assert (told["uuid"], told["messages"], told["last_seq"], told["files"]) == (
        uuid,
        last,
        last,
        3,
    )
    code, out, _ = run(capsys, "info", tmp_path / "s")
    assert f"uuid: {uuid}\n" in out
    assert f"messages: {last}\n" in out


def test_verify_reads_all_and_says_what_is_harmed(tmp_path: Path, capsys: Told) -> None:
    """With exit code 1; it changes nothing, so it says the same again."""
    last = made(tmp_path / "s")
    assert run(capsys, "verify", tmp_path / "s") == (
        Code.OK,
        f"{last} messages read and right\n",
        "",
    )
    first, second, _ = segments(tmp_path / "s")
    turn_bit(first, batches(first)[1] + BATCH)
    turn_bit(second, 30)  # its head
    begin, end = int(second.stem), int(segments(tmp_path / "s")[2].stem) - 1
    for _ in range(2):
        code, out, _ = run(capsys, "verify", tmp_path / "s")
        assert code == Code.FAILED
        assert out.splitlines() == [
            "harmed: 2 to 2",
            f"harmed: {begin} to {end}",
            f"{last - 1 - (end - begin + 1)} messages read and right",
        ]
    code, out, _ = run(capsys, "verify", tmp_path / "s", "--json")
    assert code == Code.FAILED
    assert json.loads(out)["harmed"] == [{"first": 2, "last": 2}, {"first": begin, "last": end}]


def test_harm_in_the_last_file_is_left_as_it_is(tmp_path: Path, capsys: Told) -> None:
    """Nothing is mended by looking."""
    with small(tmp_path / "s", durability="disk") as spool:
        for seq in range(1, 6):
            spool.append(body(seq))
    [file] = segments(tmp_path / "s")
    turn_bit(file, batches(file)[2] + BATCH)
    before = file.read_bytes()
    code, out, _ = run(capsys, "verify", tmp_path / "s")
    assert code == Code.FAILED
    assert "harmed: 3 to 3" in out
    for command in ("ls", "info"):
        assert run(capsys, command, tmp_path / "s")[0] == Code.OK
    code, out, _ = run(capsys, "tail", tmp_path / "s")
    assert [line.split()[0] for line in out.splitlines()] == ["1", "2", "3", "4", "5"]
    assert out.splitlines()[2] == "3 to 3: harmed"
    assert code == Code.FAILED
    assert run(capsys, "tail", tmp_path / "s", "-n", 2)[0] == Code.OK
    assert run(capsys, "export", tmp_path / "s")[0] == Code.FAILED
    code, _, err = run(capsys, "trim", tmp_path / "s", 0)
    assert code == Code.FAILED
    assert "messages from 3 on are harmed" in err
    assert file.read_bytes() == before


def test_tail_prints_the_last_ones(tmp_path: Path, capsys: Told) -> None:
    """Ten, or as many as are asked for; what is no text is printed as Python has it."""
    with small(tmp_path / "s") as spool:
        spool.append_many(b"%d" % seq for seq in range(1, 19))
        spool.append(b"\xff\x00", key="k\n")
        spool.append(b"x\n" * 500)
    code, out, _ = run(capsys, "tail", tmp_path / "s")
    lines = out.splitlines()
    assert code == Code.OK
    assert lines[:8] == [f"{seq}  {seq}" for seq in range(11, 19)]
    assert lines[8] == "19  key k\\n  b'\\xff\\x00'"
    assert lines[9].startswith("20  x\\nx\\n")
    assert lines[9].endswith("(1,000 bytes)")
    for count, wanted in ((1, [20]), (3, [18, 19, 20]), (100, list(range(1, 21)))):
        code, out, _ = run(capsys, "tail", tmp_path / "s", "-n", count, "--json")
        assert [json.loads(line)["seq"] for line in out.splitlines()] == wanted
    assert run(capsys, "tail", tmp_path / "s", "-n", 0)[0] == Code.USAGE


def test_export_writes_lines_of_json(tmp_path: Path, capsys: Told) -> None:
    """With all that goes with a message; octets that are no text as base64."""
    with small(tmp_path / "s") as spool:
        spool.append("text é".encode(), key="k", headers={"a": "b", "c": b"\xff"}, timestamp=5.5)
        spool.append(b"\xff\xfe", key=b"\xff", ttl=100.0)
        spool.append(b"")
    code, out, _ = run(capsys, "export", tmp_path / "s")
    one, two, three = map(json.loads, out.splitlines())
    assert code == Code.OK
    stored = one.pop("stored")
    assert one == {
        "seq": 1,
        "epoch": 1,
        "key": "k",
        "headers": {"a": "b"},
        "headers_base64": {"c": base64.b64encode(b"\xff").decode()},
        "timestamp": 5.5,
        "body": "text é",
    }
    assert base64.b64decode(two["body_base64"]) == b"\xff\xfe"
    assert base64.b64decode(two["key_base64"]) == b"\xff"
    assert stored <= two["stored"] < two["expires"]
    assert (three["seq"], three["body"]) == (3, "")
    to = tmp_path / "out.jsonl"
    code, said, _ = run(capsys, "export", tmp_path / "s", to)
    assert (code, said) == (Code.OK, f"{to}: 3 messages\n")
    assert to.read_text() == out


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [(None, 3, [1, 2, 3]), (18, None, [18, 19, 20]), (4, 4, [4]), (21, None, []), (None, 99, 20)],
)
def test_export_takes_a_part(
    tmp_path: Path, capsys: Told, first: int | None, last: int | None, wanted: Any
) -> None:
    """From a number, to a number."""
    with small(tmp_path / "s") as spool:
        spool.append_many(b"%d" % seq for seq in range(1, 21))
    options = [*(["--first", first] if first else []), *(["--last", last] if last else [])]
    code, out, _ = run(capsys, "export", tmp_path / "s", *options)
    assert code == Code.OK
    got = [json.loads(line)["seq"] for line in out.splitlines()]
    assert got == (list(range(1, 21)) if wanted == 20 else wanted)


@pytest.mark.parametrize("options", [["--first", 0], ["--last", 0], ["--first", 5, "--last", 4]])
def test_export_refuses_what_is_no_part(tmp_path: Path, capsys: Told, options: Any) -> None:
    """By the option's name."""
    made(tmp_path / "s", 1)
    code, out, err = run(capsys, "export", tmp_path / "s", *options)
    assert (code, out) == (Code.USAGE, "")
    assert options[-2] in err


@pytest.mark.leaves_threads
def test_export_tells_of_gaps(tmp_path: Path, capsys: Told) -> None:
    """In their place, or, where a table has none, on standard error; exit code 1."""
    last = made(tmp_path / "s")
    first = segments(tmp_path / "s")[0]
    turn_bit(first, batches(first)[1] + BATCH)
    code, out, _ = run(capsys, "export", tmp_path / "s")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == Code.FAILED
    assert rows[1] == {"harmed": [2, 2]}
    assert [row["seq"] for row in rows if "seq" in row] == [1, *range(3, last + 1)]
    pytest.importorskip("pyarrow")
    code, out, err = run(capsys, "export", tmp_path / "s", tmp_path / "out.parquet")
    assert code == Code.FAILED
    assert "harmed, and not written: 2 to 2" in err
    assert f"{last - 1} messages" in out


@pytest.mark.parametrize(
    ("options", "gone"), [([], ""), (["--first", 1], "1 to "), (["--last", 2], "1 to 2")]
)
def test_export_tells_of_what_was_removed(
    tmp_path: Path, capsys: Told, options: list[object], gone: str
) -> None:
    """If it was asked for by its number: then the exit code is 1."""
    last = made(tmp_path / "s")
    run(capsys, "trim", tmp_path / "s", last // 2)
    code, out, err = run(capsys, "export", tmp_path / "s", *options)
    assert code == (Code.FAILED if gone else Code.OK)
    assert (f"removed, and not written: {gone}" in err) == bool(gone)
    assert bool(out) == ("--last" not in options)


@pytest.mark.parametrize("command", ["ls", "info", "verify", "export"])
def test_an_empty_path_is_told(capsys: Told, command: str) -> None:
    """And not looked for."""
    code, _, err = run(capsys, command, "")
    assert code != Code.OK
    assert "PATH is empty" in err


def test_trim_removes_whole_files(tmp_path: Path, capsys: Told) -> None:
    """As `Spool.trim`."""
    last = made(tmp_path / "s")
    second = int(segments(tmp_path / "s")[1].stem)
    code, out, _ = run(capsys, "trim", tmp_path / "s", second - 1, "--json")
    assert code == Code.OK
    assert json.loads(out) == {"path": str(tmp_path / "s"), "files_removed": 1, "first_seq": second}
    assert len(segments(tmp_path / "s")) == 2
    assert "files_removed: 0\n" in run(capsys, "trim", tmp_path / "s", second)[1]
    assert run(capsys, "trim", tmp_path / "s", "-1")[0] == Code.USAGE
    with small(tmp_path / "s") as spool:
        assert bodies(spool) == [body(seq) for seq in range(second, last + 1)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_spool_that_somebody_has_is_looked_at_and_not_touched(
    tmp_path: Path, capsys: Told, command: str
) -> None:
    """What takes from it says who has it; and that one goes on."""
    with small(tmp_path / "s") as spool:
        spool.append(b"one that is durable")
        spool.flush()
        spool.append(b"a later one, whose head says so")
        code, out, err = run(capsys, *words_of(command, tmp_path / "s"))
        if command in TAKES:
            assert (code, out) == (Code.FAILED, "")
            assert f"{tmp_path}/s is open: process {os.getpid()} on " in err
            assert err.endswith(f"; only that can {TAKES[command]}\n")
        else:
            wanted = {
                **{"ls": " 1  ", "info": "messages: 1\n", "verify": "1 message read"},
                "cursors": "floor",
            }
            assert (code, err) == (Code.OK, "")
            assert wanted.get(command, "one that is durable") in out
            assert "a later one" not in out
        assert spool.append(b"y") == 3
        assert len(bodies(spool)) == 3


def test_tail_follows_who_writes(tmp_path: Path) -> None:
    """A line at once for each message that is durable, until it is interrupted."""
    command = [sys.executable, "-m", "meshmsg", "spool", "tail", "-n", "1", "-f"]
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append_many([b"0", b"1", b"2"])
        spool.append(b"3")
        with running([*command, spool.path], stdout=subprocess.PIPE) as process:
            said = (int(line.split()[0]) for line in lines_of(process))
            assert next(said) in (3, 4)
            for seq in range(5, 40):
                spool.append(body(seq))
                spool.trim(max(seq - 15, 0))
            assert 39 in said
            process.send_signal(signal.SIGINT)
            assert process.wait(WAIT_S) == 130


def test_tail_that_follows_ends_with_its_spool(tmp_path: Path) -> None:
    """Its folder was moved away: it says so, with exit code 1."""
    command = [sys.executable, "-m", "meshmsg", "spool", "tail", "-f"]
    with small(tmp_path / "s") as spool:
        spool.append_many([b"0", b"1"])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running([*command, spool.path], **pipes) as process:
        assert int(next(lines_of(process)).split()[0]) == 1
        (tmp_path / "s").rename(tmp_path / "old")
        assert process.wait(WAIT_S) == 1
        assert process.stderr is not None
        assert b"not there any more" in process.stderr.read()


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_spool_is_not_made_one(tmp_path: Path, capsys: Told, command: str) -> None:
    """A folder with other files, a file, and nothing: the command line is wrong."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    for name, said in (
        ("folder", "is no spool: it has no segment file"),
        ("file", "is no spool: it is no folder"),
        ("none", "is not there"),
    ):
        code, out, err = run(capsys, *words_of(command, tmp_path / name))
        assert (code, out, err) == (Code.USAGE, "", f"meshmsg: {tmp_path / name} {said}\n")
    assert list((tmp_path / "folder").iterdir()) == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name not in ("trim", "compact", "seek")]
)
def test_looking_changes_no_message(tmp_path: Path, capsys: Told, command: str) -> None:
    """Also of a spool that was not closed in order; its files stay as large as they were."""
    last = made(tmp_path / "s")
    sizes = [path.stat().st_size for path in segments(tmp_path / "s")]
    for _ in range(3):
        assert run(capsys, command, tmp_path / "s")[0] == Code.OK
    assert [path.stat().st_size for path in segments(tmp_path / "s")] == sizes
    with small(tmp_path / "s") as spool:
        assert not spool.recovery.unclean
        assert spool.info().epoch > 1
        assert bodies(spool) == [body(seq) for seq in range(1, last + 1)]
