"""What goes with a message: key, headers, times; by each role, call, transport and size.

Not here: peers that mean no good (tests/hostile/test_hostile_headers.py), expiry
(tests/sim/test_fates.py), the octets (tests/unit/test_notes.py).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S, wait_until

URLS = ["tcp://127.0.0.1:0", "ipc://*", "inproc://headers"]
SIZES = [0, 1, 1_000, 40_000, 300_000]
"""Bytes: in a segment, by reference, and given whole to who receives."""
HEADERS = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "raw": b"\xff"}
MORE: dict[str, Any] = {"key": "customer-7", "headers": HEADERS, "ttl": 60}


def check(message: mm.Message, body: bytes, sent: float) -> None:
    """All that went with it is there."""
    assert message == body
    assert message.key == b"customer-7"
    assert message.headers == HEADERS
    assert message.timestamp is not None
    assert message.expires is not None
    assert abs(message.timestamp - sent) < WAIT_S
    assert message.expires - message.timestamp == pytest.approx(60, abs=0.01)


def check_plain(message: mm.Message) -> None:
    """Nothing went with it."""
    assert (message.key, message.timestamp, message.expires) == (None, None, None)
    assert message.headers == {}


PAIRS = [
    ("Push", "Pull"), ("Pair", "Pair"), ("Dealer", "Dealer"), ("Bus", "Bus"), ("Pub", "Sub"),
    ("XPub", "XSub"), ("Dealer", "Rep"), ("Router", "Dealer"), ("Dealer", "Router"),
]  # fmt: skip


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Who sends, who receives."""
    return tuple(request.param)


def opened(module: Any, names: tuple[str, str], url: str, stack: ExitStack | None) -> Any:
    """Both, connected; the sender listens."""
    made = []
    for name, where in zip(names, ("bind", "connect"), strict=True):
        more: dict[str, Any] = {where: url if where == "bind" else made[0].endpoint}
        if name == "Sub":
            more["topics"] = [""]
        if names[0] == "Router" and name == "Dealer":
            more["identity"] = b"me"
        made.append(getattr(module, name)(**more))
        if name == "XSub":
            made[-1].subscribe("")
        if stack is not None:
            stack.enter_context(made[-1])
    return made


@pytest.mark.parametrize("url", URLS, ids=lambda url: str(url).partition(":")[0])
def test_what_goes_with_a_message_comes_with_it_and_with_no_other(
    pair: tuple[str, str], url: str
) -> None:
    """Of each size, between messages that have nothing, by threads."""
    with ExitStack() as stack:
        sender, receiver = opened(mm, pair, url, stack)
        receiver.wait_for_peers(timeout=WAIT_S)
        sender.wait_for_peers(timeout=WAIT_S)
        if pair[0] in ("Pub", "XPub"):
            sender.wait_for_subscribers(timeout=WAIT_S)
        to: dict[str, Any] = {"to": b"me"} if pair[0] == "Router" else {}
        for size in SIZES:
            body = b"b" * size
            for more in ({}, MORE, {}):
                if pair[1] == "Rep":
                    sender.send_frames([b"", body], **more)
                elif to and pair[0] == "Router":
                    sender.send(body, **to, **more)
                else:
                    sender.send(body, **more)
            check_plain(receiver.recv(timeout=WAIT_S))
            check(receiver.recv(timeout=WAIT_S), body, time.time())
            check_plain(receiver.recv(timeout=WAIT_S))


def test_the_same_by_tasks(pair: tuple[str, str]) -> None:
    """As by threads."""

    async def main() -> None:
        sender, receiver = opened(aio, pair, URLS[0], None)
        async with sender, receiver:
            await receiver.wait_for_peers(timeout=WAIT_S)
            await sender.wait_for_peers(timeout=WAIT_S)
            if pair[0] in ("Pub", "XPub"):
                await sender.wait_for_subscribers(timeout=WAIT_S)
            to: dict[str, Any] = {"to": b"me"} if pair[0] == "Router" else {}
            for size in SIZES:
                body = b"b" * size
                for more in (MORE, {}):
                    if pair[1] == "Rep":
                        await sender.send_frames([b"", body], **more)
                    else:
                        await sender.send(body, **to, **more)
                check(await receiver.recv(timeout=WAIT_S), body, time.time())
                check_plain(await receiver.recv(timeout=WAIT_S))

    asyncio.run(main())


