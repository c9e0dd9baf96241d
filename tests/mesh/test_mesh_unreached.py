"""What a log is told of seeds that nobody can be reached by, and that it is told once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._mesh.told import Send
from meshmsg.mesh import EventKind, _link
from meshmsg.mesh._finding.unreached import AGAIN_S, TRIES, Attempts, Tried, Unreached
from tests.support.meshes import Process, eventually, node, until
from tests.support.pairs import WAIT_S, free_endpoints

WELL = Attempts(0, "")
REFUSED = "connection refused"
ONE, TWO = "tcp://10.0.0.1:7450", "tcp://10.0.0.2:7450"


def look(unreached: Unreached, now: float, dialed: Mapping[str, int], *seeds: Tried) -> list[str]:
    """What is told, by how often each address failed."""
    tried = {url: Attempts(count, REFUSED if count else "") for url, count in dialed.items()}
    return unreached.look(now, seeds or [Tried(ONE, WELL, (ONE,))], tried.get)


def test_a_seed_that_cannot_be_reached_is_told_once_by_name_with_how_and_how_often() -> None:
    """Then hourly."""
    unreached = Unreached()
    assert look(unreached, 0.0, {}) == []
    assert look(unreached, 1.0, {ONE: TRIES - 1}) == []
    (words,) = look(unreached, 2.0, {ONE: TRIES})
    assert (
        words == f"seed {ONE} cannot be reached: {REFUSED}, 3 attempts in a row; see mesh.explain"
    )
    assert look(unreached, 2.0 + AGAIN_S - 1, {ONE: 500}) == []
    (again,) = look(unreached, 2.0 + AGAIN_S, {ONE: 501})
    assert "501 attempts" in again


def test_a_seed_that_was_reached_meanwhile_is_told_of_again() -> None:
    """It is another failure."""
    unreached = Unreached()
    assert look(unreached, 0.0, {ONE: TRIES})
    assert look(unreached, 1.0, {ONE: 0}) == []
    assert look(unreached, 2.0, {ONE: 1}) == []
    assert look(unreached, 3.0, {ONE: TRIES})


def test_a_seed_of_which_one_address_can_be_reached_is_none() -> None:
    """Nor one that has an address which nobody has tried; that one is no success either."""
    unreached, seed = Unreached(), Tried("Dns('x', 1)", WELL, (ONE, TWO))
    assert look(unreached, 0.0, {ONE: 9, TWO: 0}, seed) == []
    assert look(unreached, 1.0, {ONE: 9}, seed) == []
    (words,) = look(unreached, 2.0, {ONE: 9, TWO: 3}, seed)
    assert words.startswith("seed Dns('x', 1) cannot be reached (none of 2 addresses): connection")
    new = Tried("Dns('x', 1)", WELL, (ONE, "tcp://10.0.0.3:7450"))
    assert look(unreached, 3.0, {ONE: 12}, new) == []
    assert look(unreached, 4.0, {ONE: 15, "tcp://10.0.0.3:7450": 3}, new) == []


def test_a_seed_that_fails_as_it_is_asked_is_told_of_as_well() -> None:
    """Whatever it said before."""
    unreached = Unreached()
    asked = [Tried("Dns('x', 1)", Attempts(n, "no such name"), (ONE,)) for n in range(TRIES + 1)]
    told = [look(unreached, float(n), {}, one) for n, one in enumerate(asked)]
    assert told[:TRIES] == [[]] * TRIES
    assert told[TRIES] == [
        "seed Dns('x', 1) failed 3 times in a row: no such name; see mesh.explain"
    ]


def test_a_seed_that_is_dead_is_one_warning_of_the_mesh_and_none_of_its_socket(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And `explain` says how often it was tried."""
    (dead,) = free_endpoints(1)
    with node("a", dead) as mesh:
        eventually(lambda: mesh._driver.link.attempts.get(dead, 0) > TRIES)
        (record,) = eventually(lambda: list(caplog.records))
        assert f"{dead}: connection refused, " in str(mesh.explain("b"))
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(f"Mesh 'a' of 'test': seed {dead} cannot be")
    assert len(caplog.records) == 1


def test_a_member_that_dies_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The mesh says that it is UNREACHABLE."""
    with node("a") as mesh:
        watch = mesh.watch()
        with Process("b", mesh.endpoint) as b:
            until(watch, EventKind.UP, "b")
        until(watch, EventKind.UNREACHABLE, "b")
        with mesh._driver.lock:
            mesh._driver.core.here.out.append(Send(b.endpoint, b"x", None))
        mesh._driver.ring()
        eventually(lambda: mesh._driver.link.attempts.get(b.endpoint))
    assert caplog.records == []


@pytest.mark.parametrize("role", [mm.Router, mm.Dealer])
def test_a_seed_that_shakes_hands_and_says_nothing_is_told_of(
    role: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket of somebody else, of a type that a mesh port can talk to."""
    monkeypatch.setattr(_link, "MUTE_S", 0.0)
    monkeypatch.setattr(_link, "IDLE_LOOK_S", 0.0)
    with role(bind="tcp://127.0.0.1:0") as other, node("a", other.endpoint) as mesh:
        said = eventually(lambda: [one for one in mesh.explain("b").lines() if _link.MUTE in one])
        assert said == [f"  {other.endpoint}: it {_link.MUTE}"]
        with pytest.raises(mm.TimedOutError, match="said nothing"):
            mesh.wait_for(count=2, timeout=0.01)
        (record,) = eventually(lambda: list(caplog.records))
        assert f"seed {other.endpoint} {_link.MUTE}" in record.getMessage()


def test_a_seed_that_speaks_is_told_of_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late its first word is."""
    monkeypatch.setattr(_link, "MUTE_S", -1.0)
    monkeypatch.setattr(_link, "IDLE_LOOK_S", 0.0)
    with node("a") as first, node("b", first.endpoint) as second:
        second.wait_for(count=2, timeout=WAIT_S)
        eventually(lambda: _link.MUTE not in str(second.explain(first.endpoint)))
        assert first.endpoint not in second._driver.link.elsewhere
