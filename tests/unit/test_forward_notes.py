"""Forward hands on what goes with a message: key, headers and times, by each pair, both ways.

Not here: what else it does (test_forward.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.patterns import Forward
from meshmsg.patterns import aio as patterns_aio
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
MADE = 1_700_000_000.5
MORE: dict[str, Any] = {
    "key": b"k",
    "headers": {"text": "t", "raw": b"\xff"},
    "ttl": 600,
    "timestamp": MADE,
}


def check(message: mm.Message, frames: list[bytes]) -> float:
    """All that went with it is there; until when it is of use."""
    assert list(message.frames) == frames
    assert (message.key, message.headers, message.timestamp) == (b"k", MORE["headers"], MADE)
    assert message.expires is not None
    return message.expires


def check_plain(message: mm.Message, frames: list[bytes]) -> None:
    """Nothing went with it."""
    assert list(message.frames) == frames
    assert (message.key, message.timestamp, message.expires) == (None, None, None)


def test_jobs_keep_what_goes_with_them_and_it_is_not_made_anew() -> None:
    """Between others that have nothing; the same octets through two forwarders."""
    with (
        Forward(mm.Pull(bind=UP), mm.Push(bind=UP)) as first,
        Forward(mm.Pull(connect=first.back.endpoint), mm.Push(bind=UP)) as second,
        mm.Push(connect=first.front.endpoint) as push,
        mm.Pull(connect=second.back.endpoint) as pull,
    ):
        push.send(b"plain", timeout=WAIT_S)
        push.send_frames([b"", b"x"], timeout=WAIT_S, **MORE)
        push.send(b"plain", timeout=WAIT_S)
        check_plain(pull.recv(timeout=WAIT_S), [b"plain"])
        check(pull.recv(timeout=WAIT_S), [b"", b"x"])
        check_plain(pull.recv(timeout=WAIT_S), [b"plain"])


def test_the_end_of_one_sender_is_not_that_of_the_forwarder() -> None:
    """It waits for others, and passes on what they send."""
    with Forward(mm.Pull(bind=UP), mm.Push(bind=UP)) as forward:
        with mm.Pull(connect=forward.back.endpoint) as pull:
            for body in (b"one", b"two"):
                with mm.Push(connect=forward.front.endpoint) as push:
                    push.send(body, timeout=WAIT_S)
                    push.finish()
                    push.wait_for_finished(1, timeout=WAIT_S)
                    assert bytes(pull.recv(timeout=WAIT_S)) == body

    async def run() -> list[bytes]:
        got: list[bytes] = []
        front, back = aio.Pull(bind=UP), aio.Push(bind=UP)
        async with patterns_aio.Forward(front, back) as forward:
            async with aio.Pull(connect=forward.back.endpoint) as pull:
                for body in (b"one", b"two"):
                    async with aio.Push(connect=forward.front.endpoint) as push:
                        await push.send(body, timeout=WAIT_S)
                        push.finish()
                        await push.wait_for_finished(1, timeout=WAIT_S)
                        got.append(bytes(await pull.recv(timeout=WAIT_S)))
        return got

    assert asyncio.run(run()) == [b"one", b"two"]


def test_questions_and_answers_keep_what_goes_with_them() -> None:
    """Both ways, through a Router and a Dealer."""
    with (
        Forward(mm.Router(bind=UP), mm.Dealer(bind=UP)) as forward,
        mm.Dealer(connect=forward.front.endpoint, identity=b"me") as client,
        mm.Dealer(connect=forward.back.endpoint) as server,
    ):
        client.send(b"q", timeout=WAIT_S, **MORE)
        asked = server.recv(timeout=WAIT_S)
        check(asked, [b"me", b"q"])
        server.send_frames([b"me", b"a"], timeout=WAIT_S, **MORE)
        check(client.recv(timeout=WAIT_S), [b"a"])


def test_publications_keep_what_goes_with_them() -> None:
    """Of a Pub, to a Sub."""
    with (
        Forward(mm.XSub(bind=UP), mm.XPub(bind=UP)) as forward,
        mm.Pub(connect=forward.front.endpoint) as pub,
        mm.Sub(connect=forward.back.endpoint, topics=["t"]) as sub,
    ):
        pub.wait_for_subscribers("t", timeout=WAIT_S)
        pub.send(b"x", topic="t", timeout=WAIT_S, **MORE)
        check(sub.recv(timeout=WAIT_S), [b"t", b"x"])


def test_the_same_by_tasks() -> None:
    """As by threads."""

    async def main() -> None:
        front, back = aio.Router(bind=UP), aio.Dealer(bind=UP)
        async with (
            patterns_aio.Forward(front, back),
            aio.Dealer(connect=front.endpoint, identity=b"me") as client,
            aio.Dealer(connect=back.endpoint) as server,
        ):
            await client.send(b"q", timeout=WAIT_S, **MORE)
            check(await server.recv(timeout=WAIT_S), [b"me", b"q"])
            await server.send_frames([b"me", b"a"], timeout=WAIT_S, **MORE)
            check(await client.recv(timeout=WAIT_S), [b"a"])

    asyncio.run(main())


def test_a_pull_that_acknowledges_by_hand_is_refused() -> None:
    """At once, and both are left open."""
    with mm.Pull(bind=UP, ack="manual") as pull, mm.Push(bind=UP) as push:
        with pytest.raises(mm.UsageError, match="ack='manual'"):
            Forward(pull, push)
        assert not pull.closed

    async def main() -> None:
        async with aio.Pull(bind=UP, ack="manual") as pull, aio.Push(bind=UP) as push:
            with pytest.raises(mm.UsageError, match="ack='manual'"):
                patterns_aio.Forward(pull, push)

    asyncio.run(main())


@pytest.mark.parametrize("largest", [True, False])
def test_as_much_goes_on_as_came(largest: bool) -> None:
    """16 KiB, and text that is no UTF-8."""
    value = "v" * (16_384 - 11 - 3 - 2) if largest else "v"
    with (
        Forward(mm.Pull(bind=UP), mm.Push(bind=UP)) as forward,
        mm.Push(connect=forward.front.endpoint) as push,
        mm.Pull(connect=forward.back.endpoint) as pull,
    ):
        push.send(b"x", headers={"n": value}, timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S).headers == {"n": value}