def test_a_question_and_its_answer_have_their_own(tmp_path: Any) -> None:
    """Also asked in frames, and asked again; what the server reads is what was asked with."""
    with mm.Rep(bind=f"ipc://{tmp_path}/s") as rep, mm.Req(connect=rep.endpoint) as req:

        async def asked() -> list[mm.Message]:
            def ask() -> list[mm.Message]:
                one = req.request(b"q", timeout=WAIT_S, **MORE)
                two = req.request_frames([b"f", b"q"], timeout=WAIT_S, retries=1, **MORE)
                return [one, two, req.request(b"q", timeout=WAIT_S)]

            return await asyncio.to_thread(ask)

        async def main() -> list[mm.Message]:
            task = asyncio.create_task(asked())
            for i in range(3):
                request = await asyncio.to_thread(rep.recv, timeout=WAIT_S)
                if i < 2:
                    check(request, b"q", time.time())
                    assert request.reply(b"a", headers={"n": str(i)}, key=request.key)
                else:
                    check_plain(request)
                    assert request.reply_frames([b"f", b"a"], headers={"n": "2"})
            return await task

        answers = asyncio.run(main())
        assert [answer.headers for answer in answers] == [{"n": "0"}, {"n": "1"}, {"n": "2"}]
        assert [answer.key for answer in answers] == [b"customer-7", b"customer-7", None]


def test_a_survey_and_its_answers_have_their_own() -> None:
    """As a question."""
    with mm.Surveyor(bind=URLS[0]) as asker, mm.Respondent(connect=asker.endpoint) as one:
        asker.wait_for_peers(timeout=WAIT_S)
        survey = asker.survey(b"who?", deadline=WAIT_S, **MORE)
        request = one.recv(timeout=WAIT_S)
        check(request, b"who?", time.time())
        request.reply(b"me", key="answer")
        assert [answer.key for answer in survey] == [b"answer"]


def received(pull: Any) -> Iterator[tuple[str, Callable[[int], list[mm.Message]]]]:
    """The ways to receive several."""
    yield "recv", lambda count: [pull.recv(timeout=WAIT_S) for _ in range(count)]
    yield "recv_many", lambda count: many(pull, count)
    yield "iterate", lambda count: [next(iter(pull)) for _ in range(count)]


def many(pull: Any, count: int) -> list[mm.Message]:
    """By recv_many, until there are so many."""
    found: list[mm.Message] = []
    while len(found) < count:
        found += pull.recv_many(count - len(found), timeout=WAIT_S)
    return found


@pytest.mark.parametrize("ack", ["auto", "manual"])
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_in_a_batch_each_has_its_own(delivery: Any, ack: Any) -> None:
    """By each call that receives; one in three has something."""
    with mm.Push(bind=URLS[0], delivery=delivery) as push:
        with mm.Pull(connect=push.endpoint, ack=ack) as pull:
            push.wait_for_peers(timeout=WAIT_S)
            for name, take in received(pull):
                for i in range(30):
                    if i % 3 == 0:
                        push.send(b"%d" % i, key=f"{name}{i}")
                    else:
                        push.send(b"%d" % i)
                found = take(30)
                assert [int(message) for message in found] == list(range(30))
                keys = [f"{name}{i}".encode() if i % 3 == 0 else None for i in range(30)]
                assert [message.key for message in found] == keys


def test_a_message_that_comes_again_has_what_went_with_it() -> None:
    """Given back, and lost with its receiver."""
    with mm.Push(bind=URLS[0], delivery="at_least_once") as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as first:
            push.wait_for_peers(timeout=WAIT_S)
            push.send(b"x", **MORE)
            assert first.recv(timeout=WAIT_S).nack()
            again = first.recv(timeout=WAIT_S)
            assert again.attempt == 2
            check(again, b"x", time.time())
        with mm.Pull(connect=push.endpoint, ack="manual") as second:
            message = second.recv(timeout=WAIT_S)
            check(message, b"x", time.time())
            assert message.ack()


