"""DedupeWindow over sqlite3: what it takes, what it says of messages, and what it forgets.

Not here: what ends a transaction (test_window_ends.py), other databases and drivers
(test_window_postgres.py, test_window_drivers.py), any order of calls (test_window_model.py),
workers that die (tests/crash/test_effects.py).
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._dedupe import limits, tables
from tests.support.windows import SENDER, all_at_once, do, effect, effects, make_effects

WAIT_S = 60.0
SEMANTICS = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """A database in memory, with a table of effects."""
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as opened:
        make_effects(opened)
        yield opened


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": ""}, "name is ''"),
        ({"name": "1st"}, "name is '1st'"),
        ({"name": "a b"}, "name is 'a b'"),
        ({"name": "x; DROP TABLE effects"}, "letters, digits and _"),
        ({"name": "ä"}, "name is 'ä'"),
        ({"name": "a\n"}, "name is 'a"),
        ({"name": "a" * 25}, "at most 24"),
        ({"name": 5}, "name is 5"),
        ({"name": "a", "prefix": "own."}, "prefix is 'own.'"),
        ({"name": "a", "prefix": ""}, "prefix is ''"),
        ({"name": "a", "limit": 0}, "limit is 0; it is a whole number from 1 to 100,000,000"),
        ({"name": "a", "limit": 100_000_001}, "limit is 100000001"),
        ({"name": "a", "limit": True}, "limit is True"),
        ({"name": "a", "limit": 1.5}, "limit is 1.5"),
        ({"name": "a", "paramstyle": "?"}, "paramstyle is '\\?'; it is one of qmark"),
    ],
)
def test_what_it_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    """With the option and its value."""
    with pytest.raises(mm.UsageError, match=words):
        mm.DedupeWindow(**options)


def test_what_it_may_be_at_most() -> None:
    """Names of 24 characters, the largest limit."""
    window = mm.DedupeWindow("a" * 24, prefix="_" * 24, limit=limits.LIMIT_MAX)
    assert (window.name, window.limit) == ("a" * 24, 100_000_000)
    assert mm.MemoryDedupeWindow().limit == mm.DedupeWindow("a").limit == 100_000


def test_a_message_takes_effect_once(connection: sqlite3.Connection) -> None:
    """Whatever its sender's numbers are; each window by itself."""
    window = mm.DedupeWindow("orders")
    assert [do(window, connection, n) for n in (1, 2, 1, 2, 3)] == [True, True, False, False, True]
    assert do(window, connection, 1, epoch=5)
    assert not do(mm.DedupeWindow(name="orders"), connection, 3)
    assert do(mm.DedupeWindow("others"), connection, 3)
    assert effects(connection) == [1, 1, 2, 3, 3]
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert ("meshmsg_orders_ids",) in names
    assert ("meshmsg_orders_floors",) in names


def test_a_prefix_is_that_of_its_tables(connection: sqlite3.Connection) -> None:
    """So windows of several programs are apart."""
    assert do(mm.DedupeWindow("orders", prefix="shop_"), connection, 1)
    assert connection.execute("SELECT COUNT(*) FROM shop_orders_ids").fetchone() == (1,)


def test_many_messages_are_committed_together(connection: sqlite3.Connection) -> None:
    """One that comes twice in one transaction is new once."""
    window = mm.DedupeWindow("orders")
    with window.transaction(connection) as transaction:
        for number in (1, 2, 1, 3):
            if transaction.add((SENDER, number)):
                effect(connection, number)
    assert effects(connection) == [1, 2, 3]


def test_a_file_keeps_the_window(tmp_path: Path) -> None:
    """For another connection, and another program."""
    for number, new in ((1, True), (1, False), (2, True)):
        with closing(sqlite3.connect(tmp_path / "file")) as opened:
            assert do_alone(mm.DedupeWindow("orders"), opened, number) == new


def do_alone(window: mm.DedupeWindow, opened: sqlite3.Connection, number: int) -> bool:
    """Look a message up, with no effect."""
    with window.transaction(opened) as transaction:
        return transaction.add((SENDER, number))


