"""A window in the user's database: which messages were done is saved with what they did.

Not here: statements (tables.py), drivers (database.py). Law: effect and message are committed by
one commit; whatever goes wrong before it rolls back both, and nothing is rolled back behind it.
"""

from __future__ import annotations

import logging
import threading
import weakref
from typing import TYPE_CHECKING, Any

from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import Message
from meshmsg._dedupe.database import Connection, Database, check_paramstyle
from meshmsg._dedupe.limits import LIMIT, check_limit, identity, outside
from meshmsg._dedupe.tables import Found, Tables

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

CREATE_TRIES = 3
"""Tries to make the tables; in PostgreSQL one fails when another program makes them meanwhile."""
ENDED = (
    "the transaction was ended in its with block, by a commit or a rollback: what came before that "
    "and what came behind it are not saved together"
)


class DedupeTransaction:
    """A transaction in which messages are looked up and worked on: `DedupeWindow.transaction`.

    In a `with` block: it begins there, is committed at the end, and rolled back by an error. It is
    for one block, of the thread that has the connection.

    The end of the block raises what the driver does. It rolls back by a UsageError where the block
    looked up no message, swallowed an error of `add`, or ended the transaction itself. A COMMIT
    that failed may have been done: give the message back, and `add` says so when it comes again.
    """

    def __init__(self, window: DedupeWindow, connection: Connection) -> None:
        self._window = window
        self._database = Database(connection, window._paramstyle)
        self._connection = connection
        self._state = "unused"
        self._looked = False
        self._broken = False
        self._added: list[tuple[int, int]] = []
        self._due = False

    def add(self, message: Message | tuple[int, int]) -> bool:
        """Add a message to the window, and say whether it is to be done.

        Where another worker has the same message in a transaction that is still open, this waits
        for its end, as long as the database lets it.

        Thread-safe: no; for the thread that has the connection.

        Args:
            message: A message of a `Pull(ack="manual")`, or of a Sub in a group, or its `seq`.

        Returns:
            True: it is new, so do it, in this transaction. False: it was done before.

        Raises:
            UsageError: The message has no `seq`; this is not in the
                `with` block; the block has ended the transaction; or the connection commits each
                statement by itself.
            OutsideWindowError: It is older than what the window remembers of its connection. It is
                not added; the transaction may go on.
        """
        if self._state != "open":
            raise UsageError("add() is called in the with block of its transaction")
        epoch, seq = identity(message)
        if self._database.ended():
            raise UsageError(ENDED)
        broken, self._broken = self._broken, True  # until it is known what this has done
        found = self._window._tables.add(self._database, epoch, seq)
        self._looked = True
        if found is Found.NEW or found is Found.NEW_AND_DUE:
            self._check_kept(epoch, seq)
        self._broken = broken
        if not isinstance(found, Found):
            raise outside(seq, found, self._window.limit)
        if found is Found.SEEN:
            return False
        self._due |= found is Found.NEW_AND_DUE
        self._added.append((epoch, seq))
        return True

    def _check_kept(self, epoch: int, seq: int) -> None:
        """Refuse a connection that committed what was added, and take that back."""
        if self._database.in_transaction() is False:
            self._window._tables.remove(self._database, epoch, seq)
            raise UsageError(
                "the connection commits each statement by itself, and does not say so as an "
                "attribute autocommit: switch that off"
            )

    def __enter__(self) -> Self:
        """Begin; the tables of the window are made if they are not there."""
        if self._state != "unused":
            raise UsageError("a transaction is used once: call window.transaction() for the next")
        self._database.check_idle()
        self._state = "open"
        try:
            self._database.begin()
            self._window._make_sure(self._database, self._connection)
        except BaseException:
            self._undo()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._state = "over"
        if kind is not None:
            self._undo()
            return
        try:
            self._check()
            self._database.commit()
        except BaseException:
            self._undo()
            raise
        if self._due:
            self._trim()

    def _check(self) -> None:
        """Refuse to commit what would not save the messages with their effect.

        PostgreSQL answers the COMMIT of a transaction that failed by a ROLLBACK, and calls that no
        error; of a query it does.
        """
        if self._broken:
            raise UsageError(
                "add() failed in this transaction, so it is rolled back: it may have saved a "
                "message that was not worked on"
            )
        if not self._looked:
            raise UsageError(
                "no message was looked up in this transaction, so it is rolled back: call "
                "add(message) in it"
            )
        if self._database.in_transaction() is False:
            raise UsageError(ENDED)
        tables = self._window._tables
        if not self._added:
            tables.probe(self._database)
        elif not any(tables.has(self._database, *added) for added in reversed(self._added)):
            raise UsageError("what add() saved was rolled back in the with block, so all of it is")

    def _undo(self) -> None:
        """Roll back; the error that led here is more important than one of this."""
        self._state = "over"
        try:
            self._database.rollback()
        except Exception as failed:
            logging.getLogger("meshmsg").warning(
                "a transaction was not rolled back; it ends with its connection: %s", failed
            )

    def _trim(self) -> None:
        """Forget the oldest, in a transaction of its own; if it fails, the next one does it."""
        try:
            self._database.begin()
            self._window._tables.trim(self._database)
            self._database.commit()
        except Exception as failed:
            logging.getLogger("meshmsg").warning("a window was not trimmed: %s", failed)
            self._undo()
        except BaseException:
            self._undo()
            raise