def test_pyzmq_gets_the_message_without_and_that_is_told_once() -> None:
    """Its octets are what they would be without."""
    with mm.Push(bind=URLS[0]) as push, zmq.Context() as context:
        with context.socket(zmq.PULL) as other:
            other.rcvtimeo = int(WAIT_S * 1000)
            other.connect(push.endpoint)
            push.wait_for_peers(timeout=WAIT_S)
            for _ in range(3):
                push.send(b"x", **MORE)
                assert other.recv() == b"x"
            [peer] = push.peers()
            assert not peer.takes_meta
            told: list[mm.Event] = []
            wait_until(lambda: bool(told.extend(plain_peers(push)) or told))
            [one] = [*told, *plain_peers(push)]
            assert "takes no key" in one.detail


def plain_peers(socket: Any) -> list[mm.Event]:
    """What it was told of such peers since the last time."""
    return [one for one in socket.events() if one.kind is mm.EventKind.PEER_PLAIN]


def test_a_peer_of_meshmsg_takes_it_and_says_so() -> None:
    """In peers(), of both sides."""
    with mm.Push(bind=URLS[0]) as push, mm.Pull(connect=push.endpoint) as pull:
        push.wait_for_peers(timeout=WAIT_S)
        pull.wait_for_peers(timeout=WAIT_S)
        assert [push.peers()[0].takes_meta, pull.peers()[0].takes_meta] == [True, True]


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"key": 5}, TypeError, "a key is bytes or text"),
    ({"headers": [("a", "b")]}, TypeError, "headers is a mapping"),
    ({"headers": {5: "b"}}, TypeError, "name of a header is text"),
    ({"headers": {"": "b"}}, mm.UsageError, "it has 1 to 255"),
    ({"headers": {"n" * 256: "b"}}, mm.UsageError, "it has 1 to 255"),
    ({"headers": {"a": 5}}, TypeError, "the header 'a' is bytes or text"),
    ({"headers": {"a": "x" * 16_400}}, mm.TooLargeError, "may have 16,384"),
    ({"key": b"x" * 70_000}, mm.TooLargeError, "may have 16,384"),
    ({"ttl": 0}, mm.UsageError, "above 0"),
    ({"ttl": -1.0}, mm.UsageError, "above 0"),
    ({"ttl": float("nan")}, mm.UsageError, "above 0"),
    ({"ttl": float("inf")}, mm.UsageError, "above 0"),
    ({"ttl": "5"}, TypeError, "it is seconds"),
    ({"ttl": True}, TypeError, "it is seconds"),
    ({"timestamp": -1}, mm.UsageError, "above 0"),
]


@pytest.mark.parametrize(("more", "kind", "words"), WRONG, ids=lambda v: str(v)[:30])
def test_what_cannot_go_with_a_message_is_told_and_nothing_is_sent(
    more: dict[str, Any], kind: type[Exception], words: str
) -> None:
    """By threads and by tasks alike."""
    with mm.Push(bind=URLS[0]) as push, mm.Pull(connect=push.endpoint) as pull:
        push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(kind, match=words):
            push.send(b"x", **more)
        push.send(b"after")
        assert pull.recv(timeout=WAIT_S) == b"after"
        assert push.stats().sent_messages == 1

    async def main() -> None:
        async with aio.Pub(bind=URLS[0]) as pub:
            with pytest.raises(kind, match=words):
                await pub.send(b"x", topic="t", **more)

    asyncio.run(main())


def test_the_largest_that_may_go_goes() -> None:
    """16,384 bytes in all: 11 of the timestamp, 3 and 1 of the item and its name's size."""
    value = "v" * (16_384 - 11 - 3 - 2)
    with mm.Push(bind=URLS[0]) as push, mm.Pull(connect=push.endpoint) as pull:
        push.send(b"x", headers={"n": value}, timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S).headers == {"n": value}
        with pytest.raises(mm.TooLargeError):
            push.send(b"x", headers={"n": value + "v"}, timeout=WAIT_S)


def test_a_timestamp_of_its_own_is_kept() -> None:
    """Of a message that was made before."""
    with mm.Push(bind=URLS[0]) as push, mm.Pull(connect=push.endpoint) as pull:
        push.send(b"x", timestamp=1_700_000_000.5, timeout=WAIT_S)
        message = pull.recv(timeout=WAIT_S)
        assert (message.timestamp, message.expires) == (1_700_000_000.5, None)
