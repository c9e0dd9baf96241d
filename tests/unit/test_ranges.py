"""Ranges of a spool over the wire: what is read there is what is read here; threads and asyncio.

Not here: what is amiss (test_ranges_odd.py), leases and trims (test_ranges_kept.py), octets
(test_ranges_form.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.ranged import WORLDS, Ranged, messages, seqs
from tests.support.spooled import body, fill, small

MANY = 3000


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[Ranged]:
    """Both worlds, one after the other."""
    with ExitStack() as stack:
        yield Ranged(request.param, stack)


def mixed(spool: mm.Spool) -> int:
    """Put messages of each kind, some in a batch and some alone; return the last number."""
    spool.append_many(
        [b"%d" % at for at in range(MANY)], key=b"k", headers={"a": "b", "c": b"\xff"}
    )
    fill(spool, spool.info().files + 2)
    spool.append_many([bytes(at % 300) for at in range(MANY)])
    spool.flush()
    return spool.info().last_seq


def test_a_range_is_what_the_spool_has(tmp_path: Path, world: Ranged) -> None:
    """Column by column, as Arrow; each time it is read, and cut by each limit."""
    with small(tmp_path / "s") as spool:
        last = mixed(spool)
        here = pa.record_batch(spool.read(1, max_bytes=2**30))
        remote = world.shown(spool)
        for limits in ({}, {"max_bytes": 10_000}, {"max_messages": 777}, {"max_bytes": 1}):
            batches = [pa.record_batch(one) for one in remote.read(1, **limits)]
            assert pa.Table.from_batches(batches).combine_chunks().to_batches() == [here]
            assert batches[0].schema == here.schema
        assert here.num_rows == last
        info = remote.info()
        assert (info.uuid, info.epoch) == (spool.info().uuid, 1)
        assert (info.first_seq, info.stable_seq) == (1, last + 1)


@pytest.mark.parametrize("size", [1, 2, 100, 5000])
def test_any_range_has_just_its_numbers(tmp_path: Path, world: Ranged, size: int) -> None:
    """Also one that begins and ends in the middle of what was written at once, and an empty one."""
    with small(tmp_path / "s") as spool:
        last = mixed(spool)
        remote = world.shown(spool)
        for first in (1, 2, MANY - 1, MANY, MANY + 1, MANY + 8, last - 50, last):
            to = min(first + size, last + 1)
            found = messages(remote.read(first, to))
            assert [one.seq for one in found] == list(range(first, to))
            assert found[0] == spool.read(first, max_messages=1).messages[0]
            assert seqs(remote.read(first, first)) == []


def test_only_what_is_durable_is_told_and_given(tmp_path: Path, world: Ranged) -> None:
    """Though this process can read more of it."""
    with small(tmp_path / "s", sync_every=1000) as spool:
        spool.append_many([b"a"] * 10)
        spool.flush()
        spool.append_many([b"b"] * 10)
        assert (spool.info().durable_seq, len(spool.read(1))) == (10, 20)
        remote = world.shown(spool)
        assert seqs(remote.read(1, 11)) == list(range(1, 11))
        with pytest.raises(mm.SpoolAheadError, match="up to 10") as caught:
            list(remote.read(5, 12))
        assert (caught.value.seq, caught.value.stable_seq) == (11, 11)
        spool.flush()
        assert seqs(remote.read(5, 12)) == list(range(5, 12))


@pytest.mark.parametrize("durability", ["os", "buffered"])
def test_who_asks_how_far_it_is_has_what_was_put_before_synced(
    tmp_path: Path, world: Ranged, durability: str
) -> None:
    """Else a source of Spark would see each message half a `sync_every` later."""
    with small(tmp_path / "s", sync_every=1000, durability=durability) as spool:
        remote = world.shown(spool)
        assert remote.info().stable_seq == 1
        for last in range(10, 50, 10):
            spool.append_many([b"b"] * 10)
            assert spool.info().durable_seq == last - 10
            assert remote.info().stable_seq == last + 1
            assert seqs(remote.read(1)) == list(range(1, last + 1))
        syncs = spool.info().syncs
        assert remote.info().stable_seq == last + 1
        assert spool.info().syncs == syncs  # there is nothing to sync


def test_a_spool_that_syncs_no_more_tells_what_was_durable(
    tmp_path: Path, world: Ranged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read on, though nothing is put any more."""
    with small(tmp_path / "s", sync_every=1000) as spool:
        spool.append_many([b"a"] * 10)
        spool.flush()
        spool.append(b"b")
        remote = world.shown(spool)

        def fails(*_: object) -> None:
            raise mm.SpoolFailedError("the disk is broken")

        monkeypatch.setattr(spool, "_flush", fails)
        assert remote.info().stable_seq == 11
        assert seqs(remote.read(1)) == list(range(1, 11))


def test_several_read_the_same_at_once(tmp_path: Path, world: Ranged) -> None:
    """Each gets all of it: the server remembers nobody's place."""
    with small(tmp_path / "s") as spool:
        last = mixed(spool)
        endpoint = world.server(spool).endpoint
        remotes = [world.remote(endpoint) for _ in range(3)]
        reads = [one.read(1, max_bytes=5000) for one in remotes for _ in range(2)]
        found: list[list[int]] = [[] for _ in reads]
        while any(at := [next(one, None) for one in reads]):
            for seen, batch in zip(found, at, strict=True):
                seen += [] if batch is None else [one.seq for one in batch.messages]
        assert found == [list(range(1, last + 1))] * len(reads)


