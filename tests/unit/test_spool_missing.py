"""A segment file of an open spool is not there: somebody removed or renamed it.

Whoever reads it is told of harm, of exactly the numbers of that file; nothing is told as trimmed,
nobody waits for ever. Not here: a spool that is opened without one of its files
(test_spool_harm.py), files that the spool itself removes meanwhile (tests/c/test_spool_missing.c).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.spools import verified
from tests.support.feeding import World, settled, told, up_to_end
from tests.support.grouped import info, member, until
from tests.support.pairs import of_its_own
from tests.support.spooled import body, fill, segments, small

FILES = 4
REMOVES: dict[str, Callable[[Path], Any]] = {
    "unlinked": Path.unlink,
    "renamed": lambda file: file.rename(file.with_suffix(".old")),
}


@pytest.fixture(params=REMOVES)
def lose(request: pytest.FixtureRequest) -> Callable[[Path], tuple[int, int]]:
    """Remove the second of the files; return its first number and its last."""

    def removed(path: Path) -> tuple[int, int]:
        file, behind = segments(path)[1:3]
        REMOVES[request.param](file)
        return int(file.stem), int(behind.stem) - 1

    return removed


Lose = Callable[[Path], tuple[int, int]]


def around(reader: mm.SpoolReader) -> list[tuple[int, int]]:
    """Read on behind each error; return what came, as numbers from and to, one by one."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            read = reader.read()
        except mm.SpoolCorruptError as error:
            found.append((error.first, error.last))
            reader.seek(error.last + 1)
            continue
        if not read:
            return found
        for one in read:
            gap = isinstance(one, mm.SpoolGap)
            found.append((one.first, one.last) if gap else (one.seq, one.seq))


def but(first: int, last: int, end: int) -> list[tuple[int, int]]:
    """All numbers up to `end`, and what is lost in one."""
    whole = [(seq, seq) for seq in range(1, end + 1) if not first <= seq <= last]
    return sorted([*whole, (first, last)])


@pytest.mark.parametrize("amiss", ["fail", "gap"])
def test_a_reader_is_told_of_its_numbers(tmp_path: Path, lose: Lose, amiss: str) -> None:
    """As an error, which stays until somebody seeks, or as a gap."""
    with small(tmp_path / "s", on_corruption=amiss) as spool:
        end = fill(spool, FILES)
        first, last = lose(tmp_path / "s")
        with spool.reader() as reader:
            assert around(reader) == but(first, last, end)
            reader.seek(first + 1)
            if amiss == "gap":
                assert reader.read(1) == [mm.SpoolGap(first + 1, last)]
            for _ in range(3 if amiss == "fail" else 0):
                with pytest.raises(mm.SpoolCorruptError) as caught:
                    reader.read()
                assert (caught.value.first, caught.value.last) == (first + 1, last)
        assert spool.info().first_seq == 1


@pytest.mark.parametrize("amiss", ["fail", "gap"])
def test_a_reader_of_a_cursor_is_told_of_its_numbers(
    tmp_path: Path, lose: Lose, amiss: str
) -> None:
    """Nothing of it counts as missed: it was not trimmed."""
    with small(tmp_path / "s", on_corruption=amiss) as spool, spool.cursor("one") as cursor:
        end = fill(spool, FILES)
        first, last = lose(tmp_path / "s")
        with cursor.reader() as reader:
            assert around(reader) == but(first, last, end)
        assert cursor.missed == 0


def test_a_table_is_told_of_its_numbers(tmp_path: Path, lose: Lose) -> None:
    """As messages are."""
    with small(tmp_path / "s") as spool:
        fill(spool, FILES)
        first, last = lose(tmp_path / "s")
        with spool.reader(first) as reader:
            with pytest.raises(mm.SpoolCorruptError) as caught:
                reader.read_batch(10)
            assert (caught.value.first, caught.value.last) == (first, last)


def test_a_push_stops_before_it(world: World, tmp_path: Path, lose: Lose) -> None:
    """It is told, in the words and numbers of harm."""
    with world.spool(tmp_path / "s") as spool:
        end = filled(spool)
        first, last = lose(tmp_path / "s")
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            got = [bytes(pull.recv(timeout=10)) for _ in range(first - 1)]
            assert got == [body(seq) for seq in range(1, first)]
            event = told(push, mm.EventKind.SPOOL_STOPPED)
            assert event.detail.startswith("messages of its spool are harmed")
            assert event.count == last - first + 1
            assert push.stats().dropped == 0
            assert end > last


