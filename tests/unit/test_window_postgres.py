"""DedupeWindow over PostgreSQL, by two drivers: how transactions begin, fail and wait.

Skipped where the server or a driver is missing. Not here: what is the same over sqlite3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._dedupe.database import Database
from meshmsg._dedupe.tables import TRIM_SHARE
from tests.support.pairs import wait_until
from tests.support.postgres import USER
from tests.support.windows import SENDER, all_at_once, do, effect, effects, make_effects

ONE = (SENDER, 1)
Connect = Callable[[], Any]
DRIVERS = ["psycopg", "pg8000.dbapi"]


def opener(folder: str, driver: str) -> Connect:
    """Return what opens a connection by this driver."""
    module: Any = pytest.importorskip(driver)
    if driver == "psycopg":
        return lambda: module.connect(host=folder, user=USER, dbname="postgres")
    path = f"{folder}/.s.PGSQL.5432"
    return lambda: module.connect(USER, unix_sock=path, database="postgres")


@pytest.fixture(params=DRIVERS)
def connect(request: pytest.FixtureRequest, postgres: str) -> Iterator[Connect]:
    """Opens connections, to a database with no table but that of effects."""
    opening = opener(postgres, request.param)
    with ExitStack() as stack:

        def opened() -> Any:
            connection = opening()
            stack.callback(connection.close)
            return connection

        first = opened()
        cursor = first.cursor()
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
        make_effects(first)
        yield opened


@pytest.fixture
def window() -> mm.DedupeWindow:
    """A small one, trimmed whenever something was added."""
    return mm.DedupeWindow("orders", limit=2)


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_message_takes_effect_once(
    connect: Connect, window: mm.DedupeWindow, autocommit: bool
) -> None:
    """Whether the driver begins transactions or not, and until it is forgotten."""
    connection = connect()
    connection.autocommit = autocommit
    assert [do(window, connection, n) for n in (1, 2, 2, 3)] == [True, True, False, True]
    with pytest.raises(mm.OutsideWindowError):
        do(window, connection, 1)
    with pytest.raises(ZeroDivisionError), window.transaction(connection) as transaction:
        assert transaction.add((SENDER, 9))
        effect(connection, 9)
        raise ZeroDivisionError
    assert do(window, connection, 9)
    other = connect()
    assert not do(mm.DedupeWindow("orders", limit=2), other, 9)
    assert effects(other) == [1, 2, 3, 9]


@pytest.mark.parametrize("style", ["qmark", "numeric", "named", "format", "pyformat"])
def test_each_style_of_parameters(
    postgres: str, window: mm.DedupeWindow, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module says which; pg8000 has them all."""
    module: Any = pytest.importorskip("pg8000.dbapi")
    monkeypatch.setattr(module, "paramstyle", style)
    connection = opener(postgres, "pg8000.dbapi")()
    with ExitStack() as stack:
        stack.callback(connection.close)
        name = mm.DedupeWindow(f"of_{style}", limit=1)
        for new in (True, False):
            with name.transaction(connection) as transaction:
                assert transaction.add(ONE) == new


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_transaction_that_is_open_is_refused(
    connect: Connect, window: mm.DedupeWindow, autocommit: bool
) -> None:
    """One that only looked at something, too; nothing of it is touched."""
    connection = connect()
    connection.autocommit = autocommit
    if autocommit:
        connection.cursor().execute("BEGIN")
    effect(connection, 7)
    with pytest.raises(mm.UsageError, match="in a transaction already"):
        do(window, connection, 1)
    connection.cursor().execute("COMMIT")
    with window.transaction(connection) as transaction:
        assert transaction.add(ONE)
        with pytest.raises(mm.UsageError, match="cannot be inside another one"):
            do(mm.DedupeWindow("others"), connection, 2)
    assert not do(window, connection, 1)
    assert effects(connect()) == [7]


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("autocommit", [False, True])
def test_a_block_that_swallows_an_error_is_not_committed(
    connect: Connect, window: mm.DedupeWindow, autocommit: bool, new: bool
) -> None:
    """PostgreSQL would roll back, and call that no error: the message would be lost."""
    connection = connect()
    connection.autocommit = autocommit
    assert new or do(window, connection, 1)
    with pytest.raises(Exception, match=r"current transaction is aborted|failed transaction"):
        with window.transaction(connection) as transaction:
            assert transaction.add(ONE) == new
            effect(connection, 5)
            with pytest.raises(Exception, match="division by zero"):
                connection.cursor().execute("SELECT 1 / 0")
    assert do(window, connection, 1) == new
    assert effects(connection) == [1]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_block_that_ends_the_transaction_is_told(
    connect: Connect, window: mm.DedupeWindow, end: str
) -> None:
    """As the `with` of a connection does."""
    connection = connect()
    with pytest.raises(mm.UsageError, match="was ended in its with block"):
        with window.transaction(connection) as transaction:
            assert transaction.add(ONE)
            getattr(connection, end)()
    with pytest.raises(mm.UsageError, match="rolled back in the with block"):
        with window.transaction(connection) as transaction:
            assert transaction.add((SENDER, 2))
            connection.rollback()
            effect(connection, 2)
    assert do(window, connection, 2)


def waiters(connection: Any) -> int:
    """How many transactions wait for another one."""
    cursor = connection.cursor()
    cursor.execute("SELECT COUNT(*) FROM pg_locks WHERE NOT granted")
    [(count,)] = cursor.fetchall()
    connection.commit()
    return int(count)