def test_threads_share_a_remote(tmp_path: Path) -> None:
    """Each iterates over its own range."""
    with small(tmp_path / "s") as spool, ExitStack() as stack:
        last = mixed(spool)
        remote = Ranged("threads", stack).shown(spool, threads=4)
        found: dict[int, list[int]] = {}

        def reads(part: int) -> None:
            found[part] = seqs(remote.read(1 + part, last, max_bytes=20_000))

        threads = [threading.Thread(target=reads, args=(part,)) for part in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert found == {part: list(range(1 + part, last)) for part in range(6)}


def test_it_goes_on_while_it_is_written(tmp_path: Path, world: Ranged) -> None:
    """What is durable later is read later."""
    with small(tmp_path / "s", durability="disk") as spool:
        remote, seq = world.shown(spool), 1
        for at in range(5):
            spool.append_many([b"%d" % at] * 10)
            assert seqs(remote.read(seq)) == list(range(seq, seq + 10))
            seq += 10
        assert seqs(remote.read(seq)) == []
        with pytest.raises(mm.SpoolAheadError):
            list(remote.read(seq + 1))


def test_a_read_goes_on_where_the_connection_was_lost(tmp_path: Path, world: Ranged) -> None:
    """The server is another one by then, of the same spool: nothing is left out or comes twice."""
    where = of_its_own()
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
        with mm.SpoolServer(spool, bind=where) as server:
            endpoint = server.endpoint
            remote = world.remote(endpoint, reconnect_max=0.05)
            reading = remote.read(1, max_bytes=10_000)
            found = [one.seq for one in next(reading).messages]
        with mm.SpoolServer(spool, bind=endpoint):
            found += seqs(reading)
        assert found == list(range(1, last + 1))


def test_a_view_is_shown_as_well(tmp_path: Path, world: Ranged) -> None:
    """Another process writes it: what is proved to be durable is read."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 3)
        with mm.SpoolView(tmp_path / "s") as view:
            remote = world.shown(view)
            assert remote.info().uuid == spool.info().uuid
            wait_until(lambda: remote.info().stable_seq == last + 1)
            assert messages(remote.read(1)) == list(spool.reader())


def test_a_message_may_be_larger_than_a_window(tmp_path: Path, world: Ranged) -> None:
    """It comes alone, whatever was asked for."""
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        spool.append_many([b"a", bytes(9_000_000), b"b"])
        spool.flush()
        remote = world.shown(spool, window_bytes=4096, flight_bytes=4096)
        sizes = [[len(one) for one in batch.messages] for batch in remote.read(1, max_bytes=100)]
        assert sizes == [[1], [9_000_000], [1]]


def test_a_reader_that_leaves_leaves_nothing_behind(tmp_path: Path, world: Ranged) -> None:
    """In the middle of a range, with an answer on its way."""
    with small(tmp_path / "s") as spool:
        fill(spool, 4)
        server = world.server(spool)
        for _ in range(3):
            remote = world.remote(server.endpoint)
            reading = remote.read(1, max_bytes=9000)
            next(reading)
            remote.close()
        wait_until(lambda: server.peers() == [])
        assert len(spool._readers) <= 3


def test_a_server_may_be_secured(tmp_path: Path, world: Ranged) -> None:
    """`security=` goes to the sockets, with who is let in."""
    pytest.importorskip("nacl")
    keys, known, other = mm.keygen(), mm.keygen(), mm.keygen()
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append(b"a")
        allowed = mm.Curve(key=keys, allow=[known.public])
        server = world.server(spool, security=allowed)
        remote = world.remote(server.endpoint, security=mm.Curve(server=keys.public, key=known))
        assert [bytes(one) for one in messages(remote.read(1))] == [b"a"]
        options: dict[str, Any] = {"timeout": 0.2}
        options["security"] = mm.Curve(server=keys.public, key=other)
        with pytest.raises(mm.TimedOutError):
            world.remote(server.endpoint, **options).info()
        with pytest.raises(mm.InsecureBindError):
            world.server(spool, bind="tcp://0.0.0.0:0")


def test_what_they_are_is_shown(tmp_path: Path, world: Ranged) -> None:
    """By repr, which tells where."""
    with small(tmp_path / "s") as spool:
        server = world.server(spool)
        remote = world.remote(server.endpoint)
        assert f"SpoolServer of {tmp_path / 's'} at {server.endpoint}" in repr(server)
        assert f"RemoteSpool {server.endpoint}" in repr(remote)
        assert body(1) not in repr(remote).encode()
        server.close()
        assert "closed" in repr(server)
        server.close()
        remote.close()
        remote.close()


def test_what_compaction_took_is_passed(tmp_path: Path, world: Ranged) -> None:
    """A range is what is there, wherever it begins and ends; also one of which nothing is."""
    with small(tmp_path / "s") as spool:
        for seq in range(1, 200):
            spool.append(body(seq, 3000), key=b"%d" % (1 if 50 < seq < 120 else seq % 7))
        fill(spool, spool.info().files + 1)
        assert spool.compact().messages > 50
        spool.flush()
        there = [one.seq for one in spool.read(1, max_bytes=2**30).messages]
        last = there[-1]
        gone = sorted(set(range(1, last)) - set(there))
        remote = world.shown(spool)
        assert seqs(remote.read(1)) == there
        for first, to in ((1, last), (gone[0], gone[-1]), (60, 110), (61, 62), (gone[30], last)):
            for limits in ({}, {"max_messages": 3}, {"max_bytes": 1}):
                assert seqs(remote.read(first, to, **limits)) == [
                    seq for seq in there if first <= seq < to
                ]
