"""A seed that does not answer: it holds up no other one, and it is told of."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random

import pytest

import meshmsg as mm
from meshmsg.mesh import Callback, Mesh, Static
from meshmsg.mesh._finding import asking
from meshmsg.mesh._finding.asking import Seeding
from meshmsg.mesh._finding.seeds import Found, Seed
from meshmsg.mesh._finding.unreached import Unreached
from tests.support.feeding import World
from tests.support.meshes import WAIT_S, eventually, node, node_of

SILENCE = "it was asked [0-9.]+ s ago and has not answered"


class Hangs(Seed):
    """As a folder of a machine that is gone, or names of a server that is."""

    def __init__(self) -> None:
        self.asked, self.gone = 0, 0
        self.goes_on = threading.Event()

    def _find(self, own: str) -> Found:
        self.asked += 1
        assert self.goes_on.wait(WAIT_S)
        return Found(["tcp://h:1"], None)

    def _gone(self) -> None:
        self.gone += 1

    def __repr__(self) -> str:
        return "Hangs()"


@pytest.fixture
def hangs() -> Iterator[Hangs]:
    """It goes on as the test ends."""
    made = Hangs()
    yield made
    made.goes_on.set()


@pytest.fixture
def other() -> Iterator[Mesh]:
    """A node that is to be found."""
    with node("other") as made:
        yield made


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_others_are_asked_whatever_the_order(
    world: World, other: Mesh, hangs: Hangs, first: bool
) -> None:
    """Plain addresses, and functions."""
    more = threading.Event()
    seeds = [Callback(lambda: [more.set(), other.endpoint][1:])]  # type: ignore[func-returns-value]
    with node_of(world, "a", *([hangs, *seeds] if first else [*seeds, hangs])) as mesh:
        mesh.wait_for(count=2, timeout=WAIT_S)
        assert more.is_set()
    with node_of(world, "b", *([hangs, other.endpoint] if first else [other.endpoint, hangs])) as b:
        b.wait_for(count=2, timeout=WAIT_S)


def test_a_function_that_hangs_is_said_by_who_waits_in_vain_and_explained(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For how long it has not answered."""
    monkeypatch.setattr(asking, "SLOW_S", 0.0)
    goes_on = threading.Event()
    with node_of(world, "a", Callback(lambda: [][: goes_on.wait(WAIT_S)])) as mesh:
        eventually(lambda: mesh._driver.seeding.infos(str)[0].waiting)
        with pytest.raises(mm.TimedOutError, match=rf"seed Callback\(.*\): {SILENCE}"):
            mesh.wait_for(count=2, timeout=0.01)
        lines = mesh.explain("a").lines()
        assert any("has not answered" in line for line in lines)
        goes_on.set()
        eventually(lambda: not any("has not answered" in one for one in mesh.explain("a").lines()))


def test_one_that_hangs_is_asked_again_only_when_it_has_answered(hangs: Hangs) -> None:
    """Then at once, if that was asked for; as the end comes, it is told so by its own thread."""
    found: list[list[str]] = []
    seeding = Seeding(
        [hangs, Static(["a:1"])], local=True, rng=Random(1), own=lambda: "", found=found.append
    )
    eventually(lambda: found == [["tcp://a:1"]] and hangs.asked == 1)
    for _ in range(3):
        seeding.ask_again()
    seeding.close()
    assert (hangs.asked, hangs.gone) == (1, 0)
    hangs.goes_on.set()
    eventually(lambda: hangs.gone == 1)
    assert hangs.asked == 1
    assert found == [["tcp://a:1"]], "it is over"


def test_the_log_is_told_of_one_that_hangs_for_long(
    hangs: Hangs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, as of one that fails."""
    seeding = Seeding([hangs], local=True, rng=Random(1), own=lambda: "", found=lambda _: None)
    eventually(lambda: hangs.asked)
    unreached = Unreached()
    assert unreached.look(0.0, seeding.tried(), lambda _: None) == []
    monkeypatch.setattr(asking, "HANGS_S", 0.0)
    monkeypatch.setattr(asking, "SLOW_S", 0.0)
    (words,) = unreached.look(1.0, seeding.tried(), lambda _: None)
    assert words.startswith("seed Hangs() it was asked ")
    assert unreached.look(2.0, seeding.tried(), lambda _: None) == []
    seeding.close()
