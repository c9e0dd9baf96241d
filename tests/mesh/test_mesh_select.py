"""Which nodes of a service a socket is connected to."""

from __future__ import annotations

from collections import Counter

import pytest

import meshmsg as mm
from meshmsg.mesh._select import COUNT_MAX, Candidate, Choice, choice_of, chosen


def made(number: int, distance: int = 2, weight: int = 1) -> Candidate:
    """A node."""
    return Candidate(f"tcp://h:{number}", number.to_bytes(16, "big"), distance, weight)


def test_all_are_chosen_but_those_without_weight() -> None:
    """Weight 0 is nobody who is new."""
    assert set(chosen(Choice("all"), [made(1), made(2, weight=0)], set(), "me")) == {"tcp://h:1"}


def test_the_nearest_are_those_of_the_best_distance_there_is() -> None:
    """This machine, else this zone, else all."""
    far, zone, near = made(1, 2), made(2, 1), made(3, 0)
    for there, expected in (([far, zone, near], near), ([far, zone], zone), ([far], far)):
        assert list(chosen(Choice("nearest"), there, set(), "me")) == [expected.url]


def test_so_many_are_chosen_and_those_that_are_connected_stay() -> None:
    """A newcomer takes nobody's place."""
    nodes = [made(i) for i in range(20)]
    first = chosen(Choice("n", 3), nodes[:10], set(), "me")
    assert len(first) == 3
    assert set(chosen(Choice("n", 3), nodes, set(first), "me")) == set(first)
    left = [one for one in nodes if one.url != next(iter(first))]
    again = chosen(Choice("n", 3), left, set(first), "me")
    assert len(again) == 3
    assert len(set(again) & set(first)) == 2


def test_a_hash_is_the_same_again_and_moves_few() -> None:
    """Of 1,000 names those of the node that went move, and no others."""
    nodes = [made(i) for i in range(10)]
    names = [f"n{i}" for i in range(1000)]
    before = {name: next(iter(chosen(choice_of("hash"), nodes, set(), name))) for name in names}
    after = {name: next(iter(chosen(choice_of("hash"), nodes[1:], set(), name))) for name in names}
    assert all(after[n] == before[n] for n in names if before[n] != nodes[0].url)
    assert all(50 < count < 170 for count in Counter(before.values()).values())


def test_a_hash_follows_weights() -> None:
    """Three times the weight is about three times the names."""
    nodes = [made(1), made(2, weight=3)]
    picked = Counter(
        next(iter(chosen(choice_of("hash"), nodes, set(), f"n{i}"))) for i in range(2000)
    )
    assert 2.3 < picked["tcp://h:2"] / picked["tcp://h:1"] < 3.9


def test_nobody_is_chosen_of_nobody() -> None:
    """Of each kind."""
    for kind in ("all", "nearest", "hash", "n"):
        assert chosen(Choice(kind, 2), [], set(), "me") == {}


@pytest.mark.parametrize(
    "wrong", ["", "some", "n=", "n=0", "n=-1", f"n={COUNT_MAX + 1}", "n=x", None]
)
def test_what_is_no_choice_is_refused(wrong: str) -> None:
    """With those there are."""
    with pytest.raises(mm.UsageError, match='it is "all", "nearest"'):
        choice_of(wrong)


def test_the_largest_number_is_one() -> None:
    """At the limit."""
    assert choice_of(f"n={COUNT_MAX}") == Choice("n", COUNT_MAX)
