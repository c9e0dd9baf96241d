"""Files of shared secrets: how they are written, read, and refused."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._security.files.secret_files import SECRET_SIZE, read_secrets, write_secret


def line(octet: int, size: int = SECRET_SIZE) -> str:
    """A secret of this octet only, as a file has it."""
    return base64.b64encode(bytes([octet]) * size).decode()


def file_of(folder: Path, *lines: str, mode: int = 0o600) -> Path:
    """A file with these lines."""
    path = folder / "cluster.secret"
    path.write_text("".join(f"{one}\n" for one in lines))
    path.chmod(mode)
    return path


def test_what_was_written_is_read_and_is_for_nobody_else(tmp_path: Path) -> None:
    """Two are never the same."""
    one, other = (write_secret(tmp_path / name) for name in ("a", "b"))
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    (secret,), (another,) = read_secrets(one), read_secrets(other)
    assert len(secret) == SECRET_SIZE
    assert secret != another
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]  # nothing is left beside them


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    """Whoever has it would be locked out."""
    path = write_secret(tmp_path / "a")
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="there already"):
        write_secret(path)
    assert path.read_bytes() == before


def test_the_order_is_that_of_the_lines(tmp_path: Path) -> None:
    """Comments and empty lines are none."""
    path = file_of(tmp_path, "# ours", "", line(1), f"  {line(2)} ")
    assert read_secrets(path) == (b"\1" * SECRET_SIZE, b"\2" * SECRET_SIZE)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "has 0 secrets; it has 1 to 3"),
        (["# only this"], "has 0 secrets"),
        ([line(1), line(2), line(3), line(4)], "has 4 secrets"),
        ([line(1, SECRET_SIZE - 1)], "line 1: no secret, which is base64 of 32 octets"),
        ([line(1, SECRET_SIZE + 1)], "line 1: no secret"),
        (["# two", "a password"], "line 2: no secret"),
        ([line(1)[:-2]], "line 1: no secret"),
        ([line(1), line(1)], "line 2: the secret is there twice"),
    ],
)
def test_what_is_wrong_is_said_without_the_secret(
    tmp_path: Path, lines: list[str], words: str
) -> None:
    """Which file, and which line."""
    path = file_of(tmp_path, *lines)
    with pytest.raises(mm.UsageError, match=words) as raised:
        read_secrets(path)
    assert str(path) in str(raised.value)
    assert not any(one in str(raised.value) for one in lines if one)


def test_a_secret_that_others_can_read_is_refused_with_the_chmod(tmp_path: Path) -> None:
    """Before it is used."""
    with pytest.raises(mm.UsageError, match=r"\(mode 0640\): chmod 600 "):
        read_secrets(file_of(tmp_path, line(1), mode=0o640))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, or a pipe that would be waited for."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(mm.UsageError, match="is no file"):
            read_secrets(path)
    with pytest.raises(FileNotFoundError):
        read_secrets(tmp_path / "nothing")