def test_the_oldest_are_forgotten_and_told_of(connection: sqlite3.Connection) -> None:
    """At the limit all are known; one more, and the first may have been done."""
    window = mm.DedupeWindow("orders", limit=3)
    for number in (1, 2, 3):
        assert do(window, connection, number)
    assert not do(window, connection, 1)
    assert do(window, connection, 4)
    with pytest.raises(mm.OutsideWindowError, match="forgotten those up to 1") as raised:
        do(window, connection, 1)
    assert (raised.value.seq, raised.value.floor, raised.value.limit) == (1, 1, 3)
    assert not do(window, connection, 2)
    assert do(window, connection, 1, epoch=5)  # of another connection nothing was forgotten
    assert effects(connection) == [1, 1, 2, 3, 4]


def test_one_that_was_forgotten_need_not_end_the_transaction(
    connection: sqlite3.Connection,
) -> None:
    """It is not added; what else there is may be done."""
    window = mm.DedupeWindow("orders", limit=1)
    assert [do(window, connection, number) for number in (5, 6)] == [True, True]
    with window.transaction(connection) as transaction:
        with pytest.raises(mm.OutsideWindowError):
            transaction.add((SENDER, 5))
        assert transaction.add((SENDER, 7))
    with window.transaction(connection) as transaction, pytest.raises(mm.OutsideWindowError):
        transaction.add((SENDER, 3))  # never done; but that is not known


def test_a_window_is_trimmed_by_whoever_comes_to_it(connection: sqlite3.Connection) -> None:
    """Also where each worker adds one message only; then it is back at its limit."""
    most = 0
    for number in range(1, 301):
        assert do(mm.DedupeWindow("orders", limit=64), connection, number)
        [(count,)] = connection.execute("SELECT COUNT(*) FROM meshmsg_orders_ids").fetchall()
        most = max(most, count)
        assert count <= 64 + 64 // tables.TRIM_SHARE
    assert most > 64


