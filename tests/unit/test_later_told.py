"""What waits to go later is named where it holds something up: by the errors of sends and of
`wait_for_finished`, for threads and for asyncio.

Not here: when it goes (tests/sim/test_delayed.py), a work queue (test_work_delayed.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, wait_until
from tests.support.patterned import Kit
from tests.support.rawpeer import RawPeer
from tests.support.room import UP, room

LEAST: dict[str, Any] = {"bind": "inproc://*", "delivery": "at_least_once"}
FAR_S = 3600
QUEUE = 1000
"""Messages of a queue, by default: given back for later they stop a Push, if no limit is higher."""
BYTES = 16 * 1024 * 1024
"""The same in bytes."""
LIMITS = f"from 1,000 messages on, and above {BYTES:,} bytes, nothing new is taken"
SENDS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("send", lambda push, timeout: push.send(b"x", timeout=timeout)),
    ("confirm", lambda push, timeout: push.send(b"x", timeout=timeout, confirm=True)),
    ("noted", lambda push, timeout: push.send(b"x", timeout=timeout, headers={"a": "b"})),
    ("ttl", lambda push, _: push.send(b"x", ttl=0.01)),
    ("bytearray", lambda push, timeout: push.send(bytearray(b"x"), timeout=timeout)),
    ("send_frames", lambda push, timeout: push.send_frames([b"x", b"y"], timeout=timeout)),
    ("send_many", lambda push, timeout: push.send_many([b"x", b"y"], timeout=timeout)),
    ("generator", lambda push, timeout: push.send_many(iter([b"x"]), timeout=timeout)),
    (
        "many confirmed",
        lambda push, timeout: push.send_many([b"x"], timeout=timeout, confirm=True),
    ),
    ("send_batch", lambda push, timeout: push.send_batch(pa.array([b"x", b"y"]), timeout=timeout)),
]


def give_back(push: Any, pull: Any, count: int, size: int = 1, delay: float = FAR_S) -> None:
    """Have so many messages given back, to go later."""
    before = push.stats().delayed_messages
    for _ in range(count):
        push.send(bytes(size), timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S).nack(delay=delay)
        wait_until(lambda: not push.stats().unacked_messages)
    assert push.stats().delayed_messages == before + count


@contextmanager
def stopped(kit: Kit, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A Push that takes nothing new, as all was given back to it, and the Pull that did so."""
    with kit.socket("Push", **{**LEAST, **options}) as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            push.wait_for_peers(timeout=WAIT_S)
            push.send_many([b"x"] * QUEUE, timeout=WAIT_S)
            for _ in range(QUEUE):
                assert pull.recv(timeout=WAIT_S).nack(delay=FAR_S)
            wait_until(lambda: push.stats().delayed_messages == QUEUE)
            yield push, pull


def refused(call: Callable[[], Any]) -> str:
    """The words of the error that it ends with."""
    with pytest.raises((mm.TimedOutError, mm.WouldBlockError)) as failed:
        call()
    return str(failed.value)


def test_each_call_that_sends_says_that_messages_which_go_later_hold_it_up(kit: Kit) -> None:
    """How many, which limit that is, and when there is room; and not that a queue was full."""
    with stopped(kit) as (push, _):
        for name, send in SENDS:
            for timeout in (0, 0.01):
                words = refused(lambda send=send, timeout=timeout: send(push, timeout))
                assert re.search(
                    r": 1,000 messages that were given back wait to go later \(nack\(delay=\)\), "
                    r"the next in 3,\d{3}\.\d s; ",
                    words,
                ), name
                assert f"{LIMITS} (delayed_messages, delayed_bytes) (Push bound to" in words
                assert "full" not in words
        assert push.stats().sent_messages == QUEUE


@pytest.mark.parametrize("overflow", ["error", "drop_newest", "drop_oldest"])
def test_whatever_a_full_queue_does_it_is_refused_in_these_words(kit: Kit, overflow: str) -> None:
    """Nothing is dropped for it."""
    with stopped(kit, overflow=overflow) as (push, _):
        for timeout in (0, 0.01):
            words = refused(lambda timeout=timeout: push.send(b"x", timeout=timeout))
            assert re.match("no room for a message .*: 1,000 messages that were given", words)
        assert push.stats().dropped == 0


