"""An acknowledgement that comes after `ack_timeout`, and before anybody else has the message: it
counts, for threads and for tasks.

Not here: all the cases of it (tests/sim/test_late_acks.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.looped import run, until
from tests.support.pairs import WAIT_S, wait_until

OPTIONS: dict[str, Any] = {"delivery": "at_least_once", "ack_timeout": 1.0}
PULL: dict[str, Any] = {"ack": "manual", "prefetch": 1}


def both_wait(push: Any) -> bool:
    """Both messages were taken back, and nobody has room for them."""
    return bool(push.stats().redelivered_messages == 2 == push.stats().queued_out_messages)


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:0", "inproc://*"])
def test_by_threads(url: str) -> None:
    """Its receipt says so, and the next message is the other one."""
    with mm.Push(bind=url, **OPTIONS) as push:
        with mm.Pull(connect=push.endpoint, **PULL) as one, mm.Pull(connect=push.endpoint, **PULL):
            push.wait_for_peers(2, timeout=WAIT_S)
            receipts = {body: push.send(body, confirm=True) for body in (b"a", b"b")}
            late = one.recv(timeout=WAIT_S)
            wait_until(lambda: both_wait(push))
            assert late.ack()
            receipts[late].wait(timeout=WAIT_S)
            assert not late.ack()
            assert {bytes(late), bytes(one.recv(timeout=WAIT_S))} == {b"a", b"b"}


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:0", "inproc://*"])
def test_by_tasks(url: str) -> None:
    """The same in a loop."""

    async def main() -> None:
        async with aio.Push(bind=url, **OPTIONS) as push:
            async with aio.Pull(connect=push.endpoint, **PULL) as one:
                async with aio.Pull(connect=push.endpoint, **PULL):
                    await push.wait_for_peers(2, timeout=WAIT_S)
                    receipts = {b: await push.send(b, confirm=True) for b in (b"a", b"b")}
                    late = await one.recv(timeout=WAIT_S)
                    await until(lambda: both_wait(push))
                    assert late.ack()
                    await receipts[late].wait(timeout=WAIT_S)
                    assert not late.ack()
                    other = await one.recv(timeout=WAIT_S)
                    assert {bytes(late), bytes(other)} == {b"a", b"b"}

    run(main)
