"""What is done with the coroutines that send, recv and iterating give, natively made or not."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.aio import _receiving
from meshmsg.aio._turns import FAST_CALLS_MAX
from tests.support.linked import RUNNERS, deliver, linked, ready, turns
from tests.support.pairs import WAIT_S


@pytest.mark.parametrize("runner", RUNNERS)
def test_all_that_takes_coroutines_takes_it(runner: Any) -> None:
    """Tasks of either make, gather, wait_for, shield; with messages at hand and waited for."""

    async def run() -> None:
        async with linked() as (push, pull):
            loop = asyncio.get_running_loop()
            ways: list[Callable[[Any], Any]] = [
                asyncio.create_task,
                asyncio.ensure_future,
                asyncio.shield,
                lambda c: asyncio.wait_for(c, WAIT_S),
                lambda c: asyncio.tasks._PyTask(c, loop=loop),  # type: ignore[attr-defined]
            ]
            for way in ways:
                await ready(pull, push, b"here", b"too")
                assert await way(pull.recv()) == b"here"
                assert await way(pull.__anext__()) == b"too"
                waiting = asyncio.gather(way(pull.recv()), way(pull.__anext__()))
                await turns()
                deliver(push, b"1", b"2")
                assert await waiting == [b"1", b"2"]

    runner(run())


def test_a_sent_message_arrives_whatever_sent_it() -> None:
    """The same for send, where there is room and where there is none."""

    async def run() -> None:
        options = {"send_queue_messages": 1, "recv_queue_messages": 1}
        async with aio.Push(bind="inproc://tight", **options) as push:
            waiting = [asyncio.create_task(push.send(body)) for body in (b"1", b"2", b"3")]
            await turns()
            assert not any(task.done() for task in waiting)
            async with aio.Pull(connect="inproc://tight", **options) as pull:
                got = {bytes(await pull.recv(timeout=WAIT_S)) for _ in waiting}
                await asyncio.gather(*waiting)
            assert got == {b"1", b"2", b"3"}

    asyncio.run(run())


@pytest.mark.parametrize("timeout", [None, 0, 1, 1.5, float("inf"), 10**400], ids=str)
def test_any_time_will_do_to_send(timeout: float | None) -> None:
    """Also one that is more than a float can say."""

    async def run() -> None:
        async with linked() as (_, pull), aio.Push(connect=pull.bind("tcp://127.0.0.1:0")) as push:
            await push.wait_for_peers(timeout=WAIT_S)
            await push.send(b"x", timeout=timeout)
            await push.send(bytearray(b"y"), timeout=timeout)
            assert [await pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"x", b"y"]

    asyncio.run(run())


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon", b"", []], ids=str)
def test_what_is_no_time_is_refused_when_it_is_awaited(timeout: Any) -> None:
    """And not before: what else was made to be awaited with it is awaited."""

    async def run() -> None:
        async with aio.Bus(bind="tcp://127.0.0.1:0") as bus:
            refused = bus.send(b"x", timeout=timeout)
            with pytest.raises((TypeError, ValueError)):
                await refused
            assert bus.stats().sent_messages == 0

    asyncio.run(run())


def test_iterating_ends_with_the_socket_however_it_is_done() -> None:
    """The iterator of the loop, and the socket as its own."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"a", b"b")
            messages = aiter(pull)
            assert [await anext(messages), await pull.__anext__()] == [b"a", b"b"]
            waiting = asyncio.create_task(anext(messages))
            await turns()
            pull.close()
            with pytest.raises(StopAsyncIteration):
                await waiting
            assert [message async for message in pull] == []

    asyncio.run(run())


def test_the_default_of_anext_is_for_the_end_only() -> None:
    """Which it sees by awaiting again at each step: with a message, a cancellation, the end."""

    async def run() -> None:
        async with linked() as (push, pull):

            async def next_or_none() -> Any:
                return await anext(aiter(pull), None)

            waiting = asyncio.create_task(next_or_none())
            await turns()
            deliver(push, b"x")
            assert await waiting == b"x"
            waiting = asyncio.create_task(next_or_none())
            await turns()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            waiting = asyncio.create_task(next_or_none())
            await turns()
            pull.close()
            assert await waiting is None

    asyncio.run(run())


def test_what_a_subclass_says_of_iterating_holds() -> None:
    """With `async for` as with anext."""

    class Decoded(aio.Pull):
        async def __anext__(self) -> Any:
            return b"decoded " + await super().__anext__()

    async def run() -> None:
        with mm.Push(bind="tcp://127.0.0.1:0") as push:
            async with Decoded(connect=push.endpoint) as pull:
                push.wait_for_peers(timeout=WAIT_S)
                deliver(push, b"a", b"b")
                assert await anext(pull) == b"decoded a"
                async for message in pull:
                    assert message == b"decoded b"
                    break

    asyncio.run(run())


