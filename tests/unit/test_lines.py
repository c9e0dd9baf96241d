"""What others may have written: where a line of a list ends, and what a terminal is given of it.

Not here: what else may be wrong with such files (test_allow_lists.py, test_plain.py), the words of
events (test_allow_functions.py).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._cli.program import main
from meshmsg._security.allow_files import parse_list
from meshmsg._security.passwords import Passwords

pytestmark = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
KEY, OTHER = (mm.keygen().public if mm.has("curve") else "" for _ in range(2))
NO_ENDS = ["\v", "\f", "\r", "\x1c", "\x1e", "\x85", "\u2028", "\u2029"]
"""Where Python ends a line, and nobody else."""


@pytest.mark.parametrize("end", NO_ENDS, ids=ascii)
def test_no_user_id_has_a_second_line_in_it(end: str) -> None:
    """As it was pasted from somewhere."""
    with pytest.raises(mm.UsageError, match="^list, line 1: a user id"):
        parse_list("list", f"{KEY} alice{end}{OTHER} mallory\n".encode())


def test_lines_may_end_as_those_of_windows_do() -> None:
    """Neither a user id nor a password has the end in it."""
    text = f"# who\r\n{KEY} alice\r\n\r\n{OTHER} bob smith\r\n".encode()
    assert parse_list("list", text) == {KEY: "alice", OTHER: "bob smith"}


@pytest.mark.parametrize("end", NO_ENDS, ids=ascii)
def test_a_password_is_what_stands_in_its_line(tmp_path: Path, end: str) -> None:
    """Nor does one let in a second user."""
    path = tmp_path / "passwords"
    path.touch(0o600)
    path.write_bytes(f"alice=horse{end}mallory=staple\r\nbob=battery\n".encode())
    assert Passwords(path)._users == {"alice": f"horse{end}mallory=staple", "bob": "battery"}


def test_what_a_command_leaves_of_a_list_is_as_it_was(tmp_path: Path) -> None:
    """Also with such characters in a comment."""
    path = tmp_path / "list"
    comment = f"# a\v{OTHER} mallory\u2028\r\n".encode()
    path.write_bytes(comment + f"{KEY} alice\r\n# the end".encode())
    assert main(["keys", "allow", str(path), OTHER, "bob"]) == 0
    assert main(["keys", "remove", str(path), KEY]) == 0
    assert path.read_bytes() == comment + f"# the end\n{OTHER} bob\n".encode()


@pytest.mark.parametrize("kind", [[], ["--secret"], ["--tls"]])
def test_keys_are_not_named_by_what_a_terminal_obeys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: list[str],
) -> None:
    """Such a name is shown escaped, and makes nothing."""
    monkeypatch.chdir(tmp_path)
    assert main(["keygen", *kind, "\x1b[2J"]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "x1b[2J" in said.err
    assert os.listdir(tmp_path) == []


def test_nor_is_it_given_what_a_file_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name, and the metadata that came with a key."""
    place = tmp_path / "a\x1b[2J.key"
    place.write_text(f'metadata\n    name = "\x1b[31mroot"\ncurve\n    public-key = "{KEY}"\n')
    assert main(["keys", "show", str(place), str(tmp_path / "\x1b[2J")]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "name: \\x1b[31mroot" in said.out


def test_keys_can_be_read_by_their_owner_whatever_the_umask(tmp_path: Path) -> None:
    """It takes from others only."""
    before = os.umask(0o777)
    try:
        mm.keygen(tmp_path / "alice")
    finally:
        os.umask(before)
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert modes == {"alice.key": 0o600, "alice.key_secret": 0o600}


def test_a_list_whose_keys_were_wrong_has_a_repr() -> None:
    """A debugger asks for it."""
    made = mm.AllowList.__new__(mm.AllowList)
    with pytest.raises(mm.UsageError):
        made.__init__(["no key"])  # type: ignore[misc]
    assert repr(made) == "<meshmsg.AllowList of no keys yet>"
