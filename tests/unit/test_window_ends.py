"""How a window's transaction ends: by an error, by its own block, by a commit that fails.

Not here: what a window says of messages (test_window.py); PostgreSQL (test_window_postgres.py).
"""

from __future__ import annotations

import logging
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.signals import handled
from tests.support.windows import SENDER, do, effect, effects, make_effects

ONE = (SENDER, 1)
MODES: list[Any] = [None, "", "DEFERRED", "IMMEDIATE", "EXCLUSIVE"]


class Told(sqlite3.Connection):
    """Refuses statements that it is told to refuse."""

    refuses: tuple[str, ...] = ()

    def cursor(self, *args: Any) -> Any:
        """Return one that refuses."""
        return super().cursor(*args or (Refusing,))


class Refusing(sqlite3.Cursor):
    """Asks its connection first."""

    def execute(self, sql: str, *values: Any) -> Any:
        """Refuse, or run it."""
        assert isinstance(self.connection, Told)
        if sql.startswith(self.connection.refuses or "-"):
            raise sqlite3.OperationalError(f"told to refuse {sql.split()[0]}")
        return super().execute(sql, *values)


@pytest.fixture(params=MODES)
def connection(request: pytest.FixtureRequest) -> Iterator[Told]:
    """A database in memory, for each way sqlite3 has to begin a transaction."""
    opened = sqlite3.connect(":memory:", isolation_level=request.param, factory=Told)
    with closing(opened):
        make_effects(opened)
        yield opened


@pytest.fixture
def window() -> mm.DedupeWindow:
    """A small one, trimmed whenever something was added."""
    return mm.DedupeWindow("orders", limit=2)


def nothing_is_open(connection: Told, window: mm.DedupeWindow) -> bool:
    """Whether a message is as good as never seen, and the connection as good as new."""
    connection.refuses = ()
    return effects(connection) == [] and do(window, connection, 1)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_error_rolls_back_both(
    connection: Told, window: mm.DedupeWindow, error: type[BaseException]
) -> None:
    """Whatever it is, and it is raised on."""
    with pytest.raises(error), window.transaction(connection) as transaction:
        assert transaction.add(ONE)
        effect(connection, 1)
        raise error
    assert not connection.in_transaction
    assert nothing_is_open(connection, window)


def test_a_signal_in_the_block_rolls_back_both(connection: Told, window: mm.DedupeWindow) -> None:
    """KeyboardInterrupt as it really comes."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with handled(interrupt) as kill:
        with pytest.raises(KeyboardInterrupt), window.transaction(connection) as transaction:
            assert transaction.add(ONE)
            effect(connection, 1)
            kill()
            signal.sigtimedwait([], 0)
    assert nothing_is_open(connection, window)


@pytest.mark.parametrize("refused", ["BEGIN", "INSERT INTO m", "SELECT place", "COMMIT"])
def test_what_the_database_refuses_is_raised(
    connection: Told, window: mm.DedupeWindow, refused: str
) -> None:
    """At the beginning, in between, and at the commit: both are rolled back."""
    with window.transaction(connection) as transaction:
        transaction.add((5, 5))  # the tables are there
    connection.refuses = (refused,)
    with pytest.raises(sqlite3.OperationalError, match="told to refuse"):
        do(window, connection, 1)
    assert not connection.in_transaction
    assert nothing_is_open(connection, window)


@pytest.mark.parametrize("refused", ["INSERT INTO m", "SELECT place"])
def test_an_error_of_add_is_not_swallowed(
    connection: Told, window: mm.DedupeWindow, refused: str
) -> None:
    """The message may have been saved by then, without its effect."""
    assert do(window, connection, 5)
    with pytest.raises(mm.UsageError, match=r"add\(\) failed in this transaction"):
        with window.transaction(connection) as transaction:
            connection.refuses = (refused,)
            with pytest.raises(sqlite3.OperationalError, match="told to refuse"):
                transaction.add(ONE)
            connection.refuses = ()
            assert transaction.add((SENDER, 6))
            effect(connection, 6)
    assert [do(window, connection, number) for number in (6, 7)] == [True, True]
    assert effects(connection) == [5, 6, 7]


def test_tables_that_cannot_be_made_are_an_error(connection: Told, window: mm.DedupeWindow) -> None:
    """After a few tries, as another program may be about it."""
    connection.refuses = ("CREATE",)
    with pytest.raises(sqlite3.OperationalError, match="refuse CREATE"):
        do(window, connection, 1)
    assert nothing_is_open(connection, window)


def test_a_rollback_that_fails_does_not_hide_why(
    connection: Told, window: mm.DedupeWindow, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told in the log; the next transaction is refused until the user rolls back."""
    assert do(window, connection, 5)
    connection.refuses = ("ROLLBACK",)
    with caplog.at_level(logging.WARNING, "meshmsg"):
        with pytest.raises(ZeroDivisionError), window.transaction(connection) as transaction:
            transaction.add(ONE)
            raise ZeroDivisionError
    assert "was not rolled back; it ends with its connection: told to refuse" in caplog.text
    with pytest.raises(mm.UsageError, match="in a transaction already"):
        do(window, connection, 1)
    connection.refuses = ()
    connection.execute("ROLLBACK")
    assert do(window, connection, 1)
    assert effects(connection) == [1, 5]


