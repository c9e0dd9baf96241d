"""After each test: no descriptor, thread or handle is left, and the default engine is closed.

Law: a test that leaks fails itself, not the next one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop
from hypothesis import settings

from meshmsg._socket import engine
from tests.support.crosses import thinned
from tests.support.feeding import World
from tests.support.inloop import LoopThread
from tests.support.mm import lib
from tests.support.patterned import Kit
from tests.support.postgres import server

settings.register_profile("untimed", deadline=None)  # the machine may be busy: nothing is timed
settings.load_profile("untimed")

# A shell starts what it puts in the background deaf to this signal, and so would be the programs
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SETTLE_TURNS = 6000
"""How often the leak check looks again: a detached look-up thread of the core ends by itself."""

FOREIGN_THREADS = ("jemalloc_bg", "polars-", "arrow-")
"""What the names of threads begin with that libraries the tests import start when they like."""


def _descriptors() -> dict[str, str]:
    found: dict[str, str] = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue  # the one listdir itself used
    return found


def _tasks() -> int:
    return len(os.listdir("/proc/self/task"))


def _names_of_tasks(but: set[str]) -> list[str]:
    """Return what the kernel calls each thread: those of C are not in `threading.enumerate`."""
    names = []
    for task in set(os.listdir("/proc/self/task")) - but:
        with contextlib.suppress(OSError):  # it ended meanwhile
            names.append(Path(f"/proc/self/task/{task}/comm").read_text().strip())
    return names


def _left(fds: dict[str, str], tasks: set[str]) -> tuple[list[str], int]:
    new = [f"{fd} -> {to}" for fd, to in _descriptors().items() if fd not in fds]
    extra = _tasks() - len(tasks)
    if extra > 0:
        extra -= sum(name.startswith(FOREIGN_THREADS) for name in _names_of_tasks(tasks))
    return new, extra


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what MESHMSG_PAIRS says."""
    if os.environ.get("MESHMSG_PAIRS"):
        kept = thinned(items)
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of what each test's `gc.collect` walks: 0.2 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def pipes_of_libuv() -> None:
    """Open what libuv opens once a process and keeps, so that it is no leak of the first test."""
    uvloop.new_event_loop().close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The folder of the socket of a PostgreSQL server, once for all tests that ask for it."""
    with server() as folder:
        yield folder


@pytest.fixture(autouse=True)
def ctrl_c() -> None:
    """Have SIGINT end what the main thread waits for, as in a program that begins. Libraries that
    other tests load set a function of their own; behind that of polars the system waits on."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check descriptors, threads and handles around every test."""
    fds, tasks, handles = _descriptors(), set(os.listdir("/proc/self/task")), lib.mm_live_handles()
    yield
    engine.close_all()
    gc.collect()
    gc.freeze()  # what outlives a test is not walked after each later one: it was most of the time
    assert lib.mm_live_handles() == handles, "sockets or engines are still open"
    if request.node.get_closest_marker("leaves_threads"):
        return
    done = threading.Event()
    for _ in range(SETTLE_TURNS):
        new, extra = _left(fds, tasks)
        if not new and extra <= 0:
            return
        done.wait(0.01)
    assert not new, f"descriptors are still open: {new}"
    names = _names_of_tasks(tasks)
    assert extra <= 0, f"{extra} threads still run, new are {names}; {threading.enumerate()}"


@pytest.fixture(params=["sync", "asyncio"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """How to make sockets and patterns of threads, and of an event loop."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield Kit(thread)
    if thread is not None:
        thread.close()


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """How to make spools, and sockets that use them, of threads and of an event loop."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose name fits into a unix socket's address."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="mm-", dir="/tmp") as name:
        yield Path(name)
