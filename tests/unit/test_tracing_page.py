"""docs/tracing.md does what it says: its program runs, and its table names what spans have."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.pairs import WAIT_S

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/tracing.md").read_text(encoding="utf-8")
SOURCES = "".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "src/meshmsg/tracing").glob("*.py")
)
_ATTRIBUTE = re.compile(r"\b(?:messaging(?:\.\w+)+|error\.type)\b")


def test_the_program_of_the_page_runs() -> None:
    """Its worker says what it works on, and both spans are of one trace."""
    [block] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, timeout=WAIT_S
    )
    assert done.returncode == 0, done.stderr
    assert "working on one order" in done.stdout
    traces = re.findall(r'^        "trace_id": "(\w+)"', done.stdout, re.MULTILINE)
    assert len(traces) == 2
    assert len(set(traces)) == 1
    assert re.findall(r'^    "name": "(.*)"', done.stdout, re.MULTILINE) == [
        "send orders",
        "process orders",
    ]


def test_the_table_has_each_attribute_that_a_span_may_have_and_no_other() -> None:
    """By name."""
    table = PAGE.partition("| attribute | of |\n")[2].partition("\n\n")[0]
    said = set(_ATTRIBUTE.findall(table))
    assert said == set(re.findall(r'"(messaging\.\w[\w.]*|error\.type)"', SOURCES))