class DedupeWindow:
    """Remembers in your database which messages were done: the last `limit` of them.

    A message is added in the transaction that saves what it does, so that both are committed or
    neither is. With `Push(delivery="at_least_once")` each message then takes effect once, whatever
    worker is lost at whatever moment:

        window = DedupeWindow("orders")
        for message in pull:  # of a Pull(ack="manual")
            with message, window.transaction(connection) as transaction:
                if transaction.add(message):
                    ...  # what it does, by this connection

    Workers share a window by its name and their database. It has two tables there, PREFIX NAME _ids
    and _floors, which are made when they are needed. SQLite and PostgreSQL do; so does what knows
    INSERT ... ON CONFLICT DO NOTHING and has a driver of the DB-API.

    One object may be used by any number of threads, each with a connection of its own.

    Args:
        name: Of the window: up to 24 letters, digits and _.
        limit: Messages it remembers, 1 to 100,000,000; the oldest go first. A sixteenth more may be
            there before they do. All workers of a window have the same.
        prefix: What the names of its tables begin with.
        paramstyle: How the driver writes parameters, where its module does not say.
    """

    def __init__(
        self,
        name: str,
        *,
        limit: int = LIMIT,
        prefix: str = "meshmsg_",
        paramstyle: str | None = None,
    ) -> None:
        self._name = name
        self._limit = check_limit(limit)
        self._tables = Tables(prefix, name, limit)
        self._paramstyle = check_paramstyle(paramstyle)
        self._lock = threading.Lock()
        self._sure: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    @property
    def limit(self) -> int:
        """How many messages it remembers."""
        return self._limit

    def transaction(self, connection: Connection) -> DedupeTransaction:
        """Return a transaction for a `with` block, in which messages are looked up and worked on.

        It begins with the block, is committed at its end, and rolled back by an error. It blocks as
        the driver does: with asyncio, call it in `asyncio.to_thread`.

        Thread-safe: yes, with a connection for each thread.

        Args:
            connection: One of the DB-API, in no transaction, with autocommit or without; of
                sqlite3 with any isolation_level, but not with autocommit=False.

        Returns:
            What has `add(message)`.

        Raises:
            TypeError: It is no connection of the DB-API.
            UsageError: It is awaited, of an unknown paramstyle, or always in a transaction.
        """
        return DedupeTransaction(self, connection)

    def _make_sure(self, database: Database, connection: Any) -> None:
        """Make the tables that are not there; a transaction is open before and behind it."""
        with self._lock:
            if connection in self._sure:
                return
        for left in reversed(range(CREATE_TRIES)):
            if not self._tables.missing(database):
                break
            database.rollback()
            try:
                database.begin()
                self._tables.create(database)
                database.commit()
            except Exception:
                if not left:
                    raise
                database.rollback()
            database.begin()
        try:
            with self._lock:
                self._sure.add(connection)
        except TypeError:
            pass  # sqlite3's takes no weak reference: it is asked each time, which is cheap there
