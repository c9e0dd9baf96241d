"""Ranges of a spool: a life that was handed on is the least that counts; both worlds.

Not here: a copy that goes on in another life, or a later one (test_ranges_odd.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.ranged import WORLDS, Ranged, seqs
from tests.support.spooled import small

COUNT = 20


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[Ranged]:
    """Both worlds, one after the other."""
    with ExitStack() as stack:
        yield Ranged(request.param, stack)


ASKED: dict[str, Callable[[Any, int], Any]] = {
    "a range": lambda remote, epoch: remote.read(1, 5, epoch=epoch),
    "to the end": lambda remote, epoch: remote.read(1, epoch=epoch),
    "behind the end": lambda remote, epoch: remote.read(COUNT + 5, COUNT + 9, epoch=epoch),
}


@pytest.mark.parametrize("known", [False, True], ids=["by uuid", "asked before"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_spool_in_an_earlier_life_than_the_one_told_is_a_copy_from_before(
    tmp_path: Path, world: Ranged, asked: str, known: bool
) -> None:
    """Whoever read the copy for the original would get other messages under the same numbers."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"of the copy"] * COUNT)
        told = spool.info().epoch + 1
        remote = world.remote(world.server(spool).endpoint, uuid=spool.info().uuid)
        if known:
            assert remote.info().epoch == told - 1
        with pytest.raises(mm.SpoolChangedError, match=f"was in life {told}: a copy") as caught:
            list(ASKED[asked](remote, told))
        assert (caught.value.uuid, caught.value.epoch) == (spool.info().uuid, told - 1)


def test_a_life_that_was_told_of_one_range_counts_for_no_other(
    tmp_path: Path, world: Ranged
) -> None:
    """So a wrong one does no harm to those who share the reader."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"x"] * COUNT)
        remote, epoch = world.shown(spool), spool.info().epoch
        with pytest.raises(mm.SpoolChangedError):
            list(remote.read(1, epoch=epoch + 1))
        assert seqs(remote.read(1, epoch=epoch)) == seqs(remote.read(1))
