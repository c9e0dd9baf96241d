"""Row F29 of the table of faults (matrix.py): a spool, and a Push with one, whose n-th allocation
fails, for each n.

Not here: sockets without a spool (tests/sim/test_no_memory.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import meshmsg as mm
from tests.sim.test_no_memory import failing
from tests.support.feeding import UP
from tests.support.pairs import WAIT_S
from tests.support.spooled import SEGMENT

POINTS_MAX = 2_000
COUNT = 20


def kept_by_append(folder: Path, kept: list[bytes]) -> None:
    """Append, read, and mark as done; what is kept is noted."""
    with mm.Spool(folder, durability="os", segment_bytes=SEGMENT) as spool:
        for number in range(COUNT):
            spool.append(b"%d" % number)
            kept.append(b"%d" % number)
        spool.append_many([b"%d" % (COUNT + number) for number in range(COUNT)])
        kept += [b"%d" % (COUNT + number) for number in range(COUNT)]
        with spool.cursor("c") as cursor, cursor.reader() as reader:
            for message in reader.read(COUNT):
                assert isinstance(message, mm.SpoolMessage)
                cursor.done(message.seq)
            cursor.save()


def kept_by_push(folder: Path, kept: list[bytes]) -> None:
    """Send, and have all of it acknowledged; what is kept is noted."""
    with mm.Spool(folder, durability="os", segment_bytes=SEGMENT) as spool:
        with mm.Push(bind=UP, spool=spool, reconnect_max=0.1) as push:
            for number in range(COUNT):
                push.send(b"%d" % number)
                kept.append(b"%d" % number)
            with mm.Pull(connect=push.endpoint, ack="manual", reconnect_max=0.1) as pull:
                for _ in range(COUNT):
                    pull.recv(timeout=WAIT_S).ack()


@pytest.mark.parametrize("life", [kept_by_append, kept_by_push])
def test_f29_a_spool_without_memory_says_so_and_keeps_what_it_said_it_had(
    tmp_path: Path, life: Callable[[Path, list[bytes]], None]
) -> None:
    """Each allocation in turn; what was kept is there, in order, and it can be opened again."""
    refused = 0
    for point in range(1, POINTS_MAX):
        folder, kept = tmp_path / str(point), list[bytes]()
        with failing(point) as failed:
            try:
                life(folder, kept)
            except (MemoryError, mm.ResourceError):
                refused += 1
        with mm.Spool(folder, durability="os", segment_bytes=SEGMENT) as spool:
            assert spool.recovery.lost is None
            with spool.reader(1) as reader:
                found = [bytes(one) for one in reader if isinstance(one, mm.SpoolMessage)]
            assert found[: len(kept)] == kept, point
        if not failed[0]:
            assert point > refused > 5, "the hook is hardly reached"
            return
    raise AssertionError(f"still allocating after {POINTS_MAX} failures")