def filled(spool: Any) -> int:
    """Put messages until there are so many files, in a loop; return the last number."""
    seq = 0
    while spool.info().files < FILES:
        seq += 1
        spool.append(body(seq))
    return seq


def test_a_push_drops_it_where_gaps_are_asked_for(world: World, tmp_path: Path, lose: Lose) -> None:
    """What is behind it comes; what is in it is counted, and told once."""
    with world.spool(tmp_path / "s", on_corruption="gap") as spool:
        end = filled(spool)
        first, last = lose(tmp_path / "s")
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            push.finish()
            assert up_to_end(pull) == [
                body(seq) for seq in range(1, end + 1) if not first <= seq <= last
            ]
            report = settled(push)
            lost = last - first + 1
            assert (report.delivered, report.dropped) == (end - lost, lost)
            assert told(push, mm.EventKind.DROPPED).count == lost


@pytest.mark.parametrize("amiss", ["fail", "gap"])
def test_a_group_is_told_of_it(world: World, tmp_path: Path, lose: Lose, amiss: str) -> None:
    """It stops before it, or goes on behind it and has no lag in the end."""
    with world.spool(tmp_path / "s", on_corruption=amiss) as spool:
        end = filled(spool)
        first, last = lose(tmp_path / "s")
        with world.socket("Pub", spool=spool, bind=of_its_own()) as pub:
            pub.seek_group("w", "earliest")
            with member(world, pub) as sub:
                upto = first - 1 if amiss == "fail" else end - (last - first + 1)
                for _ in range(upto):
                    sub.recv(timeout=10)
                if amiss == "fail":
                    event = told(pub, mm.EventKind.SPOOL_STOPPED)
                    assert event.count == last - first + 1
                    assert info(pub).lag >= end - first + 1
                else:
                    event = told(pub, mm.EventKind.DROPPED)
                    assert event.count == last - first + 1
                    with pytest.raises(mm.TimedOutError):
                        sub.recv(timeout=0.05)  # and what came before it is done
                    until(pub, lambda one: one.lag == 0)


def test_a_replay_is_told_of_it(world: World, tmp_path: Path, lose: Lose) -> None:
    """A subscriber of a spool with gaps gets what is behind it, and is told how many are lost."""
    with world.spool(tmp_path / "s", on_corruption="gap") as spool:
        end = filled(spool)
        first, last = lose(tmp_path / "s")
        with world.socket("Pub", spool=spool, bind=of_its_own()) as pub:
            where = {"connect": pub.endpoint, "topics": "", "replay": "earliest"}
            with world.socket("Sub", **where) as sub:
                lost = last - first + 1
                assert [bytes(sub.recv(timeout=10)) for _ in range(end - lost)] == [
                    body(seq) for seq in range(1, end + 1) if not first <= seq <= last
                ]
                assert told(sub, mm.EventKind.REPLAY_LOST).count == lost


def test_a_range_is_told_of_it(tmp_path: Path, lose: Lose) -> None:
    """Of the server's own spool, at a reader of another process."""
    with small(tmp_path / "s") as spool:
        end = fill(spool, FILES)
        spool.flush()
        first, last = lose(tmp_path / "s")
        with mm.SpoolServer(spool, bind=of_its_own()) as server:
            with mm.RemoteSpool(server.endpoint) as remote:
                with pytest.raises(mm.SpoolCorruptError) as caught:
                    list(remote.read(1, end + 1))
                assert (caught.value.first, caught.value.last) == (first, last)
            with mm.RemoteSpool(server.endpoint, on_corruption="gap") as remote:
                gaps = [one for batch in remote.read(1, end + 1) for one in batch.gaps]
        assert gaps == [mm.SpoolGap(first, last)]


def test_verify_is_told_of_it(tmp_path: Path, lose: Lose) -> None:
    """Beside who has it open."""
    with small(tmp_path / "s") as spool:
        fill(spool, FILES)
        spool.flush()
        first, last = lose(tmp_path / "s")
        with mm.SpoolView(tmp_path / "s") as view:
            end = view.info().last_seq
        told_of = verified(str(tmp_path / "s"), False)
    assert told_of["harmed"] == [{"first": first, "last": last}]
    assert told_of["messages"] == end - (last - first + 1)
