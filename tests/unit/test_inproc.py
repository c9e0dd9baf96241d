"""inproc hands over what is queued within the process: bounded, in order, whoever goes first.

Not here: what inproc shares with the other transports (tests/conformance); the streams themselves
(tests/c/test_memory.c). Law: no sleeps; counts decide, not time.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.forked import in_child, refused
from tests.support.pairs import WAIT_S, endpoint_for, joined

KIB = bytes(range(256)) * 4
BETWEEN_BYTES = (256 + 128 + 256) * 1024
"""What a stream within the process may hold: its bound, and the piece that crossed it; and what of
large messages was read at once and waits for room."""


@contextmanager
def pushing(first: mm.Engine | None, second: mm.Engine | None, **options: Any) -> Iterator[Any]:
    """Yield a Pull and a Push that are joined, of these engines (None: the default one)."""
    url = endpoint_for("inproc", Path())
    with (
        mm.Pull(bind=url, engine=first, **options) as pull,
        mm.Push(connect=url, engine=second, **options) as push,
    ):
        pull.wait_for_peers(timeout=WAIT_S)
        push.wait_for_peers(timeout=WAIT_S)
        yield pull, push


def fill(push: mm.Push, body: bytes) -> int:
    """Send until there is no room for 0.2 seconds; how many went."""
    sent = 0
    try:
        while True:
            push.send(body, timeout=0.2)
            sent += 1
    except mm.TimedOutError:
        return sent


@pytest.mark.parametrize("size", [1, 1024, 20_000])
def test_a_receiver_that_stalls_bounds_what_is_under_way(size: int) -> None:
    """Both queues and the stream between them: more is not taken, and nothing of it is lost."""
    with pushing(None, None, send_queue_messages=50, recv_queue_messages=50) as (pull, push):
        sent = fill(push, b"x" * size)
        between = BETWEEN_BYTES // (size + 2) + 1
        assert 100 <= sent <= 100 + 1 + between
        before = pull.stats()
        assert before.queued_in_messages <= 51
        for _ in range(sent):
            assert len(pull.recv(timeout=WAIT_S)) == size
        assert pull.stats().received_messages == push.stats().sent_messages == sent


@pytest.mark.parametrize("engines", ["one", "two"])
def test_batches_arrive_whole_and_in_order(engines: str) -> None:
    """Runs that are encoded apart, single messages and large ones keep their order."""
    with mm.Engine() as other:
        with pushing(None, other if engines == "two" else None) as (pull, push):
            bodies = [b"%06d" % i + KIB * (20 if i % 97 == 0 else i % 3) for i in range(6000)]

            def send() -> None:
                for at in range(0, len(bodies), 500):
                    push.send(bodies[at])
                    push.send_many(bodies[at + 1 : at + 500])

            sender = threading.Thread(target=send)
            sender.start()
            got: list[bytes] = []
            while len(got) < len(bodies):
                got += pull.recv_many(700, timeout=WAIT_S)
            sender.join(WAIT_S)
            assert [bytes(m) for m in got] == bodies
            assert push.drain(timeout=WAIT_S).delivered == len(bodies)


def test_a_message_larger_than_any_bound_between_arrives_whole() -> None:
    """The largest message there may be by default, with small ones before and behind it."""
    large = os.urandom(1024 * 1024) * 64
    with pushing(None, None) as (pull, push):
        for body in (b"before", large[:-16], b"behind"):
            push.send(body, timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"before"
        got = pull.recv(timeout=WAIT_S)
        assert hashlib.sha256(got).digest() == hashlib.sha256(large[:-16]).digest()
        assert pull.recv(timeout=WAIT_S) == b"behind"


def test_a_sender_may_close_with_messages_on_their_way() -> None:
    """What lingers is written, read, and followed by the end."""
    with pushing(None, None) as (pull, push):
        push.send_many([KIB] * 900)
        push.close()
        got: list[bytes] = []
        while len(got) < 900:
            got += pull.recv_many(900, timeout=WAIT_S)
        assert [bytes(m) for m in got] == [KIB] * 900


def test_a_receiver_may_close_with_messages_on_their_way() -> None:
    """Each message is then delivered, in doubt, dropped, or kept for the next peer."""
    url = endpoint_for("inproc", Path())
    with mm.Push(connect=url) as push:
        with mm.Pull(bind=url) as pull:
            push.wait_for_peers(timeout=WAIT_S)
            push.send_many([KIB] * 800)
            pull.recv(timeout=WAIT_S)
        with mm.Pull(bind=url) as pull:
            pull.wait_for_peers(timeout=WAIT_S)  # so Push has seen that the first one is gone
            push.wait_for_peers(timeout=WAIT_S)
            push.send(b"last", timeout=WAIT_S)
            after = 0
            while bytes(pull.recv(timeout=WAIT_S)) != b"last":
                after += 1
            report = push.drain(timeout=WAIT_S)
            stats = push.stats()
            assert stats.sent_messages == 801
            told = report.delivered + report.in_doubt + report.dropped
            assert (told, report.queued) == (801, 0)
            assert report.delivered >= after + 1


def test_a_full_inbox_does_not_hold_up_a_receipt() -> None:
    """A PING behind exactly as many messages as the inbox takes is answered."""
    with pushing(None, None, recv_queue_messages=64) as (_pull, push):
        push.send_many([b"x"] * 64)
        assert push.drain(timeout=WAIT_S).delivered == 64


def test_commands_and_requests_go_the_same_way() -> None:
    """Roles whose messages have an address, and subscriptions, over the streams of one process."""
    with joined(mm.Rep, mm.Req, endpoint_for("inproc", Path())) as (rep, req):
        answers = threading.Thread(
            target=lambda: [r.reply(bytes(r) * 2) for r in (rep.recv(timeout=WAIT_S),) * 1]
        )
        answers.start()
        assert req.request(KIB, timeout=WAIT_S) == KIB * 2
        answers.join(WAIT_S)
    url = endpoint_for("inproc", Path())
    with mm.Pub(bind=url) as pub, mm.Sub(connect=url, topics=["a" * 5000]) as sub:
        pub.wait_for_subscribers("a" * 5000, timeout=WAIT_S)
        pub.send(b"body", topic="a" * 5000)
        assert sub.recv(timeout=WAIT_S) == b"body"


def test_a_fork_in_the_midst_leaves_the_parents_streams_alone() -> None:
    """The child forgets them, can open its own, and the parent misses nothing."""
    with pushing(None, None) as (pull, push):
        push.send_many([KIB] * 500)

        def work() -> bool:
            assert refused(lambda: push.send(b"x"))
            with pushing(None, None) as (mine, yours):
                yours.send(b"child", timeout=WAIT_S)
                return bytes(mine.recv(timeout=WAIT_S)) == b"child"

        assert in_child(work)
        push.send_many([KIB] * 500)
        got = 0
        while got < 1000:
            got += len(pull.recv_many(1000, timeout=WAIT_S))
        assert push.drain(timeout=WAIT_S).delivered == 1000


PAUSE_S = 10_000


@pytest.mark.parametrize("names", [mm, aio], ids=["threads", "asyncio"])
def test_who_was_refused_finds_who_comes_next_without_its_pause(names: Any) -> None:
    """It would come again only after that; another one who listens there is found at once."""
    url = endpoint_for("inproc", Path())

    async def main() -> None:
        first, taken = mm.Pair(bind=url), mm.Pair(connect=url)
        first.wait_for_peers(timeout=WAIT_S)
        with first, taken:
            one = names.Pair(connect=url, reconnect_min=PAUSE_S, reconnect_max=PAUSE_S)
            while mm.Reason.ROLE_REFUSED not in first.stats().closed:
                await asyncio.sleep(0)
        with mm.Pair(bind=url) as second:
            while not second.peers():
                await asyncio.sleep(0)
            one.close()

    asyncio.run(main())
