"""What send, recv and iterating give to be awaited, natively made: a coroutine in all it does."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
import traceback
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any
from unittest import mock

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import lib, native
from meshmsg.aio import _receiving, _turns
from meshmsg.aio._turns import FAST_CALLS_MAX
from tests.support.linked import deliver, linked, ready, turns
from tests.support.pairs import WAIT_S


@pytest.fixture(autouse=True)
def natively(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are before Python 3.12, from when on these two are coroutines of Python."""
    method = native.recv_method(getattr(_receiving.recv, "__wrapped__", _receiving.recv))
    monkeypatch.setattr(_receiving, "RETURNS_AT_ONCE", True)
    for role in (getattr(aio, name) for name in aio.__all__):
        if hasattr(role, "recv"):
            monkeypatch.setattr(role, "recv", method)


class Mine(Exception):
    """What a test throws."""


def returned(coroutine: Any, step: Callable[[Any], Any] = lambda c: c.send(None)) -> Any:
    """What it returns in its first step."""
    with pytest.raises(StopIteration) as stop:
        step(coroutine)
    return stop.value.value


def test_it_says_what_it_is() -> None:
    """To isinstance, to asyncio, and in the name of a task."""

    async def run() -> None:
        async with linked() as (_, pull):
            receiving = pull.recv()
            assert isinstance(receiving, Coroutine)
            assert asyncio.iscoroutine(receiving)
            assert (receiving.__name__, receiving.__qualname__) == ("recv", "Pull.recv")
            assert not receiving.cr_running
            assert not receiving.cr_suspended
            assert not any(hasattr(receiving, f"cr_{of}") for of in ("frame", "await", "code"))
            task = asyncio.create_task(receiving)
            await turns()
            assert "_receiving.py" in repr(task)
            assert task.get_stack()
            assert inspect.getcoroutinestate(receiving) == inspect.CORO_SUSPENDED
            assert receiving.cr_await is not None
            task.cancel()
            assert isinstance(aiter(pull), AsyncIterator)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


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

    def fails(pull: aio.Pull) -> None:
        never = pull.recv()
        assert never is not None
        raise Mine

    async def run() -> None:
        async with aio.Pull(bind="tcp://127.0.0.1:0") as pull:
            with warnings.catch_warnings(), mock.patch("sys.unraisablehook") as told:
                warnings.simplefilter("error")
                with pytest.raises(Mine) as error:
                    fails(pull)
                traceback.clear_frames(error.tb)
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


def test_it_can_be_driven_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """By send, by next and by `yield from`: what it returns is in the StopIteration."""
    monkeypatch.setattr(_turns, "_clock", lambda: 0.0)  # none of these has to let others run

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
                assert list(bus.send(b"x").__await__()) == []
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
            assert one.__traceback__ is not None
            frames = [frame for frame, _ in traceback.walk_tb(again.__traceback__)]
            assert one.__traceback__.tb_frame in frames
            with pytest.raises(TypeError, match="must be classes or instances deriving from"):
                pull.recv().throw(1)  # type: ignore[call-overload]
            with pytest.raises(TypeError, match="throw expected at least 1"):
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

            monkeypatch.setattr(_turns, "_clock", clock)
            monkeypatch.setattr(_turns, "TURN_S", 1.0)
            monkeypatch.setattr(_turns._thread, "turned", 0.0)
            for _ in range(FAST_CALLS_MAX):  # one of them asks for the time
                at_work = bus.send(b"x")
                await at_work

    asyncio.run(run())
    assert refused == [True]


def test_a_circle_by_way_of_one_is_collected() -> None:
    """Of one that was never begun, of one that waited, and of an iterator."""

    class Held(aio.Bus):
        held: Any

    def abandoned(held: Callable[[Held], Any], begin: bool) -> weakref.ref[Held]:
        async def run() -> weakref.ref[Held]:
            bus = Held(bind="tcp://127.0.0.1:0")
            bus.held = held(bus)
            if begin:
                bus.held.send(None)
            bus.close()
            return weakref.ref(bus)

        return asyncio.run(run())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gone = [
            abandoned(lambda bus: bus.recv(), begin=False),
            abandoned(lambda bus: bus.recv(), begin=True),
            abandoned(aiter, begin=False),
        ]
        gc.collect()
    assert [ref() for ref in gone] == [None, None, None]


