"""Batches of a spool: how much one has, where the next begins, and what is amiss.

Not here: Arrow (test_spool_arrow.py). Nothing here needs a library for it.
"""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.later import Later
from tests.support.looped import run
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spoolcodec import BATCH
from tests.support.spooled import SEGMENT, batches, body, fill, segments, small

WRONG = [0, -1, 2**31, None, "1", 1.0, True]


def seqs(batch: mm.SpoolBatch) -> list[int]:
    """Return the numbers of its messages."""
    return [one.seq for one in batch.messages]


def test_a_batch_is_a_run_of_messages(tmp_path: Path) -> None:
    """Over batches and files, and each of them as a reader gives it."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 3)
        spool.append_many([b"%d" % at for at in range(500)], key=b"k", headers={"a": "b"})
        with spool.reader() as reader, spool.reader() as other:
            batch = reader.read_batch()
            assert batch.messages == list(other)
            assert (batch.first_seq, batch.last_seq, len(batch)) == (1, last + 500, last + 500)
            assert reader.seq == last + 501
            assert batch.nbytes > last * 7000
            empty = reader.read_batch()
            assert (len(empty), empty.messages, empty.nbytes) == (0, [], 0)
            assert (empty.first_seq, empty.last_seq, empty.gaps) == (last + 501, last + 500, ())
            assert not empty
        one = batch.messages[-1]
        assert (one.key, one.headers, one.epoch) == (b"k", {"a": "b"}, 1)
        assert copy.deepcopy(batch) is copy.copy(batch) is batch
        with pytest.raises(TypeError, match="record_batch"):
            pickle.dumps(batch)
        assert "512 messages" in repr(batch).replace(str(last + 500), "512")


@pytest.mark.parametrize("most", [1, 2, 7, 100, 1000])
def test_limits_cut_a_batch(tmp_path: Path, most: int) -> None:
    """And the next one goes on behind it, in the middle of what was written at once."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        spool.append_many([bytes(10)] * 100)
        got: list[int] = []
        while batch := reader.read_batch(most):
            assert len(batch) <= most
            got += seqs(batch)
        assert got == list(range(1, 101))
        reader.seek(1)
        got = []
        while batch := reader.read_batch(max_bytes=most):
            assert batch.nbytes == max(most // 10 * 10, 10)
            got += seqs(batch)
        assert got == list(range(1, 101))


@pytest.mark.parametrize("beside", [{}, {"key": b"k" * 100, "headers": {"h": "v" * 100}}])
def test_bytes_are_counted_with_what_goes_with_a_message(
    tmp_path: Path, beside: dict[str, Any]
) -> None:
    """At the limit, one below, and one above; a message that is larger comes alone."""
    with small(tmp_path / "s") as spool:
        spool.append_many([bytes(1000)] * 3, **beside)
        size = spool.read(1, max_messages=1).nbytes
        assert size > 1000 + (200 if beside else -1)
        for limit, count in ((2 * size - 1, 1), (2 * size, 2), (2 * size + 1, 2), (1, 1)):
            assert len(spool.read(1, max_bytes=limit)) == count


@pytest.mark.parametrize("seq", [1, 4, 9])
def test_an_empty_batch_says_where_to_go_on(tmp_path: Path, seq: int) -> None:
    """So `read(batch.last_seq + 1)` asks for the same again, and never for what was read before."""

    async def in_a_loop(wanted: tuple[int, int, int]) -> None:
        async with aio.Spool(tmp_path / "s") as spool:
            for batch in (await spool.read(seq), await spool.reader(seq).read_batch()):
                assert (len(batch), batch.first_seq, batch.last_seq) == wanted

    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * (seq - 1))
        spool.flush()
        wanted = (0, seq, seq - 1)
        for batch in (spool.read(seq), spool.reader(seq).read_batch(timeout=0.001)):
            assert (len(batch), batch.first_seq, batch.last_seq) == wanted
    with mm.SpoolView(tmp_path / "s") as view:
        batch = view.read(seq)
        assert (len(batch), batch.first_seq, batch.last_seq) == wanted
    run(lambda: in_a_loop(wanted))


