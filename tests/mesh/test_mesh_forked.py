"""A mesh in the child of a fork: each call says so, whatever another thread was in just then."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.mesh import Mesh
from tests.support.meshes import WAIT_S, node

ENDS_S = 20
"""Seconds after which a child that waits is ended by its alarm."""
CALLS: dict[str, Callable[[Mesh, Any], Any]] = {
    "announce": lambda mesh, pull: mesh.announce("s", pull),
    "withdraw": lambda mesh, _: mesh.withdraw("s"),
    "connect": lambda mesh, _: mesh.connect("s", mm.Push),
    "endpoints": lambda mesh, _: mesh.endpoints("s"),
    "watch": lambda mesh, _: mesh.watch("s"),
    "wait_for": lambda mesh, _: mesh.wait_for("s"),
    "members": lambda mesh, _: mesh.members(),
    "services": lambda mesh, _: mesh.services(),
    "explain": lambda mesh, _: mesh.explain("a"),
}


@pytest.fixture
def busy() -> Iterator[Mesh]:
    """A node whose lock another thread has, as it is when a thread of its own is at work."""
    with node("a") as mesh:
        has, ends = threading.Event(), threading.Event()

        def hold() -> None:
            with mesh._driver.lock:
                has.set()
                ends.wait(WAIT_S)

        thread = threading.Thread(target=hold)
        thread.start()
        assert has.wait(WAIT_S)
        yield mesh
        ends.set()
        thread.join(WAIT_S)


def in_child(call: Callable[[], bool]) -> int:
    """Return how a child ends that does this: 0 is well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        signal.alarm(ENDS_S)
        try:
            code = 0 if call() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("name", CALLS)
def test_each_call_of_a_forked_child_says_so(busy: Mesh, name: str) -> None:
    """None waits for a thread that is not there."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull:

        def refused() -> bool:
            try:
                CALLS[name](busy, pull)
            except mm.ForkedError:
                return True
            return False

        assert in_child(refused) == 0


def test_a_forked_child_can_print_it_and_close_it(busy: Mesh) -> None:
    """It says of which process it is."""
    words = f"<meshmsg.mesh.Mesh of process {os.getpid()}>"

    def printed() -> bool:
        busy.leave()
        busy.close()
        return repr(busy) == words

    assert in_child(printed) == 0