def test_a_forgotten_await_takes_nothing() -> None:
    """What is not awaited is not iterated over; what is awaited by hand may be gone on with."""

    class ByHand:
        def __init__(self, coroutine: Any) -> None:
            self.coroutine = coroutine

        def __await__(self) -> Generator[Any, Any, Any]:
            steps = self.coroutine.__await__()
            yield next(steps)
            got = yield from steps
            return got

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"a")
            for take in (bytes, list, b"".join, iter):
                forgotten: Any = pull.recv()
                with pytest.raises(TypeError, match="not iterable|cannot convert|can only join"):
                    take(forgotten)
                forgotten.close()
            assert await pull.recv() == b"a"

            async def by_hand() -> Any:
                return await ByHand(pull.recv())

            waiting = asyncio.create_task(by_hand())
            await turns()
            deliver(push, b"b")
            assert await waiting == b"b"

    asyncio.run(run())


def test_none_is_made_but_by_a_socket() -> None:
    """The types of what sockets give out cannot be called."""

    async def run() -> None:
        async with aio.Pull(bind="tcp://127.0.0.1:0") as pull:
            coroutine = pull.recv()
            for made in (coroutine, aiter(pull), pull._ready):
                with pytest.raises(TypeError, match="cannot create"):
                    type(made)()
            coroutine.close()

    asyncio.run(run())


def test_what_is_thrown_in_may_be_caught_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it goes on waiting."""

    async def patient(*_: object) -> list[bytes]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            await future
        except Mine:
            await asyncio.sleep(0)
        return [b"patient"]

    monkeypatch.setattr(_receiving, "_receive", patient)

    async def run() -> None:
        async with aio.Pull(bind="tcp://127.0.0.1:0") as pull:
            waits: Any = pull.recv()
            waits.send(None)
            assert waits.throw(Mine()) is None
            assert waits.cr_suspended
            assert returned(waits) == b"patient"

    asyncio.run(run())


def test_what_a_receive_does_not_take_is_the_functions_type_error() -> None:
    """And nothing is received; through the class it is the same method."""

    async def run() -> None:
        async with linked() as (push, pull):
            await ready(pull, push, b"kept", b"too")
            wrong: list[Callable[[], Any]] = [
                lambda: pull.recv(1),  # type: ignore[misc]
                lambda: pull.recv(later=1),  # type: ignore[call-arg]
                lambda: pull.recv(timeout=1, later=1),  # type: ignore[call-arg]
                lambda: aio.Pull.recv(),  # type: ignore[call-arg]
            ]
            for call in wrong:
                with pytest.raises(TypeError, match=r"recv\(\) "):
                    call()
            kept = pull.recv
            assert await kept(timeout=1) == b"kept"
            assert await aio.Pull.recv(pull) == b"too"
            for late in (-1, "soon"):
                with pytest.raises((TypeError, ValueError), match="timeout is"):
                    await pull.recv(timeout=late)  # type: ignore[arg-type]

    asyncio.run(run())


def test_a_receive_of_what_is_no_open_socket_is_the_functions() -> None:
    """Which says what it lacks; and a method is made of a function only."""
    method = native.recv_method(_receiving.recv)
    assert method.__doc__ == _receiving.recv.__doc__

    class Other:
        recv = method

    async def run() -> None:
        with pytest.raises(AttributeError, match="_ready"):
            await Other().recv()
        never = aio.Pull.__new__(aio.Pull)
        with pytest.raises(AttributeError, match="_ready"):
            await never.recv()

    asyncio.run(run())
    with pytest.raises(TypeError):
        native.recv_method(None)


def test_a_socket_in_a_circle_with_what_it_received_is_collected() -> None:
    """A request that is ready belongs to its socket."""
    rep, req = mm.Rep(bind="inproc://circle"), mm.Dealer(connect="inproc://circle")
    for _ in range(3):
        req.send_frames([b"", b"request"])
    req.drain(timeout=WAIT_S)
    next(iter(rep))
    assert len(rep._ready) == 2
    gone = weakref.ref(rep)
    rep._ready.put_back([rep])
    handle = rep._handle
    rep._handle = 0  # not closed here: closing drops what is ready
    del rep
    gc.collect()
    assert gone() is None
    lib.mm_socket_close(handle)
    req.close()


def test_a_class_is_let_go_of_with_its_sockets() -> None:
    """Each socket refers to its class once."""

    def opened(times: int) -> int:
        for _ in range(times):
            mm.Rep(bind="inproc://counted").close()
        gc.collect()
        return sys.getrefcount(mm.Rep)

    assert opened(1) == opened(20)
