"""A spool on a file system that is read-only, in a mount namespace of its own: what is had of it.
Usage: python -m tests.fault.stillreads FOLDER LAST, of a spool `s` there with so many messages.

Not here: how that is mounted (test_faults_disk.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._cli.program import main as command
from tests.fault.programs import say
from tests.support.spooled import SEGMENT, body, state_of


def refused(call: Callable[[], object]) -> None:
    """It says in words why it cannot be, and where."""
    with pytest.raises(mm.SpoolError, match="(?i)read-only"):
        call()


def with_a_view(folder: Path, last: int) -> None:
    """All of it is read, and each cursor is there."""
    with mm.SpoolView(folder) as view:
        info = view.info()
        assert (info.first_seq, info.last_seq) == (1, last)
        with view.reader() as reader:
            assert list(reader) == [body(seq) for seq in range(1, last + 1)]
            assert reader.read(timeout=0) == []
        assert view.read(last).messages == [body(last)]
        assert [(one.name, one.floor, one.lag) for one in view.cursors()] == [("c", 2, last - 2)]
    say("view")


def with_a_spool(folder: Path) -> None:
    """It cannot be opened, as it would be written; nor can one be made there."""
    refused(lambda: mm.Spool(folder, segment_bytes=SEGMENT))
    refused(lambda: mm.Spool(folder.parent / "new"))
    assert not (folder.parent / "new").exists()
    say("spool")


def with_the_command(folder: Path) -> None:
    """What only looks works; what writes says why not."""
    for what in ("info", "verify", "cursors"):
        assert command(["spool", what, str(folder)]) == 0
    assert command(["spool", "trim", str(folder), "1"]) != 0
    say("command")


def main() -> None:
    """Have all of it, and change nothing."""
    folder, last = Path(sys.argv[1]), int(sys.argv[2])
    assert os.statvfs(folder).f_flag & os.ST_RDONLY
    before = state_of(folder / "s")
    with_a_view(folder / "s", last)
    with_a_spool(folder / "s")
    with_the_command(folder / "s")
    assert state_of(folder / "s") == before
    say("end")


if __name__ == "__main__":
    main()
