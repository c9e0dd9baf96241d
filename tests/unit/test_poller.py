"""Pollers: one thread waits for several sockets, natively."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.testing import SimWorld
from tests.support.forked import in_child, refused
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, endpoint_for, joined, wait_until
from tests.support.signals import handled

CAP = 256
"""Sockets told of by one call, FAST_POLLED_MAX."""
ADDED = 2000
"""Times a socket is added and removed at once."""


def told(poller: mm.Poller[Any], *wanted: Any) -> None:
    """Poll until exactly these are ready, which is told of again then."""
    wait_until(lambda: set(poller.poll(WAIT_S)) == set(wanted))
    assert set(poller.poll(0)) == set(wanted)


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_a_socket_is_told_of_as_long_as_something_is_to_be_received(
    transport: str, short_path: Path
) -> None:
    """Level-triggered, and only the one."""
    urls = [endpoint_for(transport, short_path) for _ in range(2)]
    with (
        joined(mm.Push, mm.Pull, urls[0]) as (push, pull),
        joined(mm.Push, mm.Pull, urls[1]) as (other, idle),
        mm.Poller([pull, idle]) as poller,
    ):
        assert poller.poll(0) == []
        push.send_many([b"1", b"2"])
        push.drain(timeout=WAIT_S)
        for body in (b"1", b"2"):
            for _ in range(2):
                assert poller.poll() == [pull]
            assert pull.recv(timeout=0) == body
        assert poller.poll(0) == []
        assert poller.poll(0.001) == []
        other.send(b"3")
        assert poller.poll(WAIT_S) == [idle]


def test_two_that_are_ready_are_told_of_together() -> None:
    """In the order they became so; what was given out before comes behind."""
    with (
        joined(mm.Push, mm.Pull) as (push1, pull1),
        joined(mm.Push, mm.Pull) as (push2, pull2),
        mm.Poller([pull1, pull2]) as poller,
    ):
        push2.send(b"2")
        assert poller.poll(WAIT_S) == [pull2]
        push1.send(b"1")
        told(poller, pull1, pull2)
        assert (pull1.recv(timeout=0), pull2.recv(timeout=0)) == (b"1", b"2")
        assert poller.poll(0) == []


@pytest.mark.parametrize("wire", ["", "sp+"], ids=["zmtp", "sp"])
@pytest.mark.parametrize("options", [{}, {"spin": 0}, {"spin": 0.001}], ids=str)
@pytest.mark.parametrize("polls", ["epoll", "poll"])
def test_one_thread_serves_many_respondents(
    wire: str, options: dict[str, Any], polls: Literal["epoll", "poll"]
) -> None:
    """Each survey gets the answers of all."""
    count, surveys = 20, 50
    with mm.Engine(poller=polls) as engine, mm.Surveyor(bind="tcp://127.0.0.1:0") as surveyor:
        respondents = [
            mm.Respondent(connect=wire + surveyor.endpoint, engine=engine, **options)
            for _ in range(count)
        ]
        surveyor.wait_for_peers(count, timeout=WAIT_S)

        def serve() -> None:
            left = count
            with mm.Poller(respondents) as poller:
                while left:
                    for respondent in poller.poll(WAIT_S):
                        question = respondent.recv(timeout=0)
                        question.reply(question)
                        left -= question == b"end"

        serving = threading.Thread(target=serve)
        serving.start()
        for body in [b"%d" % i for i in range(surveys)] + [b"end"]:
            assert list(surveyor.survey(body, deadline=WAIT_S)) == [body] * count
        serving.join()
        for respondent in respondents:
            respondent.close()


def test_prefetched_messages_count() -> None:
    """Those an iteration left, before it was in a poller and while it is."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_many([b"1", b"2", b"3", b"4"])
        push.drain(timeout=WAIT_S)
        stream = iter(pull)
        assert next(stream) == b"1"
        with mm.Poller([pull]) as poller:
            assert poller.poll(0) == [pull]
            assert pull.recv(timeout=0) == b"2"
            assert poller.poll(0) == [pull]
            assert next(stream) == b"3"
            assert poller.poll(WAIT_S) == [pull]
            assert pull.recv_many(timeout=0) == [b"4"]
            assert poller.poll(0) == []


