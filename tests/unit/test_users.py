"""What users of other libraries suffer from, one regression test each: it does not occur here.

The numbers are those of the ranked list of complaints, 1 to 11.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.forked import in_child, refused
from tests.support.pairs import WAIT_S, joined
from tests.support.room import room
from tests.support.stalled import PATIENCE_S, stalled

UP = "tcp://127.0.0.1:0"


@pytest.mark.parametrize("role", ["Pub", "XPub", "Router", "Push", "Dealer"])
def test_1_no_message_is_lost_at_the_high_water_mark_without_a_word(role: str) -> None:
    """Each drop is counted by cause, told in an event, and the receiver's gaps add up to it."""
    with stalled(role, overflow="drop_newest", send_queue_messages=7) as pair:
        for number in range(50):
            assert pair.try_send(b"%04d" % number + bytes(10_000))
        lost = 50 - len(pair.receive_all())
        stats = pair.sender.stats()
        told = [e.count for e in pair.sender.events() if e.kind is mm.EventKind.DROPPED]
        assert lost == stats.dropped_overflow == stats.dropped == sum(told) == 43
        with pytest.raises(mm.MeshError, match="43 dropped"):
            pair.sender.drain(timeout=1).raise_for_loss()


@pytest.mark.parametrize("first", ["Pub", "Sub"])
def test_2_the_first_message_after_waiting_for_subscribers_arrives(first: str) -> None:
    """No slow joiner, no sleep, whoever binds; a hundred times."""
    for round_number in range(100):
        with mm.Pub() as pub, mm.Sub(topics="news.") as sub:
            (pub, sub)[first == "Sub"].bind(f"inproc://slow-joiner-{round_number}")
            (sub, pub)[first == "Sub"].connect(f"inproc://slow-joiner-{round_number}")
            pub.wait_for_subscribers("news.today", timeout=WAIT_S)
            pub.send(b"first", topic="news.today")
            assert sub.recv(timeout=WAIT_S) == b"first"


def test_2_the_first_job_after_waiting_for_all_workers_is_shared_by_all() -> None:
    """PUSH to workers that come late: none of the messages is missing."""
    with mm.Push(bind=UP) as push:
        pulls = [mm.Pull(connect=push.endpoint) for _ in range(5)]
        push.wait_for_peers(5, timeout=WAIT_S)
        push.send_many(b"%d" % number for number in range(100))
        found = [int(pull.recv(timeout=WAIT_S)) for pull in pulls for _ in range(20)]
        assert sorted(found) == list(range(100))
        for pull in pulls:
            pull.close()


def test_3_peers_and_queue_depths_are_seen_and_full_is_told_from_absent() -> None:
    """The question a FAQ calls impossible: how deep is the queue, and whose?"""
    with stalled("Push", send_queue_messages=3) as pair:
        for _ in range(3):
            pair.send(bytes(10_000))
        peer = pair.sender.peers()[0]
        assert (peer.queued_out_messages, peer.role) == (3, "PULL")
        with pytest.raises(mm.WouldBlockError, match="1 peer"):
            pair.send(bytes(10_000))
        assert "queued 3 out" in repr(pair.sender)
    with mm.Push(bind=UP) as lonely, pytest.raises(mm.WouldBlockError, match="0 peers"):
        lonely.send(b"x", timeout=0)


def test_4_one_socket_is_used_by_many_threads_for_everything_at_once() -> None:
    """Sending, receiving, looking, connecting from eight threads: no crash, nothing lost."""
    with mm.Dealer(bind=UP) as a, mm.Dealer(connect=a.endpoint) as b:
        a.wait_for_peers(timeout=WAIT_S)
        start = threading.Barrier(8, timeout=WAIT_S)

        def talk(who: int) -> int:
            mine, other = (a, b)[who % 2], b"%d" % who
            start.wait()
            got = 0
            for number in range(200):
                mine.send(other, timeout=WAIT_S)
                got += len(mine.recv_many(1, timeout=WAIT_S))
                if number % 20 == 0:
                    assert mine.stats().peers == len(mine.peers()) == 1
                    mine.bind(f"inproc://t{who}-{number}")
                    mine.unbind(f"inproc://t{who}-{number}")
                    assert "Dealer" in repr(mine)
                    mine.events()
            return got

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(talk, range(8))) == 8 * 200


