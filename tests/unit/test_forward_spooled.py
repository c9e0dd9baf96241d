"""Forward into a spool: what came with a message goes there too, and what is refused is told.

Not here: what else goes with a message (test_forward_notes.py).
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.patterns import Forward
from meshmsg.patterns import aio as patterns_aio
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
MORE: list[dict[str, Any]] = [{}, {"key": "k"}, {"headers": {"a": "b"}}, {"ttl": 600}]


def check(spool: mm.Spool) -> None:
    """Each is there once, with what came with it."""
    kept = spool.read(1).messages
    assert [bytes(one) for one in kept] == [b"0", b"1", b"2", b"3"]
    assert [one.key for one in kept] == [None, b"k", None, None]
    assert [dict(one.headers) for one in kept] == [{}, {}, {"a": "b"}, {}]
    assert [one.expires is not None for one in kept] == [False, False, False, True]


def test_what_came_with_a_message_is_put_into_the_spool(tmp_path: Path) -> None:
    """And nothing that was acknowledged upstream is refused."""
    with (
        mm.Spool(tmp_path / "s") as spool,
        mm.Pull(bind=UP) as front,
        mm.Push(bind=UP, spool=spool) as back,
        mm.Push(connect=front.endpoint, delivery="at_least_once") as source,
        Forward(front, back) as forward,
    ):
        for number, more in enumerate(MORE):
            source.send(b"%d" % number, timeout=WAIT_S, **more)
        assert source.drain(timeout=WAIT_S).delivered == len(MORE)
        assert (forward.onward.forwarded, forward.onward.refused) == (len(MORE), 0)
        check(spool)


def test_the_same_by_tasks(tmp_path: Path) -> None:
    """As by threads."""

    async def main() -> None:
        async with (
            aio.Spool(tmp_path / "s") as spool,
            aio.Pull(bind=UP) as front,
            aio.Push(bind=UP, spool=spool) as back,
            aio.Push(connect=front.endpoint, delivery="at_least_once") as source,
            patterns_aio.Forward(front, back) as forward,
        ):
            for number, more in enumerate(MORE):
                await source.send(b"%d" % number, timeout=WAIT_S, **more)
            assert (await source.drain(timeout=WAIT_S)).delivered == len(MORE)
            assert (forward.onward.forwarded, forward.onward.refused) == (len(MORE), 0)

    asyncio.run(main())
    with mm.Spool(tmp_path / "s") as spool:
        check(spool)


def test_a_pub_puts_what_is_sent_on_under_its_topic(tmp_path: Path) -> None:
    """The topic is the first frame, as it came."""
    with (
        mm.Spool(tmp_path / "s") as spool,
        mm.Pub(bind=UP, spool=spool) as pub,
        mm.Push(bind=UP) as push,
        mm.Pull(connect=push.endpoint) as pull,
        mm.Sub(connect=pub.endpoint, topics=["t"], replay="earliest") as sub,
    ):
        push.send(b"x", key="k", timeout=WAIT_S)
        came = pull.recv(timeout=WAIT_S)
        assert came._meta is not None
        pub._send_noted([b"t", b"x"], came._meta, WAIT_S)
        got = sub.recv(timeout=WAIT_S)
        assert (bytes(got), got.topic, got.key) == (b"x", "t", b"k")


def test_a_full_spool_slows_the_forwarder_down_and_nothing_is_refused(tmp_path: Path) -> None:
    """What finds no room is kept in hand, and not acknowledged, until something is done."""
    with (
        mm.Spool(tmp_path / "s", max_messages=2) as spool,
        mm.Pull(bind=UP) as front,
        mm.Push(bind=UP, spool=spool) as back,
        mm.Push(connect=front.endpoint, delivery="at_least_once") as source,
        Forward(front, back) as forward,
    ):
        for number in range(4):
            source.send(b"%d" % number, key="k", timeout=WAIT_S)
        wait_until(lambda: forward.onward.forwarded == 2)
        assert source.drain(timeout=0).unconfirmed >= 2
        with mm.Pull(connect=back.endpoint) as pull:
            assert [bytes(pull.recv(timeout=WAIT_S)) for _ in range(2)] == [b"0", b"1"]
        assert forward.onward.refused == 0


def test_what_the_other_side_does_not_take_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The 1st, the 2nd, the 4th... with how many there were."""
    with (
        mm.Pull(bind=UP) as front,
        mm.Push(bind=UP, message_size_max=3) as back,
        mm.Push(connect=front.endpoint) as source,
        Forward(front, back) as forward,
        caplog.at_level(logging.WARNING, "meshmsg"),
    ):
        for _ in range(5):
            source.send(b"too large", timeout=WAIT_S)
        wait_until(lambda: forward.onward.refused == 5)
        told = [r.getMessage() for r in caplog.records if "it is lost" in r.getMessage()]
    assert [one.split("(")[1].split(" so far")[0] for one in told] == ["1", "2", "4"]
