"""A spool that is full: what each `overflow` does, and what time-outs say."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import BODY, SEGMENT, bodies, body, fill, segments, small

LIMITS: dict[str, dict[str, int]] = {
    "bytes": {"max_bytes": 4 * SEGMENT},
    "messages": {"max_messages": 25},
}
PUTS_MAX = 1_000
"""More messages than any of these has room for."""
limits = pytest.mark.parametrize("limit", LIMITS)


def put_until_full(spool: mm.Spool) -> int:
    """Put messages until there is no room; return the last number."""
    for last in range(PUTS_MAX):
        assert spool.info().last_seq == last
        try:
            spool.append(body(last + 1))
        except mm.SpoolFullError:
            return last
    raise AssertionError("it is never full")


@limits
@pytest.mark.parametrize("wait", [True, False])
def test_a_full_spool_says_so_and_keeps_what_it_has(tmp_path: Path, limit: str, wait: bool) -> None:
    """Until a trim makes room."""
    with small(tmp_path / "s", **LIMITS[limit]) as spool:
        last = put_until_full(spool)
        info = spool.info()
        if limit == "messages":
            assert last == 25
        else:
            assert 4 * SEGMENT - 2 * BODY < info.bytes <= 4 * SEGMENT
        for _ in range(2):
            with pytest.raises(mm.SpoolFullError, match="no room") as caught:
                spool.append(body(last + 1), wait=wait)
            assert caught.value.sent == 0
        with pytest.raises(mm.SpoolFullError) as caught:
            spool.append_many([body(last + 1)] * 3, wait=wait)
        assert caught.value.sent == 0
        assert bodies(spool) == [body(seq) for seq in range(1, last + 1)]
        second = int(segments(tmp_path / "s")[1].stem)
        assert spool.trim(second - 1) == 1
        assert spool.append_many(body(last + 1 + at) for at in range(3)) == range(
            last + 1, last + 4
        )
        assert bodies(spool) == [body(seq) for seq in range(second, last + 4)]


@pytest.mark.parametrize("wait", [True, False])
def test_of_many_those_that_had_room_are_kept(tmp_path: Path, wait: bool) -> None:
    """And `sent` says how many."""
    with small(tmp_path / "s", max_messages=6000) as spool:
        with pytest.raises(mm.SpoolFullError) as caught:
            spool.append_many((b"x" for _ in range(9000)), wait=wait)
        assert caught.value.sent == 6000
        spool.flush()
        assert len(bodies(spool)) == 6000


@limits
def test_blocking_waits_for_a_trim(tmp_path: Path, limit: str) -> None:
    """Or says that it was too late: TimedOutError, WouldBlockError; nothing was put then."""
    with small(tmp_path / "s", **LIMITS[limit]) as spool:
        last = put_until_full(spool)
    with small(tmp_path / "s", overflow="block", **LIMITS[limit]) as spool:
        for timeout, error in ((0, mm.WouldBlockError), (0.001, mm.TimedOutError)):
            with pytest.raises(error) as caught:
                spool.append(body(9), timeout=timeout)
            assert vars(caught.value)["sent"] == 0
            with pytest.raises(error) as caught:
                spool.append_many([body(9)], timeout=timeout)
            assert vars(caught.value)["sent"] == 0
        waiting = [
            Later(lambda: spool.append(body(9), timeout=WAIT_S)),
            Later(lambda: spool.append_many([body(9)])[0]),
        ]
        wait_until(lambda: len(spool._inside) == 2)
        assert spool.trim(int(segments(tmp_path / "s")[1].stem) - 1) == 1
        assert sorted(one.result() for one in waiting) == [last + 1, last + 2]
        assert bodies(spool, last + 1) == [body(9)] * 2


@limits
def test_the_oldest_go(tmp_path: Path, limit: str) -> None:
    """By whole files, and counted; what is left is without a hole."""
    with small(tmp_path / "s", overflow="drop_oldest", **LIMITS[limit]) as spool:
        for seq in range(1, 101):
            assert spool.append(body(seq)) == seq
        info = spool.info()
        assert info.dropped_oldest == info.first_seq - 1 > 50
        assert info.bytes <= 4 * SEGMENT
        assert info.last_seq - info.first_seq < 25 or limit == "bytes"
        assert info.appended == 100
        assert bodies(spool) == [body(seq) for seq in range(info.first_seq, 101)]


@limits
@pytest.mark.parametrize("wait", [True, False])
def test_the_newest_is_not_kept(tmp_path: Path, limit: str, wait: bool) -> None:
    """It has no number, and is counted; of many, the numbers are those of what was kept."""
    with small(tmp_path / "s", overflow="drop_newest", **LIMITS[limit]) as spool:
        last = 20
        assert spool.append_many((body(seq) for seq in range(1, 21)), wait=wait) == range(1, 21)
        got = spool.append_many((body(seq) for seq in range(21, 61)), wait=wait)
        last = spool.info().last_seq
        assert got == range(21, last + 1)
        assert spool.append(body(last + 1), wait=wait) is None
        assert spool.append_many([body(last + 1)] * 3, wait=wait) == range(0)
        info = spool.info()
        assert (info.appended, info.dropped_newest) == (last, 60 - last + 4)
        spool.flush()
        assert bodies(spool) == [body(seq) for seq in range(1, last + 1)]


def test_a_small_spool_has_small_files(tmp_path: Path) -> None:
    """If only `max_bytes` is said, whole files can go before it is full."""
    with mm.Spool(
        tmp_path / "s", durability="os", max_bytes=1_000_000, overflow="drop_oldest"
    ) as s:
        for _ in range(400):
            s.append(bytes(5000))
        assert s.info().dropped_oldest > 100
        assert 500_000 < s.info().bytes <= 1_000_000


def test_what_it_takes_is_told(tmp_path: Path) -> None:
    """As the files are."""
    with small(tmp_path / "s") as spool:
        fill(spool, 3)
        info = spool.info()
        assert info.files == len(segments(tmp_path / "s")) == 3
        assert info.bytes > 2 * (SEGMENT - 2 * BODY)
        spool.trim(info.last_seq)
        assert spool.info().bytes < info.bytes


def test_syncs_are_counted(tmp_path: Path) -> None:
    """At "disk" each call waits for one; many messages share it."""
    with small(tmp_path / "s", durability="disk") as spool:
        before = spool.info().syncs
        for _ in range(5):
            spool.append(b"x")
        info = spool.info()
        assert info.syncs == before + 5
        assert 0 < info.sync_mean <= info.sync_max
        spool.append_many(b"x" for _ in range(3000))
        assert spool.info().syncs < before + 5 + 100


@pytest.mark.parametrize("most", [1, 2, 3, 10, 1000])
def test_few_small_messages_go_as_well(tmp_path: Path, most: int) -> None:
    """Though a whole segment file has room for them: another one is begun in time."""
    with mm.Spool(
        tmp_path / "s", durability="os", max_messages=most, overflow="drop_oldest"
    ) as spool:
        for seq in range(1, 3 * most + 1):
            assert spool.append(b"%d" % seq) == seq
        info = spool.info()
        kept = info.last_seq - info.first_seq + 1
        assert most / 2 - 1 <= kept <= most
        assert info.dropped_oldest == info.first_seq - 1
        assert bodies(spool) == [b"%d" % seq for seq in range(info.first_seq, info.last_seq + 1)]


@pytest.mark.parametrize("most", [1, 2, 10])
def test_a_trim_of_all_makes_room_for_who_waits(tmp_path: Path, most: int) -> None:
    """A consumer that is done with all that there is frees all of it."""
    with mm.Spool(tmp_path / "s", durability="os", max_messages=most, overflow="block") as spool:
        for round_ in range(1, 4):
            last = spool.append_many([b"x"] * most)[-1]
            assert last == round_ * most
            with pytest.raises(mm.WouldBlockError):
                spool.append(b"y", timeout=0)
            assert spool.trim(last) > 0
            assert spool.info().first_seq == last + 1
            assert spool.info().bytes <= 4096
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        assert spool.append(b"next") == 3 * most + 1


def test_a_trim_of_little_makes_no_file(tmp_path: Path) -> None:
    """Who trims behind each message gets no new file for each."""
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        for _ in range(20):
            assert spool.trim(spool.append(b"x") or 0) == 0
        assert spool.info().files == 1