MISUSE = [
    "socket.send(bytes(70_000_000))",
    "socket.send_frames([])",
    "socket.send_frames([b''] * 5000)",
    "socket.connect('tcp://' + 'x' * 70000 + ':1')",
    "socket.bind('ipc://' + '/nowhere' * 50)",
    "socket.unbind('tcp://127.0.0.1:1')",
    "socket.recv_many(0)",
    "socket.recv_many(2**40)",
    "socket.wait_for_peers(2**40, timeout=0)",
    "socket.recv(timeout=-1)",
    "mm.Pull(recv_queue_messages=2**70)",
    "(socket.close(), socket.recv())",
    "(engine.close(), socket.send(b''))",
    "mm.Push(engine=engine, bind='x')",
]


@pytest.mark.parametrize("code", MISUSE)
def test_4_misuse_is_an_exception_and_never_an_abort(code: str) -> None:
    """A C assert would end the process: here it goes on, with an error of ours or a builtin."""
    with mm.Engine() as engine, mm.Dealer(engine=engine) as socket:
        names = {"mm": mm, "socket": socket, "engine": engine}
        with pytest.raises((mm.MeshError, ValueError, TypeError)):
            eval(code, names)


LEAVING = [
    "s = mm.Pull(bind='tcp://127.0.0.1:0')\n"
    "for take in (s.recv, lambda: next(iter(s)), s.recv_many, s.recv_batch):\n"
    " threading.Thread(target=take, daemon=True).start()",
    "s = mm.Req(connect='tcp://127.0.0.1:9')\n"
    "threading.Thread(target=s.request, args=(b'x',), daemon=True).start()",
    "async def f():\n await aio.Pull(bind='tcp://127.0.0.1:0').recv()\n"
    "threading.Thread(target=asyncio.run, args=(f(),), daemon=True).start()",
    "s = mm.Push(connect='tcp://127.0.0.1:9'); threading.Thread(target=s.send, args=(b'x',),"
    " daemon=True).start()",
    "s = mm.Push(bind='tcp://127.0.0.1:0'); p = mm.Pull(connect=s.endpoint); s.send(b'x')",
    "s = [mm.Pull(bind='tcp://127.0.0.1:0') for _ in range(50)]",
    "s = mm.Req(connect='tcp://127.0.0.1:9'); s.__cycle__ = s",
    "async def f():\n s = aio.Pull(bind='tcp://127.0.0.1:0')\n"
    " t = asyncio.ensure_future(s.recv())\n await asyncio.sleep(0)\nasyncio.run(f())",
]


@pytest.mark.parametrize("code", LEAVING)
def test_5_a_program_ends_whatever_its_sockets_are_doing(code: str) -> None:
    """No infinite linger, no context to terminate, no collector that waits."""
    program = f"import asyncio, threading, meshmsg as mm\nfrom meshmsg import aio\n{code}\n"
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=WAIT_S, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"Exception" not in done.stderr  # nobody made one


def test_6_a_message_sent_right_before_closing_arrives() -> None:
    """Fifty times: send, close at once; no reset eats the last one."""
    with mm.Pull(bind=UP) as pull:
        for number in range(50):
            with mm.Push(connect=pull.endpoint) as push:
                push.send(b"%d" % number, timeout=WAIT_S)
        assert sorted(int(pull.recv(timeout=WAIT_S)) for _ in range(50)) == list(range(50))


