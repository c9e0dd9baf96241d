"""An IdleQueue hands on what goes with a request and with its answer: key, headers, times; and does
not hand out what has expired.

Not here: who gets what (test_idle_books.py), what Forward hands on (test_forward_notes.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from meshmsg.patterns import IdleQueue, IdleWorker, Job
from meshmsg.patterns import aio as patterns_aio
from meshmsg.patterns._frames import Beside
from meshmsg.patterns.idle._books import BYE, READY, IdleBooks
from tests.support.pairs import WAIT_S, wait_until

MADE = 1_700_000_000.5
HEADERS = {"text": "t", "raw": b"\xff"}
MORE: dict[str, Any] = {"key": b"k", "headers": HEADERS, "ttl": 600, "timestamp": MADE}
BACK: dict[str, Any] = {"key": b"b", "headers": {"n": "1"}, "timestamp": MADE + 1}
EXPIRED = "its ttl was over before a worker had it"


def check_job(job: Any) -> None:
    """All that went with the request is there."""
    assert (job.key, job.headers, job.timestamp) == (b"k", HEADERS, MADE)
    assert job.expires is not None


def check_plain_job(job: Any) -> None:
    """Nothing went with it."""
    assert (job.key, job.headers, job.timestamp, job.expires) == (None, {}, None, None)


@contextmanager
def working(queue: IdleQueue, jobs: list[Job], count: int) -> Iterator[None]:
    """A worker in a thread, which answers so many with headers and keeps them."""

    def work() -> None:
        with IdleWorker(queue.back.endpoint) as worker:
            for job in worker:
                jobs.append(job)
                job.reply(job.upper(), b"more", **(BACK if job.key else {}))
                if len(jobs) == count:
                    return

    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join()


def test_a_request_and_its_answer_keep_what_goes_with_them() -> None:
    """Between others that have nothing."""
    jobs: list[Job] = []
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:
        with working(queue, jobs, 3):
            plain = client.request(b"plain", timeout=WAIT_S)
            full = client.request_frames([b"q", b"r"], timeout=WAIT_S, **MORE)
            after = client.request(b"plain", timeout=WAIT_S)
    check_plain_job(jobs[0])
    check_job(jobs[1])
    assert jobs[1].frames == (b"q", b"r")
    check_plain_job(jobs[2])
    assert (full.key, full.headers, full.timestamp) == (b"b", {"n": "1"}, MADE + 1)
    assert full.frames[-2:] == (b"Q", b"more")
    assert [plain.key, after.key, after.timestamp] == [None, None, None]


def test_the_same_by_tasks() -> None:
    """As by threads."""

    async def work(queue: patterns_aio.IdleQueue) -> None:
        async with patterns_aio.IdleWorker(queue.back.endpoint) as worker:
            async for job in worker:
                check_job(job)
                await job.reply(job.upper(), **BACK)

    async def main() -> None:
        async with patterns_aio.IdleQueue() as queue:
            working = asyncio.create_task(work(queue))
            async with aio.Req(connect=queue.front.endpoint) as client:
                answer = await client.request(b"q", timeout=WAIT_S, **MORE)
            assert (answer, answer.key, answer.headers) == (b"Q", b"b", {"n": "1"})
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(main())


def test_what_a_lost_worker_had_keeps_what_goes_with_it() -> None:
    """The next one has the same."""
    jobs: list[Job] = []
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:
        lost = IdleWorker(queue.back.endpoint)
        taken = threading.Thread(target=lambda: jobs.append(next(iter(lost))))
        taken.start()
        asking = threading.Thread(target=lambda: client.request(b"q", timeout=WAIT_S, **MORE))
        asking.start()
        taken.join()
        lost.close()
        with working(queue, jobs, 2):
            asking.join()
        assert queue.stats().retried == 1
    check_job(jobs[0])
    check_job(jobs[1])


def test_a_request_that_expires_while_it_waits_is_refused() -> None:
    """No worker was there in time; the client is told."""
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:
        with pytest.raises(mm.RefusedError, match=EXPIRED):
            client.request(b"q", timeout=WAIT_S, ttl=0.1)
        stats = queue.stats()
        assert (stats.taken, stats.refused, stats.waiting) == (1, 1, 0)


def test_a_request_that_came_late_is_refused_by_tasks_too() -> None:
    """As by threads."""

    async def main() -> None:
        async with patterns_aio.IdleQueue() as queue:
            async with aio.Req(connect=queue.front.endpoint) as client:
                with pytest.raises(mm.RefusedError, match=EXPIRED):
                    await client.request(b"q", timeout=WAIT_S, ttl=0.1)

    asyncio.run(main())


class Clock:
    """Seconds since 1970 that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock that stands."""
    return Clock()


@pytest.fixture
def books(clock: Clock) -> Iterator[IdleBooks]:
    """Books with a client and two workers, that are right in the end."""
    one = IdleBooks(10, 1, None, wall=clock)
    one.clients_here({b"x"})
    one.workers_here({b"a": 1, b"b": 2}, 0.0)
    yield one
    one.check()


def said(one: IdleBooks) -> list[tuple[bytes, bytes]]:
    """Whom something is said, and the last frame of it."""
    found = []
    while (word := one.next_word()) is not None:
        found.append((word.name, word.frames[-1]))
        one.said(word)
    return found


def test_of_those_that_wait_what_has_expired_is_refused(books: IdleBooks, clock: Clock) -> None:
    """To the moment; each at its own."""
    for body, expires in ((b"1", 1_002.0), (b"2", None), (b"3", 1_001.0)):
        books.hear_client(b"x", [b"", body], 0.0, Beside(b"", expires))
    clock.now = 1_000.999
    books.expire(0.0)
    assert said(books) == []
    clock.now = 1_001.0
    books.expire(0.0)
    assert said(books) == [(b"x", b"REFUSED " + EXPIRED.encode())]
    assert books.stats().waiting == 2
    clock.now = 1_002.0
    books.hear_worker(b"a", [b"", READY], 0.0)
    assert said(books) == [(b"x", b"REFUSED " + EXPIRED.encode()), (b"a", b"2")]


def test_what_expired_is_not_handed_out_again(books: IdleBooks, clock: Clock) -> None:
    """Its worker was lost with it, behind its ttl."""
    books.hear_worker(b"a", [b"", READY], 0.0)
    books.hear_client(b"x", [b"", b"1"], 0.0, Beside(b"", 1_001.0))
    assert said(books) == [(b"a", b"1")]
    clock.now = 1_001.0
    books.hear_worker(b"b", [b"", READY], 0.0)
    books.hear_worker(b"a", [b"", BYE], 0.0)
    assert said(books) == [(b"x", b"REFUSED " + EXPIRED.encode())]
    assert books.stats().idle == 1


def test_a_worker_that_says_again_that_it_is_ready_never_got_what_expired(
    books: IdleBooks, clock: Clock
) -> None:
    """Its socket dropped that; the worker is not thought to work on it for ever."""
    books.hear_worker(b"a", [b"", READY], 0.0)
    books.hear_client(b"x", [b"", b"1"], 0.0, Beside(b"", 1_001.0))
    said(books)
    books.hear_worker(b"a", [b"", READY], 0.0)  # it crossed the request
    assert (books.stats().at_work, said(books)) == (1, [])
    clock.now = 1_001.0
    books.hear_worker(b"a", [b"", READY], 1.0)
    assert said(books) == [(b"x", b"REFUSED " + EXPIRED.encode())]
    assert (books.stats().at_work, books.stats().idle) == (0, 1)


def test_what_went_with_it_goes_to_the_worker_and_back_as_it_came(books: IdleBooks) -> None:
    """As octets, each its own; a refusal has none."""
    books.hear_worker(b"a", [b"", READY], 0.0)
    books.hear_client(b"x", [b"", b"1"], 0.0, Beside(b"there", None))
    given = books.next_word()
    assert given is not None
    assert given.note == b"there"
    books.said(given)
    books.hear_worker(b"a", [b"", given.frames[1], b"done"], 0.0, Beside(b"back", None))
    answer = books.next_word()
    assert answer is not None
    assert (answer.note, answer.frames[-1]) == (b"back", b"done")
    books.said(answer)


def test_a_worker_without_the_class_has_it_too() -> None:
    """A Dealer of meshmsg that speaks the words of docs/patterns.md."""
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:
        with mm.Dealer(connect=queue.back.endpoint) as worker:
            worker.send_frames([b"", READY], timeout=WAIT_S)
            wait_until(lambda: queue.stats().workers == 1)
            answers: list[mm.Message] = []
            asking = threading.Thread(
                target=lambda: answers.append(client.request(b"q", timeout=WAIT_S, **MORE))
            )
            asking.start()
            asked = worker.recv(timeout=WAIT_S)
            check_job(asked)
            worker.send_frames([b"", asked.frames[1], b"a"], timeout=WAIT_S, **BACK)
            asking.join()
    assert [(answer, answer.key) for answer in answers] == [(b"a", b"b")]


def test_a_worker_of_another_library_gets_the_request_without() -> None:
    """A REQ of pyzmq; its answer has nothing beside it."""
    with IdleQueue() as queue, mm.Req(connect=queue.front.endpoint) as client:
        with zmq.Context() as context, context.socket(zmq.REQ) as worker:
            worker.rcvtimeo = int(WAIT_S * 1000)
            worker.connect(queue.back.endpoint)
            worker.send(READY)
            answers: list[mm.Message] = []
            asking = threading.Thread(
                target=lambda: answers.append(client.request(b"q", timeout=WAIT_S, **MORE))
            )
            asking.start()
            number, body = worker.recv_multipart()
            assert body == b"q"
            worker.send_multipart([number, b"a"])
            asking.join()
    assert [(answer, answer.key, answer.headers) for answer in answers] == [(b"a", None, {})]
