"""A spool: what is put is read, with what goes with it, by number, and after opening it again.

Not here: wrong arguments (test_spool_arguments.py), threads, closing and forks
(test_spool_life.py), limits (test_spool_limits.py), harm (test_spool_harm.py), kills
(tests/crash/test_spool_kill.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.buffers import KINDS, REFUSED
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT, bodies, body, fill, small

LEVELS = ("buffered", "os", "disk")
WITH: dict[str, dict[str, Any]] = {
    "nothing": {},
    "key": {"key": b"customer 7"},
    "text": {"key": "customer 7"},
    "headers": {"headers": {"a": "text", "b": b"\xff"}},
    "ttl": {"ttl": 60.0},
    "timestamp": {"timestamp": 1234.5},
    "none": {"key": None, "headers": None, "ttl": None, "timestamp": None},
    "all": {"key": b"k", "headers": {"a": "b"}, "ttl": 60.0, "timestamp": 1234.5},
}


def read_one(spool: mm.Spool, seq: int) -> mm.SpoolMessage:
    """Return that message, which may have to be written first."""
    with spool.reader(seq) as reader:
        [one] = reader.read(1, timeout=WAIT_S)
    assert isinstance(one, mm.SpoolMessage)
    return one


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_buffer_is_kept(tmp_path: Path, kind: str, wait: bool) -> None:
    """Alone and among others, waited for or not; what comes out are its bytes."""
    make, wanted = KINDS[kind]
    with small(tmp_path / "s") as spool:
        assert spool.append(make(), wait=wait) == 1
        assert spool.append_many([b"before", make(), b"behind"], wait=wait) == range(2, 5)
        spool.flush()
        assert bodies(spool) == [wanted, b"before", wanted, b"behind"]


def test_what_is_put_is_a_copy(tmp_path: Path) -> None:
    """It may be changed at once, also where nobody waits."""
    mine = bytearray(b"before")
    with small(tmp_path / "s") as spool:
        spool.append(mine, wait=False)
        spool.append_many([mine, mine], wait=False)
        mine[:] = b"behind"
        spool.flush()
        assert bodies(spool) == [b"before"] * 3


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_body_is_refused_with_a_hint(tmp_path: Path, kind: str) -> None:
    """Of many, what stands before it is kept, and `sent` says how many that is."""
    make, words = REFUSED[kind]
    with small(tmp_path / "s") as spool:
        with pytest.raises(TypeError, match=words):
            spool.append(make())
        with pytest.raises(TypeError, match=words) as caught:
            spool.append_many([b"one", b"two", make(), b"three"])
        assert vars(caught.value)["sent"] == 2
        assert bodies(spool) == [b"one", b"two"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("what", WITH)
def test_what_goes_with_a_message_comes_back(
    tmp_path: Path, what: str, many: bool, wait: bool, level: Any
) -> None:
    """Also when it was closed, and opened again."""
    options = WITH[what]
    begun = time.time()

    def check(spool: mm.Spool) -> None:
        for seq in (1, 2) if many else (1,):
            one = read_one(spool, seq)
            assert (one, one.seq) == (b"body", seq)
            assert one.key == (b"customer 7" if what in ("key", "text") else options.get("key"))
            assert one.headers == (options.get("headers") or {})
            assert begun - 1 < one.stored < time.time() + 1
            if options.get("ttl"):
                assert one.expires is not None
                assert begun + 59 < one.expires < time.time() + 60
            else:
                assert one.expires is None
            if what in ("nothing", "none"):
                assert one.timestamp is None
            elif what in ("timestamp", "all"):
                assert one.timestamp == 1234.5
            else:
                assert one.timestamp is not None
                assert begun - 1 < one.timestamp < time.time() + 1

    with small(tmp_path / "s", durability=level) as spool:
        if many:
            assert spool.append_many([b"body"] * 2, wait=wait, **options) == range(1, 3)
        else:
            assert spool.append(b"body", wait=wait, **options) == 1
        check(spool)
    with small(tmp_path / "s", durability=level) as spool:
        check(spool)


@pytest.mark.parametrize("level", LEVELS)
def test_what_a_level_promises_is_so_when_a_call_returns(tmp_path: Path, level: Any) -> None:
    """`durable_seq` and `written_seq` say it; `flush` has all on the disk, at each level."""
    with small(tmp_path / "s", durability=level, sync_every=1000) as spool:
        for seq in range(1, 20):
            assert spool.append(b"x") == seq
            info = spool.info()
            assert info.last_seq == seq
            if level == "disk":
                assert info.durable_seq == seq
            if level == "os":
                assert info.written_seq == seq
        spool.append_many([b"x"] * 5000, wait=False)
        spool.flush()
        assert spool.info().durable_seq == spool.info().last_seq == 5019
        assert spool.info().appended == 5019
        assert not spool.info().failed


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("level", LEVELS)
def test_what_nobody_waits_for_gets_to_the_disk_by_itself(
    tmp_path: Path, level: Any, many: bool, wait: bool
) -> None:
    """Within `sync_every`, also when nothing more is put; twice, as the first may be special."""
    with small(tmp_path / "s", durability=level, sync_every=0.01) as spool:
        for seq in (1, 2):
            if many:
                spool.append_many([b"x"], wait=wait)
            else:
                spool.append(b"x", wait=wait)
            wait_until(lambda seq=seq: spool.info().durable_seq == seq)  # type: ignore[misc]


def test_it_goes_on_with_its_numbers(tmp_path: Path) -> None:
    """It is the same spool, whose messages are all there, over many files."""
    path = tmp_path / "s"
    wanted, uuid = [], ""
    for life in range(4):
        with small(path) as spool:
            info = spool.info()
            assert spool.recovery == mm.SpoolRecovery(
                made=life == 0, unclean=False, copied=0, torn_bytes=0, lost=None
            )
            assert (info.last_seq, info.first_seq) == (len(wanted), 1)
            assert info.uuid == (uuid or info.uuid)
            uuid = info.uuid
            for _ in range(12):
                wanted.append(body(len(wanted) + 1))
                assert spool.append(wanted[-1]) == len(wanted)
            assert bodies(spool) == wanted
    with small(path) as spool:
        assert spool.info().files > 3
        assert spool.info().epoch >= 5  # each life has its own
        with spool.reader(20) as reader:
            assert [one.seq for one in reader if isinstance(one, mm.SpoolMessage)] == list(
                range(20, len(wanted) + 1)
            )


def test_a_spool_is_called_as_it_was_told(tmp_path: Path) -> None:
    """When it is made: one that is there has its name."""
    name = bytes(range(16))
    for _ in range(2):
        with mm.Spool(tmp_path / "s", uuid=name) as spool:
            assert spool.info().uuid == name.hex()
    with pytest.raises(mm.UsageError, match=f"its uuid is {name.hex()}, not {'78' * 16}"):
        mm.Spool(tmp_path / "s", uuid=b"x" * 16)
    with mm.Spool(tmp_path / "s") as spool:  # it was closed, and is as it was
        assert spool.info().uuid == name.hex()
    with pytest.raises(mm.UsageError, match="uuid has 3 bytes; it is 16"):
        mm.Spool(tmp_path / "t", uuid=b"123")
    wrong: Any = "x" * 16
    with pytest.raises(TypeError, match="uuid is bytes, not str"):
        mm.Spool(tmp_path / "t", uuid=wrong)
    assert not (tmp_path / "t").exists()


def test_a_reader_goes_where_it_is_told(tmp_path: Path) -> None:
    """Forth and back, into the middle of a batch, and to what is yet to come."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        spool.append_many([b"%d" % seq for seq in range(1, 101)])
        for seq in (50, 1, 100, 99, 3, 51, 50, 50):
            reader.seek(seq)
            assert reader.seq == seq
            assert reader.read(1) == [b"%d" % seq]
            assert reader.seq == seq + 1
        assert reader.read(3) == [b"51", b"52", b"53"]
        reader.seek(103)
        assert reader.read() == []
        spool.append_many([b"101", b"102", b"103", b"104"])
        assert reader.read() == [b"103", b"104"]
        assert list(reader) == []


