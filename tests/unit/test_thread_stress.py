"""Many threads on one socket: nothing lost, nothing doubled, each thread's order kept.

Not here: asyncio (test_aio_waiting.py). Law: threads meet at a barrier; counts decide, not time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, endpoint_for, joined

SENDERS = 4
RECEIVERS = 4
EACH = 500


def all_of(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run calls at the same time, each in a thread; their results, or the first error."""
    started = list(calls)
    start = threading.Barrier(len(started), timeout=WAIT_S)

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(started)) as pool:
        futures: list[Future[Any]] = [pool.submit(run, call) for call in started]
        return [future.result(WAIT_S * 2) for future in futures]


def body_of(who: int, number: int) -> bytes:
    """A message that knows its sender and its number."""
    return b"%d %d" % (who, number)


def send_one_by_one(socket: Any, who: int) -> None:
    """With send."""
    for number in range(EACH):
        socket.send(body_of(who, number), timeout=WAIT_S)


def send_in_batches(socket: Any, who: int) -> None:
    """With send_many, of lists and of generators."""
    half = EACH // 2
    socket.send_many([body_of(who, n) for n in range(half)], timeout=WAIT_S)
    socket.send_many((body_of(who, n) for n in range(half, EACH)), timeout=WAIT_S)


def send_frames(socket: Any, who: int) -> None:
    """With send_frames."""
    for number in range(EACH):
        socket.send_frames([b"head", body_of(who, number)], timeout=WAIT_S)


class Tally:
    """Counts what all receivers of a socket got; when that is everything, it closes the socket."""

    def __init__(self, socket: Any, wanted: int) -> None:
        self._socket = socket
        self._left = wanted
        self._lock = threading.Lock()
        self.received = 0
        """What the socket itself said, just before it was closed."""

    def add(self, count: int) -> None:
        """So many more have come."""
        with self._lock:
            self._left -= count
            if self._left == 0:
                self.received = self._socket.stats().received_messages
                self._socket.close()


def take_one_by_one(socket: Any, tally: Tally) -> Iterator[bytes]:
    """With recv."""
    while True:
        yield socket.recv(timeout=WAIT_S)
        tally.add(1)


def take_in_batches(socket: Any, tally: Tally) -> Iterator[bytes]:
    """With recv_many."""
    while True:
        batch = socket.recv_many(7, timeout=WAIT_S)
        yield from batch
        tally.add(len(batch))


def take_by_iterating(socket: Any, tally: Tally) -> Iterator[bytes]:
    """With a for loop, which prefetches."""
    for message in socket:
        yield message
        tally.add(1)


def until_closed(messages: Iterator[bytes]) -> list[bytes]:
    """Everything until the socket is closed."""
    found: list[bytes] = []
    try:
        for message in messages:
            found.append(message)
    except mm.ClosedError:
        pass
    return found


SENDING = [send_one_by_one, send_in_batches, send_frames]
TAKING = [take_one_by_one, take_in_batches, take_by_iterating]


@pytest.mark.parametrize("take", TAKING)
@pytest.mark.parametrize("send", SENDING)
@pytest.mark.parametrize("transport", ["tcp", "inproc", "ipc"])
@pytest.mark.parametrize("roles", [("Push", "Pull"), ("Dealer", "Dealer")], ids=lambda r: r[0])
def test_many_senders_and_receivers_share_two_sockets(
    roles: tuple[str, str], transport: str, send: Any, take: Any, short_path: Path
) -> None:
    """Each message comes once; no receiver sees two of one sender in the wrong order."""
    first, second = (getattr(mm, role) for role in roles)
    with joined(first, second, endpoint_for(transport, short_path)) as (source, sink):
        tally = Tally(sink, SENDERS * EACH)
        calls: list[Callable[[], Any]] = [
            lambda who=who: send(source, who) for who in range(SENDERS)
        ]
        calls += [lambda: until_closed(take(sink, tally))] * RECEIVERS
        found = all_of(calls)[SENDERS:]
        everything = Counter(bytes(message) for share in found for message in share)
        assert everything == Counter(
            body_of(who, number) for who in range(SENDERS) for number in range(EACH)
        )
        for share in found:
            pairs = [tuple(map(int, message.split())) for message in share]
            for who in range(SENDERS):
                mine = [number for sender, number in pairs if sender == who]
                assert mine == sorted(mine)
        assert source.stats().sent_messages == tally.received == SENDERS * EACH
        assert source.stats().dropped == 0


