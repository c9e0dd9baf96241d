"""Ranges of a spool: what readers hold by leases, and what they trim; threads and asyncio.

Not here: leases of the process itself (test_spool_kept.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._ranges import answers as module
from meshmsg._ranges import form
from meshmsg._ranges.answers import Answers, Limits, Load
from tests.support.ranged import WORLDS, Ranged, octets_of
from tests.support.spooled import fill, segments, small

LIMITS = Limits(readers=2, window_bytes=10_000, flight_bytes=25_000)
NO_LOAD = Load(0, 0, 0)


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[Ranged]:
    """Both worlds, one after the other."""
    with ExitStack() as stack:
        yield Ranged(request.param, stack)


def bases(spool: mm.Spool) -> list[int]:
    """Return the first number of each of its files."""
    return [int(file.stem) for file in segments(Path(spool.path))]


def test_a_lease_holds_what_others_trim(tmp_path: Path, world: Ranged) -> None:
    """Until it is released."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 6)
        third = bases(spool)[2]
        remote = world.shown(spool, trim=True)
        with remote.lease("job", third, 60) as lease:
            assert remote.trim(last - 1) == 2
            assert spool.info().first_seq == third
            assert spool.trim(last - 1) == 0
            lease.renew(60)
            assert lease.name == "job"
            assert (lease.from_seq, "job" in repr(lease)) == (third, True)
        assert not lease.release()
        assert remote.trim(last - 1) == 3
        with pytest.raises(mm.SpoolTrimmedError) as caught:
            lease.renew(60)
        assert (caught.value.seq, caught.value.first) == (third, spool.info().first_seq)
        with pytest.raises(mm.SpoolAheadError):
            remote.lease("job", last + 2, 60)


def test_a_lease_has_one_holder(tmp_path: Path, world: Ranged) -> None:
    """Another one is told so, and harms it neither by a lease nor by a trim of that name."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
        endpoint = world.server(spool, trim=True).endpoint
        one, other = world.remote(endpoint), world.remote(endpoint)
        lease = one.lease("job", 1, 60)
        for call in (
            lambda: other.lease("job", 1, 60),
            lambda: other.trim(last - 1, name="job"),
        ):
            with pytest.raises(mm.WouldBlockError, match="another holder"):
                call()
        assert spool.info().first_seq == 1
        assert lease.release()
        assert other.lease("job", 1, 60).release()
        same = [world.remote(endpoint, holder=b"query 7") for _ in range(2)]
        same[0].lease("job", 1, 60)
        assert same[1].lease("job", 2, 60).release()


def test_a_lease_of_a_peer_is_none_of_this_process(tmp_path: Path, world: Ranged) -> None:
    """Though they have one name."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
        with spool.lease("job", 1, 60):
            remote = world.shown(spool, trim=True)
            remote.lease("job", last, 60).release()
            assert remote.trim(last - 1) == 0
        assert remote.trim(last - 1) > 0


@pytest.mark.parametrize("anew", [False, True], ids=["one server", "started anew"])
def test_what_is_renewed_as_before_is_what_was_not_trimmed_by_its_name(
    tmp_path: Path, world: Ranged, anew: bool
) -> None:
    """Whoever of its holder trimmed: a server has that; who trimmed has it as well."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 8)
        files = bases(spool)
        server = world.server(spool, trim=True)
        one, other = (world.remote(server.endpoint, holder=b"query 7") for _ in range(2))
        lease, same = one.lease("job", 1, 60), other.lease("job", 1, 60)
        assert one.trim(files[2] - 1, name="job") == 2
        assert (lease.from_seq, same.from_seq) == (files[2], 1)
        if anew:
            endpoint = server.endpoint
            server.close()
            world.server(spool, trim=True, bind=endpoint)
            lease.renew(60)
        same.renew(60)
        assert same.from_seq == files[2]
        lease.renew(60)
        assert lease.from_seq == files[2]
        assert one.trim(last) == 0
        other.trim(files[3], name="job")
        lease.renew(60)
        assert lease.from_seq == files[3] + 1
        lease.renew(60, from_seq=files[3])
        same.renew(60)
        assert (lease.from_seq, same.from_seq) == (files[3], files[3])
        assert lease.release()
        assert (lease.from_seq, lease.release()) == (files[3], False)


def test_a_commit_moves_its_lease_on(tmp_path: Path, world: Ranged) -> None:
    """What two of them are done with goes, never back, whatever comes again or late."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 8)
        files = bases(spool)
        remote = world.shown(spool, trim=True)
        remote.lease("a", 1, 60)
        remote.lease("b", 1, 60)
        done = {"a": 0, "b": 0}
        chance = random.Random(7)
        for _ in range(60):
            name = chance.choice("ab")
            seq = chance.randrange(last)
            remote.trim(seq, name=name)
            done[name] = max(done[name], seq)
            floor = min(done.values())
            first = spool.info().first_seq
            assert first <= floor + 1
            assert first in files
        assert floor > files[2]
        remote.trim(last - 1, name="a")
        remote.trim(last - 1, name="b")
        assert spool.info().first_seq == files[-1]
        assert remote.trim(0) == 0
        with pytest.raises(mm.SpoolAheadError) as caught:
            remote.trim(last + 1)
        assert caught.value.stable_seq == last + 1