def test_what_a_call_sent_before_is_told_as_ever(kit: Kit) -> None:
    """It sends what it may, and no more."""
    with kit.socket("Push", **LEAST) as push, mm.Pull(connect=push.endpoint, ack="manual") as pull:
        give_back(push, pull, 16, size=1 << 20)
        with pytest.raises(mm.TimedOutError, match="16 messages that were given back") as failed:
            push.send_many([b"x"] * 3, timeout=0.01)
        assert failed.value.sent == 0  # type: ignore[attr-defined]
        assert push.stats().delayed_bytes > BYTES


def test_without_a_peer_both_are_told(kit: Kit) -> None:
    """Neither alone would help."""
    with stopped(kit) as (push, pull):
        pull.close()
        wait_until(lambda: not push.peers())
        for timeout, span in ((0, "now"), (0.01, "within 0.01 s")):
            words = refused(lambda timeout=timeout: push.send(b"x", timeout=timeout))
            assert words.startswith(f"no peer for a message {span}: 1,000 messages that were given")


def test_a_peer_that_stops_is_told_beside_it(kit: Kit) -> None:
    """Another one is there, and would take more."""
    with stopped(kit, bind=UP) as (push, _), RawPeer(push.endpoint).shake(b"PULL") as peer:
        push.wait_for_peers(2, timeout=WAIT_S)
        peer.send(ref.command(b"STOP"))
        wait_until(lambda: any(one.stopping == "stops" for one in push.peers()))
        words = refused(lambda: push.send(b"x", timeout=0))
        assert words.startswith("no room for a message now: 1,000 messages that were given back")
        assert "; tcp://127.0.0.1:" in words
        assert " is stopping (stop_receiving) and takes no more (Push bound to" in words


def test_one_message_that_is_too_large_is_told_in_words_for_one(kit: Kit) -> None:
    """It is given back like any other, and then there is no room beside it."""
    with kit.socket("Push", **LEAST) as push, mm.Pull(connect=push.endpoint, ack="manual") as pull:
        give_back(push, pull, 1, size=BYTES + 1)
        words = refused(lambda: push.send(b"x", timeout=0))
        assert re.search(
            r": 1 message that was given back waits to go later \(nack\(delay=\)\), in 3,", words
        )


def test_what_was_sent_for_later_stops_nothing_and_is_not_named_for_it(kit: Kit) -> None:
    """Only what was given back does; whose time is next is not told where it is not the same."""
    with kit.socket("Push", **LEAST) as push, mm.Pull(connect=push.endpoint, ack="manual") as pull:
        for _ in range(QUEUE):
            push.send(b"x", delay=FAR_S)
        push.send(b"x", timeout=0)
        assert pull.recv(timeout=WAIT_S).ack()
        words = refused(lambda: push.send(b"x", delay=1))
        assert words.startswith(
            f"1,000 messages wait to go later, as many as may: 1,000 messages, {BYTES:,} bytes "
            "(delayed_messages, delayed_bytes), now (Push bound to"
        )
        give_back(push, pull, 1, size=BYTES + 1)
        words = refused(lambda: push.send(b"x", timeout=0))
        assert ": 1 message that was given back waits to go later (nack(delay=)); from" in words


def test_a_full_queue_is_still_told_as_such(kit: Kit) -> None:
    """Some wait to go later, and that is not the cause."""
    with kit.socket("Push", **LEAST, send_queue_messages=2) as push:
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull:
            give_back(push, pull, 3)
            for _ in range(3):
                push.send(b"x", timeout=WAIT_S)
            words = refused(lambda: push.send(b"x", timeout=0))
            assert "its peer's queue is full" in words
            assert "later" not in words


