"""Messages of a spool that have an origin: what their producer put before is not put again.

Not here: crashes (tests/c/test_spool_origins_crash.c, tests/crash/test_origins_kill.py), threads
and models (test_spool_origins_model.py). The tests that take a spool are run for asyncio as well
(test_aio_spool_same.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.spooled import BODY, SEGMENT, bodies, segments, small, turn_bit

SIXTEEN = bytes(range(16))


def test_a_repeat_is_not_put_and_says_which_it_was(tmp_path: Path) -> None:
    """It is a number like any other, but of another type."""
    with small(tmp_path / "s") as spool:
        assert spool.append(b"0") == 1
        first = spool.append(b"a", origin=("orders", 42))
        again = spool.append(b"another body", origin=("orders", 42))
        assert (first, again) == (2, 2)
        assert type(first) is int
        assert isinstance(again, mm.SpoolRepeat)
        assert repr(again) == "<meshmsg.SpoolRepeat 2>"
        assert spool.append(b"b", origin=("orders", 43)) == 3
        assert spool.append(b"c", origin=("orders", 50)) == 4  # numbers may be left out
        assert [spool.append(b"", origin=("orders", n)) for n in (50, 43, 0)] == [4, 0, 0]
        assert spool.append(b"d", origin=("others", 1)) == 5
        info = spool.info()
        assert (info.last_seq, info.appended, info.repeated) == (5, 5, 4)
        assert (info.producers, info.forgotten_producers) == (2, 0)
        assert bodies(spool) == [b"0", b"a", b"b", b"c", b"d"]


def test_what_goes_with_a_message_goes_with_one_that_has_an_origin(tmp_path: Path) -> None:
    """It is read as any other."""
    with small(tmp_path / "s") as spool:
        spool.append(b"a", key="k", headers={"h": "v"}, origin=("orders", 1))
        with spool.reader() as reader:
            (one,) = reader
        assert isinstance(one, mm.SpoolMessage)
        assert (one, one.key, one.headers) == (b"a", b"k", {"h": "v"})
        assert spool.read(1).first_seq == 1


def test_a_producer_is_a_name_or_sixteen_bytes(tmp_path: Path) -> None:
    """A name is what BLAKE2b makes of it, so that other programs can say the same."""
    with small(tmp_path / "s") as spool:
        spool.append(b"a", origin=("orders", 1))
        spool.append(b"b", origin=(SIXTEEN, 7))
        octets = hashlib.blake2b(b"orders", digest_size=16).digest()
        assert spool.last_origin("orders") == spool.last_origin(octets) == 1
        assert spool.last_origin(SIXTEEN) == 7
        assert spool.last_origin("nobody") is None
        name = "é" * 5_000
        assert spool.append(b"c", origin=(name, 0)) == 3
        assert spool.last_origin(name) == 0


def test_numbers_go_from_nought_to_as_many_as_there_are(tmp_path: Path) -> None:
    """The limit of each, and one beyond."""
    most = 2**62 - 1
    with small(tmp_path / "s") as spool:
        assert spool.append(b"", origin=("a", 0)) == 1
        assert spool.append(b"", origin=("a", most)) == 2
        assert spool.last_origin("a") == most
        for wrong, range_of in ((-1, "0 and more"), (most + 1, "0 to 4,611,686,018,427,387,903")):
            with pytest.raises(mm.UsageError, match=f"the number of an origin.*it is {range_of}"):
                spool.append(b"", origin=("a", wrong))
        assert spool.append_many([b"", b""], origin=("a", most)) == range(3, 4)
        assert spool.last_origin("a") == most + 1


@pytest.mark.parametrize(
    ("origin", "error"),
    [
        ("orders", TypeError),
        (("orders",), TypeError),
        (("orders", 1, 2), TypeError),
        (["orders", 1], TypeError),
        (("orders", "1"), TypeError),
        (("orders", True), TypeError),
        ((1, 1), TypeError),
        (("", 1), mm.UsageError),
        (("\ud800", 1), mm.UsageError),
        ((b"orders", 1), mm.UsageError),
        ((SIXTEEN + b"x", 1), mm.UsageError),
    ],
)
def test_what_is_no_origin_is_refused(tmp_path: Path, origin: Any, error: type[Exception]) -> None:
    """Nothing is put then."""
    with small(tmp_path / "s") as spool:
        with pytest.raises(error, match="origin|producer"):
            spool.append(b"a", origin=origin)
        with pytest.raises(error, match="origin|producer"):
            spool.append_many([b"a"], origin=origin)
        assert spool.info().last_seq == 0
        with pytest.raises((TypeError, mm.UsageError)):
            spool.last_origin(b"short")


@pytest.mark.parametrize("count", [1, 5, 255, 256, 257, 4_095, 4_096, 4_097, 9_000])
def test_of_many_those_are_put_that_were_not_there(tmp_path: Path, count: int) -> None:
    """Numbers go up by one from the first one's."""
    made = [b"%d" % number for number in range(2 * count)]
    with small(tmp_path / "s") as spool:
        assert spool.append_many(made[:count], origin=("a", 100)) == range(1, count + 1)
        assert spool.append_many(made[:count], origin=("a", 100)) == range(0)
        assert spool.last_origin("a") == 99 + count
        put = spool.append_many(iter(made[1:]), origin=("a", 101))
        assert put == range(count + 1, 2 * count + 1)
        assert spool.info().repeated == 2 * count - 1
        assert bodies(spool) == made


