"""Leases of readers in other processes end, and are renewed, at about the moment at which others
trim: what a lease holds can be read, or its holder is told.

Not here: what a lease is (tests/unit/test_ranges_kept.py), the same in the core
(tests/c/test_spool_held.c).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import ROUNDS, SEED
from tests.support.later import Later
from tests.support.ranged import WORLDS, Ranged, seqs
from tests.support.spooled import body, fill, small

SHORT_S = 0.001
"""Seconds of a lease that ends about when it is asked for again; the least there is."""
HELD_S = 3600.0


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[Ranged]:
    """Both worlds, one after the other."""
    with ExitStack() as stack:
        yield Ranged(request.param, stack)


class Going:
    """Puts and trims, here and from afar, until it is left."""

    def __init__(self, spool: mm.Spool, remote: Any) -> None:
        self._spool, self._remote = spool, remote
        self._stop = threading.Event()
        self._running: list[Later] = []

    def _put(self) -> None:
        while not self._stop.is_set():
            for seq in range(10):
                self._spool.append(body(seq))
            self._spool.flush()

    def _trim(self) -> None:
        while not self._stop.is_set():
            self._spool.trim(self._spool.info().durable_seq)

    def _trim_remote(self) -> None:
        while not self._stop.is_set():
            self._remote.trim(self._remote.info().stable_seq - 1)

    def __enter__(self) -> Going:
        self._running = [Later(way) for way in (self._put, self._trim, self._trim_remote)]
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for one in self._running:
            one.result()


def taken(remote: Any, dice: random.Random, renews: bool) -> tuple[Any, int] | None:
    """Take a lease of something that is there now; None: it went before, as one was told."""
    info = remote.info()
    seq = dice.randrange(info.first_seq, info.stable_seq + 1)
    told: mm.SpoolTrimmedError | None = None
    try:
        lease = remote.lease("job", seq, SHORT_S if renews else HELD_S)
        if renews:
            lease.renew(HELD_S)
    except mm.SpoolTrimmedError as error:
        told = error
    assert told is None or told.first > told.seq == seq
    return None if told else (lease, seq)


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
def test_a_lease_that_was_had_again_holds(tmp_path: Path, world: Ranged, level: Any) -> None:
    """All of the range that there is by then is read, with no number left out; once it is released,
    or ends by itself, it goes."""
    dice = random.Random(f"{SEED} {level} {world.name}")
    held = gone = 0
    with small(tmp_path / "s", durability=level) as spool:
        fill(spool, 3)
        spool.flush()
        endpoint = world.server(spool, trim=True).endpoint
        remote, other = world.remote(endpoint), world.remote(endpoint)
        with Going(spool, other):
            for round_ in range(ROUNDS * 10):
                found = taken(remote, dice, renews=round_ % 2 == 0)
                if found is None:
                    gone += 1
                    continue
                lease, seq = found
                stable = remote.info().stable_seq
                assert remote.info().first_seq <= seq
                assert seqs(remote.read(seq, stable)) == list(range(seq, stable))
                if round_ % 3:
                    assert lease.release()
                else:
                    lease.renew(SHORT_S)
                held += 1
        assert held
        last = spool.info().last_seq
        with pytest.raises(mm.SpoolTrimmedError):
            while not spool.trim(last):  # its last file may have too little to go
                spool.append(b"x" * 20_000)
                last = spool.info().last_seq
            remote.lease("job", 1, HELD_S)
    assert held + gone == ROUNDS * 10


@pytest.mark.parametrize("level", ["os", "disk"])
def test_a_commit_of_a_lease_that_ended_trims_no_more_than_it_says(
    tmp_path: Path, world: Ranged, level: Any
) -> None:
    """Two readers hold and commit, and their leases end at any moment: whose lease is renewed is
    told if something of it went, and reads all of it otherwise."""
    dice = random.Random(f"{SEED} {level} {world.name}")
    told = 0
    with small(tmp_path / "s", durability=level) as spool:
        fill(spool, 4)
        spool.flush()
        endpoint = world.server(spool, trim=True).endpoint
        remotes = {name: world.remote(endpoint) for name in "ab"}
        for _ in range(ROUNDS * 10):
            for seq in range(10):
                spool.append(body(seq))
            spool.flush()
            name = dice.choice("ab")
            remote = remotes[name]
            info = remote.info()
            seq = dice.randrange(info.first_seq, info.stable_seq)
            try:
                lease = remote.lease(name, seq, dice.choice((SHORT_S, HELD_S)))
                remotes["a" if name == "b" else "b"].trim(info.stable_seq - 1)
                lease.renew(HELD_S)
            except mm.SpoolTrimmedError:
                assert remote.info().first_seq > seq
                told += 1
                continue
            stable = remote.info().stable_seq
            assert seqs(remote.read(seq, stable)) == list(range(seq, stable))
            remote.trim(stable - 1, name=name)
            assert lease.release()
    assert told < ROUNDS * 10
