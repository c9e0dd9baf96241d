"""IdleQueue and IdleWorker when something goes wrong, for threads and asyncio; the books alone are
in tests/unit/test_idle_books.py."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio, patterns
from meshmsg.patterns import aio as patterns_aio
from tests.support.inloop import PATIENCE
from tests.support.patterned import Kit, ask, serve, until

FRAMES_MAX = 1024  # of a message, by default
SIZE_MAX = 64 * 1024 * 1024  # bytes of a message, by default
TAG_SIZE = 8
NAME = b"ann"
ROUTED = 3
"""Frames beside the body on the way to a worker: its name, the empty one, the number."""


@pytest.mark.parametrize("how", ["text", "too many frames"])
def test_a_job_whose_answer_cannot_be_sent_is_still_open(kit: Kit, how: str) -> None:
    """It may be answered then, or refused; who goes on has refused it."""
    answer: list[Any] = ["text"] if how == "text" else [b""] * FRAMES_MAX
    with (
        ThreadPoolExecutor(2) as pool,
        kit.pattern("IdleQueue") as queue,
        kit.pattern("IdleWorker", queue.back.endpoint) as worker,
    ):
        jobs = iter(worker)
        for then in ("replies", "refuses", "goes on"):
            asking = pool.submit(ask, queue, b"job")
            job = next(jobs)
            with pytest.raises((TypeError, mm.TooLargeError)):
                job.reply(*answer)
            assert not job.settled
            if then == "replies":
                job.reply(b"done")
                assert asking.result(PATIENCE) == [b"done"]
            elif then == "refuses":
                with pytest.raises((TypeError, mm.TooLargeError)):
                    job.refuse(5)
                job.refuse("cannot say it")
                with pytest.raises(mm.RefusedError, match="cannot say it"):
                    asking.result(PATIENCE)
        going = pool.submit(next, jobs, None)
        with pytest.raises(mm.RefusedError, match="went on without an answer"):
            asking.result(PATIENCE)
        worker.close()
        assert going.result(PATIENCE) is None


def test_a_request_with_one_frame_more_than_a_worker_takes_is_refused(kit: Kit) -> None:
    """The front has room for a frame more than the back; others do not notice."""
    with (
        ThreadPoolExecutor(1) as pool,
        kit.pattern("IdleQueue") as queue,
        kit.pattern("IdleWorker", queue.back.endpoint, identity=NAME) as worker,
        mm.Dealer(connect=queue.front.endpoint) as client,
    ):
        working = pool.submit(serve, worker)
        queue.wait_for_workers(timeout=PATIENCE)
        fits, over = [b"f"] * (FRAMES_MAX - ROUTED), [b"f"] * (FRAMES_MAX - ROUTED + 1)
        for body in (over, fits, over):
            client.send_frames([b"", *body], timeout=PATIENCE)
        answers = [client.recv_frames(timeout=PATIENCE) for _ in range(3)]
        answers.sort(key=len)
        assert len(answers[2]) == len(fits) + 1
        for refusal in answers[:2]:
            assert refusal[1].startswith(b"REFUSED the request cannot be passed on to a worker")
        until(lambda: bool(queue.stats().refused == 2))
        assert (queue.stats().answered, queue.stats().retried, queue.stats().workers) == (1, 0, 1)
        worker.close()
        assert working.result(PATIENCE) == 1


def test_a_request_larger_than_a_worker_takes_is_refused(kit: Kit) -> None:
    """The number takes 8 octets, four more than the id of a Req, and the worker has a name."""
    with (
        ThreadPoolExecutor(1) as pool,
        kit.pattern("IdleQueue") as queue,
        kit.pattern("IdleWorker", queue.back.endpoint, identity=NAME) as worker,
    ):

        def tell_size() -> None:
            for job in worker:
                job.reply(b"%d" % len(job))

        working = pool.submit(tell_size)
        queue.wait_for_workers(timeout=PATIENCE)
        fits = SIZE_MAX - TAG_SIZE - len(NAME)
        with pytest.raises(mm.RefusedError, match="cannot be passed on"):
            ask(queue, bytes(fits + 1))
        assert ask(queue, bytes(fits)) == [b"%d" % fits]
        assert (queue.stats().retried, queue.stats().workers) == (0, 1)
        worker.close()
        working.result(PATIENCE)


def test_an_answer_that_does_not_fit_the_way_back_is_a_refusal(kit: Kit) -> None:
    """A client with a long envelope is told why there is no answer."""
    envelope = [b"e"] * 5
    with (
        kit.pattern("IdleQueue") as queue,
        kit.pattern("IdleWorker", queue.back.endpoint) as worker,
        mm.Dealer(connect=queue.front.endpoint) as client,
    ):
        jobs = iter(worker)
        client.send_frames([*envelope, b"", b"job"], timeout=PATIENCE)
        next(jobs).reply(*[b"f"] * (FRAMES_MAX - 2))
        *way, reason = client.recv_frames(timeout=PATIENCE)
        assert way == [*envelope, b""]
        assert b"the worker's answer cannot be passed on" in reason
        until(lambda: bool(queue.stats().refused == 1))


def test_who_reads_the_events_of_its_sockets_takes_nothing_from_a_queue(kit: Kit) -> None:
    """A worker that left is noticed, and the user has every event."""
    with ThreadPoolExecutor(1) as pool, kit.pattern("IdleQueue") as queue:
        seen: list[mm.Event] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.wait(0.001):
                seen.extend(queue.back.events())

        reading = pool.submit(read)
        for _ in range(3):
            with mm.Dealer(connect=queue.back.endpoint) as worker:  # says no goodbye
                worker.send_frames([b"", b"READY"], timeout=PATIENCE)
                until(lambda: bool(queue.stats().workers == 1))
            until(lambda: bool(queue.stats().workers == 0))
        until(lambda: sum(one.kind is mm.EventKind.PEER_DOWN for one in seen) == 3)
        stop.set()
        reading.result(PATIENCE)


def test_a_queue_that_fails_is_closed_and_says_so(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """In its log, to who waits, and once to who closes it; its clients see it end."""

    def fail(*_: object) -> None:
        raise RuntimeError("this should not happen")

    queue = kit.pattern("IdleQueue")
    queue._books._match = fail
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.wait_for_workers, 1)
        with pytest.raises(mm.PeerError):
            ask(queue, b"job")
        with pytest.raises(mm.ClosedError) as told:
            waiting.result(PATIENCE)
    assert isinstance(told.value.__cause__, RuntimeError)
    with pytest.raises(mm.ClosedError, match="failed before") as closed:
        queue.close()
    assert isinstance(closed.value.__cause__, RuntimeError)
    queue.close()
    assert caplog.text.count("an idle queue failed") == 1
    assert "this should not happen" in caplog.text
    caplog.clear()  # what it logged holds the loop
    del told, closed, waiting, queue


def test_workers_that_are_here_are_found_without_waiting(kit: Kit) -> None:
    """A timeout of 0 asks whether it is so now; it is."""
    with kit.pattern("IdleQueue") as queue:
        queue.wait_for_workers(0, timeout=0)
        with pytest.raises(mm.TimedOutError, match="0 of 1 worker after 0 s"):
            queue.wait_for_workers(1, timeout=0)


def test_the_error_of_a_block_is_not_replaced_by_that_of_its_queue(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """Who leaves by an error of their own hears that one."""

    def fail(*_: object) -> None:
        raise RuntimeError("this should not happen")

    with pytest.raises(KeyError), kit.pattern("IdleQueue") as queue:
        queue._books._match = fail
        with pytest.raises(mm.PeerError):
            ask(queue, b"job")
        raise KeyError("of the user")
    caplog.clear()  # what it logged holds the loop


def test_a_signal_s_function_may_close_a_queue_whose_method_it_interrupted() -> None:
    """The method holds the lock, and goes on only when the function has returned."""
    queue = patterns.IdleQueue()
    with queue._changed:
        queue.close()
    queue._thread.join(PATIENCE)
    assert not queue._thread.is_alive()


@pytest.mark.parametrize("what", ["worker", "forward"])
def test_a_cancelled_close_has_closed(what: str) -> None:
    """Nothing stays open, and nothing is left half closed."""

    async def main() -> bool:
        async with patterns_aio.IdleQueue() as queue:
            if what == "worker":
                one: Any = patterns_aio.IdleWorker(queue.back.endpoint)
                sockets = [one._dealer]
                one._dealer = Cut(one._dealer)
            else:
                front, back = aio.Pull(), aio.Push()
                one, sockets = patterns_aio.Forward(front, back), [front, back]
            closing = asyncio.get_running_loop().create_task(one.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            return all(socket.closed for socket in sockets)

    assert asyncio.run(main())


class Cut:
    """A Dealer whose sending is always cancelled."""

    def __init__(self, dealer: Any) -> None:
        self._dealer = dealer
        self.close = dealer.close

    async def send_frames(self, *_: object, **__: object) -> None:
        """Be cancelled, as at any await."""
        raise asyncio.CancelledError


@pytest.mark.parametrize("side", ["front", "back"])
def test_a_queue_whose_socket_was_closed_by_others_says_so(
    kit: Kit, side: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In its log, and whatever it is asked; its own close is harmless."""
    queue = kit.pattern("IdleQueue")
    waiting = ThreadPoolExecutor(1)
    told = waiting.submit(queue.wait_for_workers)
    getattr(queue, side).close()
    with pytest.raises(mm.ClosedError, match="front or back, or its engine, was closed by others"):
        told.result(PATIENCE)
    with pytest.raises(mm.ClosedError, match="closed by others"):
        queue.stats()
    assert repr(queue) == "<IdleQueue closed>"
    assert caplog.text.count("an idle queue serves nobody any more") == 1
    queue.close()
    waiting.shutdown()
    caplog.clear()
    del told, queue, waiting


def test_workers_that_are_connected_and_do_not_ask_are_told_of(kit: Kit) -> None:
    """Who forgot to iterate is told that."""
    with (
        kit.pattern("IdleQueue") as queue,
        kit.pattern("IdleWorker", queue.back.endpoint, identity=b"one") as worker,
        kit.pattern("IdleWorker", queue.back.endpoint, identity=b"two"),
        ThreadPoolExecutor(1) as pool,
    ):
        until(lambda: bool(len(queue.back.peers()) == 2))
        until(lambda: bool(len(queue._books._connections) == 2))
        with pytest.raises(mm.TimedOutError, match="; 2 connected, none of them asking for work"):
            queue.wait_for_workers(timeout=0.01)
        working = pool.submit(serve, worker)
        queue.wait_for_workers(timeout=PATIENCE)
        with pytest.raises(mm.TimedOutError, match="1 of 2 .*; 1 more connected, but not asking"):
            queue.wait_for_workers(2, timeout=0.01)
        worker.close()
        working.result(PATIENCE)
