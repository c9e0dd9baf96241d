"""Which tests run: of a cross of many parameters a stage may ask for pairs only.

Not here: which files a stage has (tests/sanitized.sh).
Law: without being asked to, no test is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest


def pairs_of(case: Mapping[str, int]) -> set[tuple[tuple[str, int], ...]]:
    """Return each two of the values of a case."""
    return set(combinations(sorted(case.items()), 2))


def enough(cases: Sequence[Mapping[str, int]]) -> list[int]:
    """Return which of these cases, few of them, have all pairs of values that all of them have."""
    pairs = [pairs_of(case) for case in cases]
    missing = set().union(*pairs)
    chosen = set()
    for new in range(max(map(len, pairs)), 0, -1):  # first those that have most
        for place, its in enumerate(pairs):
            if len(its & missing) >= new:
                chosen.add(place)
                missing -= its
    return sorted(chosen)


def thinned(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return these tests, in order; of a function that is a cross of three parameters and more only
    those in which a pair of values is new. So any two values still meet, and not any three."""
    crosses: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if len(_values(item)) > 2:
            crosses[item.nodeid.partition("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for tests in crosses.values():
        kept = enough([_values(test) for test in tests])
        left_out.update(set(tests) - {tests[place] for place in kept})
    return [item for item in items if item not in left_out]


def _values(item: pytest.Item) -> dict[str, int]:
    """Return which object is the value of each parameter of a test; empty: it has none."""
    called = getattr(item, "callspec", None)
    return {name: id(value) for name, value in called.params.items()} if called else {}