def test_a_message_that_is_given_back_wakes_the_poller() -> None:
    """Whoever took it from the core was kept from giving it out."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:
        push.send(b"1")
        assert poller.poll(WAIT_S) == [pull]
        message = pull.recv(timeout=0)
        assert poller.poll(0) == []
        keeping = threading.Thread(target=pull._ready.keep, args=([message],))
        keeping.start()
        assert poller.poll(WAIT_S) == [pull]
        keeping.join()
        assert pull.recv(timeout=0) == b"1"
        assert poller.poll(0) == []


def test_what_another_thread_took_is_not_told_of() -> None:
    """Also when it was ready before."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:
        push.send(b"1")
        push.drain(timeout=WAIT_S)
        assert pull.recv(timeout=0) == b"1"
        assert poller.poll(0) == []


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_closed_socket_is_told_of_once(when: str) -> None:
    """So that recv says it; then it is waited for no longer."""
    with mm.Pull(bind="inproc://a") as pull, mm.Pull(bind="inproc://b") as other:
        poller = mm.Poller([pull, other])
        if when == "before":
            pull.close()
            assert poller.poll() == [pull]
        else:
            closing = threading.Thread(target=pull.close)
            closing.start()
            assert poller.poll() == [pull]
            closing.join()
        with pytest.raises(mm.ClosedError):
            pull.recv()
        assert poller.poll(0) == []
        poller.remove(pull)
        other.close()
        assert poller.poll() == [other]
        with pytest.raises(mm.UsageError, match="no sockets"):
            poller.poll()
        poller.close()


def test_closing_the_engine_closes_all_of_them() -> None:
    """All are told of; the poller can be used on with another engine."""
    with mm.Engine() as engine:
        sockets = [mm.Pull(engine=engine), mm.Rep(engine=engine)]
        poller = mm.Poller[Any](sockets)
        closing = threading.Thread(target=engine.close)
        closing.start()
        seen: set[Any] = set()
        while seen != set(sockets):
            seen.update(poller.poll())
        closing.join()
    with pytest.raises(mm.ClosedError):
        poller.add(sockets[0])
    with mm.Pull() as pull:
        if poller._sockets.handle:  # it was told of the sockets one by one
            assert poller._sockets._engine is engine
            poller = mm.Poller[Any]()
        poller.add(pull)
        assert poller.poll(0) == []
    poller.close()


def test_closing_the_poller_wakes_who_waits_in_it() -> None:
    """The sockets stay open."""
    with mm.Pull(bind="inproc://a") as pull:
        poller = mm.Poller([pull])
        closing = threading.Thread(target=poller.close)
        with pytest.raises(mm.ClosedError, match="this Poller was closed"):
            closing.start()
            poller.poll()
        closing.join()
        assert poller.closed
        for call in (poller.poll, lambda: poller.add(pull)):
            with pytest.raises(mm.ClosedError, match="this Poller was closed"):
                call()
        poller.remove(pull)
        poller.close()
        assert repr(poller) == "<meshmsg.Poller closed>"
        assert not pull.closed


def test_a_socket_can_be_added_while_another_thread_waits() -> None:
    """And removed."""
    with (
        joined(mm.Push, mm.Pull) as (push, pull),
        mm.Pull() as idle,
        mm.Poller([idle]) as poller,
    ):
        push.send(b"1")
        push.drain(timeout=WAIT_S)
        adding = threading.Thread(target=poller.add, args=(pull,))
        adding.start()
        assert poller.poll(WAIT_S) == [pull]
        adding.join()
        poller.add(pull)
        assert poller.poll(0) == [pull]
        poller.remove(pull)
        assert poller.poll(0) == []
        poller.remove(pull)
        assert repr(poller) == f"<meshmsg.Poller of 1: {idle!r} readable>"


