"""What wakes the thread of a mesh is nobody's once the mesh is closed."""

from __future__ import annotations

import os
import select
import socket
import threading
from contextlib import ExitStack

import pytest

from meshmsg.mesh._waking.bell import Bell
from tests.support.meshes import node

PAIRS = 20
"""Connections that are made after it: one of them has the number that its descriptor had."""
RINGERS = 4


def reads(stack: ExitStack) -> list[socket.socket]:
    """Make connections, and return both ends of each; nothing was written to them."""
    made = [socket.socketpair() for _ in range(PAIRS)]
    return [stack.enter_context(end) for pair in made for end in pair]


def test_it_wakes_who_polls_it() -> None:
    """However often it was rung before; and not any more when that was taken."""
    bell = Bell()
    bell.ring()
    bell.ring()
    assert select.select([bell], [], [], 0)[0] == [bell]
    bell.hush()
    bell.hush()
    assert select.select([bell], [], [], 0)[0] == []
    bell.close()


def test_a_full_one_is_rung_all_the_same() -> None:
    """The counter of its descriptor is at its end."""
    bell = Bell()
    os.eventfd_write(bell.fileno(), 2**64 - 2)
    bell.ring()
    assert select.select([bell], [], [], 0)[0] == [bell]
    bell.close()


def test_one_that_is_closed_writes_nowhere() -> None:
    """Its number is another's then."""
    bell = Bell()
    number = bell.fileno()
    bell.close()
    with ExitStack() as stack:
        ends = reads(stack)
        assert number in [end.fileno() for end in ends]
        bell.ring()
        bell.close()
        assert select.select(ends, [], [], 0)[0] == []
    assert bell.fileno() == -1


def test_rung_by_many_as_it_is_closed() -> None:
    """No octet comes to a connection that is made meanwhile."""
    over = threading.Event()
    bells: list[Bell] = []

    def keep_ringing() -> None:
        while not over.is_set():
            for bell in bells[-2:]:
                bell.ring()

    threads = [threading.Thread(target=keep_ringing) for _ in range(RINGERS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            bells.append(Bell())
            with ExitStack() as stack:
                bells[-1].close()
                ends = reads(stack)
                assert select.select(ends, [], [], 0)[0] == []
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("times", [1, 2])
def test_a_mesh_that_is_closed_writes_nowhere(times: int) -> None:
    """Who follows another node still tells it what it saw: a message was ruined by that octet."""
    with ExitStack() as stack:
        for _ in range(times):
            with node("a") as mesh:
                driver = mesh._driver
                number = driver._bell.fileno()
            assert number >= 0
            ends = reads(stack)
            driver.ring()
            driver.heard([])
            driver.lost([])
            assert select.select(ends, [], [], 0)[0] == []
