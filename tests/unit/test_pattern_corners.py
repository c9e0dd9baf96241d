"""Forward, WorkQueue and Worker where they are seldom seen: failing, ending, under threads.

What they do when all goes well is in test_forward.py and test_workqueue.py.
"""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg.patterns import Flow, Forward, IdleStats, Worker, WorkQueue, WorkStats, work
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"


def test_a_forwarder_tells_what_it_joins() -> None:
    """Both sockets with their endpoints, and closed when they are."""
    front, back = mm.Pull(bind=UP), mm.Push(bind=UP)
    with Forward(front, back) as forward:
        assert front.endpoint in repr(forward)
        assert back.endpoint in repr(forward)
        assert repr(forward).startswith("<Forward <meshmsg.Pull bound to")
    assert repr(forward) == "<Forward <meshmsg.Pull closed> to <meshmsg.Push closed>>"


def test_the_message_in_hand_when_a_forwarder_is_closed_is_counted() -> None:
    """Law: received = forwarded + refused + abandoned; nobody is behind it, so it waits in hand."""
    front, back = mm.Pull(bind=UP), mm.Push(bind=UP)
    with mm.Push(connect=front.endpoint) as push:
        forward = Forward(front, back)
        push.send_many([b"1", b"2", b"3"], timeout=WAIT_S)
        while front.stats().received_messages < 1:
            push.drain(timeout=0.01)
        forward.close()
        assert forward.onward == Flow(0, 0, 1)


def test_a_message_the_other_side_refuses_is_counted_and_the_next_one_passes() -> None:
    """Too large for the way on: refused; the forwarder does not stop for it."""
    front, back = mm.Pull(bind=UP), mm.Push(bind=UP, message_size_max=10)
    with (
        Forward(front, back) as forward,
        mm.Push(connect=front.endpoint) as push,
        mm.Pull(connect=back.endpoint) as pull,
    ):
        push.send_many([b"small", bytes(11), b"fine"], timeout=WAIT_S)
        assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"small", b"fine"]
        while forward.onward.forwarded < 2:  # it counts after it has sent
            push.drain(timeout=0.01)
        assert forward.onward == Flow(2, 1, 0)


@pytest.mark.parametrize("threads", [1, 4])
def test_records_put_by_many_threads_are_numbered_without_a_gap(threads: int) -> None:
    """put and put_many at once: each record gets its number, each is done once."""
    with WorkQueue(bind=UP, batch_messages=7, backlog_messages=50) as queue:

        def put(who: int) -> list[int]:
            numbers = [queue.put(b"%d %d" % (who, i), timeout=WAIT_S) for i in range(100)]
            queue.put_many((b"%d %d" % (who, 100 + i) for i in range(100)), timeout=WAIT_S)
            return numbers

        def do() -> list[tuple[int, bytes]]:
            return [one for batch in work(queue.endpoint) for one in batch.numbered()]

        with ThreadPoolExecutor(threads + 2) as pool:
            doing = [pool.submit(do) for _ in range(2)]
            queue.wait_for_workers(2, timeout=WAIT_S)
            putting = [pool.submit(put, who) for who in range(threads)]
            numbers = [n for future in putting for n in future.result(WAIT_S)]
            queue.finish()
            stats = queue.join(workers=2, timeout=WAIT_S)
            done = dict(one for future in doing for one in future.result(WAIT_S))
        assert sorted(done) == list(range(200 * threads))
        assert len(set(numbers)) == 100 * threads
        assert Counter(done.values()) == Counter(
            b"%d %d" % (who, i) for who in range(threads) for i in range(200)
        )
        assert (stats.put, stats.acknowledged) == (200 * threads, 200 * threads)


