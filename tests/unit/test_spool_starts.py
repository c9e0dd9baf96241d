"""Where in a spool somebody begins: the words, and what they come to, for all who take them.

Not here: what a cursor is (test_spool_cursor.py), replays (test_replay.py), groups
(test_groups_since.py), the command line (test_cli_parts.py). The tests that take a spool are run
for asyncio as well (test_aio_spool_same.py).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._spool.starts import NUMBER_MAX, Begin, begin_of, begun
from tests.support.pairs import wait_until
from tests.support.spoolaged import aged
from tests.support.spooled import body, fill, segments, small

COUNT = 100
FROM: dict[Any, int] = {
    "earliest": 1,
    "latest": 101,
    "seq:1": 1,
    "seq:40": 40,
    "seq:101": 101,
    40: 40,
    101: 101,
    "last:1": 100,
    "last:30": 71,
    "last:100": 1,
    "last:5000": 1,
    f"last:{NUMBER_MAX}": 1,
    "since:1h": 1,
    "since:100000000d": 1,
}
"""Of a spool of 100: the number that it begins with."""
WRONG = (
    *(
        "",
        "first",
        "Latest",
        "EARLIEST",
        " earliest",
        "seq:",
        "seq:0",
        "seq:-1",
        "seq:1 ",
        "last:0",
    ),
    *("last:1.5", "seq:\u0661", "since:", "since:5", "since:5w", "since:0s", "since:-5m", "5m"),
)
TOO_LARGE = (
    *(f"seq:{NUMBER_MAX + 1}", f"last:{'9' * 19}", f"since:{NUMBER_MAX // 1000 + 1}s"),
    *(f"since:{NUMBER_MAX}d", f"since:{'9' * 5000}s", f"seq:{'9' * 5000}"),
)


def hour_old(path: Path, batches: int | None = None) -> None:
    """Have the first of its files an hour older than the others."""
    aged(segments(path)[0], time.time_ns() // 1000 - 3_600_000_000, batches)


@pytest.mark.parametrize("start", FROM)
def test_a_cursor_begins_where_it_says(tmp_path: Path, start: Any) -> None:
    """And `find` says the number of it; one that goes there (`seek`) is there, too."""
    with small(tmp_path / "s") as spool:
        spool.append_many(b"%d" % seq for seq in range(1, COUNT + 1))
        assert spool.find(start) == FROM[start]
        with spool.cursor("one", start) as cursor, spool.cursor("other", "earliest") as other:
            assert (cursor.floor, cursor.lag) == (FROM[start] - 1, COUNT + 1 - FROM[start])
            assert [one.seq for one in cursor.reader()] == [*range(FROM[start], COUNT + 1)]
            other.seek(start)
            assert other.floor == cursor.floor


def test_one_that_is_there_goes_on_where_it_was(tmp_path: Path) -> None:
    """Whatever is said, and also if that went or was never there."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * 10)
        with spool.cursor("one", "last:3") as cursor:
            cursor.done(8)
        for start in (*FROM, "seq:5000"):
            with spool.cursor("one", start) as cursor:
                assert cursor.floor == 8


def test_a_time_is_that_of_the_writing(tmp_path: Path) -> None:
    """Also within a file; and what is younger than all is what comes next."""
    with small(tmp_path / "s") as spool:
        for seq in range(1, 7):
            spool.append(body(seq, 100))
    hour_old(tmp_path / "s", 4)
    with small(tmp_path / "s") as spool:
        assert [spool.find(f"since:{span}") for span in ("1m", "59m", "61m", "1d")] == [5, 5, 1, 1]
        with spool.cursor("one", "since:5m") as cursor:
            assert [one.seq for one in cursor.reader()] == [5, 6]
            cursor.seek("since:2h")
            assert cursor.floor == 0
            spool.append(b"7")
            cursor.seek("latest")
            assert (cursor.floor, cursor.lag) == (7, 0)
    hour_old(tmp_path / "s")
    with small(tmp_path / "s") as spool, spool.cursor("two", "since:5m") as cursor:
        assert cursor.floor == spool.find("latest") - 1 == 7


