"""`meshmsg spool cursors` and `seek`: what the cursors of a spool are, and where they go.

Not here: a spool that is open, or none (test_cli_spool.py), cursors (test_spool_cursor.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meshmsg._cli.codes import Code
from tests.support.spooled import small
from tests.unit.test_cli_spool import run

Told = pytest.CaptureFixture[str]


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """Return a spool of ten messages with two cursors, closed."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * 10)
        with spool.cursor("audit", start=8), spool.cursor("billing") as billing:
            billing.done_up_to(3)
            billing.done(5)
    return tmp_path / "s"


def test_they_are_listed(spool: Path, capsys: Told) -> None:
    """With their floor, and how much each is not done with."""
    code, out, _ = run(capsys, "cursors", spool)
    assert code == Code.OK
    assert [line.split() for line in out.splitlines()] == [
        ["name", "floor", "lag"],
        ["audit", "7", "3"],
        ["billing", "3", "6"],
    ]
    code, out, _ = run(capsys, "cursors", spool, "--json")
    assert code == Code.OK
    assert json.loads(out) == [
        {"name": "audit", "floor": 7, "lag": 3},
        {"name": "billing", "floor": 3, "lag": 6},
    ]


def test_one_that_is_harmed_is_told(spool: Path, capsys: Told) -> None:
    """The others, too."""
    (spool / "cursors/audit").write_bytes(b"x" * 70_000)
    code, out, _ = run(capsys, "cursors", spool)
    assert code == Code.OK
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["audit", "harmed"],
        ["billing", "3", "6"],
    ]
    assert json.loads(run(capsys, "cursors", spool, "--json")[1])[0] == {
        "name": "audit",
        "floor": None,
        "lag": None,
    }


def test_a_spool_without_any_has_a_head_only(tmp_path: Path, capsys: Told) -> None:
    """And JSON of none; no folder is made."""
    with small(tmp_path / "s") as spool:
        spool.append(b"x")
    assert run(capsys, "cursors", tmp_path / "s")[1].split() == ["name", "floor", "lag"]
    assert json.loads(run(capsys, "cursors", tmp_path / "s", "--json")[1]) == []
    assert not (tmp_path / "s/cursors").exists()


@pytest.mark.parametrize("seq", [1, 2, 9, 11])
def test_one_goes_back_and_forth(spool: Path, capsys: Told, seq: int) -> None:
    """And that is what it is from then on."""
    code, out, _ = run(capsys, "seek", spool, "billing", seq)
    assert code == Code.OK
    assert f"floor: {seq - 1}\n" in out
    assert f"lag: {11 - seq}\n" in out
    told = json.loads(run(capsys, "cursors", spool, "--json")[1])
    assert told[1] == {"name": "billing", "floor": seq - 1, "lag": 11 - seq}
    code, out, _ = run(capsys, "seek", spool, "audit", seq, "--json")
    assert json.loads(out)["floor"] == seq - 1


@pytest.mark.parametrize(("start", "floor"), [("earliest", 0), ("latest", 10), ("since:1h", 0)])
def test_one_goes_where_a_group_may(spool: Path, capsys: Told, start: str, floor: int) -> None:
    """Also by the time at which messages were put."""
    code, out, _ = run(capsys, "seek", spool, "billing", start, "--json")
    assert (code, json.loads(out)["floor"]) == (Code.OK, floor)


@pytest.mark.parametrize(
    ("name", "seq", "said"),
    [
        ("billing", "now", "START is 'now'"),
        ("billing", "since:5", "'since:' and a time"),
        ("billing", 0, "START is 0"),
        ("billing", 12, "the next message is 11"),
        ("biling", 1, "no cursor 'biling'"),
        ("../x", 1, "no cursor"),
    ],
)
def test_what_cannot_be_is_refused(
    spool: Path, capsys: Told, name: str, seq: int | str, said: str
) -> None:
    """With why; a cursor that is not there is not made."""
    code, _, err = run(capsys, "seek", spool, name, seq)
    assert code not in (Code.OK, Code.FAILED)
    assert said in err
    assert [one["name"] for one in json.loads(run(capsys, "cursors", spool, "--json")[1])] == [
        "audit",
        "billing",
    ]


def test_the_name_of_a_group_is_not_that_of_its_cursor(tmp_path: Path, capsys: Told) -> None:
    """It says which is; that one goes."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * 3)
        spool.cursor("group.g").close()
    code, _, err = run(capsys, "seek", tmp_path / "s", "g", 2)
    assert code == Code.USAGE
    assert "no cursor 'g'; the place of the group of that name is 'group.g'" in err
    assert run(capsys, "seek", tmp_path / "s", "group.g", 2)[0] == Code.OK