@pytest.mark.parametrize("end", ["commit", "error"])
def test_who_comes_while_another_one_works_waits_for_its_end(
    connect: Connect, window: mm.DedupeWindow, end: str
) -> None:
    """Then it was done, or is to be done: by exactly one."""
    one, other, looking = connect(), connect(), connect()
    assert do(window, one, 5)
    said: list[bool] = []
    second = threading.Thread(target=lambda: said.append(do(window, other, 1)))
    try:
        with window.transaction(one) as transaction:
            assert transaction.add(ONE)
            effect(one, 1)
            assert do(window, looking, 7)  # another message waits for nobody
            second.start()
            wait_until(lambda: waiters(looking))
            if end == "error":
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    second.join()
    assert said == [end == "error"]
    assert effects(looking) == [1, 5, 7]


def test_many_may_make_the_tables(connect: Connect) -> None:
    """At the same moment; PostgreSQL refuses some, and they look again."""
    connections = [connect() for _ in range(4)]
    for name in ("a", "b", "c", "d", "e"):
        window = mm.DedupeWindow(name)
        said = all_at_once([lambda own=own, w=window: do(w, own, 1) for own in connections])
        assert sorted(said) == [False, False, False, True]
    assert effects(connect()) == [1] * 5


def test_many_do_and_forget_at_the_same_time(connect: Connect) -> None:
    """The same messages, and then each its own while all of them trim: each once, in the end."""
    connections, count, limit = [connect() for _ in range(4)], 40, 20
    common, small = mm.DedupeWindow("common"), mm.DedupeWindow("small", limit=limit)

    def work(own: Any) -> None:
        for number in range(1, count + 1):
            do(common, own, number)
        for number in range(1, count + 1):
            assert do(small, own, number, epoch=id(own))

    assert all_at_once([lambda own=own: work(own) for own in connections]) == [None] * 4
    looking = connect()
    assert effects(looking) == sorted(list(range(1, count + 1)) * 5)
    cursor = looking.cursor()
    cursor.execute("SELECT COUNT(*) FROM meshmsg_small_ids")
    assert cursor.fetchall()[0][0] <= limit + limit // TRIM_SHARE * len(connections)


def test_what_ends_while_a_window_is_trimmed_is_not_forgotten(
    connect: Connect, window: mm.DedupeWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row has an old place, and is there only when floors were raised and rows are deleted."""
    slow, quick = connect(), connect()
    assert do(window, quick, 1)
    transaction = window.transaction(slow)
    transaction.__enter__()
    assert transaction.add((77, 1))
    assert [do(window, quick, number) for number in range(2, 6)] == [True] * 4
    run, ended = Database.run, []

    def ending(self: Database, sql: str, *values: int) -> int:
        if sql.startswith("DELETE FROM meshmsg_orders_ids WHERE place") and not ended:
            ended.append(sql)
            transaction._due = False  # it would wait for this trim, in the same thread
            transaction.__exit__(None, None, None)
        return run(self, sql, *values)

    with monkeypatch.context() as patched:
        patched.setattr(Database, "run", ending)
        assert do(window, quick, 6)
    assert ended
    assert not do(window, quick, 1, epoch=77)


def test_a_long_transaction_is_not_forgotten_without_being_told(
    connect: Connect, window: mm.DedupeWindow
) -> None:
    """It has an old place, and ends when newer ones are trimmed already."""
    slow, quick = connect(), connect()
    assert do(window, quick, 1)
    with window.transaction(slow) as transaction:
        assert transaction.add((77, 1))
        effect(slow, 100)
        assert all(do(window, quick, number) for number in range(2, 9))
    for number in range(9, 13):
        assert do(window, quick, number)
    with pytest.raises(mm.OutsideWindowError):
        do(window, quick, 1, epoch=77)
    assert effects(quick) == [*range(1, 13), 100]


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_an_old_snapshot_does_not_make_a_message_new(
    connect: Connect, window: mm.DedupeWindow, level: str
) -> None:
    """It was done when the transaction began, and is forgotten while it goes on."""
    slow, quick = connect(), connect()
    slow.cursor().execute(f"SET default_transaction_isolation = '{level.lower()}'")
    slow.commit()
    assert do(window, quick, 1)
    said = ""
    with window.transaction(slow) as transaction:
        assert transaction.add((77, 1))
        assert all(do(window, quick, number) for number in range(2, 9))
        try:
            said = str(transaction.add(ONE))
        except mm.OutsideWindowError:
            said = "outside"
    assert said == ("outside" if level == "READ COMMITTED" else "False")
    assert effects(quick) == list(range(1, 9))


def test_rows_may_be_what_the_user_likes(postgres: str) -> None:
    """Dictionaries, say."""
    psycopg: Any = pytest.importorskip("psycopg")
    options = {"host": postgres, "user": USER, "dbname": "postgres"}
    with psycopg.connect(**options, row_factory=psycopg.rows.dict_row) as connection:
        window = mm.DedupeWindow("in_dicts")
        for new in (True, False):
            with window.transaction(connection) as transaction:
                assert transaction.add(ONE) == new


def test_a_connection_that_is_awaited_is_refused(postgres: str) -> None:
    """That of psycopg for asyncio."""
    psycopg: Any = pytest.importorskip("psycopg")
    awaited = psycopg.AsyncConnection.__new__(psycopg.AsyncConnection)
    with pytest.raises(mm.UsageError, match=r"asyncio\.to_thread"):
        mm.DedupeWindow("orders").transaction(awaited)