def test_6_drain_means_that_the_peer_has_it() -> None:
    """Not that the kernel took it: after a drain, the receiver finds all of it without waiting."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        for _ in range(20):
            push.send_many([b"x" * 1000] * 40, timeout=WAIT_S)
            push.drain(timeout=WAIT_S).raise_for_loss()
            assert pull.stats().queued_in_messages == 40
            got = 0
            while got < 40:
                got += len(pull.recv_many(40 - got, timeout=0))  # raises if it would have to wait


def test_7_a_request_without_an_answer_wedges_nothing_and_mixes_up_nothing() -> None:
    """Ten lost answers in a row; then the late ones come, and the next question gets its own."""
    with room() as r:
        rep, (req,) = r.around("Rep", "Req", 1)
        for number in range(10):
            with pytest.raises(mm.TimedOutError):
                req.request(b"%d" % number, timeout=0.1)
        for late in [rep.recv(timeout=PATIENCE_S) for _ in range(10)]:
            assert late.reply(b"late " + late)
        with pytest.raises(mm.TimedOutError):
            req.request(b"mine", timeout=0.1)
        assert rep.recv(timeout=PATIENCE_S) == b"mine"
        assert req.stats().dropped_late == 10


def test_8_a_cancelled_receive_has_taken_nothing() -> None:
    """Two hundred receives cancelled at every moment of their life; every message is there."""

    async def run() -> None:
        async with aio.Push(bind=UP) as push, aio.Pull(connect=push.endpoint) as pull:
            await pull.wait_for_peers(timeout=WAIT_S)
            got = []
            for number in range(200):
                task = asyncio.ensure_future(pull.recv())
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                await push.send(b"%d" % number)
                for _ in range(number % 3):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    got.append(int(await task))
                except asyncio.CancelledError:
                    continue
            while len(got) < 200:
                got.append(int(await pull.recv(timeout=WAIT_S)))
            assert sorted(got) == list(range(200))

    asyncio.run(run())


def test_9_a_receive_that_need_not_wait_does_not_go_through_the_loop() -> None:
    """And the loop is woken once for a batch, not once for a message."""

    async def run() -> None:
        with mm.Push(bind=UP) as push:
            async with aio.Pull(connect=push.endpoint) as pull:
                await pull.wait_for_peers(timeout=WAIT_S)
                push.send_many([b"x"] * 30)
                push.drain(timeout=WAIT_S).raise_for_loss()
                turned = asyncio.Event()
                turns = 0
                for _ in range(30):
                    turned.clear()
                    asyncio.get_running_loop().call_soon(turned.set)
                    assert await pull.recv() == b"x"
                    turns += turned.is_set()
                assert turns < 10, "the engine's thread, or the time for others, may cost a few"

    asyncio.run(run())


@pytest.mark.parametrize("waiting", ["select", "poll", "epoll"])
def test_10_a_foreign_loop_misses_no_message(waiting: str) -> None:
    """fileno() has ordinary level-triggered semantics: readable until the last one is taken."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        fd = pull.fileno()
        poller = select.epoll() if waiting == "epoll" else select.poll()
        poller.register(fd, select.POLLIN)

        def readable(timeout_s: float) -> bool:
            if waiting == "select":
                return bool(select.select([fd], [], [], timeout_s)[0])
            return bool(poller.poll(timeout_s if waiting == "epoll" else timeout_s * 1000))

        for count in (1, 5, 500):
            push.send_many([b"x"] * count, timeout=WAIT_S)
            for _ in range(count):
                assert readable(WAIT_S)
                pull.recv(timeout=0)
            assert not readable(0)
        if isinstance(poller, select.epoll):
            poller.close()


def in_a_child(endpoint: str) -> bytes:
    """Run in a forked worker, as Spark's daemon forks its own."""
    with mm.Req(connect=endpoint) as req:
        return bytes(req.request(b"%d" % os.getpid(), timeout=WAIT_S))


def test_11_forked_workers_have_sockets_of_their_own_and_the_parent_keeps_its() -> None:
    """multiprocessing's fork, while the parent's sockets are busy: no panic, no hang, no mix-up."""
    with mm.Rep(bind=UP) as rep:
        serving = threading.Thread(target=lambda: [r.reply(r) for r in rep])
        serving.start()
        with multiprocessing.get_context("fork").Pool(3) as pool:
            answers = pool.map(in_a_child, [rep.endpoint] * 9, chunksize=1)
        assert all(answer.isdigit() and int(answer) != os.getpid() for answer in answers)
        assert in_a_child(rep.endpoint) == b"%d" % os.getpid()
        rep.close()
        serving.join(WAIT_S)


def test_11_an_inherited_socket_says_what_it_is() -> None:
    """ForkedError from every call in the child, at once; the parent's link is untouched."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        calls: list[Callable[[], object]] = [
            lambda: push.send(b"x"),
            push.stats,
            pull.recv,
            pull.fileno,
            push.drain,
            lambda: push.bind(UP),
        ]
        assert in_child(lambda: refused(*calls))
        push.send(b"still here", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still here"
