"""Messages of several frames that wait where only peers are that know none: SP, as NNG speaks it.

Not here: what else those peers get (tests/interop), a send while they alone are there (it is
refused: test_delivery_sp.py and others).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until

HELLO = bytes.fromhex("0053500000510000")
"""The first octets of a PULL of SP."""
JOBS = 50


@contextmanager
def durable(path: Path) -> Iterator[mm.Push]:
    """A Push that has a spool."""
    with (
        mm.Spool(path / "s", durability="os") as spool,
        mm.Push(spool=spool, bind="tcp://127.0.0.1:0") as push,
    ):
        yield push


@contextmanager
def in_memory(path: Path) -> Iterator[mm.Push]:
    """One that has none; it keeps what has no peer."""
    with mm.Push(bind="tcp://127.0.0.1:0", delivery="at_least_once") as push:
        yield push


@contextmanager
def worker_of_sp(push: Any) -> Iterator[socket.socket]:
    """A PULL of SP that is connected, and reads nothing."""
    port = int(push.endpoint.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(HELLO)
        assert stranger.recv(8, socket.MSG_WAITALL)[1:3] == b"SP"
        yield stranger


def is_there(push: Any, count: int) -> Callable[[], bool]:
    """Whether so many peers are connected."""
    return lambda: len(push.peers()) == count


@pytest.mark.parametrize("made", [durable, in_memory])
def test_a_stranger_of_sp_does_away_with_nothing(made: Any, tmp_path: Path) -> None:
    """They wait for a peer that has words for them; those of one frame do not wait with them."""
    with made(tmp_path) as push:
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=1):
            push.wait_for_peers(timeout=WAIT_S)
            receipts = [push.send_frames([b"job", b"%d" % i], confirm=True) for i in range(JOBS)]
        wait_until(is_there(push, 0))
        with worker_of_sp(push) as stranger:
            push.wait_for_peers(timeout=WAIT_S)
            push.send(b"one frame")
            assert stranger.recv(17, socket.MSG_WAITALL)[8:] == b"one frame"
            assert push.stats().queued_out_messages >= 1
        wait_until(is_there(push, 0))
        with mm.Pull(connect=push.endpoint) as pull:
            got = [pull.recv_frames(timeout=WAIT_S)[1] for _ in range(JOBS)]
            assert sorted(map(int, map(bytes, got))) == list(range(JOBS))
            with pytest.raises(mm.TimedOutError):
                pull.recv(timeout=0.05)
            for receipt in receipts:
                receipt.wait(timeout=WAIT_S)
        assert push.stats().dropped_unencodable == 0


@pytest.mark.parametrize("made", [durable, in_memory])
def test_a_worker_of_sp_beside_one_that_restarts(made: Any, tmp_path: Path) -> None:
    """What the one had does not go with it, as the other has no words for it."""
    with made(tmp_path) as push, worker_of_sp(push):
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull:
            push.wait_for_peers(2, timeout=WAIT_S)
            receipts = [push.send_frames([b"job", b"%d" % i], confirm=True) for i in range(JOBS)]
            pull.recv(timeout=WAIT_S)
        wait_until(is_there(push, 1))
        with mm.Pull(connect=push.endpoint) as pull:
            for _ in range(JOBS):
                pull.recv(timeout=WAIT_S)
            with pytest.raises(mm.TimedOutError):
                pull.recv(timeout=0.05)
            for receipt in receipts:
                receipt.wait(timeout=WAIT_S)


def test_what_waits_for_words_expires_and_is_counted(tmp_path: Path) -> None:
    """It is queued as any other message is, and dropped by its ttl."""
    with in_memory(tmp_path) as push, worker_of_sp(push):
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=1):
            push.wait_for_peers(2, timeout=WAIT_S)
            late = push.send_frames([b"late", b""], ttl=0.3, confirm=True)
            stays = push.send_frames([b"stays", b""], confirm=True)
        wait_until(is_there(push, 1))
        wait_until(lambda: late.outcome == "expired")
        assert stays.outcome is None
        assert push.drain(timeout=0).queued == 1
