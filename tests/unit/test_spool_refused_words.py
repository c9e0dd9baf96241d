"""Why a spool cannot be opened, or has no room, in words that say what to do.

Not here: limits of its own (test_spool_room.py), full disks (tests/fault/test_faults_disk.py).
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib
from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT
from tests.support.spooled import segments, small

VERSION_AT = 8
"""Where a file's head has the version of its form (docs/spool-format.md)."""
HEAD = 60
"""Octets of it in front of its checksum."""
LATER = 99

NO_FILES = """
import os, resource, sys
import meshmsg as mm
spool = mm.Spool(sys.argv[1], segment_bytes=65536, overflow=sys.argv[2])
spool.append(b"0")
free = os.dup(0)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
try:
    for _ in range(1000):
        spool.append(bytes(1000), timeout=1)
except mm.MeshError as error:
    print(type(error).__name__, error)
"""


def of_version(file: Path, version: int) -> None:
    """Have its head say so."""
    octets = bytearray(file.read_bytes())
    octets[VERSION_AT : VERSION_AT + 4] = struct.pack("<I", version)
    octets[HEAD : HEAD + 4] = struct.pack("<I", crc32c(bytes(octets[:HEAD])))
    file.write_bytes(octets)


def crc32c(octets: bytes) -> int:
    """Castagnoli's, bit by bit (RFC 3720, 12.1)."""
    value = 0xFFFFFFFF
    for octet in octets:
        value ^= octet
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1
    return value ^ 0xFFFFFFFF


@pytest.mark.parametrize("opens", [mm.Spool, mm.SpoolView])
def test_a_later_version_is_refused_as_such(tmp_path: Path, opens: Any) -> None:
    """And its files stay as they are."""
    with small(tmp_path / "s") as spool:
        spool.append(b"1")
    [file] = segments(tmp_path / "s")
    of_version(file, LATER)
    before = file.read_bytes()
    with pytest.raises(mm.SpoolError, match="a file of it is of a later version") as raised:
        opens(tmp_path / "s")
    assert raised.value.code == lib.MM_ENOTSUP
    assert file.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are of POSIX")
@pytest.mark.parametrize(
    ("overflow", "error"), [("error", "SpoolFullError"), ("block", "TimedOutError")]
)
def test_who_may_open_no_file_is_told_that_the_disk_has_room(
    tmp_path: Path, overflow: str, error: str
) -> None:
    """And what may be why: it was refused all the same, or others made room since."""
    done = subprocess.run(
        [sys.executable, "-c", NO_FILES, tmp_path / "s", overflow],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=WAIT_S,
    )  # fmt: skip
    assert done.stdout.startswith(error)
    assert "by now" in done.stdout
    assert "if it stays so, a limit of this process (open files, the size of one) or a quota" in (
        done.stdout
    )
