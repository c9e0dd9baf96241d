"""A connection of the user's to a database, by the DB-API (PEP 249): what that leaves open is
settled here.

How parameters are written, whether a transaction is open, how one begins where each statement
commits by itself. Not here: what is asked of the database (tables.py). Law: nothing of the user's
is committed that was there before; what cannot be known is refused or documented.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from meshmsg._binding.errors import UsageError

PARAMSTYLES = ("qmark", "numeric", "named", "format", "pyformat")


class Connection(Protocol):
    """A connection of a module of the DB-API: `sqlite3`, `psycopg`, `pg8000.dbapi`."""

    def cursor(self) -> Any:
        """Return a new cursor."""

    def commit(self) -> Any:
        """End the transaction; all of it is saved."""

    def rollback(self) -> Any:
        """End the transaction; nothing of it is saved."""


def check_paramstyle(style: str | None) -> str | None:
    """Refuse what the DB-API does not know."""
    if style is not None and style not in PARAMSTYLES:
        raise UsageError(f"paramstyle is {style!r}; it is one of {', '.join(PARAMSTYLES)}")
    return style


def _modules(connection: object) -> Iterator[Any]:
    """The modules a connection's class is of, from the innermost out: psycopg2.extensions, ..."""
    for kind in type(connection).__mro__:
        name = kind.__module__
        while name:
            if name in sys.modules:
                yield sys.modules[name]
            name = name.rpartition(".")[0]


def paramstyle_of(connection: object) -> str:
    """Return how the module of a connection writes parameters."""
    for module in _modules(connection):
        style = getattr(module, "paramstyle", None)
        if style in PARAMSTYLES:
            return str(style)
    raise UsageError(
        f"no module of {type(connection).__name__} says its paramstyle: pass the driver's own "
        "connection, or paramstyle= to the window"
    )


def styled(sql: str, values: Sequence[int], style: str) -> tuple[str, Any]:
    """Return a statement with "?" for its parameters, and these, as a paramstyle has them."""
    if style == "qmark":
        return sql, tuple(values)
    forms = {"numeric": ":{}", "named": ":p{}", "format": "%s", "pyformat": "%(p{})s"}
    numbers = iter(range(1, len(values) + 1))
    text = re.sub(r"\?", lambda _: forms[style].format(next(numbers)), sql)
    if style in ("numeric", "format"):
        return text, tuple(values)
    return text, {f"p{number}": value for number, value in enumerate(values, 1)}


def _is_sqlite(connection: object) -> bool:
    module = sys.modules.get("sqlite3")  # who has such a connection has imported it
    return module is not None and isinstance(connection, module.Connection)


def _check(connection: Any) -> None:
    """Refuse what is no connection of the DB-API, or is awaited."""
    if not all(callable(getattr(connection, n, None)) for n in ("cursor", "commit", "rollback")):
        raise TypeError(
            f"a connection of the DB-API is needed, with cursor, commit and rollback, not "
            f"{type(connection).__name__}"
        )
    if inspect.iscoroutinefunction(connection.commit):
        raise UsageError(
            f"{type(connection).__name__} is awaited; a window takes connections that block: "
            "call it by asyncio.to_thread"
        )


class Database:
    """A connection, and how to speak to it; for one thread, as the connection is."""

    def __init__(self, connection: Any, paramstyle: str | None) -> None:
        _check(connection)
        self._connection = connection
        self._sqlite = _is_sqlite(connection)
        self._style = paramstyle or paramstyle_of(connection)
        autocommit = getattr(connection, "autocommit", None)
        if self._sqlite and autocommit is False:
            raise UsageError(
                "with autocommit=False sqlite3 always has a transaction open, and does not say "
                "whether anything is in it: set connection.autocommit = True"
            )
        self._by_statement = self._sqlite or autocommit is True

    def in_transaction(self) -> bool | None:
        """Whether a transaction is open; None where the driver does not say."""
        status = getattr(getattr(self._connection, "info", None), "transaction_status", None)
        if isinstance(status, int):
            return status != 0  # psycopg; libpq's idle is 0
        for name in ("in_transaction", "_in_transaction"):  # sqlite3; pg8000
            found = getattr(self._connection, name, None)
            if isinstance(found, bool):
                return found
        return None

    def check_idle(self) -> None:
        """Refuse a connection whose transaction is not ours alone."""
        if self.in_transaction():
            raise UsageError(
                "the connection is in a transaction already: commit it or roll it back first; a "
                "window's transaction cannot be inside another one"
            )

    def begin(self) -> None:
        """Begin a transaction; some drivers do it themselves with the first statement."""
        if self._by_statement:  # sqlite: who reads first and then writes may be refused
            self.run("BEGIN IMMEDIATE" if self._sqlite else "BEGIN")

    def ended(self) -> bool:
        """Whether what was begun is over, where that is known.

        Some drivers begin with the first statement only, so before that they cannot say it.
        """
        return self._by_statement and self.in_transaction() is False

    def commit(self) -> None:
        """Save all of it."""
        if self._by_statement:
            self.run("COMMIT")
        else:
            self._connection.commit()

    def rollback(self) -> None:
        """Save nothing of it; fine where no transaction is open any more."""
        if not self._by_statement:
            self._connection.rollback()
        elif self.in_transaction() is not False:
            self.run("ROLLBACK")

    def run(self, sql: str, *values: int) -> int:
        """Run a statement; return how many rows it changed."""
        cursor = self._run(sql, values)
        try:
            return int(cursor.rowcount)
        finally:
            cursor.close()

    def rows(self, sql: str, *values: int) -> list[Sequence[Any]]:
        """Run a query; return its rows, whatever the connection makes of them."""
        cursor = self._run(sql, values)
        try:
            found = cursor.fetchall()
            return [tuple(r.values() if isinstance(r, Mapping) else r) for r in found]
        finally:
            cursor.close()

    def _run(self, sql: str, values: Sequence[int]) -> Any:
        cursor = self._connection.cursor()
        try:
            if self._sqlite:
                cursor.row_factory = None
            if values:
                cursor.execute(*styled(sql, values, self._style))
            else:
                cursor.execute(sql)
        except BaseException:
            cursor.close()
            raise
        return cursor
