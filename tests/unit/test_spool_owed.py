"""What retention removed before it was done is told to who has the cursor next, whoever looked.

Not here: what is removed while somebody has it (test_push_spool_removed.py, test_groups_odd.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.codes import Code
from tests.support.feeding import UP
from tests.support.grouped import info, until
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT, small
from tests.unit.test_cli_spool import run

MOST, PUT = 100, 400
ROOM: dict[str, Any] = {"max_messages": MOST, "overflow": "drop_oldest"}
BODY = b"x" * 1_000
GROUP = "group.w"


def nobody(spool: mm.Spool, name: str) -> None:
    """Do nothing."""


def looked(spool: mm.Spool, name: str) -> None:
    """Look at all of them."""
    first = spool.info().first_seq
    (one,) = (one for one in spool.cursors() if one.name == name)
    assert (one.floor, one.lag) == (first - 1, PUT + 1 - first)


def viewed(spool: mm.Spool, name: str) -> None:
    """Likewise, beside the spool."""
    with mm.SpoolView(spool.path) as view:
        assert [one.name for one in view.cursors()] == [name]


def dropped(events: list[mm.Event]) -> int:
    """How many messages were dropped, as events say."""
    return sum(one.count for one in events if one.kind is mm.EventKind.DROPPED)


LOOKS = pytest.mark.parametrize("look", [nobody, looked, viewed])
WAITS = pytest.mark.parametrize("waits", [False, True], ids=["free", "until_acked_by"])


def filled(path: Path, name: str, until_acked_by: list[str] | None) -> None:
    """Make a spool with a cursor that is done with one message, and put more than has room."""
    with small(path, until_acked_by=until_acked_by, **ROOM) as spool:
        with spool.cursor(name) as cursor:
            spool.append(BODY)
            cursor.done(1)
        for _ in range(PUT - 1):
            spool.append(BODY)
        assert spool.info().first_seq > 2


@WAITS
@LOOKS
@pytest.mark.parametrize("restarts", [False, True], ids=["one life", "restart"])
def test_a_cursor_counts_as_missed_what_went_while_nobody_had_it(
    tmp_path: Path, look: Callable[[mm.Spool, str], None], waits: bool, restarts: bool
) -> None:
    """Whoever looked at it, whether files wait for it, and in each life of the spool."""
    until_acked_by = ["one"] if waits else None
    if restarts:
        filled(tmp_path / "s", "one", until_acked_by)
    with small(tmp_path / "s", until_acked_by=until_acked_by, **ROOM) as spool:
        if not restarts:
            spool.cursor("one").close()
            for _ in range(PUT):
                spool.append(BODY)
        look(spool, "one")
        gone = spool.info().first_seq - 1
        with spool.cursor("one") as cursor:
            assert (cursor.missed, cursor.floor) == (gone - restarts, gone)
            assert cursor.lag == PUT - gone
        with spool.cursor("one") as cursor:
            assert cursor.missed == 0, "who had it before was told"


@WAITS
@LOOKS
def test_a_push_tells_what_went_while_there_was_none(
    tmp_path: Path, look: Callable[[mm.Spool, str], None], waits: bool
) -> None:
    """As dropped."""
    until_acked_by = ["push"] if waits else None
    events: list[mm.Event] = []
    filled(tmp_path / "s", "push", until_acked_by)
    with small(tmp_path / "s", until_acked_by=until_acked_by, **ROOM) as spool:
        look(spool, "push")
        gone = spool.info().first_seq - 2
        with (
            mm.Push(spool=spool, bind=UP, on_event=events.append) as push,
            mm.Pull(connect=push.endpoint) as pull,
        ):
            push.finish()
            assert sum(1 for _ in pull) == PUT - 1 - gone
            assert push.drain(timeout=WAIT_S).dropped == gone
    wait_until(lambda: dropped(events) == gone)


@WAITS
@LOOKS
def test_a_group_counts_and_tells_what_went_while_nobody_was_in_it(
    tmp_path: Path, look: Callable[[mm.Spool, str], None], waits: bool
) -> None:
    """Counted before somebody is in it, told then."""
    until_acked_by = [GROUP] if waits else None
    events: list[mm.Event] = []
    filled(tmp_path / "s", GROUP, until_acked_by)
    with (
        small(tmp_path / "s", until_acked_by=until_acked_by, **ROOM) as spool,
        mm.Pub(spool=spool, bind=UP, on_event=events.append) as pub,
    ):
        look(spool, GROUP)
        gone = spool.info().first_seq - 2
        one = info(pub)
        assert (one.removed, one.lag, one.floor) == (gone, PUT - 1 - gone, gone + 1)
        with mm.Sub(connect=pub.endpoint, topics="", group="w"):
            until(pub, lambda one: one.removed == gone and one.members == 1)
            wait_until(lambda: dropped(events) == gone)


def test_a_start_that_cannot_be_hides_nothing(tmp_path: Path) -> None:
    """A group that was not moved is told of what went."""
    filled(tmp_path / "s", GROUP, None)
    with small(tmp_path / "s", **ROOM) as spool, mm.Pub(spool=spool, bind=UP) as pub:
        gone = spool.info().first_seq - 2
        for start in (1, PUT + 2):
            with pytest.raises((mm.SpoolTrimmedError, mm.UsageError)):
                pub.seek_group("w", start)
        assert info(pub).removed == gone
        pub.seek_group("w", "earliest")
        assert info(pub).removed == 0


@pytest.mark.parametrize("name", ["other", "none", "one"])
def test_the_command_that_moves_another_cursor_hides_nothing(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one of a name that is not there, and where one cannot be moved to."""
    filled(tmp_path / "s", "one", None)
    with small(tmp_path / "s", **ROOM) as spool:
        spool.cursor("other").close()
        gone = spool.info().first_seq - 2
    to = "latest" if name == "other" else str(PUT + 2)
    code, _, _ = run(capsys, "seek", tmp_path / "s", name, to)
    assert (code == Code.OK) == (name == "other")
    with small(tmp_path / "s", **ROOM) as spool, spool.cursor("one") as cursor:
        assert cursor.missed == gone


def test_files_wait_for_a_cursor_that_nobody_has_as_before(tmp_path: Path) -> None:
    """What it is owed does not hold what it is done with."""
    with mm.Spool(
        tmp_path / "s", segment_bytes=SEGMENT, durability="os", until_acked_by=["one"]
    ) as spool:
        spool.cursor("one").close()
        spool.append_many([BODY] * PUT)
        spool.trim(PUT // 2)
        gone = spool.info().first_seq - 1
        assert gone > 0
        with spool.cursor("one") as cursor:
            assert cursor.missed == gone
            cursor.done_up_to(PUT)
            cursor.save()
            wait_until(lambda: spool.info().first_seq > gone + 1)
