"""The mean size of messages, of spools that are lists of sizes.

Not here: real servers (test_spark_watch.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from meshmsg.spark._source.sizes import (
    LOOK_BYTES,
    LOOKS_LEAST,
    LOOKS_MAX,
    RUN_BYTES,
    SAMPLE_MESSAGES,
    Stretch,
    mean_size,
)

MB = 1_000_000


class Sizes:
    """A spool whose messages have these sizes, from number 1 on; it counts what is read."""

    def __init__(self, sizes: list[int], gone: frozenset[int] = frozenset()) -> None:
        self.sizes, self.gone = sizes, gone
        self.octets = self.reads = 0

    def mean(self) -> float:
        """Return what is found."""
        return mean_size(self.read, 1, len(self.sizes) + 1)

    def read(self, first: int, end: int) -> Iterator[Stretch]:
        """As a server answers: what fits, and one message at least."""
        self.reads += 1
        while first < end:
            behind = count = octets = 0
            for seq in range(first, end):
                size = 0 if seq in self.gone else self.sizes[seq - 1]
                if count and octets + size > RUN_BYTES:
                    break
                behind, count, octets = seq + 1, count + (seq not in self.gone), octets + size
            self.octets += octets
            if count:
                yield Stretch(first, behind, count, octets)
            first = behind


@pytest.mark.parametrize(
    "sizes",
    [
        [10] * 200 + [MB] * 56,
        [10] * 128 + [MB] * 128,
        [10] * 20 + [10 * MB] * 3,
        [10] * 5 + [60 * MB],
        [10] * 128 + [20 * MB] * 128,
        [MB] * 56,
    ],
)
@pytest.mark.parametrize("step", [1, -1])
def test_it_is_about_the_mean_in_either_order(sizes: list[int], step: int) -> None:
    """Also where one message is more than is read at once."""
    found = Sizes(sizes[::step]).mean()
    assert found == pytest.approx(sum(sizes) / len(sizes), rel=0.1)


def test_it_is_exact_where_all_were_read() -> None:
    """In one read, of the last messages only."""
    spool = Sizes([5000] * 1000 + [10, 200] * (SAMPLE_MESSAGES // 2))
    assert spool.mean() == 105
    assert spool.reads == 1


def test_sizes_that_take_turns_are_both_met() -> None:
    """By what is looked at behind the first run: halves of halves would meet one kind only."""
    sizes = [10, 200_000] * 128
    assert Sizes(sizes).mean() == pytest.approx(100_005, rel=0.5)


@pytest.mark.parametrize("size", [5000, 100_000, MB, 60 * MB])
def test_what_is_read_is_bounded(size: int) -> None:
    """By bytes and by looks; the largest message is one more."""
    spool = Sizes([size] * 1000)
    assert spool.mean() == size
    assert spool.reads <= 1 + LOOKS_MAX
    assert spool.octets <= max(LOOK_BYTES + size, (2 + LOOKS_LEAST) * size)


def test_what_compaction_removed_does_not_count() -> None:
    """Neither in a run nor where it is looked for."""
    assert Sizes([100] * 50, frozenset(range(1, 41))).mean() == 100
    assert Sizes([MB] * 256, frozenset(range(20, 256))).mean() == MB
    assert Sizes([100] * 3, frozenset({1, 2, 3})).mean() == 0
    assert Sizes([]).mean() == 0
