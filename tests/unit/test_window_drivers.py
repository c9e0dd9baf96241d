"""Windows over drivers that differ in what the DB-API leaves open: parameters, rows, counts.

They are sqlite3 in disguise. Not here: real ones (test_window_postgres.py).
"""

from __future__ import annotations

import re
import sqlite3
import sys
import types
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._dedupe.database import PARAMSTYLES, styled
from tests.support.windows import SENDER, do, effects, make_effects

MARKS = {"numeric": r":\d+", "named": r":\w+", "format": "%s", "pyformat": r"%\(\w+\)s"}


class Cursor:
    """Takes parameters in one style, as its connection says, and no other."""

    def __init__(self, connection: Disguised) -> None:
        self._of = connection
        self._cursor = connection.real.cursor()

    @property
    def rowcount(self) -> int:
        """What the connection was told to say, or the truth."""
        return self._cursor.rowcount if self._of.rowcount is None else self._of.rowcount

    def execute(self, sql: str, values: Any = ()) -> None:
        """Run it, as sqlite3 has it."""
        style = self._of.style
        if style != "qmark":
            assert "?" not in sql
            marks = re.findall(MARKS[style], sql)
            if style in ("named", "pyformat"):
                assert isinstance(values, dict) or not marks
                values = [values[re.sub(r"\W|s$", "", mark)] for mark in marks]
            assert style != "numeric" or marks == [f":{n + 1}" for n in range(len(values))]
            sql = re.sub(MARKS[style], "?", sql)
        self._cursor.execute(sql, tuple(values))

    def fetchall(self) -> list[Any]:
        """What the connection makes of rows."""
        names = [column[0] for column in self._cursor.description]
        rows = self._cursor.fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows] if self._of.dicts else rows

    def close(self) -> None:
        """Close it."""
        self._cursor.close()


class Disguised:
    """A connection of some driver; it does not say whether a transaction is open."""

    def __init__(self, style: str) -> None:
        self.real = sqlite3.connect(":memory:")
        self.style, self.dicts, self.rowcount = style, False, None

    def cursor(self) -> Cursor:
        """Return a cursor."""
        return Cursor(self)

    def commit(self) -> None:
        """Commit."""
        self.real.commit()

    def rollback(self) -> None:
        """Roll back."""
        self.real.rollback()

    def close(self) -> None:
        """Close it."""
        self.real.close()


class Outer(Disguised):
    """Of a driver whose connections are made in a module of its own."""


@pytest.fixture(params=PARAMSTYLES)
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disguised]:
    """A connection of a driver that has this style, as its outermost module says."""
    module: Any = types.ModuleType("some_driver")
    module.paramstyle = request.param
    monkeypatch.setitem(sys.modules, "some_driver", module)
    monkeypatch.setitem(sys.modules, "some_driver.inner", types.ModuleType("some_driver.inner"))
    monkeypatch.setattr(Outer, "__module__", "some_driver.inner.deep")
    with closing(Outer(request.param)) as connection:
        make_effects(connection.real)
        yield connection


@pytest.mark.parametrize("dicts", [False, True])
def test_parameters_are_written_as_the_driver_wants_them(opened: Disguised, dicts: bool) -> None:
    """Whichever style it is, and whatever rows are made of."""
    opened.dicts = dicts
    window = mm.DedupeWindow("orders", limit=2)
    assert [do(window, opened, n) for n in (1, 2, 2, 3)] == [True, True, False, True]
    with pytest.raises(mm.OutsideWindowError):
        do(window, opened, 1)
    with pytest.raises(ZeroDivisionError), window.transaction(opened) as transaction:
        transaction.add((SENDER, 9))
        raise ZeroDivisionError
    assert do(window, opened, 9)
    assert effects(opened.real) == [1, 2, 3, 9]


def test_a_style_may_be_said() -> None:
    """Where a pool wraps connections, the module of the wrapper says none."""
    with closing(Disguised("format")) as connection:
        make_effects(connection.real)
        with pytest.raises(mm.UsageError, match="no module of Disguised says its paramstyle"):
            mm.DedupeWindow("orders").transaction(connection)
        assert do(mm.DedupeWindow("orders", paramstyle="format"), connection, 1)


def test_a_parameter_that_is_there_twice_is_given_twice() -> None:
    """Each has a name of its own."""
    assert styled("a ? b ?", (5, 5), "named") == ("a :p1 b :p2", {"p1": 5, "p2": 5})
    assert styled("a ? b ?", (5, 6), "numeric") == ("a :1 b :2", (5, 6))


def test_a_driver_that_does_not_count_is_refused() -> None:
    """-1 is what the DB-API has for it."""
    with closing(Disguised("qmark")) as connection:
        make_effects(connection.real)
        window = mm.DedupeWindow("orders", paramstyle="qmark")
        connection.rowcount = -1  # type: ignore[assignment]
        with pytest.raises(mm.UsageError, match="says that -1 rows were inserted"):
            do(window, connection, 1)
        connection.rowcount = None
        assert do(window, connection, 1)
        assert effects(connection.real) == [1]


def test_a_driver_that_commits_by_itself_is_refused() -> None:
    """Where it does not say so before; what was saved so is taken back."""

    class Silent(Disguised):
        @property
        def in_transaction(self) -> bool:
            """As sqlite3 says it."""
            return self.real.in_transaction

    with closing(Silent("qmark")) as connection:
        make_effects(connection.real)
        connection.real.isolation_level = None
        window = mm.DedupeWindow("orders", paramstyle="qmark")
        with pytest.raises(mm.UsageError, match="commits each statement by itself"):
            do(window, connection, 1)
        connection.real.isolation_level = "DEFERRED"
        assert do(window, connection, 1)
        assert effects(connection.real) == [1]


@pytest.mark.parametrize("bad", [None, "file.db", 5, sqlite3])
def test_what_is_no_connection_is_a_type_error(bad: Any) -> None:
    """It has no cursor."""
    with pytest.raises(TypeError, match="a connection of the DB-API is needed"):
        mm.DedupeWindow("orders").transaction(bad)


def test_a_connection_that_is_awaited_is_refused() -> None:
    """Nothing would ever run."""

    class Awaited(Disguised):
        async def commit(self) -> None:  # type: ignore[override]
            """Commit, some time."""

    with closing(Awaited("qmark")) as connection:
        with pytest.raises(mm.UsageError, match=r"asyncio\.to_thread"):
            mm.DedupeWindow("orders").transaction(connection)
