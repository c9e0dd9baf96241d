"""What a window asks of a database: two tables, one of messages and one of floors.

A message is a row: the connection of its sender (`epoch`), its number there (`seq`), and its turn
(`place`), by which the oldest are found. What is forgotten leaves a floor: of that connection
nothing up to it is known any more. Not here: transactions (window.py), drivers (database.py). Law:
a row goes only in a transaction after which its connection's floor covers it.
"""

from __future__ import annotations

import enum
import re

from meshmsg._binding.errors import UsageError
from meshmsg._dedupe.database import Database
from meshmsg._dedupe.limits import CONNECTIONS_MAX

NAME_MAX = 24
"""Characters of a name, and of a prefix: PostgreSQL's own limit is 63 for all of it."""
TRIM_SHARE = 16
"""A window is trimmed when this part of its limit was added."""
SIGNED = 2**63
"""Databases have signed numbers only: an epoch from here on is stored as a negative one."""
_NAME = rf"[A-Za-z_][A-Za-z0-9_]{{0,{NAME_MAX - 1}}}"


def check_name(name: str, what: str) -> str:
    """Refuse what is no name of a table: it becomes a part of statements."""
    if not isinstance(name, str) or re.fullmatch(_NAME, name) is None:
        raise UsageError(
            f"{what} is {name!r}; it has letters, digits and _, begins with no digit, and has at "
            f"most {NAME_MAX} characters"
        )
    return name


def signed(epoch: int) -> int:
    """Return an epoch as databases have it."""
    return epoch - 2 * SIGNED if epoch >= SIGNED else epoch


class Found(enum.Enum):
    """What is known of a message."""

    NEW = "new"
    NEW_AND_DUE = "new, and it is time to trim"
    SEEN = "seen"


class Tables:
    """The statements of one window; they keep nothing, so any thread may use them."""

    def __init__(self, prefix: str, name: str, limit: int) -> None:
        base = check_name(prefix, "prefix") + check_name(name, "name")
        self.ids, self.floors = f"{base}_ids", f"{base}_floors"
        self._limit = limit
        self._step = max(1, limit // TRIM_SHARE)

    def probe(self, database: Database) -> None:
        """Ask for nothing: an error where the tables are missing, or the transaction has failed."""
        database.rows(f"SELECT 1 FROM {self.ids}, {self.floors} WHERE 1 = 0")

    def missing(self, database: Database) -> bool:
        """Whether a table is not there; an error ends the transaction in some databases."""
        try:
            self.probe(database)
        except Exception:
            return True
        return False

    def create(self, database: Database) -> None:
        """Make the tables that are not there."""
        database.run(
            f"CREATE TABLE IF NOT EXISTS {self.ids} (epoch BIGINT NOT NULL, seq BIGINT NOT NULL, "
            "place BIGINT NOT NULL, PRIMARY KEY (epoch, seq))"
        )
        database.run(f"CREATE INDEX IF NOT EXISTS {self.ids}_place ON {self.ids} (place)")
        database.run(
            f"CREATE TABLE IF NOT EXISTS {self.floors} (epoch BIGINT NOT NULL PRIMARY KEY, "
            "floor BIGINT NOT NULL, place BIGINT NOT NULL)"
        )

    def add(self, database: Database, epoch: int, seq: int) -> Found | int:
        """Add a message; return what is known of it, or the floor that is not below it.

        Waits where another transaction has added it and is still open.
        """
        key = (signed(epoch), seq)
        added = database.run(
            f"INSERT INTO {self.ids} (epoch, seq, place) VALUES "
            f"(?, ?, (SELECT COALESCE(MAX(place), 0) + 1 FROM {self.ids})) ON CONFLICT DO NOTHING",
            *key,
        )
        if added not in (0, 1):
            raise UsageError(f"the driver says that {added} rows were inserted; it is 0 or 1")
        if added == 0:
            return Found.SEEN
        # Behind the insert: whoever deleted the row before it raised the floor along with that.
        rows = database.rows(
            f"SELECT place, (SELECT floor FROM {self.floors} WHERE epoch = ?) "
            f"FROM {self.ids} WHERE epoch = ? AND seq = ?",
            key[0],
            *key,
        )
        if len(rows) > 1:  # REPEATABLE READ: an older one is seen that was deleted meanwhile
            return Found.SEEN
        place, floor = rows[0]
        if floor is not None and seq <= floor:
            self.remove(database, epoch, seq)
            return int(floor)
        return Found.NEW_AND_DUE if place % self._step == 0 else Found.NEW

    def remove(self, database: Database, epoch: int, seq: int) -> None:
        """Take back a message that was added."""
        database.run(f"DELETE FROM {self.ids} WHERE epoch = ? AND seq = ?", signed(epoch), seq)

    def has(self, database: Database, epoch: int, seq: int) -> bool:
        """Whether a message is among those that were added."""
        rows = database.rows(
            f"SELECT COUNT(*) FROM {self.ids} WHERE epoch = ? AND seq = ?", signed(epoch), seq
        )
        return bool(rows[0][0])

    def trim(self, database: Database) -> None:
        """Forget the oldest beyond the limit, and what is known of the oldest connections."""
        last = self._beyond(database, self.ids, self._limit)
        if last is None:
            return
        # In one order: whoever else trims waits for the first of these rows, and not for another.
        for epoch, seq in database.rows(
            f"SELECT epoch, MAX(seq) FROM {self.ids} WHERE place <= ? GROUP BY epoch "
            "ORDER BY epoch",
            last,
        ):
            database.run(
                f"INSERT INTO {self.floors} (epoch, floor, place) VALUES (?, ?, ?) "
                "ON CONFLICT (epoch) DO UPDATE SET floor = excluded.floor, place = excluded.place "
                f"WHERE {self.floors}.floor < excluded.floor",
                *(epoch, seq, last),
            )
        # Not all up to `last`: a long transaction may have ended since, with an old place.
        database.run(
            f"DELETE FROM {self.ids} WHERE place <= ? AND seq <= "
            f"(SELECT floor FROM {self.floors} WHERE {self.floors}.epoch = {self.ids}.epoch)",
            last,
        )
        old = self._beyond(database, self.floors, CONNECTIONS_MAX)
        if old is not None:
            database.run(f"DELETE FROM {self.floors} WHERE place <= ?", old)

    @staticmethod
    def _beyond(database: Database, table: str, limit: int) -> int | None:
        """The place of the first row that is one too many, from the newest on."""
        rows = database.rows(
            f"SELECT place FROM {table} ORDER BY place DESC LIMIT 1 OFFSET {limit}"
        )
        return int(rows[0][0]) if rows else None
