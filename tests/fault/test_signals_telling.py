"""Signals in the calls that begin and end the telling of events: nothing is left half made.

Law: a call is hit at each line in turn of the modules that tell, but not between the body of a
`with` and its end, where no signal's function runs; then all works as if it had not been.
"""

from __future__ import annotations

import asyncio
import linecache
import queue
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import FrameType
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from tests.support.mm import live_blocks
from tests.support.pairs import WAIT_S, told_all, wait_until
from tests.support.points import at_point, interrupt

UP = "tcp://127.0.0.1:0"
MODULES = (
    *(f"/meshmsg/_events/{name}.py" for name in ("event_thread", "outlet", "log_records")),
    "/meshmsg/_sync/watch.py",
)

OPENING = tuple(
    f"/meshmsg/{name}.py"
    for name in ("_socket/base", "_binding/core", "_sync/polling/poller", "_socket/engine")
)


def at_line(
    number: int, do: Callable[[], None], modules: tuple[str, ...] = MODULES
) -> AbstractContextManager[Callable[[], bool]]:
    """Do this once before that line of this thread's, counted in the modules; tells whether."""
    return at_point(number, do, lambda code: code.co_filename.endswith(modules), is_line)


def is_line(frame: FrameType, what: str) -> bool:
    """Each line, but those of `with`."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return what == "line" and not line.lstrip().startswith("with ")


def tells(engine: mm.Engine) -> None:
    """Events of a new socket are told."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    with mm.Pull(bind=UP, engine=engine, on_event=heard.put):
        assert heard.get(timeout=WAIT_S).kind is mm.EventKind.LISTENING


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_ctrl_c_at_any_line_of_opening_leaves_nothing_half_made() -> None:
    """The first socket of an engine, which starts its thread."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    number, was_hit = 0, True
    while was_hit:
        number += 1
        with mm.Engine() as engine:
            with at_line(number, interrupt) as hit, suppress(KeyboardInterrupt):
                mm.Push(engine=engine).close()
            was_hit = hit()
            assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
            tells(engine)
    assert number > 20
    told_all()


OPENERS: dict[str, Callable[[mm.Pull], Any]] = {
    "socket": lambda pull: mm.Push(engine=pull._engine),
    "poller": lambda pull: mm.Poller([pull]),
    "engine": lambda _: mm.Engine(),
}


@pytest.mark.parametrize("what", OPENERS)
def test_ctrl_c_at_any_line_of_opening_leaves_nothing_in_the_core(what: str) -> None:
    """What the core had opened, and nobody had noted, is given back."""
    number, was_hit = 0, True
    with mm.Engine() as engine, mm.Pull(engine=engine) as pull:
        OPENERS[what](pull).close()
        before = live_blocks()
        while was_hit:
            number += 1
            with suppress(KeyboardInterrupt):
                with at_line(number, interrupt, OPENING) as hit:
                    opened = OPENERS[what](pull)
                opened.close()
            was_hit = hit()
            wait_until(lambda: live_blocks() <= before)
    assert number > 5


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_ctrl_c_at_any_line_of_closing_closes_all_the_same() -> None:
    """And its thread ends with it, once it is dropped."""
    number, was_hit = 0, True
    with mm.Engine() as engine:
        while was_hit:
            number += 1
            push = mm.Push(bind=UP, engine=engine)
            with at_line(number, interrupt) as hit, suppress(KeyboardInterrupt):
                push.close()
            was_hit = hit()
            assert push.closed
            del push
            told_all()
        tells(engine)
    assert number > 5


def test_a_signals_function_may_close_a_socket_in_the_midst_of_closing_another() -> None:
    """No lock that it would need is held by the call it interrupts."""
    done = threading.Event()

    def work() -> None:
        number, was_hit = 0, True
        while was_hit:
            number += 1
            push, other = (
                mm.Push(bind=UP, engine=engine, on_event=lambda _: None) for _ in range(2)
            )
            with at_line(number, other.close, (*MODULES, "/threading.py")) as hit:
                push.close()
            was_hit = hit()
            other.close()
        done.set()

    engine = mm.Engine()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert done.wait(WAIT_S)
    engine.close()


def test_ctrl_c_in_a_step_of_watch_loses_no_event() -> None:
    """What was taken and not given out is given by the next step."""
    number, was_hit = 0, True
    while was_hit:
        number += 1
        given: list[int] = []
        with mm.Pull(bind=[UP] * 3) as pull:
            events = pull.watch()
            given.append(next(events).seq)
            with at_line(number, interrupt) as hit, suppress(KeyboardInterrupt):
                given.append(next(events).seq)
            was_hit = hit()
            while len(given) < 3:
                given.append(next(events).seq)
            assert given == [1, 2, 3]
    assert number > 5


def test_ctrl_c_in_a_step_of_an_asyncio_watch_loses_no_event() -> None:
    """What was taken and not given out is given by the next step."""
    modules = (*MODULES, "/meshmsg/aio/_watch.py")

    async def watch(number: int) -> bool:
        given: list[int] = []
        async with meshmsg.aio.Pull(bind=[UP] * 3) as pull:
            events = pull.watch()
            given.append((await anext(events)).seq)
            with at_line(number, interrupt, modules) as hit, suppress(KeyboardInterrupt):
                given.append((await anext(events)).seq)
            while len(given) < 3:
                given.append((await anext(events)).seq)
        assert given == [1, 2, 3]
        return hit()

    number = 1
    while asyncio.run(asyncio.wait_for(watch(number), WAIT_S)):
        number += 1
    assert number > 5


def test_ctrl_c_in_a_function_of_an_asyncio_socket_ends_the_loop_and_loses_no_event() -> None:
    """It is for the program; what comes after is told when the loop runs again."""
    heard: list[str] = []

    def on_event(event: mm.Event) -> None:
        heard.append(event.endpoint)
        if len(heard) == 1:
            raise KeyboardInterrupt

    async def begin() -> meshmsg.aio.Pull:
        return meshmsg.aio.Pull(on_event=on_event)

    async def tell(count: int) -> None:
        while len(heard) < count:
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    pull = loop.run_until_complete(begin())
    for _ in range(3):  # while the loop stands: the one it runs next is hit, and not the one before
        pull.bind(UP)
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(asyncio.wait_for(tell(99), WAIT_S))
    loop.run_until_complete(asyncio.wait_for(tell(3), WAIT_S))
    assert tuple(heard) == pull.endpoints
    pull.close()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def test_a_loop_that_stands_still_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is to call does not pile up there."""
    heard: list[mm.Event] = []

    async def begin() -> meshmsg.aio.Pull:
        return meshmsg.aio.Pull(on_event=heard.append)

    asked: list[object] = []
    loop = asyncio.new_event_loop()
    pull = loop.run_until_complete(begin())
    call = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *a: (asked.append(a), call(*a)))
    for i in range(5):
        pull.bind(UP)
        wait_until(lambda i=i: pull._outlet._log_seq == i + 2)
    wait_until(lambda: asked)
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    assert [event.endpoint for event in heard] == list(pull.endpoints)
    assert len(asked) == 1
    pull.close()
    loop.close()


