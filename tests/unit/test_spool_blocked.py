"""What is told while calls wait for room in a spool (`overflow="block"`).

Not here: what errors say of a call that ends (test_spool_told.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._spool.full import TOLD_AGAIN_S, Room, what_it_had
from tests.support.aside import aside
from tests.support.feeding import World, told
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT, body, small

FULL: dict[str, Any] = {"max_messages": 2, "overflow": "block"}
NEVER_S = 1e9
"""Seconds: longer than any test."""


def words(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the log was told of calls that wait."""
    return [
        one.getMessage()
        for one in caplog.records
        if one.levelno == logging.WARNING and "for room: " in one.getMessage()
    ]


def until_told(caplog: pytest.LogCaptureFixture) -> str:
    """Wait until the log was told; its words."""
    wait_until(lambda: words(caplog))
    return words(caplog)[0]


def put_one(spool: Any) -> None:
    """Put one message."""
    spool.append(b"c", timeout=WAIT_S)


def put_many(spool: Any) -> None:
    """Put a list."""
    spool.append_many([b"c"], timeout=WAIT_S)


def put_topic(spool: Any) -> None:
    """Put one with a topic."""
    spool.append(b"c", topic="t", timeout=WAIT_S)


@pytest.mark.parametrize("put", [put_one, put_many, put_topic])
def test_a_call_that_waits_for_room_is_told(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, put: Callable[[Any], None]
) -> None:
    """By the log, which says of which spool and which limit, and by `info()`."""
    with world.spool(tmp_path / "s", **FULL) as spool:
        assert (spool.info().max_messages, spool.info().max_bytes) == (2, None)
        spool.append_many([b"a", b"b"])
        assert spool.info().waiting == 0
        with aside(lambda: put(spool)) as raised:
            said = until_told(caplog)
            assert spool.info().waiting == 1
            spool.trim(2)
        assert raised == []
        assert spool.info().waiting == 0
        assert spool.info().last_seq == 3
    assert f'the spool {tmp_path / "s"} (overflow="block"): 1 call waits for room: ' in said
    assert "it had 2 of 2 messages (max_messages)" in said
    assert said.endswith(
        "; nothing goes by itself, as there is neither until_acked_by nor max_age; room is made "
        "by Spool.trim()"
    )