def test_the_methods_they_stand_for_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coroutines of Python, which are what receives from Python 3.12 on."""
    monkeypatch.setattr(_receiving, "RETURNS_AT_ONCE", False)
    for kind in {base for role in (aio.Pull, aio.Pub, aio.Bus) for base in role.__mro__}:
        for name, call in list(vars(kind).items()):
            if hasattr(call, "__wrapped__"):
                monkeypatch.setattr(kind, name, call.__wrapped__)

    async def run() -> None:
        async with linked() as (push, pull):
            bodies = [b"%d" % i for i in range(3 * FAST_CALLS_MAX)]
            deliver(push, *bodies)
            receiving: Any = pull.recv()
            assert inspect.iscoroutine(receiving)
            got = [await receiving]
            async for message in pull:
                got.append(message)
                if len(got) == len(bodies):
                    break
            assert got == bodies
            waiting = asyncio.create_task(pull.recv())
            await turns()
            deliver(push, b"late")
            assert await waiting == b"late"
        async with aio.Pub(bind="tcp://127.0.0.1:0") as pub:
            async with aio.Sub(connect=pub.endpoint, topics="") as sub:
                await pub.wait_for_subscribers(timeout=WAIT_S)
                await pub.send(b"plain")
                await pub.send(b"body", topic="topic")
                assert [await sub.recv(timeout=WAIT_S) for _ in range(2)] == [b"plain", b"body"]

    asyncio.run(run())


TOPICS: list[tuple[Any, list[bytes]]] = [
    ("news", [b"news"]), (b"news", [b"news"]), ("ü", ["ü".encode()]), ("n\udcff", [b"n\xff"]),
    ("", []), (b"", []), (None, []),
]  # fmt: skip


def test_an_awaited_topic_is_a_frame_in_front() -> None:
    """Of whatever kind the topic and the body are; without a topic there is none."""

    async def run() -> None:
        async with aio.Pub(bind="inproc://topics", overflow="block") as pub:
            async with aio.Sub(connect=pub.endpoint, topics="") as sub:
                await pub.wait_for_subscribers(timeout=WAIT_S)
                for topic, frames in TOPICS:
                    for body in (b"body", bytearray(b"own"), b"z" * 100_000):
                        await pub.send(body, topic=topic, timeout=WAIT_S)
                        assert await sub.recv_frames(timeout=WAIT_S) == [*frames, bytes(body)]
                for wrong in (5, ["t"]):
                    with pytest.raises(TypeError):
                        await pub.send(b"x", topic=wrong)  # type: ignore[arg-type]
                with pytest.raises(TypeError, match="a message is bytes"):
                    await pub.send("x", topic="t")  # type: ignore[arg-type]
                assert pub.stats().sent_messages == 3 * len(TOPICS)

    asyncio.run(run())


def test_an_awaited_topic_waits_for_room_and_can_be_given_up() -> None:
    """Who waits and is cancelled has sent nothing; the others send when there is room."""

    async def run() -> None:
        tight = {"send_queue_messages": 1, "recv_queue_messages": 1}
        async with aio.Pub(bind="inproc://tight", overflow="block", **tight) as pub:
            async with aio.Sub(connect=pub.endpoint, topics="t", **tight) as sub:
                await pub.wait_for_subscribers("t", timeout=WAIT_S)
                bodies = [b"%d" % i * 1_000_000 for i in range(8)]  # of which three find room
                tasks = [asyncio.create_task(pub.send(body, topic="t")) for body in bodies]
                await turns()
                waiting = [task for task in tasks if not task.done()]
                assert waiting
                waiting[-1].cancel()
                left = [bodies[i] for i in range(len(tasks)) if tasks[i] is not waiting[-1]]
                got = [await sub.recv_frames(timeout=WAIT_S) for _ in left]
                assert sorted(got) == [[b"t", body] for body in left]
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                assert sum(isinstance(end, asyncio.CancelledError) for end in ended) == 1
                assert pub.stats().sent_messages == len(left)

    asyncio.run(run())


@pytest.mark.parametrize("name", ["send", "recv", "send_many", "recv_many"])
def test_mocks_know_what_is_awaited(name: str) -> None:
    """A mock made to the form of a socket is awaited as the socket is."""
    assert isinstance(getattr(mock.create_autospec(aio.Pair), name), mock.AsyncMock)
