"""Where dead letters go, when that goes wrong: closed twice, no room, errors, the end.

Not here: which letters there are, and what they say (test_dead_letters.py).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._delivery import undertaker
from meshmsg._delivery.dead_letters import _next_dead
from meshmsg._delivery.undertaker import Undertaker
from tests.support.pairs import WAIT_S, wait_until
from tests.unit.test_dead_letters import KEPT, UP, refuse


class Function:
    """A function of letters that keeps what it had, and lets the first wait."""

    def __init__(self) -> None:
        self.got: list[mm.DeadLetter] = []
        self.began, self.go = threading.Event(), threading.Event()

    def __call__(self, letter: mm.DeadLetter) -> None:
        """Take one."""
        self.got.append(letter)
        self.began.set()
        assert self.go.wait(WAIT_S)


def test_a_push_is_closed_as_often_as_one_likes(caplog: pytest.LogCaptureFixture) -> None:
    """In its block, after its engine, by two threads; nothing is logged as an error."""
    with mm.Push(bind=UP) as place:
        for where in (print, place):
            with mm.Push(bind=UP, **KEPT, dead_letter=where) as push:
                push.close()
            push.close()
            engine = mm.Engine()
            push = mm.Push(bind=UP, **KEPT, dead_letter=where, engine=engine)
            engine.close()
            push.close()
            push = mm.Push(bind=UP, **KEPT, dead_letter=where)
            threads = [threading.Thread(target=push.close) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(WAIT_S)
            push.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_the_function_may_close_the_push(caplog: pytest.LogCaptureFixture) -> None:
    """What waits behind it is given yet."""
    got: list[bytes] = []
    first = threading.Event()
    done = threading.Event()

    def take(letter: mm.DeadLetter) -> None:
        assert first.wait(WAIT_S)
        push.close()
        got.append(letter)
        if len(got) == 5:
            done.set()

    push = mm.Push(bind=UP, **KEPT, dead_letter=take)
    refuse(push, [b"%d" % i for i in range(5)])
    wait_until(lambda: push.stats().dead_messages == 5)
    first.set()
    assert done.wait(WAIT_S)
    assert got == [b"0", b"1", b"2", b"3", b"4"]
    assert "failed" not in caplog.text


def test_who_closes_has_all_given_when_it_returns() -> None:
    """Also the one that another thread is giving: a program that ends then has had each letter."""
    function = Function()
    push = mm.Push(bind=UP, **KEPT, dead_letter=function)
    refuse(push, [b"0", b"1", b"2"])
    assert function.began.wait(WAIT_S)
    had: list[int] = []

    def close() -> None:
        push.close()
        had.append(len(function.got))

    over = threading.Thread(target=close)
    over.start()
    wait_until(lambda: push._outlet.on_dead._closing)  # type: ignore[union-attr]
    function.go.set()
    over.join(WAIT_S)
    assert had == [3]
    assert function.got == [b"0", b"1", b"2"]


def test_who_closes_waits_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that has a letter goes on with the others."""
    monkeypatch.setattr(undertaker, "CLOSE_WAIT_S", 0.001)
    function = Function()
    push = mm.Push(bind=UP, **KEPT, dead_letter=function)
    refuse(push, [b"0", b"1", b"2"])
    assert function.began.wait(WAIT_S)
    push.close()
    assert len(function.got) == 1
    function.go.set()
    wait_until(lambda: len(function.got) == 3)
    assert function.got == [b"0", b"1", b"2"]


async def give_back(push: Any, count: int) -> None:
    """Have a receiver give each back until it is given up."""
    async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
        for i in range(count):
            await push.send(b"%d" % i)
        for _ in range(2 * count):
            assert (await pull.recv(timeout=WAIT_S)).nack()
        await push.drain(timeout=WAIT_S)


def test_a_loop_is_given_what_waits_as_the_socket_closes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By itself, behind the close."""
    got: list[tuple[bytes, int]] = []

    async def main() -> None:
        async with aio.Push(
            bind=UP, **KEPT, dead_letter=lambda one: got.append((one, threading.get_ident()))
        ) as push:
            await give_back(push, 20)

    asyncio.run(main())
    assert got == [(b"%d" % i, threading.get_ident()) for i in range(20)]
    assert "ERROR" not in caplog.text
    assert "lost" not in caplog.text


def test_a_loop_that_was_closed_before_leaves_them_lost_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With their number."""
    made: list[Any] = []
    hold = threading.Event()

    async def main() -> None:
        made.append(aio.Push(bind=UP, **KEPT, dead_letter=lambda letter: hold.set()))

    asyncio.run(main())
    [push] = made
    with mm.Pull(connect=push.endpoint, ack="manual") as pull:
        asyncio.run(push.send(b"x"))
        for _attempt in range(2):
            assert pull.recv(timeout=WAIT_S).nack()
        wait_until(lambda: push.stats().dead_messages == 1)
    push.close()
    wait_until(lambda: "1 dead letter of a Push was lost" in caplog.text)
    assert not hold.is_set()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
