"""Docstrings are laid out as tools read them: what goes on is indented, what begins is named."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import meshmsg

SOURCES = sorted(Path(meshmsg.__file__).parent.rglob("*.py"))
ENTRY = re.compile(r"[*\w]+(, [*\w]+)*: \S")
"""What an argument or an error begins with."""
INDENT = 4


def misplaced(text: str) -> list[str]:
    """Lines of Args, Attributes and Raises that go on where an entry should begin."""
    wrong: list[str] = []
    section = ""
    for line in inspect.cleandoc(text).splitlines():
        indent = len(line) - len(line.lstrip())
        if line and indent == 0:
            section = line if line in ("Args:", "Attributes:", "Raises:") else ""
        elif line and section and indent == INDENT and not ENTRY.match(line.strip()):
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_goes_on_is_indented(path: Path) -> None:
    """In each docstring of the sources."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        text = ast.get_docstring(node) if isinstance(node, kinds) else None
        assert misplaced(text or "") == [], f"{path.name}: {getattr(node, 'name', '')}"


def test_what_is_misplaced_is_found() -> None:
    """And what is well placed is not."""
    good = """Do.

    Args:
        one, two: What they
            are.
        *more: As well.

    Raises:
        ValueError: No.
    """
    assert misplaced(good) == []
    assert misplaced(good.replace("            are.", "        are.")) == ["    are."]
