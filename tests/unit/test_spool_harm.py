"""Spools whose files are harmed: what is told, and what is read around it.

Not here: what a crash leaves (tests/c/test_spool_crash.c).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.spoolcodec import BATCH, HEAD, SLOT
from tests.support.spooled import (
    batches,
    bodies,
    body,
    fill,
    segments,
    small,
    turn_bit,
)

IN_BATCH = {"magic": 0, "head": 20, "body": BATCH + 40}
"""Where an octet of a batch is turned."""


def made(path: Path, files: int = 3) -> int:
    """Make a spool of so many files, each message in a batch of its own; return the last number."""
    with small(path) as spool:
        return fill(spool, files)


def read_around(spool: mm.Spool) -> tuple[list[Any], list[tuple[int, int]]]:
    """Return all that can be read, and the ranges that errors told of."""
    read: list[Any] = []
    lost: list[tuple[int, int]] = []
    with spool.reader() as reader:
        while True:
            try:
                if not (more := reader.read()):
                    return read, lost
                read += more
            except mm.SpoolCorruptError as error:
                lost.append((error.first, error.last))
                reader.seek(error.last + 1)


@pytest.mark.parametrize("where", IN_BATCH)
@pytest.mark.parametrize("which", [0, 2, -1])
def test_a_harmed_batch_of_a_sealed_file_is_told_as_it_is_read(
    tmp_path: Path, where: str, which: int
) -> None:
    """The numbers that are gone, and no others: the first one of a file, one within, its last."""
    last = made(tmp_path / "s")
    file = segments(tmp_path / "s")[1]
    starts = batches(file)
    seq = int(file.stem) + (which if which >= 0 else len(starts) - 1)
    turn_bit(file, starts[which] + IN_BATCH[where])
    rest = [body(one) for one in range(1, last + 1) if one != seq]
    with small(tmp_path / "s") as spool:
        assert spool.recovery.lost is None
        read, lost = read_around(spool)
        assert (read, lost) == (rest, [(seq, seq)])
        with spool.reader(seq) as reader:
            for _ in range(3):  # it stays so, whoever asks again
                with pytest.raises(
                    mm.SpoolCorruptError, match=f"messages {seq} to {seq} "
                ) as caught:
                    reader.read()
                assert (caught.value.first, caught.value.last) == (seq, seq)
    with small(tmp_path / "s", on_corruption="gap") as spool, spool.reader() as reader:
        got = list(reader)
        gaps = [(at, one) for at, one in enumerate(got) if isinstance(one, mm.SpoolGap)]
        assert gaps == [(seq - 1, mm.SpoolGap(seq, seq))]
        assert [one for one in got if isinstance(one, mm.SpoolMessage)] == rest


@pytest.mark.parametrize("most", [1, 2, 1000])
def test_what_is_read_before_harm_does_not_widen_it(tmp_path: Path, most: int) -> None:
    """What is amiss is told with a call of its own, behind what came before it."""
    last = made(tmp_path / "s")
    file = segments(tmp_path / "s")[1]
    seq = int(file.stem) + 2
    turn_bit(file, batches(file)[2] + BATCH)
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        read: list[Any] = []
        with pytest.raises(mm.SpoolCorruptError) as caught:
            while more := reader.read(most):
                read += more
        assert read == [body(one) for one in range(1, seq)]
        assert (caught.value.first, caught.value.last) == (seq, seq)
        assert reader.seq == seq
        reader.seek(seq + 1)
        assert list(reader) == [body(one) for one in range(seq + 1, last + 1)]


def test_a_harmed_head_takes_its_file(tmp_path: Path) -> None:
    """Nothing in it can be told from what is not."""
    last = made(tmp_path / "s")
    file, behind = segments(tmp_path / "s")[1:]
    turn_bit(file, 20)
    first, end = int(file.stem), int(behind.stem)
    with small(tmp_path / "s") as spool:
        read, lost = read_around(spool)
    assert lost == [(first, end - 1)]
    assert read == [body(one) for one in range(1, last + 1) if not first <= one < end]


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    """As harm, or as an error: it is never skipped."""
    made(tmp_path / "s")
    file, behind = segments(tmp_path / "s")[1:]
    file.unlink()
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        with pytest.raises(mm.SpoolError):
            while reader.read():
                pass
        assert reader.seq == int(file.stem)
        reader.seek(int(behind.stem))
        assert reader.read(1) == [body(int(behind.stem))]


@pytest.mark.parametrize("where", IN_BATCH)
def test_harm_of_what_was_durable_fails_opening_or_leaves_a_gap(tmp_path: Path, where: str) -> None:
    """In the last file: the error says which, and where; a gap is told by `recovery`, too."""
    with small(tmp_path / "s", durability="disk") as spool:
        for seq in range(1, 6):
            spool.append(body(seq))
    [file] = segments(tmp_path / "s")
    at = batches(file)[2]
    turn_bit(file, at + IN_BATCH[where])
    for _ in range(2):
        with pytest.raises(mm.SpoolCorruptError, match=r"messages from 3 on .*segment 1") as caught:
            small(tmp_path / "s")
        assert (caught.value.first, caught.value.last) == (3, 3)
        assert f"octet {at} " in str(caught.value)
    turned = file.read_bytes()
    with small(tmp_path / "s", on_corruption="gap") as spool, spool.reader() as reader:
        assert spool.recovery.lost == (3, 3)
        assert list(reader) == [body(1), body(2), mm.SpoolGap(3, 3), body(4), body(5)]
        assert spool.append(b"next") == 6
        assert spool.info().epoch > 1
    assert segments(tmp_path / "s")[0].read_bytes()[:at] == turned[:at]
    assert list((tmp_path / "s/quarantine").iterdir())  # people can look at what it was
    with small(tmp_path / "s") as spool:
        read, lost = read_around(spool)
        assert read == [body(1), body(2), body(4), body(5), b"next"]
        assert lost == [(3, 3)]  # for ever: nothing is left out without a word


@pytest.mark.parametrize("where", IN_BATCH)
def test_harm_of_the_last_file_is_told_while_it_is_open(tmp_path: Path, where: str) -> None:
    """Nothing that is sound is left out, and the error is the same when it is asked again."""
    for mode in ("gap", "fail"):
        with small(tmp_path / mode, on_corruption=mode) as spool, spool.reader() as reader:
            for seq in range(1, 6):
                spool.append(body(seq))
            [file] = segments(tmp_path / mode)
            turn_bit(file, batches(file)[2] + IN_BATCH[where])
            if mode == "gap":
                assert list(reader) == [body(1), body(2), mm.SpoolGap(3, 3), body(4), body(5)]
                continue
            reader.seek(3)
            for _ in range(2):
                with pytest.raises(mm.SpoolCorruptError) as caught:
                    reader.read()
                assert (caught.value.first, caught.value.last) == (3, 3)
            assert read_around(spool)[1] == [(3, 3)]


def test_what_was_torn_is_no_harm(tmp_path: Path) -> None:
    """Octets behind the last message are no message; they are counted, and kept beside."""
    with small(tmp_path / "s") as spool:
        spool.append(body(1))
    [file] = segments(tmp_path / "s")
    with file.open("r+b") as opened:
        opened.seek(30_000)
        opened.write(b"torn" * 100)
    with small(tmp_path / "s") as spool:
        assert spool.recovery.torn_bytes > 400
        assert spool.recovery.torn_left == 0
        assert spool.recovery.unclean
        assert bodies(spool) == [body(1)]
        assert spool.append(body(2)) == 2
        assert spool.info().epoch > 1
    assert list((tmp_path / "s/quarantine").iterdir())


def test_a_lost_state_is_made_again(tmp_path: Path) -> None:
    """What it says stands in the segments, too: the same spool, and all of it."""
    last = made(tmp_path / "s")
    with small(tmp_path / "s") as spool:
        uuid = spool.info().uuid
    for harm in ("unlink", "turn"):
        state = tmp_path / "s/META"
        if harm == "unlink":
            state.unlink()
        else:
            state.write_bytes(b"\xff" * (2 * SLOT))
        with small(tmp_path / "s") as spool:
            assert spool.info().uuid == uuid
            assert bodies(spool) == [body(seq) for seq in range(1, last + 1)]


def test_each_octet_of_a_message_counts(tmp_path: Path) -> None:
    """Whichever is turned, it is told, and never read as what it is not."""
    last = made(tmp_path / "s", 2)
    file = segments(tmp_path / "s")[0]
    begin, end = batches(file)[1:3]
    assert begin > HEAD
    for at in [*range(begin, begin + BATCH + 8), *range(begin + BATCH + 8, end, 997)]:
        turn_bit(file, at)
        with small(tmp_path / "s") as spool:
            read, lost = read_around(spool)
        turn_bit(file, at)
        if lost:
            assert lost == [(2, 2)], at
            assert read == [body(1), *(body(seq) for seq in range(3, last + 1))], at
        else:  # zeros between two batches
            assert read == [body(seq) for seq in range(1, last + 1)], at
            assert at >= end - 8