def test_whatever_the_function_raises_takes_one_letter(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """The others are given, and the error is logged with the letter it had."""
    got: list[bytes] = []

    def take(letter: mm.DeadLetter) -> None:
        got.append(letter)
        raise kind("no")

    with mm.Push(bind=UP, **KEPT, dead_letter=take) as push:
        refuse(push, [b"0", b"1", b"2"])
        wait_until(lambda: len(got) == 3)
    assert got == [b"0", b"1", b"2"]
    wait_until(lambda: caplog.text.count("raised an error, for") == 3)


def test_what_ends_a_program_leaves_a_loop_and_takes_one_letter() -> None:
    """As with any callback; the others are given when the loop runs again."""
    got: list[bytes] = []

    def take(letter: mm.DeadLetter) -> None:
        got.append(letter)
        if len(got) == 1:
            raise SystemExit

    async def main() -> None:
        async with aio.Push(bind=UP, **KEPT, dead_letter=take) as push:
            await give_back(push, 3)
        while len(got) < 3:
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    task = loop.create_task(main())
    with pytest.raises(SystemExit):
        loop.run_until_complete(task)
    loop.run_until_complete(task)
    loop.close()
    assert got == [b"0", b"1", b"2"]


def test_a_place_without_room_is_tried_again_and_nothing_is_lost() -> None:
    """In order, once somebody is there; what waits is the socket's own."""
    bodies = [b"%d" % i for i in range(10)]
    with mm.Push(bind=UP, no_peer="error") as place:
        with mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
            refuse(push, bodies)
            wait_until(lambda: push.stats().dead_messages == 10)
            with mm.Pull(connect=place.endpoint) as graves:
                assert [graves.recv(timeout=WAIT_S) for _ in bodies] == bodies


def test_a_loop_tries_a_place_without_room_again() -> None:
    """As the thread does."""

    async def main(place: mm.Push) -> None:
        async with aio.Push(bind=UP, **KEPT, dead_letter=place) as push:
            await give_back(push, 10)
            with mm.Pull(connect=place.endpoint) as graves:
                for i in range(10):
                    letter = await asyncio.to_thread(graves.recv, timeout=WAIT_S)
                    assert letter == b"%d" % i

    with mm.Push(bind=UP, no_peer="error") as place:
        asyncio.run(main(place))


def test_what_still_finds_no_room_at_the_end_is_told_with_its_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And the end does not wait for it."""
    with mm.Push(bind=UP, no_peer="error") as place:
        push = mm.Push(bind=UP, **KEPT, dead_letter=place)
        refuse(push, [b"%d" % i for i in range(7)])
        wait_until(lambda: push.stats().dead_messages == 7)
        push.close()
        wait_until(lambda: "7 dead letters of a Push were lost" in caplog.text)
    assert caplog.text.count("lost") == 1


def test_events_of_others_are_told_while_a_place_has_no_room() -> None:
    """The thread that tells does not wait."""
    told = threading.Event()
    with mm.Push(bind=UP, no_peer="error") as place:
        with mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
            refuse(push, [b"0", b"1"])
            wait_until(lambda: push.stats().dead_messages == 2)
            with mm.Pull(bind=UP, on_event=lambda _: told.set()) as other:
                with mm.Push(connect=other.endpoint):
                    assert told.wait(WAIT_S)


def test_a_place_that_was_closed_takes_nothing_and_that_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With each letter."""
    place = mm.Push(bind=UP)
    with mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
        place.close()
        refuse(push, [b"lost one"])
        wait_until(lambda: "lost one" in caplog.text)


def test_all_frames_are_sent_on() -> None:
    """As they were."""
    with mm.Push(bind=UP) as place, mm.Pull(connect=place.endpoint) as graves:
        with mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
            with mm.Pull(connect=push.endpoint, ack="manual") as pull:
                push.send_frames([b"a", b"", b"c"], key=b"k")
                for _ in range(2):
                    assert pull.recv(timeout=WAIT_S).nack()
            letter = graves.recv(timeout=WAIT_S)
        assert (letter.frames, letter.key) == ((b"a", b"", b"c"), b"k")
        assert letter.headers["x-dead-reason"] == "attempts"


BIG: list[tuple[dict[str, Any], set[str], bool]] = [
    ({"headers": {"n": "v" * 16_360, "m": "w"}}, {"m"}, False),
    ({"key": b"k" * 16_370}, set(), False),
    ({"key": b"k", "headers": {"big": b"v" * 16_300, "m": b"\xff"}}, {"m"}, True),
]


@pytest.mark.parametrize(("more", "kept", "key"), BIG, ids=lambda v: str(v)[:20])
def test_a_letter_goes_without_what_finds_no_room(
    more: dict[str, Any], kept: set[str], key: bool
) -> None:
    """It has its history, and of its own what fits."""
    with mm.Push(bind=UP) as place, mm.Pull(connect=place.endpoint) as graves:
        with mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
            refuse(push, [b"x"], **more, timestamp=1_700_000_000.5)
            letter = graves.recv(timeout=WAIT_S)
        history = {"x-dead-reason", "x-dead-attempts", "x-dead-seq"}
        assert set(letter.headers) == kept | history
        assert (letter, letter.key) == (b"x", b"k" if key else None)
        assert letter.timestamp == 1_700_000_000.5


async def _later(letter: mm.DeadLetter) -> None:
    """No place."""


class _Later:
    """No place either."""

    async def __call__(self, letter: mm.DeadLetter) -> None:
        """Nobody awaits it."""


def closed() -> mm.Push:
    """Return a socket that was closed."""
    push = mm.Push()
    push.close()
    return push


NO_PLACE: list[tuple[Callable[[], Any], str]] = [
    (mm.Router, "Router, which does not send"),
    (mm.Pull, "Pull, which does not send"),
    (mm.Req, "Req, which does not send"),
    (closed, "was closed"),
    (lambda: mm.Push, "'keep'"),
    (lambda: list, "'keep'"),
    (lambda: _later, "coroutine function"),
    (_Later, "coroutine function"),
    (lambda: "Keep", "'keep'"),
]


@pytest.mark.parametrize(("make", "words"), NO_PLACE, ids=lambda v: str(v)[:20])
def test_what_is_no_place_is_refused_at_once(make: Callable[[], Any], words: str) -> None:
    """Not when there is a letter for it."""
    place = make()
    try:
        with pytest.raises(mm.UsageError, match=words):
            mm.Push(**KEPT, dead_letter=place)
    finally:
        if isinstance(place, mm.Push | mm.Router | mm.Pull | mm.Req):
            place.close()


@pytest.mark.parametrize("place", [None, print], ids=str)
def test_only_who_keeps_them_can_be_asked_for_them(place: Any) -> None:
    """Else they would be taken from where they go."""
    with mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
        with pytest.raises(mm.UsageError, match='dead_letter="keep"'):
            push.dead_letters()


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "x"], ids=str)
def test_what_is_no_number_of_letters_is_refused(most: Any) -> None:
    """As everywhere."""
    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        with pytest.raises(mm.UsageError, match="from 1 on"):
            push.dead_letters(most)


def test_kept_letters_that_nobody_took_are_told_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once, also if it is closed twice; none, if there is none."""
    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        refuse(push, [b"%d" % i for i in range(20)])
        wait_until(lambda: push.stats().dead_messages == 20)
    push.close()
    wait_until(lambda: "20 dead letters were not taken" in caplog.text)
    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        refuse(push, [b"x"])
        wait_until(lambda: push.dead_letters())
    gc.collect()
    assert caplog.text.count("not taken") == 1


def test_what_ends_a_program_leaves_the_close_and_takes_one_letter() -> None:
    """Those behind it are in hand, and given by who gives next."""
    got: list[bytes] = []

    def take(letter: mm.DeadLetter) -> None:
        got.append(letter)
        if len(got) == 1:
            raise KeyboardInterrupt

    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        refuse(push, [b"0", b"1", b"2"])
        wait_until(lambda: push.stats().dead_messages == 3)
        undertaker = Undertaker("Push", take, _next_dead, sourced=False)
        undertaker.take_all(push._handle)
        with pytest.raises(KeyboardInterrupt):
            undertaker.give_last(push._handle)
        assert undertaker.owes()
        assert not undertaker.give(push._handle, catches=True)
    assert got == [b"0", b"1", b"2"]