def test_of_a_spool_without_messages_all_begin_with_the_next(tmp_path: Path) -> None:
    """But a number that is not there yet."""
    with small(tmp_path / "s") as spool:
        for start in ("earliest", "latest", "last:5", "since:1h", 1, "seq:1"):
            assert spool.find(start) == 1
        with pytest.raises(mm.UsageError, match="start is 2; the next message is 1"):
            spool.cursor("one", "seq:2")


def test_what_was_removed_is_an_error_only_if_it_was_named(tmp_path: Path) -> None:
    """A place in words is what is there of it."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 3)
        spool.trim(last // 2)
        first = spool.info().first_seq
        assert first > 1
        for name, start in (("a", "earliest"), ("b", f"last:{last}"), ("c", "since:1d")):
            with spool.cursor(name, start) as cursor:
                assert cursor.floor == first - 1
        for start in (1, "seq:1"):
            with pytest.raises(mm.SpoolTrimmedError) as raised:
                spool.cursor("d", start)
            assert (raised.value.seq, raised.value.first) == (1, first)
        with spool.cursor("a") as cursor, pytest.raises(mm.SpoolTrimmedError):
            cursor.seek("seq:1")


@pytest.mark.parametrize("start", [*WRONG, *TOO_LARGE, 0, -1, 2**63])
def test_what_says_nothing_is_refused(tmp_path: Path, start: Any) -> None:
    """By each that takes a start, and no cursor is made; text that is long is not read as one."""
    with small(tmp_path / "s") as spool:
        spool.append(b"x")
        with spool.cursor("one") as cursor:
            calls: tuple[tuple[str, Callable[[Any], Any]], ...] = (
                ("start", spool.find),
                ("start", lambda start: spool.cursor("two", start)),
                ("seq", cursor.seek),
            )
            for name, call in calls:
                with pytest.raises(mm.UsageError, match=f"{name} is {re.escape(repr(start)[:1])}"):
                    call(start)
        assert [one.name for one in spool.cursors()] == ["one"]


@pytest.mark.parametrize("start", [None, b"earliest", 1.0, True, ["latest"]], ids=repr)
def test_what_is_neither_is_a_type_error(tmp_path: Path, start: Any) -> None:
    """That says what there is."""
    with small(tmp_path / "s") as spool:
        for call in (spool.find, lambda start: spool.cursor("one", start)):
            with pytest.raises(TypeError, match="start is .*'since:5m'.*, or a number"):
                call(start)


@pytest.mark.parametrize("start", TOO_LARGE)
def test_the_error_says_how_much_there_may_be(start: str) -> None:
    """Which is taken."""
    with pytest.raises(mm.UsageError, match="which is too large: at most") as raised:
        begin_of("start", start)
    most = str(raised.value).split("'")[-2]
    kind, unit = most.split(":")[0], most[-1]
    assert begin_of("start", most).value > NUMBER_MAX - 86_400_000
    assert (kind, unit.isdecimal()) == (start.split(":")[0], not start[-1].isalpha())


@pytest.mark.parametrize("start", [start for start in FROM if isinstance(start, str)])
def test_a_replay_and_a_group_take_the_same_words(tmp_path: Path, start: str) -> None:
    """A Sub asks for them, and a Pub moves a group there."""
    with small(tmp_path / "s") as spool, mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub:
        for seq in range(1, COUNT + 1):
            pub.send(b"%d" % seq, topic="t")
        pub.seek_group("w", start)
        [group] = pub.groups()
        assert group.floor == FROM[start] - 1
        with mm.Sub(connect=pub.endpoint, topics="", replay=start) as sub:
            pub.wait_for_subscribers(timeout=30)
            pub.send(b"next", topic="t")
            assert sub.recv(timeout=30).number == FROM[start]
            assert [one.kind for one in sub.events() if one.kind is mm.EventKind.REPLAY_LOST] == []


@pytest.mark.parametrize("start", [*WRONG, *TOO_LARGE])
def test_a_replay_and_a_group_refuse_the_same(tmp_path: Path, start: str) -> None:
    """With the same words."""
    with small(tmp_path / "s") as spool, mm.Pub(spool=spool) as pub:
        with pytest.raises(mm.UsageError) as of_group:
            pub.seek_group("w", start)
        assert pub.groups() == []
        with pytest.raises(mm.UsageError) as of_replay:
            mm.Sub(replay=start)
        said = str(of_group.value).replace("start is", "replay is", 1)
        assert said.removesuffix(", or a number") == str(of_replay.value)


def test_what_went_meanwhile_is_looked_for_again(tmp_path: Path) -> None:
    """Of words; a number that was named is the caller's."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * 10)
        tries: list[int] = []

        def at(seq: int) -> int:
            tries.append(seq)
            if len(tries) < 3:
                raise mm.SpoolTrimmedError("gone", seq=seq, first=seq + 1)
            return seq

        assert begun(spool, Begin("last", 4), at) == 7
        assert tries == [7, 7, 7]
        tries.clear()
        with pytest.raises(mm.SpoolTrimmedError):
            begun(spool, Begin("seq", 4), at)
        assert tries == [4]


