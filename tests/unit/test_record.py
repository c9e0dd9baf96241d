"""Records compare, hash and show as data classes do that have these methods made for them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.record import Record

KINDS: list[Any] = [
    *(mm.Event, mm.Stats, mm.PeerInfo, mm.DrainReport, mm.StoppedPeer, mm.StopReport),
    *(mm.Applicant, mm.Allow, mm.Deny, mm.Later),
]


class OfRecord(Record):
    """Made into a data class below."""

    a: int
    b: str = "b"
    unseen: int = dataclasses.field(default=0, repr=False)
    apart: int = dataclasses.field(default=0, compare=False)
    many: list[int] = dataclasses.field(default_factory=list, hash=False)


class Plain:
    """The same, with its own methods."""

    a: int
    b: str = "b"
    unseen: int = dataclasses.field(default=0, repr=False)
    apart: int = dataclasses.field(default=0, compare=False)
    many: list[int] = dataclasses.field(default_factory=list, hash=False)


RECORD: Any = dataclasses.dataclass(frozen=True, eq=False, repr=False)(OfRecord)
PLAIN: Any = dataclasses.dataclass(frozen=True)(Plain)
VALUES: list[dict[str, Any]] = [
    {"a": 1},
    {"a": 2},
    {"a": 1, "b": "c"},
    {"a": 1, "unseen": 1},
    {"a": 1, "apart": 1},
    {"a": 1, "many": [1]},
]


@pytest.mark.parametrize("one", VALUES, ids=str)
@pytest.mark.parametrize("other", VALUES, ids=str)
def test_records_are_equal_where_data_classes_are(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """And of those that are equal, so are the hashes."""
    same = PLAIN(**one) == PLAIN(**other)
    assert (RECORD(**one) == RECORD(**other)) is same
    assert (RECORD(**one) != RECORD(**other)) is not same
    assert (hash(RECORD(**one)) == hash(RECORD(**other))) is (
        hash(PLAIN(**one)) == hash(PLAIN(**other))
    )


@pytest.mark.parametrize("values", VALUES, ids=str)
def test_records_show_what_data_classes_show(values: dict[str, Any]) -> None:
    """Name by name."""
    assert repr(RECORD(**values)) == repr(PLAIN(**values)).replace("Plain", "OfRecord")


def test_another_class_is_never_equal() -> None:
    """Nor one made of it."""
    below = dataclasses.dataclass(frozen=True, eq=False, repr=False)(type("B", (OfRecord,), {}))
    assert RECORD(1) != PLAIN(1)
    assert RECORD(1) != below(1)
    assert RECORD(1) != (1, "b")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_public_records_are_frozen_data_classes(kind: Any) -> None:
    """`dataclasses` knows their fields, help() their arguments, and nobody changes them."""
    assert issubclass(kind, Record)
    names = [field.name for field in dataclasses.fields(kind)]
    assert list(inspect.signature(kind).parameters) == names
    made = mm.Allow() if kind is mm.Allow else kind(**dict.fromkeys(names))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, names[0], 1)
    assert made == dataclasses.replace(made)
    assert repr(made).startswith(f"{kind.__name__}({names[0]}=")