@pytest.mark.parametrize("way", ["sent", "given back"])
def test_what_a_wait_for_the_end_waits_for_is_told(kit: Kit, way: str) -> None:
    """How many, and when the next of them goes."""
    with kit.socket("Push", **LEAST) as push, mm.Pull(connect=push.endpoint, ack="manual") as pull:
        push.wait_for_peers(timeout=WAIT_S)
        if way == "sent":
            push.send(b"x", delay=FAR_S)
        else:
            give_back(push, pull, 1)
        push.finish()
        for timeout, span in ((0, "now"), (0.01, r"within 0\.01 s")):
            words = refused(lambda timeout=timeout: push.wait_for_finished(timeout=timeout))
            assert re.match(
                r"not finished: 0 queued, 0 unacknowledged and 1 to go later \(in 3,\d{3}\.\d s\), "
                rf"1 peer here not told {span} \(Push",
                words,
            )


def test_of_several_it_is_told_when_the_next_goes() -> None:
    """To a tenth of a second, and never less than that."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pull = r.open("Pull", connect=push.endpoint)
        push.wait_for_peers(timeout=WAIT_S)
        for delay in (7.0, 5.5, 5.01):
            push.send(b"x", delay=delay)
        push.finish()
        assert "and 3 to go later (the next in 5.0 s)" in refused(
            lambda: push.wait_for_finished(timeout=0)
        )
        r.world.run(5.0)
        assert "and 3 to go later (the next in 0.1 s)" in refused(
            lambda: push.wait_for_finished(timeout=0)
        )
        r.world.run(1.0)
        assert len(pull.recv_many(timeout=1)) == 2
        assert "and 1 to go later (in 1.0 s)" in refused(lambda: push.wait_for_finished(timeout=0))
        assert len(pull.recv_many(timeout=5)) == 1


def test_a_push_may_have_more_wait_to_go_later_than_a_queue_holds(kit: Kit) -> None:
    """What is sent so and what is given back so, each by itself."""
    most = QUEUE + 2
    with kit.socket("Push", **LEAST, delayed_messages=most, send_queue_messages=1) as push:
        for _ in range(most):
            push.send(b"x", delay=FAR_S)
        words = refused(lambda: push.send(b"x", delay=FAR_S))
        assert words.startswith("1,002 messages wait to go later, as many as may: 1,002 messages")
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            give_back(push, pull, most)
            words = refused(lambda: push.send(b"x", timeout=0))
            assert "1,002 messages that were given back" in words
            assert "from 1,002 messages on" in words


def test_and_more_bytes(kit: Kit) -> None:
    """A limit below that of a queue bounds what is sent, and not what is given back."""
    with kit.socket("Push", **LEAST, delayed_bytes=2 * BYTES) as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            give_back(push, pull, 1, size=BYTES + 1)
            give_back(push, pull, 1, size=BYTES)
            words = refused(lambda: push.send(b"x", timeout=0))
            assert f"above {2 * BYTES:,} bytes" in words
    with kit.socket("Push", **LEAST, delayed_bytes=1, delayed_messages=1) as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            push.send(b"xyz", delay=FAR_S)
            words = refused(lambda: push.send(b"x", delay=1))
            assert words.startswith("1 message waits to go later, as many as may: 1 message, 1 by")
            give_back(push, pull, 3)
            push.send(b"new", timeout=0)


WRONG_LIMITS: list[tuple[Any, type[Exception], str]] = [
    (0, mm.UsageError, "is 0; it is a whole number from 1 to "),
    (-1, mm.UsageError, "is -1; it is a whole number from 1 to "),
    (2**64, mm.UsageError, "is 18446744073709551616; it is a whole number from 1 to "),
    (1.5, TypeError, "is 1.5; it is a whole number, or None"),
    (float("nan"), TypeError, "is nan; it is a whole number, or None"),
    (True, TypeError, "is True; it is a whole number, or None"),
    ("1", TypeError, "is '1'; it is a whole number, or None"),
]


@pytest.mark.parametrize("name", ["delayed_messages", "delayed_bytes"])
@pytest.mark.parametrize(("value", "error", "words"), WRONG_LIMITS)
def test_a_limit_that_is_none_is_refused(
    kit: Kit, name: str, value: Any, error: type[Exception], words: str
) -> None:
    """With its name, the value and what it may be."""
    with pytest.raises(error, match=f"^{name} {re.escape(words)}"):
        kit.socket("Push", **LEAST, **{name: value})
