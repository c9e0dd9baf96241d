"""The threads that tell of events and records when there is no memory, where it hurts.

Law: such a thread goes on, or has never begun and left nothing open; the caller is told which.
"""

from __future__ import annotations

import queue
import sys
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._events import event_thread, log_records
from meshmsg._socket import door
from tests.support.pairs import WAIT_S, of_its_own

GONE = of_its_own().replace(":0", ":9")


def fails(*_: object, **__: object) -> None:
    """Stand for a call there is no memory for."""
    raise MemoryError


class Full(dict[int, Any]):
    """A table there is no memory for."""

    def __setitem__(self, key: int, value: Any) -> None:
        raise MemoryError


@pytest.mark.parametrize("telling", ["of it", "nothing"])
def test_events_are_told_after_there_was_no_memory_for_it(
    telling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if there was none to tell of the error."""
    heard: queue.Queue[mm.Event] = queue.Queue()
    tell_new = event_thread._Teller._tell_new
    failed: queue.Queue[None] = queue.Queue()

    def fails_twice(self: event_thread._Teller) -> int:
        if failed.qsize() < 2:
            failed.put(None)
            raise MemoryError
        return tell_new(self)

    errors: queue.Queue[Any] = queue.Queue()
    monkeypatch.setattr(sys, "unraisablehook", errors.put)
    if telling == "nothing":
        monkeypatch.setattr(event_thread, "tell_of_error", fails)
    monkeypatch.setattr(event_thread._Teller, "_tell_new", fails_twice)
    with mm.Push(connect=GONE, on_event=heard.put):
        assert heard.get(timeout=WAIT_S).kind is mm.EventKind.CONNECT_FAILED
    assert failed.qsize() == 2
    assert errors.qsize() == (2 if telling == "of it" else 0)


def test_a_record_for_which_there_was_no_memory_does_not_end_the_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The next one is given."""
    kept = log_records.Records()
    give = log_records.give
    given: list[object] = []

    def fails_once(record: Any) -> None:
        given.append(record)
        if len(given) == 1:
            raise MemoryError
        give(record)

    monkeypatch.setattr(log_records, "tell_of_error", fails)
    monkeypatch.setattr(log_records, "give", fails_once)
    for words in ("first", "second"):
        kept.put(log_records.record_of(30, words))
    kept.wait(WAIT_S)
    assert len(given) == 2
    assert [record.getMessage() for record in caplog.records] == ["second"]


def test_a_thread_that_cannot_begin_has_left_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is not opened; the next one is."""
    with monkeypatch.context() as context:
        context.setattr(event_thread, "_tellers", Full())
        with pytest.raises(MemoryError):
            mm.Push(connect=GONE, on_event=print)
    heard: queue.Queue[mm.Event] = queue.Queue()
    with mm.Push(connect=GONE, on_event=heard.put):
        assert heard.get(timeout=WAIT_S).kind is mm.EventKind.CONNECT_FAILED


@pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
@pytest.mark.parametrize("call", ["dup", "register"])
def test_who_cannot_be_asked_has_left_nothing_open(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of the thread of allow=."""

    class Poll:
        register = fails

    server, client = mm.keygen(), mm.keygen()
    policy = mm.Curve(key=server, allow=lambda _: mm.Allow())
    other = mm.Curve(key=client, server=server.public)
    with monkeypatch.context() as context:
        if call == "dup":
            context.setattr(door.os, "dup", fails)
        else:
            context.setattr(door.select, "poll", Poll)
        with pytest.raises(MemoryError):
            mm.Pull(bind="tcp://127.0.0.1:0", security=policy)
    with (
        mm.Pull(bind="tcp://127.0.0.1:0", security=policy) as pull,
        mm.Push(connect=pull.endpoint, security=other) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)
