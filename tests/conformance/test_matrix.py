"""The suite: every legal pair of roles x transport x {sync, asyncio} x who binds; and the
simulated world.

Sync sockets run their blocking calls in threads, so "sync" is also the test of sockets under
threads.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg
from meshmsg import aio
from meshmsg.testing import SimWorld
from tests.conformance.suite import CASES, COUNT
from tests.support.pairs import WAIT_S, endpoint_for

AWAITED = {
    *("send", "send_many", "send_frames", "recv", "recv_many", "recv_frames", "request", "drain"),
    *("wait_for_peers", "wait_for_subscribers"),
}
Call = Callable[..., Awaitable[Any]]
Case = Callable[[Any, Any], Awaitable[None]]


class Answers:
    """A sync survey whose waits are awaited."""

    def __init__(self, survey: Any, call: Call) -> None:
        self._survey = survey
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._survey, name)

    def __aiter__(self) -> Answers:
        return self

    async def __anext__(self) -> Any:
        answer = await self._call(next, self._survey, None)
        if answer is None:
            raise StopAsyncIteration
        return answer


class Threaded:
    """A sync socket whose blocking calls are awaited: each runs in a thread."""

    def __init__(self, wrapped: Any, threads: ThreadPoolExecutor) -> None:
        self._wrapped = wrapped
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)

        def threaded(function: Any, *args: Any, **options: Any) -> Any:
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._threads, lambda: function(*args, **options))

        if name == "survey":
            return lambda *args, **options: Answers(value(*args, **options), threaded)
        return partial(threaded, value) if name in AWAITED else value


class Inline:
    """A sync socket whose calls are made at once, in one thread: what a simulated world needs."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)

        async def inline(function: Any, *args: Any, **options: Any) -> Any:
            return function(*args, **options)

        if name == "survey":
            return lambda *args, **options: Answers(value(*args, **options), inline)
        return partial(inline, value) if name in AWAITED else value


def options_of(role: str, second: bool) -> dict[str, Any]:
    """Return what a case's socket is opened with."""
    return {"identity": b"bee"} if role == "Router" and second else {}


def has_ipv6() -> bool:
    """Tell whether this machine has an IPv6 loopback."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def open_pair(
    module: Any,
    roles: tuple[str, str],
    url: str,
    first_binds: bool,
    engine: meshmsg.Engine | None = None,
    wire: str = "",
    policies: tuple[Any, Any] = (None, None),
) -> tuple[Any, Any]:
    """Open the two sockets of a case; the one that binds may be the second.

    policies: of who binds and of who dials.
    """
    binder, dialer = (0, 1) if first_binds else (1, 0)
    opened: dict[int, Any] = {}
    opened[binder] = getattr(module, roles[binder])(
        bind=url, engine=engine, security=policies[0], **options_of(roles[binder], binder == 1)
    )
    opened[dialer] = getattr(module, roles[dialer])(
        connect=wire + opened[binder].endpoint,
        engine=engine,
        security=policies[1],
        **options_of(roles[dialer], dialer == 1),
    )
    return opened[0], opened[1]


def named(value: object) -> Any:
    """Test ids."""
    return getattr(value, "__name__", value)


@pytest.mark.parametrize("first_binds", [True, False], ids=["first-binds", "second-binds"])
@pytest.mark.parametrize("mode", ["sync", "asyncio"])
@pytest.mark.parametrize("transport", ["tcp", "tcp6", "name", "ipc", "inproc"])
@pytest.mark.parametrize(("first", "second", "case"), CASES, ids=named)
def test_a_pair_of_roles(
    first: str,
    second: str,
    case: Case,
    transport: str,
    mode: str,
    first_binds: bool,
    short_path: Path,
) -> None:
    """The case holds for this pair, transport, mode and direction."""
    if transport == "tcp6" and not has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    url = endpoint_for(transport, short_path)
    module = meshmsg if mode == "sync" else aio
    asyncio.run(run_case(case, lambda: open_pair(module, (first, second), url, first_binds), mode))


async def run_case(case: Case, opened: Callable[[], tuple[Any, Any]], mode: str) -> None:
    """Open two sockets, have them see each other, run the case, close them."""
    with ThreadPoolExecutor(COUNT + 8) as threads:
        raw = opened()
        a, b = (Threaded(s, threads) for s in raw) if mode == "sync" else raw
        try:
            await a.wait_for_peers(timeout=WAIT_S)
            await b.wait_for_peers(timeout=WAIT_S)
            await case(a, b)
        finally:
            a.close()
            b.close()


@pytest.mark.parametrize("mode", ["sync", "asyncio"])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
@pytest.mark.parametrize(("first", "second", "case"), CASES, ids=named)
def test_a_pair_of_roles_over_plain_poll(
    first: str, second: str, case: Case, transport: str, mode: str, short_path: Path
) -> None:
    """The same suite without epoll."""
    url = endpoint_for(transport, short_path)
    module = meshmsg if mode == "sync" else aio
    with meshmsg.Engine(poller="poll") as engine:
        opened = partial(open_pair, module, (first, second), url, True, engine)
        asyncio.run(run_case(case, opened, mode))


SIMULTANEOUS = ("many", "large", "asked", "routed_request", "surveyed")
SIMULATED = [case for case in CASES if case[2].__name__ not in SIMULTANEOUS]
"""Cases whose two sides take turns: a simulated world has one thread."""


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("first", "second", "case"), SIMULATED, ids=named)
def test_a_pair_of_roles_in_the_simulated_world(
    first: str, second: str, case: Case, seed: int
) -> None:
    """The same suite, between two engines of a simulated world."""
    run_simulated(first, second, case, seed)


def run_simulated(
    first: str,
    second: str,
    case: Case,
    seed: int,
    wire: str = "",
    policies: tuple[Any, Any] = (None, None),
    scheme: str = "",
) -> None:
    """Run a case between two engines of a simulated world."""
    with SimWorld(seed) as world:
        one, two = world.engine(), world.engine()
        a = getattr(meshmsg, first)(
            bind=f"{scheme}tcp://127.0.0.1:0",
            engine=one,
            security=policies[0],
            **options_of(first, False),
        )
        b = getattr(meshmsg, second)(
            connect=wire + a.endpoint,
            engine=two,
            security=policies[1],
            **options_of(second, True),
        )
        a.wait_for_peers(timeout=WAIT_S)
        b.wait_for_peers(timeout=WAIT_S)
        asyncio.run(case(Inline(a), Inline(b)))  # type: ignore[arg-type]
        a.close()
        b.close()