def test_a_read_says_its_seconds(tmp_path: Path) -> None:
    """0 never waits, and a short one ends with nothing; one without an end gets what comes."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        assert reader.read() == []
        assert reader.read(timeout=0.001) == []
        for timeout, late in ((None, b"late"), (WAIT_S, b"later")):
            reading = Later(partial(reader.read, timeout=timeout))
            wait_until(lambda: len(spool._inside))
            spool.append(late)
            assert reading.result() == [late]


@pytest.mark.parametrize("wait", [True, False])
def test_an_empty_body_is_a_message_and_no_messages_are_none(tmp_path: Path, wait: bool) -> None:
    """A range that is empty says that there was nothing to put."""
    with small(tmp_path / "s") as spool:
        assert spool.append(b"", wait=wait) == 1
        assert spool.append_many([], wait=wait) == range(0)
        assert spool.append_many(iter(()), wait=wait) == range(0)
        assert spool.append_many([b"", b""], wait=wait) == range(2, 4)
        spool.flush()
        assert bodies(spool) == [b""] * 3
        assert spool.info().appended == 3


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("count", [0, 3, 4095, 4096, 5000])
def test_what_a_generator_gave_before_it_raised_is_kept(
    tmp_path: Path, count: int, wait: bool
) -> None:
    """And what it raised comes out, with `sent`."""

    def broken() -> Iterator[bytes]:
        for number in range(count):
            yield b"%d" % number
        raise RuntimeError("enough")

    with small(tmp_path / "s") as spool:
        with pytest.raises(RuntimeError, match="enough") as caught:
            spool.append_many(broken(), wait=wait)
        assert vars(caught.value)["sent"] == count
        spool.flush()
        assert bodies(spool) == [b"%d" % number for number in range(count)]


def test_a_generator_is_taken_from_as_it_is_put(tmp_path: Path) -> None:
    """So it may be longer than memory: a message is readable before the last one was made."""
    with small(tmp_path / "s") as spool:
        seen = []

        def source() -> Iterator[bytes]:
            for number in range(20_000):
                if number % 5000 == 0:
                    seen.append(spool.info().last_seq)
                yield b"%d" % number

        assert spool.append_many(source()) == range(1, 20_001)
        assert seen[0] == 0
        assert seen[-1] >= 4096


BESIDE: tuple[dict[str, Any], ...] = (
    *({}, {"key": b"k" * 100}, {"key": b"k" * 200, "headers": {"a": "b"}, "ttl": 60.0}),
    *({"topic": ""}, {"topic": "t" * 127}, {"topic": "t" * 128}, {"priority": 3}),
    *({"delay": 60.0}, {"origin": ("producer", 1)}),
)


@pytest.mark.parametrize("beside", BESIDE, ids=str)
def test_a_message_has_room_in_a_segment_or_is_refused(
    tmp_path: Path, beside: dict[str, Any]
) -> None:
    """The largest one goes, one octet more does not; what stands before it among many is kept."""
    with small(tmp_path / "s") as spool:
        topic = len(beside.get("topic", ""))
        with pytest.raises(mm.TooLargeError, match=f"{SEGMENT + topic:,} bytes") as caught:
            spool.append(bytes(SEGMENT), **beside)
        assert caught.value.size == SEGMENT + topic
        limit = caught.value.limit
        assert SEGMENT - 4096 - 700 < limit <= SEGMENT - 4096 - 56 - 8 - 56 - 4
        fits = limit - topic
        assert _fits(spool, fits, beside)
        with pytest.raises(mm.TooLargeError) as caught:
            spool.append_many([b"a", b"b", bytes(fits + 1), b"c"], **_later(beside))
        assert (caught.value.size, caught.value.limit) == (limit + 1, limit)
        assert vars(caught.value)["sent"] == 2
        spool.flush()
        assert [len(one) for one in bodies(spool)] == [fits, 1, 1]


def _later(beside: dict[str, Any]) -> dict[str, Any]:
    """The same, of a producer's next messages."""
    return beside | {"origin": ("producer", 2)} if "origin" in beside else beside


