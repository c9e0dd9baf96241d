"""What errors say of a spool that is full, late, not made, or closed before its Push.

Not here: when they are raised (test_spool_limits.py, test_push_spool.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import lib
from meshmsg._spool import full
from tests.support.feeding import World
from tests.support.spooled import BODY, SEGMENT, body, small

PUTS_MAX = 10_000
"""More than any spool of these tests has room for."""


ROOM = "; trimming it, or acknowledging what it has, makes room"
"""How the words end where a limit is reached."""


def until_raised(put: Callable[[], Any]) -> str:
    """Put until it is refused; the words."""
    with pytest.raises((mm.SpoolFullError, mm.TimedOutError)) as caught:
        for _ in range(PUTS_MAX):
            put()
    return str(caught.value)


def test_a_full_spool_says_which_limit_it_is(world: World, tmp_path: Path) -> None:
    """And what it has of it."""
    with world.spool(tmp_path / "m", max_messages=3, max_bytes=10 * SEGMENT) as spool:
        words = until_raised(lambda: spool.append(b"x"))
        assert words.endswith(f"appending: no room: it had 3 of 3 messages (max_messages){ROOM}")
    with world.spool(tmp_path / "b", max_messages=30_000, max_bytes=2 * SEGMENT) as spool:
        words = until_raised(lambda: spool.append(bytes(1000)))
        count, took = spool.info().last_seq, spool.info().bytes
        assert took + 1000 < 2 * SEGMENT  # so it is not clear by itself why there is no room
    assert f"no room: it had {count} of 30,000 messages (max_messages)" in words
    head = ", and a message needs some 4,200 bytes more than its own, for the head of another file"
    assert words.endswith(f"{took:,} of 131,072 bytes (max_bytes){head}{ROOM}")


def test_why_it_was_full_is_told_as_it_was_refused(tmp_path: Path) -> None:
    """Not as it is a moment later, when others have made room: then it would be the disk."""
    with small(tmp_path / "b", max_messages=30_000, max_bytes=2 * SEGMENT) as spool:
        words = until_raised(lambda: spool.append(body(1)))
        refused = words.partition("no room")[2]
        assert "131,072 bytes (max_bytes)" in refused
        before = spool.info()
        spool.trim(before.last_seq + 1)
        assert spool.info().bytes < before.bytes - BODY
        assert full.why_full(spool, "appending") == refused
        spool.append(body(1))
        assert full.why_full(spool, "appending") == refused


def test_a_call_that_was_late_says_what_it_waited_for(world: World, tmp_path: Path) -> None:
    """What the spool has of its limits; `overflow="block"`."""
    with world.spool(tmp_path / "m", max_messages=3, overflow="block") as spool:
        spool.append_many([b"x"] * 3)
        words = until_raised(lambda: spool.append(b"x", timeout=0.02))
        assert words.endswith("appending: not in time; it has 3 of 3 messages (max_messages)")


@pytest.mark.parametrize("overflow", ["error", "block"])
def test_a_push_says_how_much_is_not_acknowledged(
    world: World, tmp_path: Path, overflow: str
) -> None:
    """As that is why there is no room."""
    with world.life(tmp_path / "s", max_messages=3, overflow=overflow) as (_, push):
        push.send_many([b"x"] * 3)
        for put in (
            lambda: push.send(b"x", timeout=0.02),
            lambda: push.send(b"x", timeout=0.02, delay=5.0),
            lambda: push.send_many([b"x"] * 2, timeout=0.02),
            lambda: push.send_many([b"x"] * 2, timeout=0.02, confirm=True),
        ):
            words = until_raised(put)
            assert "3 of 3 messages (max_messages); 3 messages are not acknowledged" in words


def test_a_full_disk_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it has free, also beside limits that are not reached."""

    class Found:
        f_bavail, f_frsize = 3, 4096

    def find(_: str) -> Found:
        return Found()

    monkeypatch.setattr(os, "statvfs", find)
    with small(tmp_path / "s", max_messages=9, max_bytes=10**6) as spool:
        spool.append(b"x")
        assert full.why_full(spool, "appending") == " on the disk, which has 12,288 bytes free"
        refused = SimpleNamespace(full_why=lib.MM_SPOOL_FULL_DISK, full_messages=1, full_bytes=4160)
        with monkeypatch.context() as patch:
            patch.setattr(spool, "_inspected", lambda: refused)
            assert full.why_full(spool, "appending") == (
                " on the disk, which has 12,288 bytes free; "
                "it had 1 of 9 messages (max_messages), 4,160 of 1,000,000 bytes (max_bytes)"
            )
        assert full.why_full(spool, "a cursor") == " on the disk, which has 12,288 bytes free"
        assert full.why_late(spool, "appending") == ""
    with small(tmp_path / "b", overflow="block") as blocks:
        assert full.why_late(blocks, "appending") == (
            "; the disk has 12,288 bytes free, and a file takes 65,536 bytes"
        )
        assert full.why_late(blocks, "reading") == ""
        monkeypatch.setattr(Found, "f_bavail", 16)
        assert full.why_late(blocks, "appending") == ""

    def fail(path: str) -> Found:
        raise OSError(errno.EACCES, path)

    monkeypatch.setattr(os, "statvfs", fail)
    assert full.why_full(spool, "appending") == " on the disk"
    assert full.why_late(blocks, "appending") == ""


def test_a_receipt_of_a_spool_that_was_closed_says_so(world: World, tmp_path: Path) -> None:
    """As long as its Push is open."""
    with world.spool(tmp_path / "s") as spool, world.push(spool) as push:
        one = push.send(b"x", confirm=True)
        many = push.send_many([b"x", b"y"], confirm=True)
        spool.close()
        for call in (lambda: world.wait(one), lambda: world.wait(many), lambda: one.outcome):
            with pytest.raises(mm.ClosedError, match="the spool .* was closed"):
                call()
    with pytest.raises(mm.ClosedError, match="this Push was closed"):
        world.wait(one)


def test_a_push_with_a_spool_is_at_least_once(world: World, tmp_path: Path) -> None:
    """Whoever says that it is not is told."""
    with world.spool(tmp_path / "s") as spool:
        with pytest.raises(mm.UsageError, match="with spool= it is 'at_least_once'"):
            world.push(spool, delivery="at_most_once")
        with world.push(spool, delivery="at_least_once") as push:
            push.send(b"x")


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_spool_that_cannot_be_made_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """And not that there is none, which is why it is to be made."""

    def refuses(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", refuses)
        with pytest.raises(mm.SpoolError, match=f"s: making it: {os.strerror(number)}$"):
            mm.Spool(tmp_path / "s")
        assert not (tmp_path / "s").exists()
    with mm.Spool(tmp_path / "s"):
        pass
    monkeypatch.setattr(os, "mkdir", refuses)
    with mm.Spool(tmp_path / "s") as spool:  # it is there, and nothing is to be made
        assert not spool.recovery.made
    monkeypatch.undo()
    why = f"making it: the folder {tmp_path}/none is not there: make it first"
    for path in (tmp_path / "none" / "s", f"{tmp_path}/none/s/"):
        with pytest.raises(mm.SpoolError, match=why):
            mm.Spool(path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mm.SpoolError, match=r"^none/s: making it: the folder none is not there"):
        mm.Spool("none/s")
    with pytest.raises(mm.SpoolError, match="there is nothing of that name"):
        mm.Spool("none/s", create=False)
    assert not (tmp_path / "none").exists()
