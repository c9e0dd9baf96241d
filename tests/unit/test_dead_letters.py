"""Messages that will not be delivered, and where they go: kept, a function, a socket.

Not here: which those are, in worlds that go wrong (tests/sim/test_fates.py).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import ExitStack
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.testing import SimWorld
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
KEPT: dict[str, Any] = {"delivery": "at_least_once", "max_attempts": 2}


def refuse(push: Any, bodies: list[bytes], **more: Any) -> None:
    """Have a receiver give each back until it is given up."""
    with mm.Pull(connect=push.endpoint, ack="manual") as pull:
        for body in bodies:
            push.send(body, timeout=WAIT_S, **more)
        for _ in range(2 * len(bodies)):
            assert pull.recv(timeout=WAIT_S).nack()
        push.drain(timeout=WAIT_S)


def test_what_is_kept_says_why_and_what_went_with_it() -> None:
    """Once; the oldest first."""
    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        refuse(push, [b"a", b"b", bytes(300_000)], key="k", headers={"h": "1"})
        wait_until(lambda: push.stats().dead_messages == 3)
        first = push.dead_letters(1)
        rest = push.dead_letters()
        assert [bytes(letter) for letter in [*first, *rest]] == [b"a", b"b", bytes(300_000)]
        for letter in [*first, *rest]:
            assert (letter.reason, letter.attempt, letter.key) == ("attempts", 2, b"k")
            assert letter.headers == {"h": "1"}
            assert letter.seq is not None
            assert not letter.ack()
        assert push.dead_letters() == []


def test_one_that_expired_was_never_handed_out() -> None:
    """It has no number."""
    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        receipt = push.send(b"x", ttl=0.05, confirm=True)
        with pytest.raises(mm.UndeliveredError):
            receipt.wait(timeout=WAIT_S)
        [letter] = push.dead_letters()
        assert (letter.reason, letter.attempt, letter.seq) == ("expired", 0, None)
        assert letter.expires is not None


def test_a_receiver_that_closes_does_not_count_and_one_that_is_lost_does() -> None:
    """Twice in order, then given back twice."""
    with mm.Push(bind=UP, **KEPT, dead_letter="keep") as push:
        push.send(b"x")
        for _ in range(3):
            with mm.Pull(connect=push.endpoint, ack="manual") as pull:
                assert pull.recv(timeout=WAIT_S).attempt == 1
        assert push.dead_letters() == []


def test_a_function_gets_them_and_what_it_raises_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With the message; the next one is given all the same."""
    got: list[mm.DeadLetter] = []
    both = threading.Event()

    def take(letter: mm.DeadLetter) -> None:
        got.append(letter)
        if len(got) == 2:
            both.set()
        raise ValueError("no room for it")

    with caplog.at_level(logging.ERROR, logger="meshmsg"):
        with mm.Push(bind=UP, **KEPT, dead_letter=take) as push:
            refuse(push, [b"a", b"b"])
            assert both.wait(WAIT_S)
        wait_until(lambda: "no room for it" in caplog.text)
    assert got == [b"a", b"b"]


def test_a_socket_gets_them_with_their_history() -> None:
    """As headers, beside those they had."""
    with mm.Push(bind=UP) as place, mm.Push(bind=UP, **KEPT, dead_letter=place) as push:
        with mm.Pull(connect=place.endpoint) as graves:
            refuse(push, [b"a"], key=b"k", headers={"h": "1"})
            letter = graves.recv(timeout=WAIT_S)
            assert (letter, letter.key) == (b"a", b"k")
            headers = dict(letter.headers)
            assert str(headers.pop("x-dead-seq")).partition(":")[2] == "1"
            assert headers == {"h": "1", "x-dead-reason": "attempts", "x-dead-attempts": "2"}


def test_what_waits_as_the_socket_closes_is_given_yet() -> None:
    """Not lost for want of a moment."""
    got: list[bytes] = []
    with mm.Push(bind=UP, **KEPT, dead_letter=got.append) as push:
        refuse(push, [b"%d" % i for i in range(20)])
    wait_until(lambda: len(got) == 20)


def test_a_loop_calls_the_function_itself() -> None:
    """On its own thread."""

    async def main() -> None:
        got: list[tuple[bytes, int]] = []
        there = asyncio.Event()

        def take(letter: mm.DeadLetter) -> None:
            got.append((bytes(letter), threading.get_ident()))
            there.set()

        async with aio.Push(bind=UP, **KEPT, dead_letter=take) as push:
            async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
                await push.send(b"x")
                for _ in range(2):
                    assert (await pull.recv(timeout=WAIT_S)).nack()
                await asyncio.wait_for(there.wait(), WAIT_S)
        assert got == [(b"x", threading.get_ident())]

    asyncio.run(main())


def test_more_than_a_queue_of_them_are_dropped_and_counted() -> None:
    """Where nobody takes them."""
    with mm.Push(bind=UP, **KEPT, dead_letter="keep", send_queue_messages=3) as push:
        refuse(push, [b"%d" % i for i in range(3)])
        refuse(push, [b"more"])
        wait_until(lambda: push.stats().dropped_attempts == 1)
        assert push.stats().dead_messages == 3
        assert push.dead_letters() == [b"0", b"1", b"2"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"max_attempts": 1}, "at_least_once"),
    ({"delivery": "at_least_once", "max_attempts": 0}, "from 1 to 2,147,483,647"),
    ({"delivery": "at_least_once", "max_attempts": 2**31}, "from 1 to 2,147,483,647"),
    ({"delivery": "at_least_once", "max_attempts": True}, "from 1 to"),
    ({"delivery": "at_least_once", "max_attempts": 1.5}, "from 1 to"),
    ({"dead_letter": "drop"}, "'keep'"),
    ({"dead_letter": 5}, "'keep'"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=str)
def test_what_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    """With the words for it."""
    for module in (mm, aio):
        with pytest.raises(mm.UsageError, match=words):
            module.Push(**options)


def test_a_socket_of_a_loop_and_a_simulated_world_are_refused() -> None:
    """Nobody would await its send; and there is no thread."""

    async def main() -> None:
        async with aio.Push(bind=UP) as place:
            with pytest.raises(mm.UsageError, match="asyncio"):
                mm.Push(**KEPT, dead_letter=place)

    asyncio.run(main())
    with SimWorld(1) as world:
        with pytest.raises(mm.UsageError, match="simulated"):
            mm.Push(**KEPT, dead_letter=print, engine=world.engine())


PLACES: dict[str, Any] = {"kept": "keep", "a function": lambda _: None, "a socket": None}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("names", [mm, aio], ids=["threads", "asyncio"])
def test_the_event_is_true_wherever_they_go(names: Any, place: str) -> None:
    """It does not say that they wait, which those of a function do not."""

    async def main() -> None:
        with ExitStack() as stack:
            where = PLACES[place] or stack.enter_context(mm.Push(bind=UP))
            push = names.Push(bind=UP, delivery="at_least_once", dead_letter=where)
            try:
                sent = push.send(b"x", ttl=0.001)
                if names is aio:
                    await sent
                found: list[mm.Event] = []
                while not found:
                    found = [e for e in push.events() if e.kind is mm.EventKind.DEAD_LETTER]
                    await asyncio.sleep(0)
                assert found[0].detail == (
                    "a message will not be delivered (expired), and goes where dead_letter says"
                )
            finally:
                push.close()

    asyncio.run(main())
