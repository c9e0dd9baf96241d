"""What tests of the Spark source share: sources without Spark, and spools that are only told of.

Not here: a session of Spark (tests/spark/conftest.py).
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark._source.offsets import Place, Places, Shown, from_json, to_json
from meshmsg.spark._source.options import SourceOptions, source_options

A, B, C = "a" * 32, "b" * 32, "c" * 32
"""Uuids of spools."""
URL = "tcp://127.0.0.1:5570"
MISSING = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None] + [
    name for name in ("java",) if shutil.which(name) is None
]
needs_spark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def options(*, stream: bool = True, **given: object) -> SourceOptions:
    """Return checked options, as text in Spark's spelling."""
    words = {name: str(value) for name, value in given.items()}
    if not any(name.startswith("mesh.") for name in words):
        words.setdefault("endpoints", URL)
    return source_options(words, stream=stream)


def offset(**places: int) -> dict[str, Any]:
    """Return an offset: `a=5` is the spool A before its message 5."""
    return to_json({name * 32: Place(seq, 1) for name, seq in places.items()})


def nexts(found: dict[str, Any] | Places) -> dict[str, int]:
    """Return the numbers of an offset, by the letter of the spool."""
    places = from_json(found) if "v" in found else found
    return {uuid[0]: place.next for uuid, place in places.items()}


class Told:
    """Stands in for a Watch: the spools are what the test says."""

    def __init__(self, _: SourceOptions | None = None) -> None:
        self.shown: dict[str, Shown] = {}
        self.no_answer: list[str] = []
        self.never: list[str] = []
        self.mean: dict[str, float] = {}
        self.held: list[tuple[dict[str, int], dict[str, int]]] = []
        self.groups: list[str | None] = []
        self.closed = 0
        self.clashing = ""

    def say(self, **spools: tuple[int, int]) -> None:
        """Have a spool show its first, and the number behind its last message."""
        for name, (first, stable) in spools.items():
            self.shown[name * 32] = Shown(first, stable, 1, (f"tcp://{name}:1",))

    def ask(
        self, *, patient: bool = False, wanted: frozenset[str] = frozenset()
    ) -> dict[str, Shown]:
        """Return what is said now."""
        return dict(self.shown)

    def last(self) -> dict[str, Shown]:
        """Return what is said now."""
        return dict(self.shown)

    def nodes(self) -> tuple[str, ...]:
        """Return no mesh ports."""
        return ()

    def silent(self) -> list[str]:
        """Return who does not answer."""
        return self.no_answer

    def unheard(self) -> list[str]:
        """Return who never did."""
        return self.never

    def clash(self) -> str:
        """Return why another query is taken to read for the group."""
        return self.clashing

    def means(self) -> dict[str, float]:
        """Return mean sizes."""
        return self.mean

    def hold(self, places: Places, done: Places, group: str) -> None:
        """Note what a group would hold."""
        self.held.append((nexts(places), nexts(done)))
        self.groups.append(group)

    def close(self) -> None:
        """Note it."""
        self.closed += 1


def filled(path: object, count: int, **more: Any) -> mm.Spool:
    """Return a spool whose message N has the body N."""
    spool = mm.Spool(str(path), **more)
    spool.append_many(b"%d" % number for number in range(1, count + 1))
    return spool


def times_of(spool: mm.Spool, count: int) -> list[int]:
    """Return when each of so many messages was put, in microseconds since 1970."""
    return [round(one.stored * 1e6) for one in spool.read(1, max_messages=count).messages]


def struct(ddl: str) -> Any:
    """Return the schema that SQL says so, without Spark: names, types of the source, `not null`."""
    from pyspark.sql import types

    header = types.StructType().add("key", types.StringType()).add("value", types.BinaryType())
    kinds: dict[str, types.DataType] = {
        "binary": types.BinaryType(),
        "string": types.StringType(),
        "bigint": types.LongType(),
        "timestamp": types.TimestampType(),
        "array<struct<key:string,value:binary>>": types.ArrayType(header),
    }
    made = types.StructType()
    for column in ddl.split(", "):
        name, kind, *rest = column.replace("`", "").split(" ")
        made.add(name, kinds[kind], nullable=not rest)
    return made
