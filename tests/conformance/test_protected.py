"""The suite over protected connections: every pair of roles x way to protect it x transport x
{sync, asyncio} x who binds; and in the simulated world.

A mechanism is one line or two of tests/support/ways.py. Not here: what is in the boxes
(tests/unit/test_curve_*.py), other libraries (tests/interop).
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg
from meshmsg import aio
from tests.conformance.suite import CASES
from tests.conformance.test_matrix import (
    SIMULATED,
    Case,
    named,
    open_pair,
    run_case,
    run_simulated,
)
from tests.support.pairs import endpoint_for
from tests.support.ways import WAYS, Way

OVER = [(name, transport) for name, way in WAYS.items() for transport in way.transports]


def way_of(name: str) -> Way:
    """Return the way, if it can be tested here."""
    if WAYS[name].missing:
        pytest.skip(WAYS[name].missing)
    return WAYS[name]


async def protected(case: Case, way: Way, first_serves: bool, a: Any, b: Any) -> None:
    """Run a case of two sockets that must be protected so, and the one must know the other."""
    [seen, sees] = [a.peers()[0], b.peers()[0]]
    assert (seen.mechanism, sees.mechanism) == (way.mechanism, way.mechanism)
    assert (seen.user_id, sees.user_id) == ((way.caller, "") if first_serves else ("", way.caller))
    await case(a, b)


@pytest.mark.parametrize("first_binds", [True, False], ids=["first-binds", "second-binds"])
@pytest.mark.parametrize("mode", ["sync", "asyncio"])
@pytest.mark.parametrize(("name", "transport"), OVER)
@pytest.mark.parametrize(("first", "second", "case"), CASES, ids=named)
def test_a_pair_of_roles_that_is_protected(
    first: str,
    second: str,
    case: Case,
    name: str,
    transport: str,
    mode: str,
    first_binds: bool,
    short_path: Path,
) -> None:
    """The case holds for this pair, way, transport, mode and direction."""
    way = way_of(name)
    url = way.scheme + endpoint_for(transport, short_path)
    module = meshmsg if mode == "sync" else aio
    case = partial(protected, case, way, first_binds == way.binder_serves)
    opened = partial(open_pair, module, (first, second), url, first_binds, policies=way.policies())
    asyncio.run(run_case(case, opened, mode))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if not way.threads])
@pytest.mark.parametrize(("first", "second", "case"), SIMULATED, ids=named)
def test_a_pair_of_roles_that_is_protected_in_the_simulated_world(
    first: str, second: str, case: Case, name: str, seed: int
) -> None:
    """The same, between two engines of a simulated world."""
    way = way_of(name)
    case = partial(protected, case, way, way.binder_serves)
    run_simulated(first, second, case, seed, policies=way.policies(), scheme=way.scheme)