def test_a_loop_that_stands_still_is_asked_once_to_tell_who_watches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And who watches has them all when it runs again."""
    given: list[mm.Event] = []

    async def begin() -> tuple[meshmsg.aio.Pull, asyncio.Task[None]]:
        pull = meshmsg.aio.Pull()
        task = asyncio.ensure_future(watch(pull))
        await asyncio.sleep(0)
        return pull, task

    async def watch(pull: meshmsg.aio.Pull) -> None:
        async for event in pull.watch():
            given.append(event)

    asked: list[object] = []
    loop = asyncio.new_event_loop()
    pull, task = loop.run_until_complete(begin())
    call = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *a: (asked.append(a), call(*a)))
    for i in range(5):
        pull.bind(UP)
        wait_until(lambda i=i: pull._outlet._log_seq == i + 2)
    wait_until(lambda: asked)
    pull.close()
    loop.run_until_complete(asyncio.wait_for(task, WAIT_S))
    assert len(given) == 5
    assert len(asked) < 5  # not more often than it looked
    loop.close()


def test_what_happened_before_the_engine_is_closed_is_told_after_it() -> None:
    """As by the close() of a socket: neither the function nor who watches misses it."""
    for _ in range(20):
        heard: queue.Queue[mm.Event] = queue.Queue()
        with mm.Engine() as engine:
            pull = mm.Pull(bind=UP, engine=engine, on_event=heard.put)
            events = pull.watch()
        assert heard.get(timeout=WAIT_S).kind is mm.EventKind.LISTENING
        assert [event.kind for event in events] == [mm.EventKind.LISTENING]
        pull.close()