def _fits(spool: mm.Spool, size: int, beside: dict[str, Any]) -> bool:
    try:
        spool.append(bytes(size), **beside)
    except mm.TooLargeError:
        return False
    return True


def test_trimming_removes_whole_files(tmp_path: Path) -> None:
    """Only those without a number above; the last stays; a reader is told what went."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
        begin = [int(path.stem) for path in sorted((tmp_path / "s").glob("0*.seg"))]
        assert spool.trim(0) == spool.trim(begin[1] - 2) == 0
        with spool.reader() as reader:
            assert reader.read(1) == [body(1)]
            assert spool.trim(begin[2] - 1) == 2
            assert spool.info().first_seq == begin[2]
            with pytest.raises(mm.SpoolTrimmedError) as caught:
                while reader.read():
                    pass
            assert caught.value.seq <= begin[2] - 1
            assert caught.value.first == begin[2]
            reader.seek(caught.value.first)
            assert reader.read(1) == [body(begin[2])]
        assert spool.trim(last + 1000) == 1
        assert spool.info().files == 1
        assert spool.info().last_seq == last
        assert bodies(spool) == [body(seq) for seq in range(begin[3], last + 1)]
        with spool.reader(1) as late, pytest.raises(mm.SpoolTrimmedError) as caught:
            late.read()
        assert (caught.value.seq, caught.value.first) == (1, begin[3])
    with small(tmp_path / "s") as spool:
        assert spool.info().first_seq == begin[3]
        assert spool.append(b"next") == last + 1
