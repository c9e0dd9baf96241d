"""Which tests a stage leaves out: what tests/support/crosses.py promises.

Not here: the stages (tests/sanitized.sh, Makefile).
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.support.crosses import enough, pairs_of
from tests.support.pairs import WAIT_S
from tests.support.programs import ROOT

ASKED = """
from tests.support.crosses import thinned

def pytest_collection_modifyitems(items):
    items[:] = thinned(items)
"""
SCRIPT = """
import pytest

@pytest.mark.parametrize("c", [0, 1, 2])
@pytest.mark.parametrize("b", [0, 1, 2])
@pytest.mark.parametrize("a", [0, 1, 2])
def test_three(a, b, c): pass

@pytest.mark.parametrize("b", [0, 1, 2])
@pytest.mark.parametrize("a", [0, 1, 2])
def test_two(a, b): pass

@pytest.mark.parametrize(("a", "b", "c"), [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_of_one_list(a, b, c): pass

def test_alone(): pass
"""


@pytest.mark.parametrize("sizes", [(3, 3, 3), (40, 5, 2, 2), (1, 1, 7), (2, 2, 2, 2, 2, 2)])
def test_any_two_values_meet_in_what_is_enough(sizes: tuple[int, ...]) -> None:
    """And it is less than all of them, unless one parameter alone has values."""
    every = product(*map(range, sizes))
    cases = [{f"p{place}": value for place, value in enumerate(case)} for case in every]
    kept = enough(cases)
    met = set().union(*(pairs_of(cases[place]) for place in kept))
    assert met == set().union(*map(pairs_of, cases))
    largest, second = sorted(sizes)[:-3:-1]
    assert largest * second <= len(kept) <= 2 * largest * second
    assert kept == sorted(set(kept))


def test_only_a_cross_of_three_and_more_is_thinned(tmp_path: Path) -> None:
    """Two that are crossed, three that go together, and a test without parameters all stay."""
    (tmp_path / "conftest.py").write_text(ASKED, encoding="utf-8")
    (tmp_path / "test_some.py").write_text(SCRIPT, encoding="utf-8")
    command = [*(sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider")]
    done = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", tmp_path, tmp_path],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=WAIT_S,
    )  # fmt: skip
    counts = {name: done.stdout.count(f"::{name}") for name in ("test_two", "test_of_one_list")}
    assert counts == {"test_two": 9, "test_of_one_list": 3}
    assert 9 <= done.stdout.count("::test_three") < 18
    assert done.stdout.count("::test_alone") == 1
