"""Signals in the midst of receiving: their functions may receive as well, and may raise."""

from __future__ import annotations

import contextlib
import select
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import EINTR, native
from meshmsg._binding.message import FullMessage, message_class
from meshmsg._sync import receiving
from tests.support.pairs import WAIT_S, joined
from tests.support.signals import handled

COUNT = 3000
SIZES = {"small": 10, "large": 100_000, "huge": 400_000}
BODIES = {"small": COUNT, "large": COUNT // 10, "huge": COUNT // 50}


def by_one(pull: Any, count: int) -> list[bytes]:
    """Receive one after the other."""
    return [pull.recv(timeout=WAIT_S) for _ in range(count)]


def by_many(pull: Any, count: int) -> list[bytes]:
    """Receive several at once."""
    found: list[bytes] = []
    while len(found) < count:
        found += pull.recv_many(timeout=WAIT_S)
    return found


def by_batch(pull: Any, count: int) -> list[bytes]:
    """Receive batches."""
    found: list[bytes] = []
    while len(found) < count:
        found += pull.recv_batch(timeout=WAIT_S).to_list()
    return found


def by_iteration(pull: Any, count: int) -> list[bytes]:
    """Iterate, in several goes."""
    return [next(iter(pull)) for _ in range(count)]


WAYS = [by_one, by_many, by_batch, by_iteration]


def numbered(mark: bytes, number: int, size: int) -> bytes:
    """A body of that size."""
    return (b"%c%d." % (mark, number)).ljust(size, b".")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", WAYS)
def test_a_signals_function_may_receive_while_its_thread_does(
    way: Callable[[Any, int], list[bytes]], size: str
) -> None:
    """From another socket: neither gets what is the other's, and nothing comes twice."""
    count, length = BODIES[size], SIZES[size]
    others: list[bytes] = []
    with joined(mm.Push, mm.Pull) as (push, pull), joined(mm.Push, mm.Pull) as (push2, pull2):

        def function() -> None:
            with contextlib.suppress(mm.WouldBlockError):
                others.append(pull2.recv(timeout=0))

        with handled(function) as raise_signal:

            def feed() -> None:
                for i in range(count):
                    push2.send(numbered(b"B", i, length), timeout=WAIT_S)
                    push.send(numbered(b"A", i, length), timeout=WAIT_S)
                    raise_signal()

            feeding = threading.Thread(target=feed)
            feeding.start()
            found = way(pull, count)
            feeding.join()
        while len(others) < count:
            others.append(pull2.recv(timeout=WAIT_S))
    assert found == [numbered(b"A", i, length) for i in range(count)]
    assert sorted(others) == sorted(numbered(b"B", i, length) for i in range(count))  # it nests


class Stop(Exception):
    """What the signal's function raises."""


def stop() -> None:
    """Be a signal's function that raises."""
    raise Stop


@pytest.mark.parametrize("topics", [False, True], ids=["plain", "topics"])
def test_what_was_being_made_into_messages_is_there_after_a_signal_raised(topics: bool) -> None:
    """However the next call receives: all of it, in order."""
    with joined(mm.Pub, mm.Sub) as (pub, sub), handled(stop) as raise_signal:
        asked = 0

        def interrupted(peer: int) -> type[mm.Message]:
            nonlocal asked
            asked += 1
            if asked == 1:
                raise_signal()
            return message_class(peer)

        sub._ready = native.ready(native.form(interrupted, FullMessage, "topic"))
        sub._opened()
        sub.subscribe("")
        pub.wait_for_subscribers("t", timeout=WAIT_S)
        for i in range(COUNT // 10):  # the class is asked for once there is a message of one frame
            pub.send_frames([b"t", b"%d" % i] if topics and i % 100 < 50 else [b"%d" % i])
        pub.drain(timeout=WAIT_S).raise_for_loss()
        found: list[int] = []
        with contextlib.suppress(Stop):
            while not asked:
                found += [int(message) for message in sub.recv_many(timeout=WAIT_S)]
        while len(found) < COUNT // 10:
            found += [int(message) for message in sub.recv_many(timeout=WAIT_S)]
        assert found == list(range(COUNT // 10))
        assert asked > 1


@pytest.mark.parametrize("way", WAYS)
def test_a_receive_that_a_signal_ends_has_taken_nothing(
    way: Callable[[Any, int], list[bytes]],
) -> None:
    """The function is due when the message comes; whoever receives next gets the message."""
    with joined(mm.Push, mm.Pull) as (push, pull), handled(stop):
        pull.wait_for_peers(timeout=WAIT_S)

        def stop_and_send() -> None:
            begun.wait(WAIT_S)
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # wakes nobody
            push.send(b"1")

        for _ in range(50):
            begun = threading.Event()
            sending = threading.Thread(target=stop_and_send)
            sending.start()
            with pytest.raises(Stop):
                begun.set()
                way(pull, 1)
            sending.join()
            assert way(pull, 1) == [b"1"]


@pytest.mark.parametrize("looped", [False, True])
def test_an_answer_that_a_signal_cut_off_is_there_for_the_next_look(looped: bool) -> None:
    """The function is due when the answer comes; nobody is missing for it."""
    with joined(mm.Surveyor, mm.Respondent) as (surveyor, respondent), handled(stop):
        surveyor.wait_for_peers(timeout=WAIT_S)

        def stop_and_answer() -> None:
            question = respondent.recv(timeout=WAIT_S)
            begun.wait(WAIT_S)
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # wakes nobody
            question.reply(question)

        for _ in range(50):
            begun = threading.Event()
            answering = threading.Thread(target=stop_and_answer)
            answering.start()
            survey = surveyor.survey(b"1", deadline=WAIT_S)
            with pytest.raises(Stop):
                begun.set()
                next(iter(survey) if looped else survey)
            answering.join()
            assert list(survey) == [b"1"]
            assert survey.missing == ()


def test_an_answer_is_kept_by_a_survey_that_is_over_meanwhile() -> None:
    """The signal's function takes what else there is, which ends it, and raises."""
    with joined(mm.Surveyor, mm.Respondent) as (surveyor, respondent):
        surveyor.wait_for_peers(timeout=WAIT_S)
        for _ in range(50):
            survey = surveyor.survey(b"1", deadline=WAIT_S)
            begun = threading.Event()
            found: list[bytes] = []

            def function(survey: mm.Survey = survey, found: list[bytes] = found) -> None:
                found += survey
                raise Stop

            def stop_and_answer(begun: threading.Event = begun) -> None:
                question = respondent.recv(timeout=WAIT_S)
                begun.wait(WAIT_S)
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # wakes nobody
                question.reply(question)

            answering = threading.Thread(target=stop_and_answer)
            answering.start()
            with handled(function), contextlib.suppress(Stop):
                begun.set()
                found.append(next(survey))
            answering.join()
            found += survey
            assert found == [b"1"]
            assert survey.missing == ()


def test_what_a_raising_signal_left_makes_the_descriptor_readable() -> None:
    """Somebody asked for it while an iteration waited."""
    with joined(mm.Push, mm.Pull) as (push, pull), handled(stop):
        stream = iter(pull)
        begun = threading.Event()
        asked: list[int] = []

        def stop_and_send() -> None:
            begun.wait(WAIT_S)
            asked.append(pull.fileno())
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # wakes nobody
            push.send(b"1")

        sending = threading.Thread(target=stop_and_send)
        sending.start()
        with pytest.raises(Stop):
            begun.set()
            next(stream)
        sending.join()
        assert select.select(asked, [], [], WAIT_S)[0]
        assert pull.recv(timeout=0) == b"1"


def test_what_a_signals_function_prefetched_comes_before_what_is_younger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It receives just before the call that it interrupts looks into the core."""
    count = 900
    with joined(mm.Push, mm.Pull) as (push, pull):
        iter(pull)  # from now on receives prefetch
        inner: list[int] = []
        real = receiving._take_ahead

        def interrupted(*told: Any) -> int:
            monkeypatch.undo()
            inner.append(int(pull.recv(timeout=0)))
            return int(real(*told))

        push.send_many([b"%d" % i for i in range(count)], timeout=WAIT_S)
        push.drain(timeout=WAIT_S).raise_for_loss()
        monkeypatch.setattr(receiving, "_take_ahead", interrupted)
        outer = [int(pull.recv(timeout=WAIT_S)) for _ in range(count - 1)]
        assert inner == [0]
        assert outer == list(range(1, count))


def test_a_list_that_is_sent_without_waiting_is_interrupted_between_its_runs() -> None:
    """Signals are looked at every so often, room or not."""
    count = 600_000
    roomy = {"send_queue_messages": 2 * count, "send_queue_bytes": 2**30}
    with joined(mm.Push, mm.Pull, **roomy) as (push, _):
        counts = [0, 5]
        assert native.send_list(push._handle, [b"x"] * count, counts, -1, 1, b"", 0) == EINTR
        assert 0 < counts[0] < count
        assert counts[1] == counts[0] + 5


@pytest.mark.parametrize("way", WAYS)
def test_a_signals_function_may_take_from_the_socket_its_thread_receives_from(
    way: Callable[[Any, int], list[bytes]],
) -> None:
    """Each message is taken once, by either, and a wait goes on although the function took it."""
    others: list[bytes] = []
    found: list[bytes] = []
    with joined(mm.Push, mm.Pull) as (push, pull):

        def function() -> None:
            with contextlib.suppress(mm.WouldBlockError):
                message = pull.recv(timeout=0)
                if message == b"end":  # is for the one that waits
                    push.send(message, timeout=WAIT_S)
                else:
                    others.append(message)

        def feed() -> None:
            for i in range(COUNT):
                push.send(b"%d" % i, timeout=WAIT_S)
                raise_signal()
            push.send(b"end", timeout=WAIT_S)

        with handled(function) as raise_signal:
            feeding = threading.Thread(target=feed)
            feeding.start()
            while b"end" not in found:
                found += way(pull, 1)
            feeding.join()
        with contextlib.suppress(mm.WouldBlockError):  # prefetched beside a function that took more
            while True:
                found.append(pull.recv(timeout=0))
    assert sorted(found + others) == sorted([*(b"%d" % i for i in range(COUNT)), b"end"])