def test_publishing_from_many_threads_reaches_every_subscriber_whole_and_in_order() -> None:
    """Each subscriber sees all messages of all threads, each thread's in its order."""
    with mm.Pub(bind="inproc://stress", overflow="block") as pub:
        subs = [mm.Sub(connect="inproc://stress", topics=["t"]) for _ in range(3)]
        pub.wait_for_subscribers("t", 3, timeout=WAIT_S)

        def publish(who: int) -> None:
            for number in range(EACH):
                pub.send(body_of(who, number), topic=f"t{who}", timeout=WAIT_S)

        def collect(sub: mm.Sub) -> list[tuple[str, int, int]]:
            messages = [sub.recv(timeout=WAIT_S) for _ in range(SENDERS * EACH)]
            return [(m.topic, *map(int, m.split())) for m in messages]  # type: ignore[misc]

        calls: list[Callable[[], Any]] = [lambda who=who: publish(who) for who in range(SENDERS)]
        found = all_of([*calls, *(lambda sub=sub: collect(sub) for sub in subs)])[SENDERS:]
        for share in found:
            for who in range(SENDERS):
                mine = [(topic, number) for topic, w, number in share if w == who]
                assert mine == [(f"t{who}", number) for number in range(EACH)]
        for sub in subs:
            sub.close()


def test_subscribing_from_many_threads_ends_where_the_counts_say() -> None:
    """Each thread subscribes and takes back; what is left over is exactly what it left."""
    with mm.Pub(bind="inproc://counted") as pub, mm.Sub(connect="inproc://counted") as sub:
        sub.wait_for_peers(timeout=WAIT_S)

        def churn(who: int) -> None:
            for number in range(100):
                sub.subscribe(f"shared{number % 5}")
                sub.subscribe(f"own{who}-{number}")
                sub.unsubscribe(f"shared{number % 5}")
                if number % 2:
                    sub.unsubscribe(f"own{who}-{number}")

        all_of(lambda who=who: churn(who) for who in range(6))
        sub.subscribe("last")
        pub.wait_for_subscribers("last", timeout=WAIT_S)
        assert [pub.subscribers(f"shared{number}") for number in range(5)] == [0] * 5
        for who in range(6):
            assert pub.subscribers(f"own{who}-98") == 1
            assert pub.subscribers(f"own{who}-99") == 0
        assert pub.peers()[0].subscriptions == 6 * 50 + 1


def test_requests_and_answers_of_many_threads_find_each_other() -> None:
    """Eight threads ask through one Req, four answer through one Rep: each gets its own."""
    with mm.Rep(bind="inproc://asked") as rep, mm.Req(connect="inproc://asked") as req:
        req.wait_for_peers(timeout=WAIT_S)

        def answer() -> int:
            count = 0
            for request in rep:
                count += request.reply(request + b"!")
            return count

        with ThreadPoolExecutor(4) as answering:
            answerers = [answering.submit(answer) for _ in range(4)]

            def ask(who: int) -> None:
                for number in range(100):
                    question = body_of(who, number)
                    assert req.request(question, timeout=WAIT_S) == question + b"!"

            all_of(lambda who=who: ask(who) for who in range(8))
            rep.close()
            assert sum(future.result(WAIT_S) for future in answerers) == 800
        assert req.stats().dropped_late == 0


@pytest.mark.parametrize(
    "call", ["recv", "recv_many", "iterate", "send", "drain", "wait_for_peers"]
)
def test_closing_under_many_threads_ends_every_one_of_them(call: str) -> None:
    """Whatever they are doing: ClosedError or, of an iteration, just its end; no thread stays."""
    with joined(mm.Dealer, mm.Dealer, send_queue_messages=1, recv_queue_messages=1) as (a, _):
        calls: dict[str, Callable[[], Any]] = {
            "recv": a.recv,
            "recv_many": a.recv_many,
            "iterate": lambda: list(a),
            "send": lambda: [a.send(bytes(1 << 20)) for _ in range(1000)],
            "drain": lambda: [a.send(bytes(1 << 20)) and a.drain() for _ in range(1000)],
            "wait_for_peers": lambda: a.wait_for_peers(2),
        }

        def ends() -> bool:
            try:
                calls[call]()
            except mm.ClosedError:
                return True
            return call == "iterate"

        def close() -> bool:
            with pytest.raises(mm.TimedOutError):
                a.wait_for_peers(2, timeout=0.05)  # the others are in their calls by now
            a.close()
            return True

        assert all(all_of([*([ends] * 6), close]))


def test_looking_in_never_disturbs_who_sends_and_receives() -> None:
    """stats, peers, events and repr in a storm; each snapshot is consistent in itself."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        looking = threading.Semaphore(0)

        def look() -> None:
            before = push.stats()
            for _ in range(100):
                now = push.stats()
                assert now.sent_messages >= before.sent_messages
                assert (
                    now.sent_messages
                    == now.written_messages + now.dropped + now.queued_out_messages
                )
                assert now.confirmed_messages <= now.written_messages
                assert len(push.peers()) == len(pull.peers()) == 1
                assert "Push" in repr(push)
                before = now
            looking.release()

        def work() -> None:
            number = 0
            while not looking.acquire(blocking=False):
                push.send(b"%d" % number, timeout=WAIT_S)
                number += 1
            push.send(b"-1", timeout=WAIT_S)

        def take() -> None:
            found = list(iter(lambda: int(pull.recv(timeout=WAIT_S)), -1))
            assert found == list(range(len(found)))

        all_of([look, look, work, take])
