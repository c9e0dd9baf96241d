"""routing= of a Push, identity= of a Pull: what they take, who gets what, by threads and by tasks.

Not here: queues alone (tests/c/test_route.c), workers that come and go
(tests/sim/test_routing.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S, wait_until

URLS = ["tcp://127.0.0.1:0", "ipc://*", "inproc://*"]
HELD = 8
"""Messages that a worker that is stuck may hold: its prefetch, and as many that wait for it."""


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Where sockets are closed at the end."""
    with ExitStack() as stack:
        yield stack


def shop(stack: ExitStack, count: int, url: str = URLS[2], **options: Any) -> Any:
    """A Push that routes, and Pulls that acknowledge by hand."""
    options = {"routing": "hash", "delivery": "at_least_once", **options}
    push = stack.enter_context(mm.Push(bind=url, **options))
    pulls = [
        stack.enter_context(
            mm.Pull(
                connect=push.endpoint, ack="manual", prefetch=HELD // 2, identity=b"w%d" % number
            )
        )
        for number in range(count)
    ]
    push.wait_for_peers(count, timeout=WAIT_S)
    return push, pulls


def keys_of(push: mm.Push, pulls: list[mm.Pull]) -> list[str]:
    """A key of each worker; nothing is left over."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < len(pulls):
        key = f"key {number}"
        push.send(b"whose?", key=key, timeout=WAIT_S)
        poller = mm.Poller(pulls)
        [ready] = poller.poll(timeout=WAIT_S)
        message: Any = ready.recv(timeout=WAIT_S)
        message.ack()
        found.setdefault(pulls.index(ready), key)
        poller.close()
        number += 1
    push.drain(timeout=WAIT_S).raise_for_loss()
    return [found[index] for index in range(len(pulls))]


@pytest.mark.parametrize("routing", ["sticky", "round-robin", "", None, 5, [], b"hash"])
def test_what_routing_cannot_be_is_refused(routing: Any) -> None:
    """With what it may be."""
    for push in (mm.Push, aio.Push):
        with pytest.raises(mm.UsageError, match="'round_robin', 'least_loaded' or 'hash'"):
            push(routing=routing)


def test_only_a_push_routes() -> None:
    """The others do not know the word."""
    for role in (mm.Pull, mm.Dealer, mm.Req, mm.Pair, mm.Pub):
        with pytest.raises(TypeError, match="routing"):
            role(routing="hash")  # type: ignore[call-arg]


def test_an_identity_of_a_pull_is_what_its_peer_knows(opened: ExitStack) -> None:
    """Checked as that of a Dealer; without one it says none."""
    push, _ = shop(opened, 2, URLS[0])
    opened.enter_context(mm.Pull(connect=push.endpoint))
    push.wait_for_peers(3, timeout=WAIT_S)
    assert sorted(peer.identity for peer in push.peers()) == [b"", b"w0", b"w1"]
    with pytest.raises(TypeError, match="identity is str"):
        mm.Pull(identity="w")  # type: ignore[arg-type]
    with pytest.raises(mm.UsageError, match="255"):
        mm.Pull(identity=b"w" * 256)


@pytest.mark.parametrize("url", URLS, ids=lambda url: str(url).partition(":")[0])
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_each_key_is_one_worker_s_and_in_order(opened: ExitStack, url: str, delivery: Any) -> None:
    """Of any size, by several threads, among messages without a key."""
    push, pulls = shop(opened, 3, url, delivery=delivery)

    def send(thread: int) -> None:
        for number in range(100):
            size = 40_000 if number % 10 == 0 else 0
            push.send(b"%d " % number + bytes(size), key=f"key {thread} {number % 5}")
            push.send(b"none")

    threads = [threading.Thread(target=send, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    seen: dict[bytes, list[int]] = {}
    owner: dict[bytes, mm.Pull] = {}
    left = 600
    with mm.Poller(pulls) as poller:
        while left:
            for pull in poller.poll(timeout=WAIT_S):
                for message in pull.recv_many(timeout=WAIT_S):
                    left -= 1
                    if message.key is not None:
                        assert owner.setdefault(message.key, pull) is pull
                        seen.setdefault(message.key, []).append(int(message.split()[0]))
                    message.ack()
    for thread in threads:
        thread.join()
    assert len(seen) == 15
    assert all(numbers == sorted(numbers) for numbers in seen.values())
    push.drain(timeout=WAIT_S).raise_for_loss()


def test_who_waits_for_a_worker_that_is_stuck_holds_up_nobody(opened: ExitStack) -> None:
    """And goes on as soon as that one does."""
    push, pulls = shop(opened, 2, send_queue_messages=HELD // 2)
    stuck, free = keys_of(push, pulls)
    for number in range(HELD):
        push.send(b"%d" % number, key=stuck, timeout=WAIT_S)
    with pytest.raises(mm.WouldBlockError):
        push.send(b"no", key=stuck, timeout=0)
    sent = threading.Event()

    def send() -> None:
        push.send(b"%d" % HELD, key=stuck, timeout=WAIT_S)
        sent.set()

    thread = threading.Thread(target=send)
    thread.start()
    for number in range(20):
        push.send(b"%d" % number, key=free, timeout=WAIT_S)
        push.send(b"none", timeout=WAIT_S)
        for _ in range(2):
            pulls[1].recv(timeout=WAIT_S).ack()
    assert not sent.is_set()
    assert push.stats().queued_out_messages == HELD // 2
    for number in range(HELD + 1):
        message = pulls[0].recv(timeout=WAIT_S)
        assert message == b"%d" % number
        message.ack()
    thread.join()
    push.drain(timeout=WAIT_S).raise_for_loss()


def test_tasks_that_wait_for_a_worker_that_is_stuck_hold_up_nobody() -> None:
    """The same in an event loop, with many that wait."""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            push = await stack.enter_async_context(
                aio.Push(bind=URLS[2], routing="hash", send_queue_messages=HELD,
                         delivery="at_least_once")
            )  # fmt: skip
            pulls = [
                await stack.enter_async_context(
                    aio.Pull(
                        connect=push.endpoint, ack="manual", prefetch=HELD, identity=b"w%d" % number
                    )
                )
                for number in range(2)
            ]
            await push.wait_for_peers(2, timeout=WAIT_S)
            owner: dict[bytes | None, int] = {}
            for number in range(10):
                await push.send(b"whose?", key=f"{number}")
            while len(owner) < 10:
                for index, pull in enumerate(pulls):
                    try:
                        first: Any = await pull.recv(timeout=0)
                    except mm.WouldBlockError:
                        await asyncio.sleep(0)
                        continue
                    owner[first.key] = index
                    first.ack()
            tasks = [
                asyncio.create_task(push.send(b"%d" % number, key=f"{number % 10}"))
                for number in range(400)
            ]
            done: set[bytes] = set()
            free = 40 * list(owner.values()).count(1)
            assert 0 < free < 400
            freed = asyncio.Event()

            async def take(index: int) -> None:
                async for message in pulls[index]:
                    leased: Any = message
                    assert owner[message.key] == index
                    done.add(bytes(leased))
                    leased.ack()
                    if len(done) == free:
                        freed.set()

            worker = asyncio.create_task(take(1))
            await asyncio.wait_for(freed.wait(), WAIT_S)
            assert sum(task.done() for task in tasks) < 400  # those of the other one wait
            both = [worker, asyncio.create_task(take(0))]
            await asyncio.gather(*tasks)
            report = await push.drain(timeout=WAIT_S)
            assert (report.queued, report.unconfirmed) == (0, 0)
            assert {int(body) for body in done} == set(range(400))
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    asyncio.run(run())


def test_a_worker_that_comes_back_has_its_keys_again(opened: ExitStack) -> None:
    """By its identity; meanwhile the other one has them, and what it had not done."""
    push, pulls = shop(opened, 2)
    key, other = keys_of(push, pulls)
    for number in range(3):
        push.send(b"%d" % number, key=key, timeout=WAIT_S)
    pulls[0].recv(timeout=WAIT_S).ack()
    pulls[0].close()
    assert [bytes(pulls[1].recv(timeout=WAIT_S)) for _ in range(2)] == [b"1", b"2"]
    again = opened.enter_context(mm.Pull(connect=push.endpoint, identity=b"w0"))
    push.wait_for_peers(2, timeout=WAIT_S)
    push.send(b"3", key=key, timeout=WAIT_S)
    push.send(b"4", key=other, timeout=WAIT_S)
    assert again.recv(timeout=WAIT_S) == b"3"
    assert pulls[1].recv(timeout=WAIT_S) == b"4"


def test_of_two_of_one_name_the_later_takes_over(opened: ExitStack) -> None:
    """An exclusive consumer with a stand-by."""
    push = opened.enter_context(mm.Push(bind=URLS[0], routing="hash", delivery="at_least_once"))
    pulls = []
    for number in range(2):
        pull = mm.Pull(connect=push.endpoint, identity=b"only", ack="manual")
        pulls.append(opened.enter_context(pull))
        push.wait_for_peers(number + 1, timeout=WAIT_S)
    for number in range(10):
        push.send(b"%d" % number, key=f"{number}", timeout=WAIT_S)
    assert [bytes(pulls[0].recv(timeout=WAIT_S)) for _ in range(10)] == [
        b"%d" % number for number in range(10)
    ]
    with pytest.raises(mm.WouldBlockError):
        pulls[1].recv(timeout=0)
    pulls[0].close()
    found = [bytes(pulls[1].recv(timeout=WAIT_S)) for _ in range(10)]
    assert found == [b"%d" % number for number in range(10)]


def test_what_is_given_back_comes_back_and_is_given_up(opened: ExitStack) -> None:
    """To the worker of its key, as often as it may; its receipt tells."""
    push, pulls = shop(opened, 3, max_attempts=2, dead_letter="keep")
    key = keys_of(push, pulls)[1]
    receipt = push.send(b"bad", key=key, confirm=True, timeout=WAIT_S)
    for attempt in (1, 2):
        message = pulls[1].recv(timeout=WAIT_S)
        assert (message.attempt, message.key) == (attempt, key.encode())
        message.nack()
    with pytest.raises(mm.UndeliveredError, match="attempts"):
        receipt.wait(timeout=WAIT_S)
    [letter] = push.dead_letters()
    assert (bytes(letter), letter.key) == (b"bad", key.encode())
    receipt = push.send(b"good", key=key, confirm=True, timeout=WAIT_S)
    pulls[1].recv(timeout=WAIT_S).ack()
    receipt.wait(timeout=WAIT_S)


def test_what_expires_as_it_waits_for_its_worker_is_a_dead_letter(opened: ExitStack) -> None:
    """And makes room."""
    push, pulls = shop(opened, 2, send_queue_messages=HELD // 2, dead_letter="keep")
    stuck, _ = keys_of(push, pulls)
    for number in range(HELD):
        more: dict[str, Any] = {"ttl": 0.05} if number >= HELD // 2 else {}
        push.send(b"%d" % number, key=stuck, timeout=WAIT_S, **more)
    push.send(b"new", key=stuck, timeout=WAIT_S)  # waits until they are gone
    letters: list[mm.DeadLetter] = []
    wait_until(lambda: letters.extend(push.dead_letters()) or len(letters) == HELD // 2)
    assert {letter.reason for letter in letters} == {"expired"}


def test_many_without_a_key_go_in_turn_and_to_one_worker_in_order(opened: ExitStack) -> None:
    """As by round_robin; with one worker all policies are one."""
    for routing in ("hash", "least_loaded", "round_robin"):
        push, pulls = shop(opened, 1, URLS[0], routing=routing, delivery="at_most_once")
        bodies = [b"%d" % number for number in range(5_000)]
        thread = threading.Thread(target=push.send_many, args=(bodies,))
        thread.start()
        found: list[bytes] = []
        while len(found) < len(bodies):
            found += map(bytes, pulls[0].recv_many(timeout=WAIT_S))
        thread.join()
        assert found == bodies


def test_whether_it_can_send_is_no_question_for_a_poller(opened: ExitStack) -> None:
    """It hangs on the key; of the other policies it is."""
    push, pulls = shop(opened, 1)
    with mm.Poller() as poller:
        with pytest.raises(mm.UsageError, match="depends on the message"):
            poller.add(push, writable=True)
        poller.add(pulls[0])
    least, _ = shop(opened, 1, URLS[0], routing="least_loaded")
    with mm.Poller() as poller:
        poller.add(least, writable=True)
        assert [ready is least for ready in poller.poll(timeout=WAIT_S)] == [True]


def test_the_least_loaded_worker_is_the_one_that_is_free(opened: ExitStack) -> None:
    """A worker that is busy gets no more than its share of a load."""
    push, pulls = shop(opened, 3, routing="least_loaded")
    known: set[mm.Pull] = set()
    while len(known) < 3:  # each has given its first credit
        push.send(b"x", timeout=WAIT_S)
        with mm.Poller(pulls) as poller:
            for ready in poller.poll(timeout=WAIT_S):
                ready.recv(timeout=WAIT_S).ack()
                known.add(ready)
    push.drain(timeout=WAIT_S).raise_for_loss()
    for number in range(3):
        push.send(b"%d" % number, timeout=WAIT_S)
    held = [pull.recv(timeout=WAIT_S) for pull in pulls]  # each has one
    for number in range(10):
        held[1].ack()
        wait_until(lambda: min(peer.unacked_messages for peer in push.peers()) == 0)
        push.send(b"more", timeout=WAIT_S)
        held[1] = pulls[1].recv(timeout=WAIT_S)
        assert held[1] == b"more", number


def test_pyzmq_gets_the_messages_of_its_keys_and_a_named_pull_those_of_pyzmq() -> None:
    """It says no identity, and does not mind one."""
    with mm.Push(bind=URLS[0], routing="hash") as push, zmq.Context() as context:
        with context.socket(zmq.PULL) as other, context.socket(zmq.PUSH) as sender:
            other.rcvtimeo = int(WAIT_S * 1000)
            other.connect(push.endpoint)
            port = sender.bind_to_random_port("tcp://127.0.0.1")
            with mm.Pull(connect=push.endpoint, identity=b"me") as pull:
                pull.connect(f"tcp://127.0.0.1:{port}")
                push.wait_for_peers(2, timeout=WAIT_S)
                for number in range(100):
                    push.send(b"%d" % number, key=f"{number % 20}", timeout=WAIT_S)
                sender.send(b"from pyzmq")
                ours: set[bytes] = set()
                theirs: set[bytes] = set()

                def all_there() -> bool:
                    while other.poll(0):
                        theirs.add(other.recv())
                    try:
                        ours.update(map(bytes, pull.recv_many(timeout=0)))
                    except mm.WouldBlockError:
                        pass
                    return len(ours) + len(theirs) == 101

                wait_until(all_there)
                assert b"from pyzmq" in ours
                keys = [
                    {int(body) % 20 for body in one - {b"from pyzmq"}} for one in (ours, theirs)
                ]
                assert not keys[0] & keys[1]
