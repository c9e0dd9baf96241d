"""delay=, at=, priority=, ack_timeout=, priorities=, nack(delay=) and extend(): what they take, for
threads and for asyncio; by a real clock as far as that can be shown without one.

Not here: when things happen (tests/sim/test_delayed.py, test_ack_timeouts.py, test_priorities.py).
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio

WAIT_S = 20.0
FAR_S = 2_000_000
ALO: dict[str, Any] = {"delivery": "at_least_once"}

WRONG_OPTIONS = [
    ({"ack_timeout": 0, **ALO}, mm.UsageError, "ack_timeout is 0; it is seconds, above 0"),
    ({"ack_timeout": -1, **ALO}, mm.UsageError, "ack_timeout is -1"),
    ({"ack_timeout": 5_000_000, **ALO}, mm.UsageError, "up to 4,000,000"),
    ({"ack_timeout": float("nan"), **ALO}, mm.UsageError, "ack_timeout is nan"),
    ({"ack_timeout": True, **ALO}, TypeError, "ack_timeout is True"),
    ({"ack_timeout": "1", **ALO}, TypeError, "ack_timeout is '1'"),
    ({"ack_timeout": 1}, mm.UsageError, "ack_timeout is for a Push with delivery="),
    ({"priorities": 0, **ALO}, mm.UsageError, "priorities is 0; it is a whole number from 1 to 10"),
    ({"priorities": 11, **ALO}, mm.UsageError, "priorities is 11"),
    ({"priorities": True, **ALO}, mm.UsageError, "priorities is True"),
    ({"priorities": 2}, mm.UsageError, "priorities is for a Push with delivery="),
    ({"priorities": 2, "routing": "hash", **ALO}, mm.UsageError, "a key keeps its order"),
]
WRONG_SENDS = [
    ({"delay": -1}, mm.UsageError, "delay is -1; it is seconds, from 0 to 2,000,000"),
    ({"delay": FAR_S + 1}, mm.UsageError, "delay is 2000001"),
    ({"delay": float("nan")}, mm.UsageError, "delay is nan"),
    ({"delay": "1"}, TypeError, "delay is '1'"),
    ({"delay": True}, TypeError, "delay is True"),
    ({"at": 1e12}, mm.UsageError, "the limit is 2,000,000 s"),
    ({"at": float("nan")}, mm.UsageError, "at is nan"),
    ({"at": "noon"}, TypeError, "at is 'noon'"),
    ({"at": 1.0, "delay": 1.0}, mm.UsageError, "give one of them"),
    ({"delay": 5, "ttl": 5}, mm.UsageError, "it would expire before"),
    ({"priority": 3}, mm.UsageError, "this Push has 0 to 2"),
    ({"priority": -1}, mm.UsageError, "priority is -1"),
    ({"priority": 1.0}, TypeError, "priority is 1.0"),
    ({"priority": True}, TypeError, "priority is True"),
]


@pytest.mark.parametrize("package", [mm, aio])
@pytest.mark.parametrize(("options", "error", "words"), WRONG_OPTIONS)
def test_what_a_push_cannot_be_is_refused(
    package: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    """With the option, its value and the limit."""

    async def run() -> None:
        with pytest.raises(error, match=words):
            package.Push(**options)

    asyncio.run(run())


@pytest.mark.parametrize(("options", "error", "words"), WRONG_SENDS)
@pytest.mark.parametrize("confirm", [False, True])
def test_what_a_message_cannot_be_sent_with_is_refused_and_nothing_is_sent(
    options: dict[str, Any], error: type[Exception], words: str, confirm: bool
) -> None:
    """By both kinds of sockets, with a receipt or without."""
    with mm.Push(priorities=3, **ALO) as push:
        with pytest.raises(error, match=words):
            push.send(b"x", timeout=0, confirm=confirm, **options)
        assert (push.stats().sent_messages, push.stats().delayed_messages) == (0, 0)

    async def run() -> None:
        async with aio.Push(priorities=3, **ALO) as push:
            with pytest.raises(error, match=words):
                await push.send(b"x", timeout=0, confirm=confirm, **options)
            assert push.stats().sent_messages == 0

    asyncio.run(run())


def test_who_has_one_level_says_how_to_have_more() -> None:
    """0 is what it has."""
    with mm.Push(**ALO) as push:
        push.send(b"x", priority=0)
        with pytest.raises(mm.UsageError, match=r"has 0 to 0; Push\(priorities=\), up to 10"):
            push.send(b"x", priority=1)


@pytest.mark.parametrize("role", ["Dealer", "Pair", "Bus", "Pub", "XSub"])
@pytest.mark.parametrize("name", ["delay", "at", "priority"])
def test_other_roles_say_whose_it_is(role: str, name: str) -> None:
    """Nothing is sent."""
    with getattr(mm, role)() as socket:
        with pytest.raises(TypeError, match=f"no argument '{name}'.* of Push"):
            socket.send(b"x", **{name: 1})
        assert socket.stats().sent_messages == 0


@pytest.mark.parametrize("call", ["send_many", "send_batch"])
def test_calls_that_send_many_take_none_of_it(call: str) -> None:
    """They say what does."""
    with mm.Push(**ALO) as push, pytest.raises(TypeError, match="delay"):
        getattr(push, call)([b"x"], delay=1)


@pytest.mark.parametrize("delay", [-1, FAR_S + 1, float("nan")])
def test_a_delay_that_cannot_be_gives_nothing_back(delay: float) -> None:
    """The message stays its receiver's."""
    with (
        mm.Push(bind="inproc://*", **ALO) as push,
        mm.Pull(connect=push.endpoint, ack="manual") as pull,
    ):
        push.send(b"x")
        message = pull.recv(timeout=WAIT_S)
        with pytest.raises(mm.UsageError, match="delay is"):
            message.nack(delay=delay)
        with pytest.raises(TypeError):
            message.nack(delay="1")  # type: ignore[arg-type]
        assert message.extend()
        assert message.ack()
        assert not message.extend()


