"""The table of faults (matrix.py) names tests that are there, has every row, and is on the page.

Not here: the faults.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.fault.matrix import ROWS, page_rows
from tests.support.programs import ROOT

WANTED = {f"F{number}" for number in range(1, 31)} - {"F22"}
PAGE = ROOT / "docs/faults.md"


@cache
def names_in(path: Path) -> frozenset[str]:
    """The tests of a file, which is read and not imported."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".c":
        return frozenset(re.findall(r"^    RUN\((test_\w+)\);", text, re.MULTILINE))
    body = ast.parse(text).body
    return frozenset(one.name for one in body if isinstance(one, ast.FunctionDef))


def test_every_row_is_there() -> None:
    """And no other one than those that are shown elsewhere."""
    assert set(ROWS) >= WANTED
    assert set(ROWS) - WANTED == {"F32", "F33"}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_tests_that_are_there(name: str) -> None:
    """Each once."""
    tests = ROWS[name].tests
    assert tests
    assert len(set(tests)) == len(tests)
    for test in tests:
        path, _, function = test.partition("::")
        assert function.startswith("test_"), test
        assert function in names_in(ROOT / path), test


def test_a_test_that_is_named_after_a_row_is_in_it() -> None:
    """So none is forgotten, and none is in the wrong row."""
    named = 0
    for path in (ROOT / "tests/fault").glob("test_faults_*.py"):
        for function in names_in(path):
            for number in re.findall(r"(?<=_)f(\d\d)(?=_)", function):
                row = ROWS[f"F{int(number)}"]
                assert f"{path.relative_to(ROOT)}::{function}" in row.tests
                named += 1
    assert named > 10


def test_the_page_has_the_rows_of_the_table() -> None:
    """In this order, and no others: `python -m tests.fault.matrix` writes them."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.match(r"\| F\d+ \|", line)] == page_rows()
