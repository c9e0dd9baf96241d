"""What is not always there: libraries of the [bench] extra and of the peers."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


class BenchError(Exception):
    """A measurement that cannot be made, or failed; the text says why, for people."""


def is_there(module: str) -> bool:
    """Whether it could be imported."""
    return find_spec(module) is not None


def need(module: str, what_for: str) -> Any:
    """Import a library that is only needed for something; says which extra has it."""
    try:
        return import_module(module)
    except ImportError:
        raise BenchError(
            f"{what_for} needs {module.partition('.')[0]}: pip install 'meshmsg[bench]'"
        ) from None