def test_of_a_message_that_nobody_waits_for_it_is_false() -> None:
    """As of ack and nack."""
    with mm.Push(bind="inproc://*") as push, mm.Pull(connect=push.endpoint) as pull:
        push.send(b"x")
        message = pull.recv(timeout=WAIT_S)
        assert not message.extend()
        assert not message.nack(delay=1)


def test_a_receipt_of_what_goes_later_is_told_then() -> None:
    """By the real clock: not before."""
    with mm.Push(bind="inproc://*", **ALO) as push, mm.Pull(connect=push.endpoint) as pull:
        start = time.monotonic()
        receipt = push.send(b"x", delay=0.05, confirm=True)
        assert receipt.outcome is None
        assert pull.recv(timeout=WAIT_S) == b"x"
        assert time.monotonic() - start >= 0.05
        with pytest.raises(mm.WouldBlockError):
            pull.recv(timeout=0)
        receipt.wait(timeout=WAIT_S)


def test_a_loop_waits_for_what_goes_later_and_for_what_is_urgent() -> None:
    """An urgent send that waits for room is not held up by one that is not."""

    async def run() -> list[bytes]:
        got: list[bytes] = []
        async with aio.Push(bind="inproc://*", priorities=2, send_queue_messages=2, **ALO) as push:
            async with aio.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull:
                await push.send(b"first", delay=0.01)
                message: Any = await pull.recv(timeout=WAIT_S)
                sends = [
                    asyncio.create_task(push.send(b"%d.%d" % (level, i), priority=level))
                    for level in (0, 1)
                    for i in range(6)
                ]
                await asyncio.sleep(0)
                while len(got) < 12:
                    message.ack()
                    message = await pull.recv(timeout=WAIT_S)
                    got.append(bytes(message))
                message.ack()
                await asyncio.gather(*sends)
        return got

    got = asyncio.run(run())
    for level in (0, 1):
        of = [body for body in got if body.startswith(b"%d" % level)]
        assert sorted(of) == [b"%d.%d" % (level, i) for i in range(6)]


def test_a_loop_is_told_at_once_that_no_more_may_wait() -> None:
    """Whatever the timeout is; the loop goes on."""

    async def run() -> None:
        async with aio.Push(send_queue_messages=1, **ALO) as push:
            await push.send(b"x", delay=60)
            for timeout in (None, 0, 5):
                with pytest.raises(mm.WouldBlockError, match="1 message waits to go later"):
                    await push.send(b"y", at=time.time() + 60, timeout=timeout)

    asyncio.run(run())
