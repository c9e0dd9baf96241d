"""Every value of the public enums has a text of its own, and every table is complete.

Not here: what the texts say; the Python errors made from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from meshmsg._mm import ffi, lib

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = {"MM_ROLE_COUNT", "MM_REASON_COUNT"}


def values(enum: str) -> dict[str, int]:
    """Return the names and values of a C enum, without the one that only counts them."""
    elements: dict[int, str] = ffi.typeof(enum).elements
    return {name: value for value, name in elements.items() if name not in BOUNDS}


@pytest.mark.parametrize(
    ("enum", "text"),
    [("mm_err", lib.mm_strerror), ("mm_reason", lib.mm_reason_text), ("mm_role", lib.mm_role_name)],
    ids=["mm_err", "mm_reason", "mm_role"],
)
def test_every_value_has_a_text_of_its_own(enum: str, text: Callable[[int], object]) -> None:
    """A value without a text would be told as "unknown"; two with one text would be confused."""
    texts = {name: ffi.string(text(value)).decode() for name, value in values(enum).items()}
    assert len(texts) > 10
    assert not [name for name, words in texts.items() if not words or "unknown" in words[:7]]
    assert len(set(texts.values())) == len(texts)


@pytest.mark.parametrize("text", [lib.mm_strerror, lib.mm_reason_text, lib.mm_role_name])
@pytest.mark.parametrize("value", [1000, -1000, 2**31 - 1, -(2**31)])
def test_a_value_of_no_enum_is_unknown_and_harmless(
    text: Callable[[int], object], value: int
) -> None:
    """Any int may be asked for: nothing is read outside the tables."""
    assert ffi.string(text(value)).startswith(b"unknown")


def test_role_names_are_those_on_the_wire() -> None:
    """The READY property Socket-Type is the role's name in capitals, as in the enum."""
    for name, value in values("mm_role").items():
        assert ffi.string(lib.mm_role_name(value)).decode() == name.removeprefix("MM_")


def test_reasons_fit_the_counters_of_stats() -> None:
    """stats.closed[] is indexed by mm_reason."""
    fields = dict(ffi.typeof("mm_stats").fields)
    assert max(values("mm_reason").values()) < fields["closed"].type.length


def test_the_version_is_that_of_the_package() -> None:
    """One version: pyproject.toml and the core say the same."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"', text, re.MULTILINE)
    assert found is not None
    assert ffi.string(lib.mm_version()).decode() == found.group(1)