def test_a_second_thread_is_refused() -> None:
    """One at a time waits; the other gets what it waited for."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:
        found: list[Any] = []
        waiting = threading.Thread(target=lambda: found.append(poller.poll(WAIT_S)))
        waiting.start()

        def refused() -> bool:
            try:
                poller.poll(0)
            except mm.UsageError as error:
                return "another thread" in str(error)
            return False

        wait_until(refused)
        push.send(b"1")
        waiting.join()
        assert found == [[pull]]
        assert poller.poll(0) == [pull]


def test_what_cannot_be_waited_for_is_refused() -> None:
    """And the poller is as it was."""
    with mm.Engine() as engine, mm.Engine() as second, mm.Pull(engine=engine) as pull:
        poller = mm.Poller[Any]([pull])
        with mm.Pull(engine=second) as other, pytest.raises(mm.UsageError, match="another engine"):
            poller.add(other)
        for kind in (mm.Push, mm.Pub, mm.Req, mm.Surveyor):
            with (
                kind(engine=engine) as socket,
                pytest.raises(mm.UsageError, match=f"{kind.__name__} is no socket that a thread"),
            ):
                poller.add(socket)
        with pytest.raises(mm.UsageError, match=r"builtins\.float is no socket, no descriptor"):
            poller.add(5.0)
        closed = mm.Pull(engine=engine)
        closed.close()
        for target in (poller, mm.Poller[Any]()):
            with pytest.raises(mm.ClosedError, match="this Pull was closed"):
                target.add(closed)
        with pytest.raises(mm.ClosedError):
            mm.Poller([pull, closed])
        assert poller.poll(0) == []
        with pytest.raises(ValueError, match="timeout"):
            poller.poll(-1)
        poller.close()


def test_an_asyncio_socket_is_refused() -> None:
    """Its messages are awaited."""

    async def attempt() -> None:
        pull: Any = aio.Pull()
        with pytest.raises(mm.UsageError, match=r"meshmsg\.aio.*Pull is no socket that a thread"):
            mm.Poller([pull])
        pull.close()

    asyncio.run(attempt())


def test_an_empty_poller_waits_for_nothing() -> None:
    """It would be for ever."""
    poller = mm.Poller[mm.Pull]()
    for timeout in (None, 0, 1):
        with pytest.raises(mm.UsageError, match="no sockets to wait for"):
            poller.poll(timeout)
    poller.close()
    assert poller.closed


def test_more_are_ready_than_one_call_tells_of() -> None:
    """All have their turn, though those told of first stay ready."""
    with mm.Push(bind="inproc://many") as push:
        pulls = [mm.Pull(connect="inproc://many", heartbeat_interval=0) for _ in range(CAP + 20)]
        push.wait_for_peers(len(pulls), timeout=WAIT_S)
        push.send_many([b"x"] * len(pulls))
        for pull in pulls:
            wait_until(lambda pull=pull: pull.stats().queued_in_messages == 1)
        with mm.Poller(pulls) as poller:
            first, second = poller.poll(0), poller.poll(0)
        assert (len(first), len(second)) == (CAP, CAP)
        assert set(first) | set(second) == set(pulls)
        for pull in pulls:
            pull.close()


def test_a_dropped_poller_leaves_nothing() -> None:
    """It holds the sockets as long as it is there."""
    with mm.Pull() as pull:
        before = lib.mm_live_handles()
        poller = mm.Poller([pull])
        assert lib.mm_live_handles() == before + 1
        del poller
        gc.collect()
        assert lib.mm_live_handles() == before


def test_several_pollers_may_wait_for_the_same_socket() -> None:
    """Each is told."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        pollers = [mm.Poller([pull]) for _ in range(2)]
        found: list[Any] = []
        waiting = [
            threading.Thread(target=lambda poller=poller: found.append(poller.poll(WAIT_S)))
            for poller in pollers
        ]
        for thread in waiting:
            thread.start()
        push.send(b"1")
        for thread in waiting:
            thread.join()
        assert found == [[pull], [pull]]
        for poller in pollers:
            poller.close()


