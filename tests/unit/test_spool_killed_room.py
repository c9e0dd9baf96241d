"""What lives of a spool that ended without a close take of the disk: what they put, and no more.

A copy of the folder of an open spool is what a killed program leaves. Not here: programs that are
really killed (tests/crash).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm

LIVES = 12
SEGMENT = 65_536
BODY = b"x" * 1_000


def live(path: Path, after: Path, **options: Any) -> int:
    """Put a message, and copy the folder as it stands; return what the files have, in octets."""
    with mm.Spool(path, segment_bytes=SEGMENT, **options) as spool:
        spool.append(BODY)
        assert spool.recovery.lost is None
        shutil.copytree(path, after)
    return sum(one.stat().st_size for one in after.glob("0*.seg"))


@pytest.mark.parametrize("level", ["os", "disk"])
def test_lives_that_were_killed_keep_no_room(tmp_path: Path, level: str) -> None:
    """Each file but the last is as long as what it has."""
    for number in range(LIVES):
        took = live(tmp_path / str(number), tmp_path / str(number + 1), durability=level)
        messages = (number + 1) * (len(BODY) + 8_192)
        assert took <= SEGMENT + messages
    with mm.Spool(tmp_path / str(LIVES)) as spool, spool.reader() as reader:
        assert [one.seq for one in reader if one == BODY] == list(range(1, LIVES + 1))


@pytest.mark.parametrize("overflow", ["error", "drop_oldest"])
@pytest.mark.parametrize("level", ["os", "disk"])
def test_lives_that_were_killed_fill_no_limit(tmp_path: Path, level: str, overflow: str) -> None:
    """Twelve messages of a kilobyte have room where two hundred have: none is refused."""
    options = {"durability": level, "overflow": overflow, "max_bytes": 4 * SEGMENT}
    for number in range(LIVES):
        live(tmp_path / str(number), tmp_path / str(number + 1), **options)
    with mm.Spool(tmp_path / str(LIVES)) as spool:
        assert (spool.info().first_seq, spool.info().last_seq) == (1, LIVES)
