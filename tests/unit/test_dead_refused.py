"""Dead letters that nobody has yet: refused by where they go, or waiting as the socket is closed.

Where a spool has their messages these are not done, and come again; nothing is lost without a word.
Not here: letters that find no room for a while (test_dead_places.py, test_dead_spools.py).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S, wait_until
from tests.unit.test_dead_letters import KEPT, UP, refuse

Place = Callable[[Path], Any]


def closed(_: Path) -> Any:
    """A socket that was closed meanwhile."""
    return mm.Push(bind=UP)


def small(_: Path) -> Any:
    """One that takes no large message."""
    return mm.Push(bind=UP, message_size_max=1000)


def narrow(folder: Path) -> Any:
    """A spool whose files have no room for a large one."""
    return mm.Spool(str(folder / "narrow"), segment_bytes=65_536)


def lag_of(spool: mm.Spool) -> int:
    """How many of a Push's messages are not done."""
    (cursor,) = spool.cursors()
    return cursor.lag


def given_back(push: mm.Push, bodies: list[bytes]) -> None:
    """Have them handed out once, and given back."""
    with mm.Pull(connect=push.endpoint, ack="manual") as pull:
        push.send_many(bodies)
        for _ in bodies:
            assert pull.recv(timeout=WAIT_S).nack() is True


@pytest.mark.parametrize("made", [closed, small, narrow])
def test_a_letter_that_is_refused_is_not_done_and_holds_up_nobody(
    made: Place, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Told once, however many are refused alike; the next life of the spool has it again."""
    large, few = b"x" * 70_000, [b"%d" % i for i in range(3)]
    with (
        mm.Spool(str(tmp_path / "jobs")) as jobs,
        made(tmp_path) as place,
        ExitStack() as graves,
    ):
        if made is small:
            graves.enter_context(mm.Pull(connect=place.endpoint))
        with mm.Push(bind=UP, spool=jobs, max_attempts=1, dead_letter=place) as push:
            if made is closed:
                place.close()
            given_back(push, [large, *few, large])
            refused = 5 if made is closed else 2
            wait_until(lambda: push.stats().dead_messages == 5)
            wait_until(lambda: lag_of(jobs) == refused)
        assert lag_of(jobs) == refused
        errors: list[logging.LogRecord] = []
        wait_until(
            lambda: (
                errors.extend(one for one in caplog.records if one.levelno == logging.ERROR)
                or len(errors) > 0
            )
        )
        assert len(errors) == 1
        assert "comes again from the spool" in errors[0].getMessage()
        with mm.Push(bind=UP, spool=jobs) as push, mm.Pull(connect=push.endpoint) as pull:
            again = [pull.recv(timeout=WAIT_S) for _ in range(refused)]
            assert again[0] == large
            assert again[-1] == large


def test_what_is_refused_and_in_memory_is_lost_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """There is nobody to have it."""
    with mm.Push(bind=UP) as place, mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
        place.close()
        refuse(push, [b"0", b"1"])
        wait_until(lambda: push.stats().dead_messages == 2)
        wait_until(lambda: "which is lost" in caplog.text)


def test_an_interrupted_call_gives_its_letters_to_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A signal's function raised while they were marked: none is done that nobody has."""
    with (
        mm.Spool(str(tmp_path / "jobs")) as jobs,
        mm.Push(bind=UP, spool=jobs, max_attempts=1, dead_letter="keep") as push,
    ):
        bodies = [b"%d" % i for i in range(5)]
        given_back(push, bodies)
        wait_until(lambda: push.stats().dead_messages == 5)
        marked: list[mm.DeadLetter] = []
        mark = mm.DeadLetter._is_out

        def interrupted(letter: mm.DeadLetter) -> None:
            marked.append(letter)
            if len(marked) == 3:
                raise KeyboardInterrupt
            mark(letter)

        with monkeypatch.context() as patched:
            patched.setattr(mm.DeadLetter, "_is_out", interrupted)
            with pytest.raises(KeyboardInterrupt):
                push.dead_letters()
        assert push.dead_letters(2) == bodies[:2]
        assert push.dead_letters() == bodies[2:]
        wait_until(lambda: lag_of(jobs) == 0)
        assert push.dead_letters() == []


def test_close_waits_for_who_gives_a_letter_and_gives_the_rest(tmp_path: Path) -> None:
    """So that its spool knows of all that somebody had."""
    began, closing, got = threading.Event(), threading.Event(), list[bytes]()

    def take(letter: mm.DeadLetter) -> None:
        got.append(bytes(letter))
        began.set()
        assert closing.wait(WAIT_S)

    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        push = mm.Push(bind=UP, spool=jobs, max_attempts=1, dead_letter=take)
        bodies = [b"%d" % i for i in range(6)]
        given_back(push, bodies)
        assert began.wait(WAIT_S)
        wait_until(lambda: push.stats().dead_messages == 6)
        over = threading.Thread(target=push.close)
        over.start()
        assert push._outlet.on_dead is not None
        wait_until(lambda: push._outlet.on_dead._closing)  # type: ignore[union-attr]
        closing.set()
        over.join(WAIT_S)
        assert got == bodies
        assert lag_of(jobs) == 0


def test_a_loop_that_closes_gives_what_waits_before_its_spool_is_told_no_more(
    tmp_path: Path,
) -> None:
    """Each letter that somebody had is done, and comes no second time."""
    got: list[bytes] = []

    async def main() -> None:
        async with (
            aio.Spool(str(tmp_path / "jobs")) as jobs,
            aio.Push(bind=UP, spool=jobs, max_attempts=1, dead_letter=got.append) as push,
            aio.Pull(connect=push.endpoint, ack="manual") as pull,
        ):
            for i in range(4):
                await push.send(b"%d" % i)
            for _ in range(4):
                (await pull.recv(timeout=WAIT_S)).nack()
            while push.stats().dead_messages < 4:
                await asyncio.sleep(0)

    asyncio.run(main())
    assert got == [b"0", b"1", b"2", b"3"]
    with mm.Spool(str(tmp_path / "jobs")) as jobs:
        assert lag_of(jobs) == 0