def test_the_descriptor_and_the_poller_go_together() -> None:
    """Whoever asked for which."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:
        pull.fileno()
        push.send(b"1")
        assert poller.poll(WAIT_S) == [pull]
        assert pull.recv(timeout=0) == b"1"
        assert poller.poll(0) == []


def test_a_simulated_engine_is_polled_in_its_own_time() -> None:
    """A day is over at once."""
    with SimWorld(seed=1) as world:
        pull = mm.Pull(bind="tcp://10.0.0.1:1", engine=world.engine(), insecure=True)
        push = mm.Push(connect="tcp://10.0.0.1:1", engine=world.engine())
        with mm.Poller([pull]) as poller:
            assert poller.poll(60) == []
            push.send(b"1", timeout=60)
            assert poller.poll(60) == [pull]
        pull.close()
        push.close()


def test_a_poller_and_an_event_loop_wait_side_by_side() -> None:
    """Of one engine: each is told of what is its own, whoever reads it."""
    rounds = 50
    with joined(mm.Pair, mm.Pair) as (near, far), mm.Poller([far]) as poller:

        def serve() -> None:
            for _ in range(rounds):
                assert poller.poll(WAIT_S) == [far]
                far.send(far.recv(timeout=0))

        async def ask() -> None:
            async with aio.Push(bind="tcp://127.0.0.1:0") as push, aio.Pull() as pull:
                pull.connect(push.endpoint)
                for i in range(rounds):
                    near.send(b"%d" % i)
                    await push.send(b"%d" % i, timeout=WAIT_S)
                    assert await pull.recv(timeout=WAIT_S) == b"%d" % i
                    assert near.recv(timeout=WAIT_S) == b"%d" % i

        serving = threading.Thread(target=serve)
        serving.start()
        asyncio.run(ask())
        serving.join()


def test_a_signals_function_may_raise_and_may_poll() -> None:
    """Nothing is lost by it: what is ready is told of again."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:

        def function() -> None:
            assert poller.poll(0) in ([], [pull])
            raise InterruptedError

        with handled(function) as raise_signal:
            raising = threading.Thread(target=raise_signal)
            with pytest.raises(InterruptedError):
                raising.start()
                poller.poll()
            raising.join()
        push.send(b"1")
        assert poller.poll(WAIT_S) == [pull]


def test_a_forked_child_is_told_so() -> None:
    """Each call; the parent's poller goes on."""
    with joined(mm.Push, mm.Pull) as (push, pull), mm.Poller([pull]) as poller:

        def work() -> bool:
            assert refused(poller.poll, lambda: poller.poll(0), lambda: poller.add(pull))
            poller.remove(pull)
            with mm.Pull() as own, mm.Poller([own]) as mine:
                assert mine.poll(0) == []
                assert refused(lambda: poller.add(own))
            poller.close()
            return True

        assert in_child(work)
        push.send(b"1")
        assert poller.poll(WAIT_S) == [pull]


def test_a_poller_is_neither_pickled_nor_copied() -> None:
    """It waits in this process."""
    with mm.Poller[mm.Pull]() as poller:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="a Poller cannot be pickled"):
                attempt(poller)


def test_connection_trouble_is_logged_while_it_waits(caplog: pytest.LogCaptureFixture) -> None:
    """As by a receive."""
    with (
        mm.Pull(connect="tcp://127.0.0.1:9") as pull,
        mm.Poller([pull]) as poller,
        caplog.at_level("WARNING", "meshmsg"),
    ):

        def logged() -> bool:
            assert poller.poll(0.001) == []
            return "CONNECT_FAILED" in caplog.text

        wait_until(logged)


def test_threads_that_add_and_remove_the_same_socket_leave_it_in_or_out() -> None:
    """Never in the core's poller and not in this one, which would be told of for ever."""
    with joined(mm.Push, mm.Pull, "inproc://poller") as (push, pull), mm.Poller([pull]) as poller:
        push.send(b"x")
        start = threading.Barrier(3)

        def work(what: Any) -> None:
            for _ in range(ADDED):
                start.wait()
                what(pull)

        threads = [
            threading.Thread(target=work, args=(what,)) for what in (poller.add, poller.remove)
        ]
        for thread in threads:
            thread.start()
        for _ in range(ADDED):
            start.wait()
        for thread in threads:
            thread.join(WAIT_S)
        poller.add(pull)
        assert poller.poll(WAIT_S) == [pull]
        poller.remove(pull)
        with pytest.raises(mm.UsageError):
            poller.poll(0)