@pytest.mark.parametrize("form", ["table", "memory"])
def test_floors_are_bounded_too(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Of the connection that was forgotten longest ago nothing is known any more."""
    monkeypatch.setattr("meshmsg._dedupe.tables.CONNECTIONS_MAX", 2)
    monkeypatch.setattr("meshmsg._dedupe.memory.CONNECTIONS_MAX", 2)
    window, memory = mm.DedupeWindow("orders", limit=1), mm.MemoryDedupeWindow(limit=1)

    def add(epoch: int, number: int = 1) -> bool:
        return (
            memory.add((epoch, number))
            if form == "memory"
            else do(window, connection, number, epoch)
        )

    assert all(add(epoch) for epoch in (1, 2, 3, 4))  # floors of 2 and 3 are left
    for epoch in (2, 3):
        with pytest.raises(mm.OutsideWindowError):
            add(epoch)
    assert add(1)


def test_a_message_without_a_number_is_refused(connection: sqlite3.Connection) -> None:
    """At most once, or a Pull that acknowledges by itself; with what to do."""
    window = mm.DedupeWindow("orders")
    cases: list[tuple[Any, Any]] = [("at_most_once", "manual"), ("at_least_once", "auto")]
    for delivery, ack in cases:
        with ExitStack() as stack:
            push = stack.enter_context(mm.Push(bind="inproc://*", delivery=delivery))
            pull = stack.enter_context(mm.Pull(connect=push.endpoint, ack=ack))
            push.send(b"x", timeout=WAIT_S)
            message = pull.recv(timeout=WAIT_S)
            with pytest.raises(mm.UsageError, match="ack='manual'"):
                with window.transaction(connection) as transaction:
                    effect(connection, 1)
                    transaction.add(message)
            with pytest.raises(mm.UsageError, match="delivery='at_least_once'"):
                mm.MemoryDedupeWindow().seen(message)
    assert effects(connection) == []


@pytest.mark.parametrize("bad", [b"bytes", None, 5, (1,), (1, 2, 3), (1, "2"), (True, 1), [1, 2]])
def test_what_is_no_message_is_a_type_error(bad: Any) -> None:
    """Say, what was pickled."""
    with pytest.raises(TypeError, match="hand message.seq on"):
        mm.MemoryDedupeWindow().add(bad)


@pytest.mark.parametrize("bad", [(0, 0), (0, 2**63), (-1, 1), (2**64, 1)])
def test_a_number_no_sender_has_is_told(bad: tuple[int, int]) -> None:
    """It would not fit into a database."""
    with pytest.raises(mm.PeerError, match="no message has the number"):
        mm.MemoryDedupeWindow().add(bad)


def test_the_largest_numbers_fit(connection: sqlite3.Connection) -> None:
    """Of a connection and of a message, in a database."""
    window = mm.DedupeWindow("orders")
    for epoch in (0, 2**63 - 1, 2**63, 2**64 - 1):
        assert do_alone(window, connection, 2**63 - 1) == (epoch == 0)
        with window.transaction(connection) as transaction:
            assert transaction.add((epoch, 2**63 - 1))
            assert not transaction.add((epoch, 2**63 - 1))


def test_what_is_given_back_is_known_again(connection: sqlite3.Connection) -> None:
    """By the number of its message, whatever connection it comes by."""
    window = mm.DedupeWindow("orders")
    with mm.Push(bind="inproc://*", delivery="at_least_once") as push:
        push.send_many([b"1", b"2"], timeout=WAIT_S)
        found = []
        for give_back in (True, False):
            with mm.Pull(connect=push.endpoint, ack="manual") as pull:
                for _ in range(2):
                    message: Any = pull.recv(timeout=WAIT_S)
                    found.append((int(message), do_alone_of(window, connection, message)))
                    if not give_back:
                        assert message.ack()
        assert sorted(found) == [(1, False), (1, True), (2, False), (2, True)]


def do_alone_of(window: mm.DedupeWindow, opened: sqlite3.Connection, message: mm.Message) -> bool:
    """Look a real message up."""
    with window.transaction(opened) as transaction:
        return transaction.add(message)


def test_asyncio_calls_it_in_a_thread(connection: sqlite3.Connection) -> None:
    """The same class; the loop goes on meanwhile."""
    window = mm.DedupeWindow("orders")

    def work(message: Any) -> None:
        with message, window.transaction(connection) as transaction:
            if transaction.add(message):
                effect(connection, int(message))

    async def main() -> None:
        async with aio.Push(bind="inproc://*", delivery="at_least_once") as push:
            async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
                await push.send_many([b"1", b"2", b"3"], timeout=WAIT_S)
                for _ in range(3):
                    await asyncio.to_thread(work, await pull.recv(timeout=WAIT_S))
                assert (await push.drain(timeout=WAIT_S)).unconfirmed == 0

    asyncio.run(main())
    assert effects(connection) == [1, 2, 3]


def test_of_threads_with_one_message_one_does_it(tmp_path: Path) -> None:
    """One window, a connection each; the others wait for its transaction."""
    window, count = mm.DedupeWindow("orders"), 50
    with closing(sqlite3.connect(tmp_path / "file")) as first:
        make_effects(first)

    def work() -> int:
        with closing(sqlite3.connect(tmp_path / "file", timeout=WAIT_S)) as own:
            return sum(do(window, own, number) for number in range(1, count + 1))

    assert sum(all_at_once([work] * 4)) == count
    with closing(sqlite3.connect(tmp_path / "file")) as last:
        assert effects(last) == list(range(1, count + 1))


def test_the_limits_are_documented() -> None:
    """Each constant, with its number."""
    page = SEMANTICS.read_text(encoding="utf-8").partition("### Effectively once")[2]
    page = " ".join(page.partition("\n### ")[0].split())
    for value in (limits.LIMIT, limits.LIMIT_MAX, limits.CONNECTIONS_MAX, tables.NAME_MAX):
        assert re.search(rf"\b{value:,}\b", page), value
    assert tables.TRIM_SHARE == 16
    assert "A sixteenth" in page
