"""A spool on a disk of one mebibyte, in a mount namespace of its own: what fails, and what goes on.
Usage: python -m tests.fault.smalldisk FOLDER

Not here: how that disk is made (test_faults_disk.py), disks that are simulated (tests/c).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import meshmsg as mm
from tests.fault.programs import say
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT, bodies, body, segments


def put(spool: mm.Spool) -> bool:
    """Put one message; False: there is no room."""
    try:
        spool.append(body(spool.info().last_seq + 1))
    except mm.SpoolFullError:
        return False
    return True


def fill(file: Path) -> None:
    """Take all the room that is left."""
    with file.open("wb", buffering=0) as taken, contextlib.suppress(OSError):
        while taken.write(bytes(4_096)):
            pass


def with_a_cursor(folder: Path) -> None:
    """Full, it is read, and what is done is noted; what is freed is used, without a restart."""
    with mm.Spool(folder / "s", segment_bytes=SEGMENT) as spool, spool.cursor("c") as cursor:
        while put(spool):
            pass
        last = spool.info().last_seq
        fill(folder / "ballast")
        assert os.statvfs(folder).f_bavail == 0
        assert not put(spool)
        assert bodies(spool) == [body(seq) for seq in range(1, last + 1)]
        cursor.done_up_to(last // 2)
        cursor.save()
        assert not put(spool)
        assert spool.trim(last // 2) > 0
        wait_until(lambda: put(spool))
        (folder / "ballast").unlink()
        put(spool)
        first, last = spool.info().first_seq, spool.info().last_seq
    with mm.Spool(folder / "s", segment_bytes=SEGMENT) as spool:
        assert spool.recovery.lost is None
        assert bodies(spool) == [body(seq) for seq in range(first, last + 1)]
        assert spool.cursors()[0].floor > 0
    say("cursor")


def with_a_push(folder: Path) -> None:
    """Full, what a worker is done with makes room, without a restart."""
    with (
        mm.Spool(folder / "p", segment_bytes=SEGMENT) as spool,
        mm.Push(bind="tcp://127.0.0.1:0", spool=spool) as push,
    ):
        while put(spool):
            pass
        fill(folder / "ballast")
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:

            def work() -> None:
                message: Any = pull.recv(timeout=WAIT_S)
                assert message == body(message.seq[1])
                assert message.ack()

            for _ in range(spool.info().last_seq):
                work()
            wait_until(lambda: put(spool))
            work()
            push.drain(timeout=WAIT_S).raise_for_loss()
    say("push")


def with_what_is_torn(folder: Path) -> None:
    """What finds no room is told of; what is there is read, and with room again all goes on."""
    shutil.rmtree(folder / "s")
    path = folder / "t"
    with mm.Spool(path, segment_bytes=SEGMENT) as spool:
        for _ in range(3):
            assert put(spool)
    with segments(path)[-1].open("ab") as opened:
        opened.write(b"torn" * SEGMENT)  # more than the reserve has
    fill(folder / "ballast")
    with mm.Spool(path, segment_bytes=SEGMENT) as spool:
        assert spool.recovery.lost is None
        assert spool.recovery.torn_left == spool.recovery.torn_bytes > 4 * SEGMENT - 1
        assert bodies(spool) == [body(seq) for seq in range(1, 4)]
        assert not put(spool)
        assert not spool.info().failed
        (folder / "ballast").unlink()
        wait_until(lambda: put(spool))
        assert bodies(spool)[-1] == body(4)
    say("torn")


if __name__ == "__main__":
    with_a_cursor(Path(sys.argv[1]) / "one")
    with_what_is_torn(Path(sys.argv[1]) / "one")
    with_a_push(Path(sys.argv[1]) / "two")