def test_a_view_finds_what_it_shows(tmp_path: Path) -> None:
    """The same words, of what is proved to be on the disk; of a time over several files, too."""
    path = tmp_path / "s"
    with small(path) as spool:
        last = fill(spool, 4)
    files = segments(path)
    for file in files[:2]:
        aged(file, time.time_ns() // 1000 - 3_600_000_000)
    with small(path, durability="disk") as spool, mm.SpoolView(path) as view:
        wait_until(lambda: view.info().last_seq == last)
        young = int(files[2].stem)
        wanted: dict[Any, int] = {
            **{"earliest": 1, "latest": last + 1, "seq:3": 3, 3: 3, "last:2": last - 1},
            **{"since:5m": young, "since:2h": 1},
        }
        assert {start: view.find(start) for start in wanted} == wanted
        assert {start: spool.find(start) for start in wanted} == wanted
        with view.reader(view.find("since:5m")) as reader:
            assert [one.seq for one in reader] == [*range(young, last + 1)]  # type: ignore[union-attr]
        spool.trim(young)
        assert view.find("earliest") == view.find("since:2h") == young
        with pytest.raises(mm.UsageError, match="start is"):
            view.find("now")
    with pytest.raises(mm.ClosedError):
        view.find("since:5m")


def test_what_is_harmed_may_have_been_young(tmp_path: Path) -> None:
    """A view says so of a file whose head cannot be read, as a spool does; nothing is written."""
    path = tmp_path / "s"
    with small(path) as spool:
        fill(spool, 4)
    files = segments(path)
    for file in files[:2]:
        aged(file, time.time_ns() // 1000 - 3_600_000_000)
    files[1].write_bytes(b"\0" * files[1].stat().st_size)
    with mm.SpoolView(path) as view:
        assert view.find("since:5m") == int(files[1].stem)
    with small(path) as spool:
        assert spool.find("since:5m") == int(files[1].stem)


def test_trim_takes_the_words_for_what_it_keeps(tmp_path: Path) -> None:
    """A number is the last that may go; "since:" and the like say what stays."""
    path = tmp_path / "s"
    with small(path) as spool:
        fill(spool, 6)
    bases = [int(file.stem) for file in segments(path)]
    hour_old(path)
    with small(path) as spool:
        last = spool.info().last_seq
        assert spool.trim("since:2h") == 0
        assert spool.trim("since:30m") == 1
        assert spool.info().first_seq == bases[1]
        assert spool.trim(f"seq:{bases[2] - 1}") == 1
        assert spool.info().first_seq == bases[2]
        assert spool.trim(f"last:{last + 1 - bases[3]}") == 1
        assert spool.info().first_seq == bases[3]
        with pytest.raises(mm.UsageError, match="seq is 'now'; it is 'earliest'"):
            spool.trim("now")
        assert spool.trim("earliest") == 0
        assert spool.trim("latest") >= 2
