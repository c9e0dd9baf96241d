"""Events are told as they happen: to logging, to on_event= and to watch(), whoever waits or not.

Not here: what the log makes of them (test_eventlog).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import queue
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._events import event_thread
from meshmsg.testing import SimWorld
from tests.support.forked import in_child
from tests.support.pairs import WAIT_S, of_its_own, wait_until

UP = "tcp://127.0.0.1:0"
GONE = of_its_own().replace(":0", ":9")


def threads() -> list[threading.Thread]:
    """The threads that tell of events."""
    return [thread for thread in threading.enumerate() if thread.name == "meshmsg-events"]


def test_a_socket_that_never_waits_is_heard_of_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A Pub that sends and sends: nobody looks, and its subscriber is not there."""
    with caplog.at_level(logging.WARNING, logger="meshmsg"), mm.Pub(connect=GONE) as pub:
        wait_until(lambda: "CONNECT_FAILED" in caplog.text)
        told = caplog.records[0]
        assert told.getMessage().startswith(f"Pub {GONE} CONNECT_FAILED: connection refused")
        event = pub.events()[0]
        assert told.created == event.time
        assert vars(told)["event"] == event


def test_an_asyncio_socket_is_heard_of_in_the_log_while_its_loop_does_other_things(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It waits for nothing, and its loop runs."""

    async def run() -> None:
        async with meshmsg.aio.Pub(connect=GONE):
            while "Pub" not in caplog.text:
                await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING, logger="meshmsg"):
        asyncio.run(run())


def test_a_lost_peer_that_comes_back_is_told_at_info(caplog: pytest.LogCaptureFixture) -> None:
    """What failed before, and for how long."""
    with mm.Pull(bind=of_its_own()) as pull:
        url = pull.endpoint
    with caplog.at_level(logging.INFO, logger="meshmsg"), mm.Push(connect=url, reconnect_max=0.05):
        wait_until(lambda: "CONNECT_FAILED" in caplog.text)
        with mm.Pull(bind=url):
            wait_until(lambda: "PEER_UP" in caplog.text)
            told = next(r for r in caplog.records if "PEER_UP" in r.getMessage())
            assert told.levelno == logging.INFO
            assert " that failed, in " in told.getMessage()


def test_events_reach_a_function_on_a_thread_of_its_own() -> None:
    """In order, each once, and events() gives each once as well."""
    heard: queue.Queue[tuple[mm.Event, str]] = queue.Queue()

    def on_event(event: mm.Event) -> None:
        heard.put((event, threading.current_thread().name))

    with mm.Pull(bind=UP, on_event=on_event) as pull:
        with mm.Push(connect=pull.endpoint):
            pull.wait_for_peers(timeout=WAIT_S)
        wait_until(lambda: not pull.peers())
        told = [heard.get(timeout=WAIT_S) for _ in range(3)]
        assert [event for event, _ in told] == pull.events()
        kinds = [mm.EventKind.LISTENING, mm.EventKind.PEER_UP, mm.EventKind.PEER_DOWN]
        assert [event.kind for event, _ in told] == kinds
        assert {name for _, name in told} == {"meshmsg-events"}
        assert pull.events() == []


def test_events_reach_a_function_on_the_loop() -> None:
    """Of an asyncio socket: it may use what is the loop's."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[tuple[mm.Event, Any]] = asyncio.Queue()

        def on_event(event: mm.Event) -> None:
            heard.put_nowait((event, asyncio.get_running_loop()))

        async with meshmsg.aio.Pull(bind=UP, on_event=on_event) as pull:
            async with meshmsg.aio.Push(connect=pull.endpoint):
                for kind in (mm.EventKind.LISTENING, mm.EventKind.PEER_UP):
                    event, where = await asyncio.wait_for(heard.get(), WAIT_S)
                    assert (event.kind, where) == (kind, loop)

    asyncio.run(run())


def test_a_function_that_raises_is_logged_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither the next event nor another socket's function."""
    heard: queue.Queue[mm.Event] = queue.Queue()

    def bad(event: mm.Event) -> None:
        raise RuntimeError(f"no {event.kind.name}")

    with mm.Pull(bind=UP, on_event=bad) as pull, mm.Push(on_event=heard.put) as push:
        push.connect(pull.endpoint)
        assert heard.get(timeout=WAIT_S).kind is mm.EventKind.PEER_UP
        wait_until(lambda: "RuntimeError: no PEER_UP" in caplog.text)
        assert "on_event= of a Pull raised an error" in caplog.text
        assert "RuntimeError: no LISTENING" in caplog.text


def test_a_function_of_an_asyncio_socket_that_raises_is_logged_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By the same record."""

    def bad(event: mm.Event) -> None:
        raise RuntimeError(event.kind.name)

    async def run() -> None:
        async with meshmsg.aio.Pull(bind=UP, on_event=bad):
            while "RuntimeError: LISTENING" not in caplog.text:
                await asyncio.sleep(0)

    asyncio.run(run())
    assert "on_event= of a Pull raised an error" in caplog.text


def test_a_function_may_close_its_socket_and_its_engine() -> None:
    """It is called without a lock that the end would wait for."""
    done = threading.Event()
    with mm.Engine() as engine:
        push = mm.Push(connect=GONE, engine=engine, on_event=lambda _: (push.close(), done.set()))
        assert done.wait(WAIT_S)
    done.clear()
    engine = mm.Engine()
    pull = mm.Pull(bind=UP, engine=engine, on_event=lambda _: (engine.close(), done.set()))
    assert done.wait(WAIT_S)
    assert pull.closed


def test_what_happened_before_the_end_is_told_after_it() -> None:
    """A socket that is closed at once has bound all the same."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    for _ in range(20):
        mm.Pull(bind=UP, on_event=heard.put).close()
        assert heard.get(timeout=WAIT_S).kind is mm.EventKind.LISTENING
    assert heard.empty()


@pytest.mark.parametrize(
    ("given", "error"),
    [(3, "it is a function of one Event"), (asyncio.sleep, "watch()")],
)
def test_what_cannot_be_called_with_an_event_is_refused(given: Any, error: str) -> None:
    """A number, or a coroutine function."""
    with pytest.raises(mm.UsageError, match=error.replace("(", r"\(").replace(")", r"\)")):
        mm.Push(on_event=given)


def test_an_asyncio_socket_without_a_loop_cannot_call_a_function() -> None:
    """Nobody knows on which loop."""
    with pytest.raises(mm.UsageError, match="open the socket in a coroutine"):
        meshmsg.aio.Push(on_event=print)


def test_a_simulated_socket_has_no_thread_for_it() -> None:
    """Its events are read with events()."""
    with SimWorld(seed=1) as world:
        engine = world.engine()
        with pytest.raises(mm.UsageError, match=r"use events\(\)"):
            mm.Push(engine=engine, on_event=print)
        push = meshmsg.aio.Push(engine=engine)
        with pytest.raises(mm.UsageError, match=r"use events\(\)"):
            push.watch()
        push.close()
        assert threads() == []


def test_watching_gives_every_event_until_the_end() -> None:
    """From the first one, each iterator by itself; it ends with the socket."""

    async def run() -> None:
        async with meshmsg.aio.Pull(bind=UP) as pull:

            async def watch() -> list[mm.EventKind]:
                return [event.kind async for event in pull.watch()]

            tasks = [asyncio.ensure_future(watch()) for _ in range(3)]
            async with meshmsg.aio.Push(connect=pull.endpoint):
                await pull.wait_for_peers(timeout=WAIT_S)
            while pull.peers():
                await asyncio.sleep(0)
            late = asyncio.ensure_future(watch())
            await asyncio.sleep(0)
            assert [event.kind for event in pull.events()] == list(mm.EventKind)[:3]
        for found in await asyncio.wait_for(asyncio.gather(*tasks, late), WAIT_S):
            assert found == list(mm.EventKind)[:3]

    asyncio.run(run())


def test_a_thread_watches_until_the_end() -> None:
    """Each iterator by itself, from the first event on; close() wakes who waits."""
    pull = mm.Pull(bind=UP)
    found: list[list[mm.EventKind]] = []

    def watch(events: Iterator[mm.Event]) -> None:
        found.append([event.kind for event in events])

    watchers = [threading.Thread(target=watch, args=(pull.watch(),)) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    with mm.Push(connect=pull.endpoint):
        pull.wait_for_peers(timeout=WAIT_S)
    wait_until(lambda: not pull.peers())
    late = pull.watch()
    assert [next(late).kind for _ in range(3)] == list(mm.EventKind)[:3]
    pull.close()
    assert list(late) == []
    for watcher in watchers:
        watcher.join(WAIT_S)
    assert found == [list(mm.EventKind)[:3]] * 3


@pytest.mark.parametrize("end", ["close", "engine"])
def test_who_watches_is_told_of_the_end(end: str) -> None:
    """By close() from another thread, or with its engine."""

    async def run() -> None:
        engine = mm.Engine()
        pull = meshmsg.aio.Pull(bind=UP, engine=engine)
        events = pull.watch()
        assert (await anext(events)).kind is mm.EventKind.LISTENING
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        closing = pull.close if end == "close" else engine.close
        await asyncio.to_thread(closing)
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(waiting, WAIT_S)
        pull.close()
        engine.close()

    asyncio.run(run())


def test_a_cancelled_watch_has_taken_nothing() -> None:
    """The next step gives what it would have given."""

    async def run() -> None:
        async with meshmsg.aio.Pull(bind=UP) as pull:
            events = pull.watch()
            await anext(events)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(events), 0.001)
            pull.bind(UP)
            assert (await asyncio.wait_for(anext(events), WAIT_S)).endpoint == pull.endpoint

    asyncio.run(run())


def test_the_thread_is_there_while_there_are_sockets() -> None:
    """Begun by the first one, ended with the last one, and begun again."""
    for _ in range(3):
        push, pull = mm.Push(), mm.Pull()
        assert len(threads()) == 1
        push.close()
        assert len(threads()) == 1
        pull.close()
        wait_until(lambda: threads() == [])


def test_each_engine_has_one_and_its_end_waits_for_it() -> None:
    """A function of one engine that takes long is in no other's way."""
    with mm.Pull():
        with mm.Engine() as engine:
            push = mm.Push(engine=engine)
            assert len(threads()) == 2
        assert len(threads()) == 1
        assert push.closed


def test_a_handler_of_the_log_may_use_the_socket_it_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that publishes records, say: no thread holds a lock that another one's handler needs."""
    inside, go = threading.Event(), threading.Event()
    freed: list[bool] = []
    push = mm.Push(connect=GONE)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            """Hold up the first record."""
            if record.name == "meshmsg" and not inside.is_set():
                inside.set()
                freed.append(go.wait(WAIT_S))  # the thread that tells is in here

    handler = Handler()
    monkeypatch.setattr(handler, "handle", handler.emit)  # each thread comes in at once
    logging.getLogger("meshmsg").addHandler(handler)
    try:
        assert inside.wait(WAIT_S)
        with pytest.raises(mm.TimedOutError):
            push.send(b"x", timeout=0.01)  # looks for what is to be logged, too
        push.close()
        assert freed == []
    finally:
        go.set()
        logging.getLogger("meshmsg").removeHandler(handler)


def test_a_socket_that_is_dropped_is_not_kept_and_ends_the_thread() -> None:
    """Also where its function refers to it."""
    engine = mm.Engine()

    class Watched:
        def __init__(self) -> None:
            self.push = mm.Push(engine=engine, on_event=self.hear)

        def hear(self, event: mm.Event) -> None:
            """Refers to the socket."""

    gone = weakref.ref(Watched().push)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    assert gone() is None
    wait_until(lambda: threads() == [])
    engine.close()


def test_threads_that_open_and_close_sockets_leave_no_thread_and_lose_no_event() -> None:
    """The thread ends, and begins, in the midst of it."""
    heard: list[mm.Event] = []

    def work() -> None:
        for _ in range(100):
            mm.Pull(bind=UP, on_event=heard.append).close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(WAIT_S)
    wait_until(lambda: threads() == [])
    assert [event.kind for event in heard] == [mm.EventKind.LISTENING] * 400


def test_signals_are_not_for_this_thread() -> None:
    """A program that blocks a signal to wait for it would else be killed by it here."""
    with mm.Push():
        status = f"/proc/self/task/{threads()[0].native_id}/status"
        with open(status, encoding="ascii") as lines:
            blocked = next(line for line in lines if line.startswith("SigBlk"))
        assert int(blocked.split()[1], 16) & 1 << 14  # SIGTERM


def test_without_a_descriptor_for_it_calls_that_wait_log_and_a_function_is_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said, and nothing else is missing."""

    def full(fd: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(event_thread.os, "dup", full)
    with mm.Pull(connect=GONE) as pull:
        assert "logged by calls that wait only" in caplog.text
        wait_until(pull.events)
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=0.01)
        assert f"Pull {GONE} CONNECT_FAILED" in caplog.text
    with pytest.raises(mm.ResourceError, match="telling of events"):
        mm.Pull(bind=UP, on_event=print)


def test_a_forked_child_tells_of_its_own_sockets_only() -> None:
    """The parent's thread is not there, and its descriptor is closed."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    with mm.Pull(bind=UP, on_event=heard.put) as pull:
        heard.get(timeout=WAIT_S)

        def work() -> bool:
            pull.close()
            own: queue.Queue[mm.Event] = queue.Queue()
            with mm.Pull(bind=UP, on_event=own.put):
                return own.get(timeout=WAIT_S).kind is mm.EventKind.LISTENING and heard.empty()

        for _ in range(5):
            assert in_child(work)
        pull.bind(UP)
        assert heard.get(timeout=WAIT_S).endpoint == pull.endpoint