def test_what_has_room_is_not_told(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither is a call that ends before its first tenth of a second is over: its error says it."""
    with world.spool(tmp_path / "s", **FULL) as spool:
        spool.append_many([b"a", b"b"])
        with pytest.raises(mm.WouldBlockError):
            spool.append(b"c", timeout=0)
        assert spool.info().waiting == 0
    assert words(caplog) == []


def test_many_that_wait_are_told_once(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all of them are counted, also those that stand in line in an event loop."""
    monkeypatch.setattr("meshmsg._spool.full.TOLD_AGAIN_S", NEVER_S)
    with world.spool(tmp_path / "s", max_age=3600, **FULL) as spool:
        spool.append_many([b"a", b"b"])
        with aside(lambda: put_one(spool)), aside(lambda: put_one(spool)):
            said = until_told(caplog)
            wait_until(lambda: spool.info().waiting == 2)
            spool.trim(2)
        assert spool.info().waiting == 0
    assert said.endswith(
        "; room is made by max_age, once all of a file is older than 3600 s, or Spool.trim()"
    )
    assert len(words(caplog)) == 1


def test_it_is_told_again_a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before, whichever call waits."""
    now = [1000.0]
    monkeypatch.setattr("meshmsg._spool.full.time.monotonic", lambda: now[0])
    room = Room()
    assert room.enter("one") is True
    assert room.enter("another") is False
    now[0] += TOLD_AGAIN_S - 1
    assert room.enter("one") is False
    now[0] += 1
    assert [room.enter("one"), room.enter("one")] == [True, False]
    room.leave("one")
    room.leave("one")
    assert len(room) == 1


@pytest.mark.parametrize("role", ["Push", "Pub"])
def test_the_socket_of_a_spool_tells_it(
    world: World,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    role: str,
) -> None:
    """By the event SPOOL_FULL; and the log says what of a Push is not acknowledged."""
    monkeypatch.setattr("meshmsg._spool.full.TOLD_AGAIN_S", NEVER_S)
    with (
        world.spool(tmp_path / "s", **FULL) as spool,
        world.socket(role, spool=spool, bind="tcp://127.0.0.1:0") as socket,
    ):
        socket.send(b"a")
        socket.send(b"b")
        with aside(lambda: socket.send(b"c", timeout=WAIT_S)) as raised:
            event = told(socket, mm.EventKind.SPOOL_FULL)
            said = until_told(caplog)
            spool.trim(2)
        assert raised == []
    assert event.detail == "1 call waits for room: it had 2 of 2 messages (max_messages)"
    assert ("; 2 messages are not acknowledged; room is made by acknowledging those" in said) == (
        role == "Push"
    )
    assert len(words(caplog)) == 1, "the event is not told a second time"


def test_a_cursor_that_nobody_opens_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As its name in `until_acked_by` may be mistyped."""
    with small(tmp_path / "s", until_acked_by=["orders", "biling"], **FULL) as spool:
        with spool.cursor("orders"), spool.cursor("billing"):
            spool.append_many([b"a", b"b"])
            with aside(lambda: put_one(spool)):
                said = until_told(caplog)
                spool.trim(2)
    assert "; until_acked_by names the cursor 'biling', which is not there: nothing goes" in said


def test_the_cursor_that_is_furthest_behind_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of several that have not done all."""
    with small(tmp_path / "s", until_acked_by=["quick", "slow"], **FULL) as spool:
        spool.append_many([b"a", b"b"])
        with spool.cursor("slow"), spool.cursor("quick") as quick:
            quick.done(1)
            with aside(lambda: put_one(spool)):
                said = until_told(caplog)
                spool.trim(2)
    assert (
        "; of until_acked_by the cursor 'slow' is furthest behind, with 2 messages that it is not "
        "done with; room is made by acknowledging those, or Spool.trim()"
    ) in said


def test_a_limit_of_bytes_is_told_as_such(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the bytes that it had."""
    with small(tmp_path / "s", max_bytes=2 * SEGMENT, overflow="block") as spool:
        with aside(lambda: [spool.append(body(seq)) for seq in range(1, 40)]) as raised:
            said = until_told(caplog)
            assert spool.info().max_bytes == 2 * SEGMENT
            while not raised and spool.info().last_seq < 39:
                spool.trim(spool.info().last_seq)
        assert raised == []
    assert "of 131,072 bytes (max_bytes)" in said


def test_a_full_disk_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it has free, and what a file takes: here as of a spool that had none refused."""
    with small(tmp_path / "s", overflow="block") as spool:
        monkeypatch.setattr("meshmsg._spool.full._free", lambda _: 1000)
        assert what_it_had(spool) == (
            "no room on the disk, which has 1,000 bytes free by now, and a file takes 65,536 bytes"
        )


def test_closing_a_spool_ends_who_waits(world: World, tmp_path: Path) -> None:
    """And nobody is told of any that waits then."""
    spool = world.spool(tmp_path / "s", **FULL)
    spool.append_many([b"a", b"b"])
    with aside(lambda: put_one(spool)) as raised:
        wait_until(lambda: spool.info().waiting == 1)
        spool.close()
    assert isinstance(raised[0], mm.ClosedError)


def test_a_view_does_not_know_who_waits(tmp_path: Path) -> None:
    """Nor the limits: those are of the process that has it open."""
    with small(tmp_path / "s", **FULL) as spool:
        spool.append(b"a")
        with mm.SpoolView(tmp_path / "s") as view:
            info = view.info()
    assert (info.max_bytes, info.max_messages, info.waiting) == (None, None, None)
