"""Rows F15, F18, F19 and F20 of the table of faults (matrix.py): disks that are full, files that
came back, sectors that are not what was written.

Not here: the same on the simulated disk (tests/c/test_spool_harm.c and its neighbours).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT
from tests.support.spoolaged import aged
from tests.support.spooled import SEGMENT, bodies, body, fill, segments, small

SECTOR = 512
FAR = 20 * SECTOR
"""Octets: there is another message so far behind."""
MOUNTS = (
    'mkdir "$0/one" "$0/two" && mount -t tmpfs -o size=1m one "$0/one" && '
    'mount -t tmpfs -o size=1m two "$0/two"'
)

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'


def apart(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script of a shell in a user and mount namespace of its own."""
    command = ["unshare", "-Urm", "sh", "-c", script, *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S
    )


def test_f15_a_full_disk_is_told_and_gone_on_from(tmp_path: Path) -> None:
    """A real one: what is there is read and acknowledged; with room again all goes on."""
    (tmp_path / "try").mkdir()
    try:
        tried = apart(MOUNTS, tmp_path / "try")
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if tried.returncode:
        pytest.skip(f"no disk can be mounted: {tried.stderr}")
    (tmp_path / "disks").mkdir()
    program = f'{MOUNTS} && exec "$1" -m tests.fault.smalldisk "$0"'
    done = apart(program, tmp_path / "disks", sys.executable)
    assert (done.returncode, done.stdout.split()) == (0, ["cursor", "torn", "push"]), done.stderr


def test_a_disk_that_is_read_only_is_read_and_told(tmp_path: Path) -> None:
    """A view reads all of a spool there; what would write says in words that it cannot."""
    with small(tmp_path / "s") as spool, spool.cursor("c") as cursor:
        last = fill(spool, 2)
        cursor.done_up_to(2)
    (tmp_path / "try").mkdir()
    try:
        tried = apart(READ_ONLY, tmp_path / "try")
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if tried.returncode:
        pytest.skip(f"nothing can be mounted: {tried.stderr}")
    program = f'{READ_ONLY} && exec "$1" -m tests.fault.stillreads "$0" "$2"'
    done = apart(program, tmp_path, sys.executable, last)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["end"]), done.stderr


def read_or_told(folder: Path, last: int) -> bool:
    """All that is read is right, and nothing is left out without a word; whether it was told."""
    try:
        with small(folder) as spool, spool.reader() as reader:
            seq = 1
            while found := reader.read(1):
                assert found == [body(seq)]
                seq += 1
            assert seq == last + 1
    except mm.SpoolError:
        return True
    return False


def test_f18_a_file_from_before_is_told(tmp_path: Path) -> None:
    """A segment file of an earlier copy, in the place of the one that went on."""
    with small(tmp_path / "s", durability="disk") as spool:
        fill(spool, 2)
        spool.append(body(spool.info().last_seq + 1))
        shutil.copytree(tmp_path / "s", tmp_path / "copy")
        early = spool.info().last_seq
        for seq in range(early + 1, early + 3):
            spool.append(body(seq))
    *_, old = segments(tmp_path / "copy")
    shutil.copyfile(old, tmp_path / "s" / old.name)
    assert read_or_told(tmp_path / "s", early + 2)


def test_f18_a_file_that_is_not_of_it_does_no_harm(tmp_path: Path) -> None:
    """Whatever lies beside its own files is left where it is."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 2)
    strangers = ["notes.txt", "0.seg", segments(tmp_path / "s")[0].name + ".bak"]
    for name in strangers:
        (tmp_path / "s" / name).write_bytes(segments(tmp_path / "s")[0].read_bytes())
    assert not read_or_told(tmp_path / "s", last)
    assert all((tmp_path / "s" / name).exists() for name in strangers)


@pytest.mark.parametrize("fault", ["lost", "elsewhere"])
def test_f19_a_sector_that_is_not_what_was_written_is_told(tmp_path: Path, fault: str) -> None:
    """Each one: as it was before the write, or with what was to go elsewhere."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 2)
    told = 0
    for file in segments(tmp_path / "s"):
        whole = file.read_bytes()
        for at in range(0, len(whole) - FAR, SECTOR):
            there, other = whole[at : at + SECTOR], whole[at + FAR : at + FAR + SECTOR]
            wrong = bytes(SECTOR) if fault == "lost" else other
            if wrong == there:
                continue
            shutil.copytree(tmp_path / "s", tmp_path / "h")
            (tmp_path / "h" / file.name).write_bytes(whole[:at] + wrong + whole[at + SECTOR :])
            one = read_or_told(tmp_path / "h", last)
            assert one or not there.strip(b"\0"), (file.name, at)
            told += one
            shutil.rmtree(tmp_path / "h")
    assert told > SEGMENT // SECTOR // 2


@pytest.mark.parametrize("years", [-10, 10])
def test_f20_a_clock_that_was_years_off_changes_no_order(tmp_path: Path, years: int) -> None:
    """Of files that were written by a clock years off: numbers are in order, nothing is too old."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 2)
        with spool.reader() as reader:
            (first,) = reader.read(1)
    assert isinstance(first, mm.SpoolMessage)
    aged(segments(tmp_path / "s")[0], int((first.stored + years * 365 * 86_400) * 1_000_000))
    with small(tmp_path / "s", max_age=40 * 365 * 86_400) as spool:
        assert spool.append(body(last + 1)) == last + 1
        assert bodies(spool) == [body(seq) for seq in range(1, last + 2)]
        assert spool.info().expired == 0
