"""What send, recv and iterating give to be awaited: a coroutine, whatever is done with it."""

from __future__ import annotations

import asyncio
import gc
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any
from unittest import mock

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.aio import _waiting
from meshmsg.aio._waiting import FAST_CALLS_MAX
from tests.support.linked import RUNNERS, deliver, linked, turns
from tests.support.pairs import WAIT_S


class Mine(Exception):
    """What a test throws."""


async def ready(pull: aio.Pull, push: mm.Push, *bodies: bytes) -> None:
    """Have these messages at hand, so that none has to be waited for."""
    deliver(push, b"first", *bodies)
    assert await pull.recv(timeout=WAIT_S) == b"first"


def returned(coroutine: Any, step: Callable[[Any], Any] = lambda c: c.send(None)) -> Any:
    """What it returns in its first step."""
    with pytest.raises(StopIteration) as stop:
        step(coroutine)
    return stop.value.value


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


def test_it_says_what_it_is() -> None:
    """To isinstance, to asyncio, to mocks, and in the name of a task."""

    async def run() -> None:
        async with linked() as (_, pull):
            receiving = pull.recv()
            assert isinstance(receiving, Coroutine)
            assert asyncio.iscoroutine(receiving)
            assert (receiving.__name__, receiving.__qualname__) == ("Pull.recv", "Pull.recv")
            assert not receiving.cr_running
            assert (receiving.cr_frame, receiving.cr_await) == (None, None)
            task = asyncio.create_task(receiving)
            await turns()
            assert "Pull.recv" in repr(task)
            assert task.get_stack()
            assert receiving.cr_frame is not None
            assert receiving.cr_await is not None
            task.cancel()
            assert isinstance(aiter(pull), AsyncIterator)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    for name in ("send", "recv"):
        assert isinstance(getattr(mock.create_autospec(aio.Pair), name), mock.AsyncMock)


def test_nothing_is_done_before_it_is_awaited() -> None:
    """And one that never is, says so."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"kept")
            with pytest.warns(RuntimeWarning, match=r"coroutine 'Pull\.recv' was never awaited"):
                pull.recv()
            with pytest.warns(RuntimeWarning, match=r"'Pull\.__anext__' was never awaited"):
                anext(aiter(pull))
            assert await pull.recv() == b"kept"
            async with aio.Push(bind="tcp://127.0.0.1:0") as silent:
                with pytest.warns(RuntimeWarning, match=r"'Push\.send' was never awaited"):
                    silent.send(b"x")
                assert silent.stats().queued_out_messages == 0

    asyncio.run(run())


def test_a_warning_that_is_an_error_ends_nothing() -> None:
    """It is told as what cannot be raised is; an error that is under way stays."""

    async def run() -> None:
        async with aio.Pull(bind="tcp://127.0.0.1:0") as pull:
            with warnings.catch_warnings(), mock.patch("sys.unraisablehook") as told:
                warnings.simplefilter("error")
                with pytest.raises(KeyError):
                    _ = {}[pull.recv() is None]
                assert told.call_count == 1

    asyncio.run(run())


def test_it_is_awaited_once() -> None:
    """As a coroutine: a second time is an error, while it waits and once it is over."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"here")
            over = pull.recv()
            assert await over == b"here"
            with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
                await over
            with pytest.raises(RuntimeError, match="cannot reuse"):
                over.throw(Mine())
            over.close()

            async def await_it(coroutine: Any) -> Any:
                return await coroutine

            waits = pull.recv()
            first = asyncio.create_task(await_it(waits))
            await turns()
            with pytest.raises(RuntimeError, match="coroutine is being awaited already"):
                await waits
            deliver(push, b"came")
            assert await first == b"came"

    asyncio.run(run())


def test_it_can_be_driven_by_hand() -> None:
    """By send, by next and by `yield from`: what it returns is in the StopIteration."""

    def from_it(coroutine: Any) -> Generator[Any, None, Any]:
        got = yield from coroutine.__await__()
        return got

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"a", b"b", b"c")
            assert returned(pull.recv()) == b"a"
            assert returned(pull.recv(), next) == b"b"
            assert returned(from_it(pull.recv()), next) == b"c"
            async with aio.Bus(bind="tcp://127.0.0.1:0") as bus:
                assert returned(bus.send(b"x")) is None
                assert list(bus.send(b"x")) == []
                new = bus.send(b"x")
                with pytest.raises(TypeError, match="non-None value to a just-started"):
                    new.send(1)
                assert returned(new) is None

    asyncio.run(run())


