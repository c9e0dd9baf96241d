"""A node leaves in a signal's function, whatever the main thread was in: the others hear of it.

Not here: a thread of its own that leaves (tests/mesh). Law: what the function broke into comes back
or raises ClosedError; nobody waits for what the main thread has.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.errors import ClosedError, MeshError
from meshmsg._mesh.told import State
from meshmsg.mesh import Mesh, aio
from meshmsg.mesh._driver import Driver
from tests.support.meshes import WAIT_S, eventually, node
from tests.support.points import at_point
from tests.support.signals import handled

LINES_MAX = 3_000
STEP, FIRST, STRIDE = 7, 60, 43
"""Of the first lines of a call each so many-th is broken into, and then less often: what follows
is mostly what came before again."""


FILES = ("bell.py", "calls.py", "_driver.py", "_mesh.py", "_sync.py", "_watch.py")
"""Where the main thread and the thread of a mesh may have the same."""


def of_meshes(code: CodeType) -> bool:
    """Whether it is in one of those."""
    folder, file = os.path.split(code.co_filename)
    return f"{os.sep}meshmsg{os.sep}mesh" in folder and file in FILES


def follows(mesh: Mesh) -> None:
    """Have a socket follow."""
    with mm.Push(linger=0) as push:
        mesh.connect("s", push)


CALLS: dict[str, Callable[[Mesh, mm.Pull], Any]] = {
    "announce": lambda mesh, pull: mesh.announce("s", pull),
    "withdraw": lambda mesh, pull: mesh.withdraw("s"),
    "members": lambda mesh, pull: mesh.members(),
    "services": lambda mesh, pull: mesh.services(),
    "endpoints": lambda mesh, pull: mesh.endpoints("s"),
    "explain": lambda mesh, pull: mesh.explain("other"),
    "watch": lambda mesh, pull: mesh.watch().next(),
    "connect": lambda mesh, pull: follows(mesh),
    "look": lambda mesh, pull: mesh.wait_for("s", 2, timeout=0),
    "wait": lambda mesh, pull: mesh.wait_for("s", 2, timeout=0.001),
    "repr": lambda mesh, pull: repr(mesh),
    "leave": lambda mesh, pull: mesh.leave(),
}


@pytest.fixture
def other() -> Iterator[Mesh]:
    """A node that is told of what the others do."""
    with node("other") as made:
        yield made


def state_of(mesh: Mesh, node_id: bytes) -> State:
    """What it takes that node to be."""
    return next(one.state for one in mesh.members() if one.record.node_id == node_id)


@pytest.mark.parametrize("call", CALLS)
def test_a_node_leaves_at_each_line_of_a_call(
    other: Mesh, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others see it LEFT, as it told them so itself; and its thread has ended."""
    closed = Driver.close
    number, hits = 1, 0
    while True:
        assert number < LINES_MAX
        leaving = node("leaving", other.endpoint)
        with mm.Pull(bind="tcp://127.0.0.1:0") as pull:
            leaving.announce("s", pull)
            other.wait_for("s", timeout=WAIT_S)
            ended: list[bool] = []

            def close(driver: Driver) -> None:
                """As ever; notes whether the thread had ended when it came back."""
                closed(driver)
                ended.append(not driver._thread.is_alive())  # type: ignore[union-attr]  # noqa: B023

            monkeypatch.setattr(Driver, "close", close)
            with at_point(number, leaving.leave, of_meshes) as hit, suppress(MeshError):
                CALLS[call](leaving, pull)
            was_hit = hit()
            monkeypatch.setattr(Driver, "close", closed)
            if was_hit:
                assert ended
                assert all(ended), "it had to wait for its thread in vain"
                eventually(lambda: state_of(other, leaving.node_id) == State.LEFT)  # noqa: B023
            leaving.close()
        if not was_hit:
            break
        hits, number = hits + 1, number + (STEP if number < FIRST else STRIDE)
    assert hits > 1


@pytest.mark.parametrize("call", ["wait_for", "watch"])
def test_a_call_that_waits_ends_as_the_node_leaves(other: Mesh, call: str) -> None:
    """It raises ClosedError; the others see the node LEFT."""
    leaving = node("leaving", other.endpoint)
    other.wait_for(count=2, timeout=WAIT_S)
    with handled(leaving.leave):
        raises = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        raises.start()
        with pytest.raises(ClosedError):
            if call == "wait_for":
                leaving.wait_for("nothing", timeout=WAIT_S)
            for _ in leaving.watch():
                pass
            raise ClosedError("the watch ended")
        raises.join()
    assert leaving.closed
    eventually(lambda: state_of(other, leaving.node_id) == State.LEFT)


def test_what_is_asked_for_below_it_is_answered(other: Mesh) -> None:
    """The signal's function may ask the mesh for anything, also below what asks the same."""
    found: list[int] = []
    with node("asks", other.endpoint) as mesh:
        mesh.wait_for(count=2, timeout=WAIT_S)
        for number in range(1, 20):
            with at_point(number, lambda: found.append(len(mesh.members())), of_meshes):
                assert len(mesh.members()) == 2
    assert set(found) == {2}


def test_what_a_call_raises_is_raised_where_it_was_made(other: Mesh) -> None:
    """As it is done on another thread."""
    with pytest.raises(mm.UsageError, match="is not offered"):
        other.withdraw("nothing")
    with mm.Push() as push, pytest.raises(mm.UsageError):
        other.announce("s", push)


def test_a_call_of_a_node_that_has_left_is_refused_at_once(other: Mesh) -> None:
    """Its thread is over, and nobody waits for it."""
    mesh = node("gone", other.endpoint)
    mesh.leave()
    for call in (mesh.members, mesh.services, mesh.watch, lambda: mesh.wait_for(timeout=WAIT_S)):
        with pytest.raises(ClosedError):
            call()
    assert "closed" in repr(mesh)


def test_a_node_for_asyncio_leaves_while_its_loop_asks(other: Mesh) -> None:
    """In a coroutine of its own, as `loop.add_signal_handler` begins one."""
    import asyncio

    async def run() -> bytes:
        mesh = aio.Mesh(cluster="test", name="leaving", seeds=other.endpoint)
        await mesh.wait_for(count=2, timeout=WAIT_S)
        loop, left = asyncio.get_running_loop(), asyncio.Event()

        async def leave() -> None:
            await mesh.leave()
            left.set()

        tasks: list[asyncio.Task[None]] = []
        loop.add_signal_handler(signal.SIGUSR1, lambda: tasks.append(loop.create_task(leave())))
        os.kill(os.getpid(), signal.SIGUSR1)
        with suppress(ClosedError):
            while not left.is_set():
                mesh.members()
                await asyncio.sleep(0)
        await tasks[0]
        loop.remove_signal_handler(signal.SIGUSR1)
        return mesh.node_id

    node_id = asyncio.run(run())
    eventually(lambda: state_of(other, node_id) == State.LEFT)