def test_a_repeat_waits_until_the_first_is_kept(tmp_path: Path) -> None:
    """Else who hears of it would think too much of it."""
    with small(tmp_path / "s", durability="disk") as spool:
        for again in ("one", "many"):
            number = spool.info().last_seq + 1
            spool.append(b"a", wait=False, origin=("a", number))
            if again == "one":
                assert isinstance(spool.append(b"a", origin=("a", number)), mm.SpoolRepeat)
            else:
                assert spool.append_many([b"a"], origin=("a", number)) == range(0)
            assert spool.info().durable_seq == number
        spool.append(b"a", wait=False, origin=("a", 9))
        assert spool.append(b"a", origin=("a", 1)) == 0  # which of them is not known
        assert spool.info().durable_seq == 3


def test_a_full_spool_tells_of_repeats(tmp_path: Path) -> None:
    """What it refused is none, and may be put when there is room."""
    with small(tmp_path / "s", max_messages=3) as spool:
        with pytest.raises(mm.SpoolFullError) as full:
            spool.append_many([b"a"] * 5, origin=("a", 1))
        assert vars(full.value)["sent"] == 3
        assert spool.append(b"a", origin=("a", 3)) == 3
        assert spool.last_origin("a") == 3
        with pytest.raises(mm.SpoolFullError):
            spool.append(b"a", origin=("a", 4))
        assert spool.last_origin("a") == 3


def test_what_is_dropped_is_not_known(tmp_path: Path) -> None:
    """The newest is not kept: None, and it may be put again."""
    with small(tmp_path / "s", max_messages=1, overflow="drop_newest") as spool:
        assert spool.append(b"a", origin=("a", 1)) == 1
        assert spool.append(b"b", origin=("a", 2)) is None
        assert spool.append(b"b", origin=("a", 1)) == 1
        assert spool.append_many([b"a", b"b"], origin=("a", 1)) == range(0)
        assert spool.last_origin("a") == 1


def test_a_message_that_is_too_large_is_not_known(tmp_path: Path) -> None:
    """Nor is anything behind it put."""
    with small(tmp_path / "s") as spool:
        with pytest.raises(mm.TooLargeError):
            spool.append_many([b"a", b"x" * SEGMENT, b"c"], origin=("a", 1))
        assert spool.last_origin("a") == 1


