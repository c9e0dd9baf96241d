"""What a socket drops after `close()` is told as it happens: to the log and to its `on_event=`.

Not here: what a program is told when it ends (tests/fault/test_leaving.py), drops of open sockets
(test_drops_told.py). The peers are two: one that reads nothing, and a world without a kernel.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from tests.support.pairs import WAIT_S, told_all, wait_until
from tests.support.stalled import stalled

UP = "tcp://127.0.0.1:0"
BODY = bytes(500_000)
QUEUE = 40
FULL_S = 0.2
"""Seconds without room after which the kernel has taken all that it will."""
FULL = {"recv_queue_messages": 1, "recv_queue_bytes": 1}


@contextmanager
def unread() -> Iterator[mm.Pull]:
    """A Pull that takes one message and reads no more."""
    with mm.Pull(bind=UP, **FULL) as pull:  # type: ignore[arg-type]
        yield pull


def filled(pull: mm.Pull, **options: Any) -> tuple[mm.Push, int]:
    """A Push with more than its peer will read: it, and how much is queued."""
    push = mm.Push(connect=pull.endpoint, send_queue_messages=QUEUE, **options)
    push.wait_for_peers(timeout=WAIT_S)
    try:
        while True:
            push.send(BODY, timeout=FULL_S)
    except mm.TimedOutError:
        return push, push.stats().queued_out_messages


def dropped(heard: queue.Queue[mm.Event]) -> mm.Event:
    """The DROPPED that comes."""
    while True:
        event = heard.get(timeout=WAIT_S)
        if event.kind is mm.EventKind.DROPPED:
            return event


@pytest.mark.parametrize(("linger", "words"), [(0, "linger of 0 s"), (0.05, "linger of 0.05 s")])
def test_the_end_of_a_linger_is_told_with_its_socket_and_number(
    linger: float, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """At once, not when the program ends; what was told is not told again by Engine.close."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    with unread() as pull, mm.Engine() as engine:
        push, queued = filled(pull, linger=linger, on_event=heard.put, engine=engine)
        push.close()
        event = dropped(heard)
        assert 0 < event.count <= queued
        assert event.endpoint == pull.endpoint
        assert words in event.detail
        assert "not written (linger)" in event.detail
        assert f"{event.count * (len(BODY) + 64)} bytes" in event.detail
        said = f"Push {pull.endpoint} DROPPED: {event.count} messages dropped: {event.detail}"
        wait_until(lambda: said in caplog.messages)
        told = caplog.records[caplog.messages.index(said)]
        assert told.levelno == logging.WARNING
        assert vars(told)["event"] == event
        assert engine.close() == 0


def test_a_peer_that_goes_while_a_socket_lingers_is_told() -> None:
    """And the thread that tells stays until then, though no socket is open."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    engine = mm.Engine()
    with unread() as pull:
        push, _ = filled(pull, linger=WAIT_S, on_event=heard.put, engine=engine)
        push.close()
        assert len([t for t in threading.enumerate() if t.name == "meshmsg-events"]) == 2
    event = dropped(heard)
    assert "then its peer was gone" in event.detail
    told_all()
    assert engine.close() == 0


def test_a_socket_that_lingers_and_loses_nothing_ends_the_thread_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is rung for that, too."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    with unread() as pull:
        push, _ = filled(pull, linger=WAIT_S, on_event=heard.put)
        sent = push.stats().sent_messages  # some were written before the rest was queued
        push.close()
        for _ in range(sent):
            assert len(pull.recv(timeout=WAIT_S)) == len(BODY)
    told_all()
    assert "DROPPED" not in caplog.text


def test_a_function_of_an_asyncio_socket_is_called_on_its_loop_after_close() -> None:
    """As for every event of it."""

    async def run(endpoint: str) -> mm.Event:
        heard: asyncio.Queue[tuple[mm.Event, Any]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def on_event(event: mm.Event) -> None:
            heard.put_nowait((event, asyncio.get_running_loop()))

        push = meshmsg.aio.Push(
            connect=endpoint, linger=0.01, on_event=on_event, send_queue_messages=20
        )
        await push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.WouldBlockError):
            while True:
                await push.send(BODY, timeout=0)
        push.close()
        while True:
            event, where = await asyncio.wait_for(heard.get(), WAIT_S)
            if event.kind is mm.EventKind.DROPPED:
                assert where is loop
                return event

    with unread() as pull:
        assert asyncio.run(run(pull.endpoint)).count > 0


def test_what_the_end_of_an_engine_drops_is_told_of_each_socket(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By `Engine.close`, which gives the sum as well."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    with unread() as pull:
        engine = mm.Engine()
        sockets = [filled(pull, on_event=heard.put, engine=engine, linger=WAIT_S) for _ in range(3)]
        sockets[0][0].close()
        lost = engine.close(timeout=0)
        events = [dropped(heard) for _ in sockets]
        assert sum(event.count for event in events) == lost > 0
        assert all("with its engine, not written in time" in event.detail for event in events)
        wait_until(lambda: caplog.text.count("DROPPED") == 3)


def test_a_socket_that_was_dropped_unclosed_is_told_of_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By its role on the wire, or as before, if the thread that tells was faster than its end."""
    with unread() as pull:
        push, _ = filled(pull, linger=0)
        with pytest.warns(ResourceWarning):
            del push
        wait_until(lambda: f"PUSH {pull.endpoint} DROPPED: ".lower() in caplog.text.lower())


def test_in_a_simulated_world_close_tells_it_itself(caplog: pytest.LogCaptureFixture) -> None:
    """There is no thread for it."""
    with stalled("Push", linger=0) as pair:
        for _ in range(3):
            pair.send(bytes(10_000))
        pair.settle()
        pair.sender.close()
        assert "DROPPED: 3 messages dropped: socket closed, linger of 0 s over" in caplog.text
        assert pair.sender._engine.close() == 0


def test_in_a_simulated_world_the_end_of_a_linger_is_told_by_the_next_call_that_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of any socket of the same engine."""
    with stalled("Push", linger=1.0) as pair:
        pair.send(bytes(10_000))
        pair.send(bytes(10_000))
        pair.settle()
        with mm.Pull(engine=pair.sender._engine) as other:
            pair.sender.close()
            assert "DROPPED" not in caplog.text
            for _ in range(2):
                with pytest.raises(mm.TimedOutError):
                    other.recv(timeout=2)
        assert "DROPPED: 2 messages dropped: socket closed, linger of 1 s over" in caplog.text
