"""A mesh in the child of a fork: each call says so, whatever another thread was in just then."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

import meshmsg as mm
from meshmsg.mesh import Mesh
from tests.support.forked import in_child, refused
from tests.support.meshes import CALLS, WAIT_S, node


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


@pytest.mark.parametrize("name", CALLS)
def test_each_call_of_a_forked_child_says_so(busy: Mesh, name: str) -> None:
    """None waits for a thread that is not there."""
    with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
        assert in_child(lambda: refused(lambda: CALLS[name](busy, pull)))


def test_a_forked_child_can_print_it_and_close_it(busy: Mesh) -> None:
    """It says of which process it is."""
    words = f"<meshmsg.mesh.Mesh of process {os.getpid()}>"

    def printed() -> bool:
        busy.leave()
        busy.close()
        return repr(busy) == words

    assert in_child(printed)