def test_what_a_generator_gave_before_it_raised_is_known(tmp_path: Path) -> None:
    """The producer puts all of it again, and goes on."""

    def breaking() -> Iterator[bytes]:
        yield from [b"a", b"b"]
        raise OSError("no more")

    with small(tmp_path / "s") as spool:
        with pytest.raises(OSError, match="no more"):
            spool.append_many(breaking(), origin=("a", 1))
        assert spool.append_many([b"a", b"b", b"c"], origin=("a", 1)) == range(3, 4)
        assert bodies(spool) == [b"a", b"b", b"c"]


def fill(spool: Any, files: int, name: str = "a") -> int:
    """Put numbers of that producer, one a batch, until there are so many files; the last of it."""
    number = int(spool.last_origin(name) or 0)
    while spool.info().files < files:
        number += 1
        spool.append((b"%d " % number).ljust(BODY, b"x"), key="k", origin=(name, number))
    return number


def test_the_next_life_knows(tmp_path: Path) -> None:
    """Where the producer goes on, and what it puts again."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 3)
    with small(tmp_path / "s") as spool:
        assert spool.last_origin("a") == last
        assert spool.append(b"", origin=("a", last)) == spool.info().last_seq == last
        assert spool.append(b"", origin=("a", last + 1)) == last + 1
        info = spool.info()
        assert (info.producers, info.repeated, info.appended) == (1, 1, 1)


def test_it_is_known_when_the_messages_went(tmp_path: Path) -> None:
    """By retention, and by compaction; also in the next life."""
    with small(tmp_path / "s") as spool:
        fill(spool, 4)
        old = fill(spool, 5, "b")
        assert spool.compact().messages > 0
        last = fill(spool, 8)
        assert spool.trim(spool.info().last_seq) > 0
        assert (spool.last_origin("a"), spool.last_origin("b")) == (last, old)
    with small(tmp_path / "s") as spool:
        assert (spool.last_origin("a"), spool.last_origin("b")) == (last, old)
        assert spool.append(b"", origin=("b", old)) in range(1, spool.info().first_seq)


@pytest.mark.parametrize("harm", ["lost", "harmed", "cut"])
def test_without_its_file_the_messages_say_it(tmp_path: Path, harm: str) -> None:
    """It is made anew."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
    file = tmp_path / "s" / "producers"
    if harm == "lost":
        file.unlink()
    elif harm == "harmed":
        turn_bit(file, 60)
    else:
        file.write_bytes(file.read_bytes()[:50])
    with small(tmp_path / "s") as spool:
        assert spool.last_origin("a") == last
        assert spool.append(b"", origin=("a", 3)) == 3  # they stand in a row
    assert file.stat().st_size == 48 + 40


def test_harmed_messages_say_nothing(tmp_path: Path) -> None:
    """Those that are sound do, also behind them."""
    path = tmp_path / "s"
    with small(path) as spool:
        fill(spool, 2, "b")
        last = fill(spool, 4)
    (path / "producers").unlink()
    turn_bit(segments(path)[0], 4_200)
    with small(path, on_corruption="gap") as spool:
        assert spool.last_origin("a") == last
        with spool.reader() as reader:
            gap = next(iter(reader))
        assert isinstance(gap, mm.SpoolGap)


def test_a_view_reads_what_has_origins(tmp_path: Path) -> None:
    """A view reads the messages, and counts no producers."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"a", b"b"], origin=("a", 1))
    with mm.SpoolView(tmp_path / "s") as view:
        with view.reader() as reader:
            read = [one for one in reader if isinstance(one, mm.SpoolMessage)]
        assert read == [b"a", b"b"]
        assert view.info().producers == 0


def test_a_push_sends_what_has_an_origin_once(tmp_path: Path) -> None:
    """It is put into the spool that the Push sends from."""
    with small(tmp_path / "s") as spool:
        with mm.Push(spool=spool, bind="tcp://127.0.0.1:0") as push:
            for number in (1, 2, 2, 1, 3):
                spool.append(b"%d" % number, origin=("orders", number))
            with mm.Pull(connect=push.endpoint) as pull:
                assert [bytes(pull.recv(timeout=30)) for _ in range(3)] == [b"1", b"2", b"3"]
                with pytest.raises(mm.WouldBlockError):
                    pull.recv(timeout=0)