def test_what_cannot_be_trimmed_is_told_and_is_no_error(
    connection: Told, window: mm.DedupeWindow, caplog: pytest.LogCaptureFixture
) -> None:
    """The message is done, and the next one trims."""
    assert [do(window, connection, number) for number in (1, 2)] == [True, True]
    connection.refuses = ("DELETE",)
    with caplog.at_level(logging.WARNING, "meshmsg"):
        assert do(window, connection, 3)
    assert "a window was not trimmed: told to refuse DELETE" in caplog.text
    assert not do(window, connection, 1)
    connection.refuses = ()
    assert do(window, connection, 4)
    with pytest.raises(mm.OutsideWindowError):
        do(window, connection, 2)
    assert effects(connection) == [1, 2, 3, 4]


def test_a_signal_while_it_is_trimmed_leaves_nothing_open(
    connection: Told, window: mm.DedupeWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is done; whoever gives it back is told so when it comes again."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(window._tables, "trim", interrupted)
    with pytest.raises(KeyboardInterrupt):
        do(window, connection, 1)
    assert not connection.in_transaction
    assert not do(window, connection, 1)


def test_a_transaction_that_is_open_is_refused(connection: Told, window: mm.DedupeWindow) -> None:
    """The user's own, or another window's: nothing of it is touched."""
    connection.execute("BEGIN")
    effect(connection, 7)
    with pytest.raises(mm.UsageError, match="in a transaction already: commit it"):
        do(window, connection, 1)
    connection.execute("COMMIT")
    with window.transaction(connection) as transaction:
        assert transaction.add(ONE)
        effect(connection, 1)
        with pytest.raises(mm.UsageError, match="cannot be inside another one"):
            do(mm.DedupeWindow("others"), connection, 2)
    assert effects(connection) == [1, 7]


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_block_that_ends_the_transaction_is_told(
    connection: Told, window: mm.DedupeWindow, end: str
) -> None:
    """As `with connection:` and executescript() do, too."""
    with pytest.raises(mm.UsageError, match="was ended in its with block"):
        with window.transaction(connection) as transaction:
            assert transaction.add(ONE)
            connection.execute(end)
            with pytest.raises(mm.UsageError, match="was ended in its with block"):
                transaction.add((SENDER, 2))
    assert do(window, connection, 2)
    assert not connection.in_transaction


def test_a_block_that_begins_another_one_is_told(connection: Told, window: mm.DedupeWindow) -> None:
    """What was added is gone, so the effect goes as well."""
    with pytest.raises(mm.UsageError, match="rolled back in the with block"):
        with window.transaction(connection) as transaction:
            assert transaction.add(ONE)
            assert transaction.add((SENDER, 2))
            connection.execute("ROLLBACK")
            connection.execute("BEGIN")
            effect(connection, 1)
    assert nothing_is_open(connection, window)


def test_a_savepoint_may_undo_one_of_many(connection: Told, window: mm.DedupeWindow) -> None:
    """Message and effect; it is new when it comes again."""
    with window.transaction(connection) as transaction:
        assert transaction.add(ONE)
        effect(connection, 1)
        connection.execute("SAVEPOINT one")
        assert transaction.add((SENDER, 2))
        effect(connection, 2)
        connection.execute("ROLLBACK TO one")
    assert effects(connection) == [1]
    assert do(window, connection, 2)


def test_a_block_that_looks_nothing_up_is_told(connection: Told, window: mm.DedupeWindow) -> None:
    """What it did would be done again."""
    with pytest.raises(mm.UsageError, match=r"call add\(message\)"):
        with window.transaction(connection):
            effect(connection, 1)
    assert nothing_is_open(connection, window)


def test_a_block_with_nothing_new_is_committed(connection: Told, window: mm.DedupeWindow) -> None:
    """Say, it counts duplicates."""
    assert do(window, connection, 1)
    with window.transaction(connection) as transaction:
        assert not transaction.add(ONE)
        effect(connection, 100)
    assert effects(connection) == [1, 100]


def test_a_transaction_is_for_one_block(connection: Told, window: mm.DedupeWindow) -> None:
    """Neither before it, nor behind it, nor again."""
    transaction = window.transaction(connection)
    with pytest.raises(mm.UsageError, match="in the with block"):
        transaction.add(ONE)
    with transaction:
        assert transaction.add(ONE)
        with pytest.raises(mm.UsageError, match="used once"):
            transaction.__enter__()
    with pytest.raises(mm.UsageError, match="in the with block"):
        transaction.add(ONE)
    with pytest.raises(mm.UsageError, match="used once"):
        transaction.__enter__()


def test_who_waits_too_long_for_a_lock_is_told(tmp_path: Path, window: mm.DedupeWindow) -> None:
    """By sqlite3; nothing is open then."""
    with (
        closing(sqlite3.connect(tmp_path / "file")) as one,
        closing(sqlite3.connect(tmp_path / "file", timeout=0)) as other,
    ):
        make_effects(one)
        with window.transaction(one) as transaction:
            assert transaction.add(ONE)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                do(window, other, 1)
            assert not other.in_transaction
        assert not do(window, other, 1)


def test_a_commit_that_a_reader_keeps_from_being_done(
    tmp_path: Path, window: mm.DedupeWindow
) -> None:
    """A real one that fails: both are rolled back."""
    with (
        closing(sqlite3.connect(tmp_path / "file", timeout=0)) as one,
        closing(sqlite3.connect(tmp_path / "file", isolation_level=None)) as reader,
    ):
        make_effects(one)
        with window.transaction(one) as transaction:
            transaction.add((SENDER, 9))
        reader.execute("BEGIN")
        assert reader.execute("SELECT * FROM effects").fetchall() == []
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            do(window, one, 1)
        reader.execute("COMMIT")
        assert effects(one) == []
        assert do(window, one, 1)


def test_rows_may_be_what_the_user_likes(connection: Told, window: mm.DedupeWindow) -> None:
    """The factory of its connection is not ours."""
    connection.row_factory = lambda cursor, row: {"row": row}
    assert [do(window, connection, number) for number in (1, 2, 3, 3)] == [True] * 3 + [False]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3.connect has no autocommit=")
@pytest.mark.parametrize("autocommit", [True, False])
def test_the_ways_of_python_312(autocommit: bool, window: mm.DedupeWindow) -> None:
    """With True it works as ever; with False nobody knows what is in the open transaction."""
    options: dict[str, Any] = {"autocommit": autocommit}
    with closing(sqlite3.connect(":memory:", **options)) as connection:
        make_effects(connection)
        if autocommit:
            assert [do(window, connection, 1), do(window, connection, 1)] == [True, False]
            with pytest.raises(ZeroDivisionError), window.transaction(connection) as transaction:
                effect(connection, int(transaction.add((SENDER, 2))))
                raise ZeroDivisionError
            assert effects(connection) == [1]
        else:
            with pytest.raises(mm.UsageError, match="set connection.autocommit = True"):
                window.transaction(connection)