def test_reading_goes_on_where_a_batch_ended(tmp_path: Path) -> None:
    """From any number, by several at once; with a few open files."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 6)

        def reads(first: int) -> list[int]:
            got, seq = [], first
            while batch := spool.read(seq, max_messages=2):
                got += seqs(batch)
                seq = batch.last_seq + 1
            return got

        begins = (1, 5, 9, 13, 17, 21, 25)
        reading = [Later(partial(reads, at)) for at in begins]
        for first, one in zip(begins, reading, strict=True):
            assert one.result() == list(range(first, last + 1))
        for seq in (7, 1, 30, 2, 2, last):
            assert seqs(spool.read(seq, max_messages=1)) == [seq]
        assert len(spool._idle_readers) <= 4


@pytest.mark.parametrize("way", ["read", "read_batch"])
def test_a_batch_that_is_waited_for(tmp_path: Path, way: str) -> None:
    """0 never waits, and a short time ends without messages; what comes is given."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:

        def call(timeout: float | None, seq: int = 1) -> mm.SpoolBatch:
            if way == "read":
                return spool.read(seq, timeout=timeout)
            return reader.read_batch(timeout=timeout)

        assert not call(0)
        assert not call(0.001)
        for seq, timeout in enumerate((None, WAIT_S), 1):
            waiting = Later(partial(call, timeout, seq))
            wait_until(lambda: len(spool._inside))
            spool.append(b"late")
            assert seqs(waiting.result()) == [seq]


def test_an_iteration_a_read_and_a_batch_follow_each_other(tmp_path: Path) -> None:
    """Each goes on behind the last message that was given."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        spool.append_many([b"%d" % at for at in range(1, 101)])
        for one in reader:
            if one == b"10":
                break
        assert reader.seq == 11
        assert seqs(reader.read_batch(5)) == list(range(11, 16))
        assert reader.read(2) == [b"16", b"17"]
        assert next(iter(reader)) == b"18"
        assert reader.read(1) == [b"19"]
        assert reader.seq == 20
        reader.seek(50)
        assert seqs(reader.read_batch())[0] == 50
        reader.close()
        for call in (reader.read_batch, lambda: list(reader)):
            with pytest.raises(mm.ClosedError):
                call()


@pytest.mark.parametrize("gaps", [False, True])
def test_harm_ends_a_batch(tmp_path: Path, gaps: bool) -> None:
    """What stands before it is given first; then it is told, or stands in `gaps`."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 3)
    file = segments(tmp_path / "s")[0]
    at = batches(file)[2] + BATCH + 100
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    with small(tmp_path / "s", on_corruption="gap" if gaps else "fail") as spool:
        for read in (spool.read(1), spool.reader().read_batch()):
            assert (seqs(read), read.gaps) == ([1, 2], ())
        with spool.reader(3) as reader:
            if not gaps:
                for _ in range(2):
                    with pytest.raises(mm.SpoolCorruptError) as caught:
                        reader.read_batch()
                    assert (caught.value.first, caught.value.last) == (3, 3)
                with pytest.raises(mm.SpoolCorruptError):
                    spool.read(3)
                reader.seek(4)
                assert seqs(reader.read_batch())[0] == 4
            else:
                batch = reader.read_batch()
                assert batch.gaps == (mm.SpoolGap(3, 3),)
                assert seqs(batch) == list(range(4, last + 1))
                assert spool.read(3).gaps == (mm.SpoolGap(3, 3),)


def test_what_was_removed_is_told(tmp_path: Path) -> None:
    """With the first number that is there."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        last = fill(spool, 4)
        assert spool.trim(last) == 3
        first = spool.info().first_seq
        for call in (reader.read_batch, lambda: spool.read(1)):
            with pytest.raises(mm.SpoolTrimmedError) as caught:
                call()
            assert (caught.value.seq, caught.value.first) == (1, first)
        assert seqs(spool.read(first)) == list(range(first, last + 1))


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("name", ["max_messages", "max_bytes"])
def test_wrong_limits_are_told(tmp_path: Path, name: str, value: Any) -> None:
    """By their names."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        for call in (reader.read_batch, lambda **given: spool.read(1, **given)):
            with pytest.raises((mm.UsageError, TypeError), match=name):
                call(**{name: value})
        with pytest.raises(mm.UsageError, match="seq"):
            spool.read(0)


def test_closing_ends_who_waits_for_a_batch(tmp_path: Path) -> None:
    """And a batch that was read stays."""
    spool = small(tmp_path / "s")
    spool.append(body(1))
    batch = spool.read(1)
    waiting = Later(lambda: spool.read(2, timeout=None))
    spool.close()
    assert isinstance(waiting.error(), mm.ClosedError)
    assert batch.messages == [body(1)]
    with pytest.raises(mm.ClosedError):
        spool.read(1)


def test_a_large_message_comes_alone(tmp_path: Path) -> None:
    """Whatever `max_bytes` is; memory is as much as that needs."""
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        spool.append_many([b"a", bytes(3_000_000), b"b"])
        assert [len(spool.read(seq, max_bytes=1000)) for seq in (1, 2, 3)] == [1, 1, 1]
        assert spool.read(2, max_bytes=SEGMENT).nbytes == 3_000_000