def test_a_batch_knows_its_size_and_its_numbers() -> None:
    """len, iteration and numbered() agree."""
    with WorkQueue(bind=UP, batch_messages=4) as queue, Worker(queue.endpoint) as worker:
        queue.put_many([b"r%d" % i for i in range(6)])
        queue.finish()
        batches = list(worker)
        assert [len(batch) for batch in batches] == [4, 2]
        assert [batch.number for batch in batches] == [0, 1]
        assert [list(batch) for batch in batches] == [[b"r0", b"r1", b"r2", b"r3"], [b"r4", b"r5"]]
        assert list(batches[1].numbered()) == [(4, b"r4"), (5, b"r5")]
        assert all(batch.attempt == 1 for batch in batches)
        assert worker.stats().received_messages >= 2


@pytest.mark.parametrize(
    "options",
    [
        {"batch_messages": 0},
        {"batch_messages": 1001},
        {"batch_bytes": 0},
        {"backlog_messages": 0},
        {"backlog_bytes": 0},
        {"lease": 0},
    ],
)
def test_a_queue_s_limits_are_checked_before_anything_is_bound(options: dict[str, int]) -> None:
    """UsageError, and its endpoint is free."""
    with pytest.raises(mm.UsageError):
        WorkQueue(bind="inproc://checked", **options)  # type: ignore[arg-type]
    with WorkQueue(bind="inproc://checked"):
        pass


def test_a_closed_queue_says_so_from_every_call() -> None:
    """And closing it twice is harmless; what was put is forgotten, as documented."""
    queue = WorkQueue(bind=UP)
    queue.put(b"x")
    queue.close()
    queue.close()
    assert repr(queue) == "<WorkQueue closed>"
    for call in (lambda: queue.put(b"y"), lambda: queue.put_many([b"y"])):
        with pytest.raises(mm.ClosedError):
            call()
    for wait in (lambda: queue.wait_for_workers(timeout=1), queue.socket_stats):
        with pytest.raises(mm.ClosedError):
            wait()
    assert queue.stats().put == 1


def test_a_large_record_travels_alone_and_one_too_large_not_at_all() -> None:
    """batch_bytes is no limit for a single record; the peers' message_size_max is."""
    with WorkQueue(bind=UP, batch_bytes=100) as queue:
        queue.put_many([b"a" * 60, b"b" * 60, b"c" * 5000, b"d"])
        with pytest.raises(mm.TooLargeError, match="a work queue takes"):
            queue.put(bytes(63 * 1024 * 1024 + 1))
        with pytest.raises(TypeError, match="encode"):
            queue.put("text")  # type: ignore[arg-type]
        queue.finish()
        sizes = [[len(record) for record in batch] for batch in work(queue.endpoint)]
        assert sizes == [[60], [60], [5000], [1]]


def test_strangers_at_the_queue_s_port_do_not_disturb_it() -> None:
    """Garbage, a Sub, a Dealer: refused; the work is done."""
    with WorkQueue(bind=UP, batch_messages=2) as queue:
        with RawPeer(queue.endpoint) as one, RawPeer(queue.endpoint) as two:
            one.send(b"GET / HTTP/1.0\r\n\r\n").until_closed()
            two.send(ref.greeting() + ref.ready(b"SUB")).until_closed()
        with RawPeer(queue.endpoint) as three:
            three.send(ref.greeting() + ref.ready(b"DEALER") + ref.message(b"ask")).until_closed()
        put = queue.put_many([b"record"] * 7, timeout=WAIT_S)
        queue.finish()
        assert sum(len(batch) for batch in work(queue.endpoint)) == put
        assert queue.join(timeout=WAIT_S).acknowledged == put


@pytest.mark.parametrize("kind", [WorkStats, IdleStats, Flow])
def test_help_says_what_each_count_means(kind: type) -> None:
    """And so does the table in docs/patterns.md, in the same words."""
    said = " ".join((kind.__doc__ or "").split())
    page = (Path(__file__).parents[2] / "docs" / "patterns.md").read_text()
    table = page.split(f"`{kind.__name__}` |")[1].split("\n\n")[0]
    for name in kind.__annotations__:
        assert f" {name}: " in said
        (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", table, re.MULTILINE)
        assert f" {name}: {row}" in said
