"""The suite over SP: every pair of roles that SP has x transport, protected by TLS or not x {sync,
asyncio} x who binds; in the simulated world; and with a peer of each wire on one socket.

Not here: the same over ZMTP (test_matrix.py); other libraries (tests/interop).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg
from meshmsg import aio
from tests.conformance.suite import (
    BODIES,
    all_sizes,
    asked,
    both_ways,
    fed,
    many,
    surveyed,
    surveyed_once,
)
from tests.conformance.test_matrix import named, open_pair, run_case, run_simulated
from tests.support.pairs import WAIT_S, endpoint_for
from tests.support.ways import WAYS

Case = Callable[[Any, Any], Awaitable[None]]
LARGE = [b"x" * 300_000, b"small", b"", b"y" * 262_144, b"z" * 20_000]


async def one_way(a: Any, b: Any) -> None:
    """Messages of all sizes arrive whole and in order; that they did cannot be confirmed."""
    report = await all_sizes(a, b)
    assert (report.delivered, report.unconfirmable) == (0, len(BODIES))


async def large(a: Any, b: Any) -> None:
    """Bodies that are handed over by reference, between small ones, each in its place."""
    await fed(a.send, b.recv, LARGE)


async def published(a: Any, b: Any) -> None:
    """A subscriber is sent everything and gives out what it asked for; topic and body are one."""
    b.subscribe("fx.")
    await a.wait_for_subscribers("anything", timeout=WAIT_S)
    await a.send(b"no", topic="bonds.")
    await a.send(b"yes", topic="fx.")
    message = await b.recv(timeout=WAIT_S)
    assert (message, message.topic) == (b"fx.yes", "")


async def one_frame(a: Any, b: Any) -> None:
    """A message of several frames is refused at once, and changes nothing."""
    with pytest.raises(meshmsg.UsageError, match="without frames"):
        await a.send_frames([b"one", b"two"], timeout=WAIT_S)
    await a.send_frames([b"one"], timeout=WAIT_S)
    assert await b.recv_frames(timeout=WAIT_S) == [b"one"]


async def surveyed_in_turn(a: Any, b: Any) -> None:
    """Questions and answers of all sizes, one by one; the survey knows who answered."""
    for body in BODIES:
        await surveyed_once(a, b, body)


CASES: list[tuple[str, str, Case]] = [
    ("Push", "Pull", one_way),
    ("Push", "Pull", many),
    ("Push", "Pull", large),
    ("Push", "Pull", one_frame),
    ("Pair", "Pair", both_ways),
    ("Pair", "Pair", one_way),
    ("Pair", "Pair", large),
    ("Pair", "Pair", one_frame),
    ("Pub", "Sub", published),
    ("Rep", "Req", asked),
    ("Surveyor", "Respondent", surveyed),
    ("Surveyor", "Respondent", surveyed_in_turn),
    ("Bus", "Bus", both_ways),
    ("Bus", "Bus", one_way),
    ("Bus", "Bus", many),
    ("Bus", "Bus", large),
]
SIMULATED = [case for case in CASES if case[2] not in (many, large, asked, surveyed)]
"""Cases whose two sides take turns: a simulated world has one thread."""


async def over_sp(case: Case, a: Any, b: Any) -> None:
    """Run a case of two sockets that must see each other by way of SP."""
    assert [a.peers()[0].wire, b.peers()[0].wire] == ["sp", "sp"]
    await case(a, b)


@pytest.mark.parametrize("first_binds", [True, False], ids=["first-binds", "second-binds"])
@pytest.mark.parametrize("mode", ["sync", "asyncio"])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "tls", "secret"])
@pytest.mark.parametrize(("first", "second", "case"), CASES, ids=named)
def test_a_pair_of_roles_over_sp(
    first: str,
    second: str,
    case: Case,
    transport: str,
    mode: str,
    first_binds: bool,
    short_path: Path,
) -> None:
    """The case holds for this pair, transport, mode and direction."""
    way = WAYS.get(transport)
    if way is not None and way.missing:
        pytest.skip(way.missing)
    url = f"{way.scheme}tcp://127.0.0.1:0" if way else endpoint_for(transport, short_path)
    policies = way.policies() if way else (None, None)
    module = meshmsg if mode == "sync" else aio
    opened = partial(
        open_pair, module, (first, second), url, first_binds, wire="sp+", policies=policies
    )
    asyncio.run(run_case(partial(over_sp, case), opened, mode))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("first", "second", "case"), SIMULATED, ids=named)
def test_a_pair_of_roles_over_sp_in_the_simulated_world(
    first: str, second: str, case: Case, seed: int
) -> None:
    """The same, between two engines of a simulated world."""
    run_simulated(first, second, case, seed, wire="sp+")