def thrown(coroutine: Any, *what: Any) -> BaseException:
    """What comes out when this is thrown in."""
    with pytest.raises(Mine) as error:
        coroutine.throw(*what)
    return error.value


def test_what_is_thrown_in_before_it_began_comes_out_and_nothing_was_done() -> None:
    """An exception, its class, or class, value and traceback; and nothing else."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"kept")
            one = Mine("one")
            assert thrown(pull.recv(), one) is one
            assert thrown(pull.recv(), Mine).args == ()
            assert thrown(pull.recv(), Mine, "text").args == ("text",)
            assert thrown(pull.recv(), Mine, one, None) is one
            again = thrown(pull.recv(), Mine, Mine(), one.__traceback__)
            frames, traceback = [], again.__traceback__
            while traceback is not None:
                frames.append(traceback.tb_frame)
                traceback = traceback.tb_next
            assert one.__traceback__ is not None
            assert one.__traceback__.tb_frame in frames
            with pytest.raises(TypeError, match="expected an exception, or its class"):
                pull.recv().throw(1)  # type: ignore[call-overload]
            with pytest.raises(TypeError, match="throw"):
                pull.recv().throw()  # type: ignore[call-overload]
            assert await pull.recv() == b"kept"

    asyncio.run(run())


def test_closed_before_it_began_it_has_done_nothing_and_is_not_complained_of() -> None:
    """As with a coroutine."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"kept")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                new = pull.recv()
                new.close()
                new.close()
                del new
            assert await pull.recv() == b"kept"

    asyncio.run(run())


def test_closed_while_it_waits_it_lets_the_next_in_line_have_the_message() -> None:
    """What waits inside sees a GeneratorExit."""

    async def run() -> None:
        async with linked() as (push, pull):
            waits = pull.recv()
            assert waits.send(None) is not None
            waits.close()
            with pytest.raises(RuntimeError, match="cannot reuse"):
                waits.send(None)
            next_in_line = asyncio.create_task(pull.recv())
            await turns()
            deliver(push, b"x")
            assert await next_in_line == b"x"

    asyncio.run(run())


def test_who_goes_on_with_it_from_within_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it goes on."""
    refused = []

    async def run() -> None:
        async with aio.Bus(bind="tcp://127.0.0.1:0") as bus:
            at_work: Any = None

            def clock() -> float:
                for step in (
                    lambda: at_work.send(None),
                    at_work.close,
                    lambda: at_work.throw(Mine),
                ):
                    with pytest.raises(ValueError, match="already executing"):
                        step()
                with pytest.raises(RuntimeError, match="being awaited"):
                    at_work.__await__()
                refused.append(at_work.cr_running)
                return 0.0

            monkeypatch.setattr(_waiting, "_clock", clock)
            monkeypatch.setattr(_waiting, "TURN_S", 1.0)
            monkeypatch.setattr(_waiting._thread, "turned", 0.0)
            for _ in range(FAST_CALLS_MAX):  # one of them asks for the time
                at_work = bus.send(b"x")
                await at_work

    asyncio.run(run())
    assert refused == [True]


def test_a_circle_by_way_of_one_is_collected() -> None:
    """Of one that was never begun, and of one that waited."""

    class Held(aio.Bus):
        held: Any

    def abandoned(begin: bool) -> weakref.ref[Held]:
        async def run() -> weakref.ref[Held]:
            bus = Held(bind="tcp://127.0.0.1:0")
            bus.held = bus.recv()
            if begin:
                bus.held.send(None)
            bus.close()
            return weakref.ref(bus)

        return asyncio.run(run())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gone = [abandoned(False), abandoned(True)]
        gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_iterating_ends_with_the_socket_however_it_is_done() -> None:
    """The iterator of the loop, and the socket as its own."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"a", b"b")
            messages = aiter(pull)
            assert [await anext(messages), await pull.__anext__()] == [b"a", b"b"]
            waiting = asyncio.create_task(anext(messages))  # type: ignore[arg-type]
            await turns()
            pull.close()
            with pytest.raises(StopAsyncIteration):
                await waiting
            assert [message async for message in pull] == []

    asyncio.run(run())