@pytest.mark.parametrize("seed", range(5))
def test_trims_that_are_lost_repeated_or_out_of_order_come_to_the_highest(
    tmp_path: Path, world: Ranged, seed: int
) -> None:
    """As a driver that died and its successor send them, with a lease or without."""
    dice = random.Random(seed)
    with small(tmp_path / "s") as spool:
        last = fill(spool, 8)
        starts = bases(spool)
        remote = world.shown(spool, trim=True)
        name = "job" if seed % 2 else None
        if name is not None:
            remote.lease(name, 1, 60)
        sent = [seq for seq in range(1, last) for _ in range(dice.randrange(3))]
        dice.shuffle(sent)
        highest = 0
        for seq in sent[: dice.randrange(1, len(sent))]:
            remote.trim(seq, name=name)
            highest = max(highest, seq)
            assert spool.info().first_seq == max(one for one in starts if one <= highest + 1)


def test_who_may_not_trim_is_told(tmp_path: Path, world: Ranged) -> None:
    """Leases are for all; of a view there are neither."""
    with small(tmp_path / "s", durability="disk") as spool:
        last = fill(spool, 3)
        remote = world.shown(spool)
        remote.lease("a", 1, 60)
        with pytest.raises(mm.RefusedError, match="trim=True"):
            remote.trim(last - 1)
        assert spool.info().first_seq == 1
        with mm.SpoolView(tmp_path / "s") as view:
            with pytest.raises(mm.UsageError, match="a SpoolView, which trims nothing"):
                world.server(view, trim=True)
            remote = world.shown(view)
            for call in (lambda: remote.lease("a", 1, 1), lambda: remote.trim(1)):
                with pytest.raises(mm.RefusedError, match="another process writes"):
                    call()


class Served:
    """What a server does, without sockets, by a clock that is set."""

    def __init__(self, spool: mm.Spool, limits: Limits = LIMITS) -> None:
        self.now = 0.0
        self.answers = Answers(spool, limits, trims=True, clock=lambda: self.now)

    def ask(self, op: form.Op, load: Load = NO_LOAD, **fields: object) -> form.Answer:
        """Ask, and return the head of the answer."""
        request = form.Request(op, **fields)  # type: ignore[arg-type]
        return form.answer_of(octets_of(self.answers.answer(form.request_octets(request), load)))


def test_a_lease_that_ended_is_anybodys(tmp_path: Path) -> None:
    """And is told by no timer."""
    with small(tmp_path / "s") as spool:
        served = Served(spool)
        spool.append_many([b"a"] * 5)
        spool.flush()
        lease = {"a": 1, "b": 5000, "name": "job"}
        for holder, now, status in (
            (b"a" * 16, 0.0, form.Status.DONE),
            (b"b" * 16, 4.9, form.Status.HELD),
            (b"b" * 16, 5.0, form.Status.DONE),
            (b"a" * 16, 5.0, form.Status.HELD),
        ):
            served.now = now
            assert served.ask(form.Op.LEASE, holder=holder, **lease).status == status
        served.answers.close()


def test_leases_of_peers_have_a_limit(tmp_path: Path) -> None:
    """One more is refused, one that is there is renewed."""
    with small(tmp_path / "s") as spool:
        served = Served(spool)
        spool.append(b"a")
        spool.flush()
        for at in range(module.LEASES_MAX):
            assert served.ask(form.Op.LEASE, a=1, b=1000, name=f"n{at}").status == 0
        full = served.ask(form.Op.LEASE, a=1, b=1000, name="more")
        assert (full.status, full.b) == (form.Status.NO_LEASE, module.LEASES_MAX)
        assert served.ask(form.Op.LEASE, a=1, b=1000, name="n7").status == 0
        assert served.ask(form.Op.RELEASE, name="n7").a == 1
        assert served.ask(form.Op.RELEASE, name="n7").a == 0
        assert served.ask(form.Op.LEASE, a=1, b=1000, name="more").status == 0


@pytest.mark.parametrize(
    ("load", "limit"),
    [
        (Load(0, 0, 0), None),
        (Load(1, 10_000, 15_000), None),
        (Load(2, 0, 0), (form.Busy.READERS, 2)),
        (Load(0, 10_001, 10_001), (form.Busy.READER_BYTES, 20_000)),
        (Load(0, 0, 15_001), (form.Busy.BYTES, 25_000)),
    ],
)
def test_what_waits_to_be_written_has_limits(
    tmp_path: Path, load: Load, limit: tuple[int, int] | None
) -> None:
    """At each of them, and one below: for a reader, and for all; and so many readers."""
    with small(tmp_path / "s") as spool:
        last = fill(spool, 4)
        spool.flush()
        served = Served(spool)
        answer = served.ask(form.Op.READ, load, a=1, b=last + 1, c=2**30)
        if limit is None:
            assert (answer.status, answer.a) == (form.Status.DONE, 2)
        else:
            assert (answer.status, answer.a, answer.b) == (form.Status.BUSY, *limit)
        assert served.ask(form.Op.INFO, load).status == form.Status.DONE
        served.answers.close()
