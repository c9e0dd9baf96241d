"""A spool whose last file alone reaches a limit: it goes once all of it is acknowledged, too.

So it is with `max_messages=1`, and where a spool is opened with less room than it had. Not here:
limits that several files share (test_spool_limits.py), removing by hand (the same).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import BODY, SEGMENT, body, small

FEW = [1, 2, 3]
"""Messages at most: with the first one all are in one file."""
ROUNDS = 5
ROOMY = 12
"""Messages of a spool that has more room than it is opened with later; one file has them."""
LESS: list[dict[str, int]] = [{"max_messages": 5}, {"max_bytes": 2 * SEGMENT}]
"""Two files, at least, as bytes; the one that is there does not count as the one that comes."""


@pytest.mark.parametrize("most", FEW)
@pytest.mark.parametrize("level", ["disk", "os", "buffered"])
@pytest.mark.parametrize("saved", [False, True])
def test_who_waits_for_room_gets_it_once_all_is_done(
    tmp_path: Path, most: int, level: Any, saved: bool
) -> None:
    """Before it waits, and while it does; the cursor is saved by hand, or by the spool."""
    options = {"max_messages": most, "overflow": "block", "until_acked_by": ["c"]}
    with small(tmp_path / "s", durability=level, **options) as spool, spool.cursor("c") as cursor:
        for _ in range(ROUNDS):
            spool.append_many([b"x"] * most, timeout=WAIT_S)
            spool.flush()
            cursor.done_up_to(spool.info().last_seq)
            if saved:
                cursor.save()
        waiting = Later(lambda: spool.append_many([b"y"] * most, timeout=WAIT_S))
        assert len(waiting.result()) == most
        late = Later(lambda: spool.append(b"z", timeout=WAIT_S))
        wait_until(lambda: bool(spool.info().waiting))
        spool.flush()
        cursor.done_up_to(spool.info().last_seq)
        assert late.result() == (ROUNDS + 1) * most + 1


@pytest.mark.parametrize("most", FEW)
def test_a_call_that_does_not_wait_finds_room_soon(tmp_path: Path, most: int) -> None:
    """The first one has the spool look; nothing that is not done goes for it."""
    options = {"max_messages": most, "until_acked_by": ["c"]}
    with small(tmp_path / "s", **options) as spool, spool.cursor("c") as cursor:
        spool.append_many([b"x"] * most)
        with pytest.raises(mm.SpoolFullError):
            spool.append(b"y")
        assert spool.info().first_seq == 1
        cursor.done_up_to(most)

        def put() -> bool:
            try:
                return spool.append(b"y") == most + 1
            except mm.SpoolFullError:
                return False

        wait_until(put)


@pytest.mark.parametrize("most", FEW)
def test_a_push_sends_on_as_its_messages_are_acknowledged(
    world: World, tmp_path: Path, most: int
) -> None:
    """One after the other, each once."""
    with world.life(tmp_path / "s", max_messages=most, overflow="block") as (_, push):
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            for number in range(ROUNDS):
                push.send(b"%d" % number, timeout=WAIT_S)
                message = pull.recv(timeout=WAIT_S)
                assert message == b"%d" % number
                assert message.ack()


@pytest.mark.parametrize("limit", LESS, ids=str)
@pytest.mark.parametrize("overflow", ["block", "error"])
def test_one_that_is_opened_with_less_room_has_some_once_all_is_done(
    tmp_path: Path, limit: dict[str, int], overflow: Any
) -> None:
    """What is there stays until then."""
    with small(tmp_path / "s") as spool, spool.cursor("c"):
        spool.append_many([body(seq) for seq in range(1, ROOMY + 1)])
    options = {**limit, "overflow": overflow, "until_acked_by": ["c"]}
    with small(tmp_path / "s", **options) as spool, spool.cursor("c") as cursor:
        files = spool.info().files
        with pytest.raises((mm.SpoolFullError, mm.TimedOutError)):
            spool.append_many([bytes(BODY)] * ROOMY * 4, timeout=0.2)
        cursor.done_up_to(spool.info().last_seq)

        def room() -> bool:
            try:
                spool.append(b"y", timeout=WAIT_S)
            except mm.SpoolFullError:
                return False
            return True

        wait_until(room)
        assert spool.info().files <= files + 1
