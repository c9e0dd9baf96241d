"""What is told at a node that others hear, and cannot reach where it says that it is.

Not here: how it knows (tests/sim/mesh/test_reached.py).
"""

from __future__ import annotations

import logging

import pytest

from meshmsg._mesh.joining import reached
from meshmsg.mesh._finding.unasked import Unasked, nobody_reaches
from meshmsg.mesh._finding.unreached import AGAIN_S
from meshmsg.mesh._place import Place
from tests.support.meshes import eventually, node
from tests.support.pairs import free_endpoints

BOUND, SAID = "tcp://10.0.0.5:7450", "tcp://10.0.0.6:7450"


def test_it_is_told_once_an_hour_whatever_is_so_meanwhile() -> None:
    """A network that comes and goes is no flood of the log."""
    unasked = Unasked()
    assert unasked.look(0.0, "") == []
    assert unasked.look(1.0, "nobody") == ["nobody; see mesh.explain"]
    assert unasked.look(2.0, "") == []
    assert unasked.look(AGAIN_S, "nobody") == []
    assert unasked.look(AGAIN_S + 1.0, "nobody") == ["nobody; see mesh.explain"]


@pytest.mark.parametrize(
    ("advertise", "words"),
    [
        ([SAID, BOUND], f"{SAID}, {BOUND} (advertise=), and is bound to {BOUND}"),
        ("auto", f"{BOUND}, and is bound to {BOUND}"),
    ],
)
def test_it_says_where_the_node_says_that_it_is_and_where_it_is_bound(
    advertise: str | list[str], words: str
) -> None:
    """And whether that is what the user said; nothing, if it is reached."""
    place = Place(BOUND, advertise)
    assert f"hold it UNREACHABLE: it says that it is at {words};" in nobody_reaches(place, 12.3)
    assert nobody_reaches(place, None) == ""


def test_a_node_whose_advertise_is_wrong_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By the log and by explain of itself; the others, and one that is reached, are not."""
    monkeypatch.setattr(reached, "UNASKED", 5.0)
    (nowhere,) = free_endpoints(1)
    with caplog.at_level(logging.WARNING), node("a") as a, node("b", a.endpoint) as b:
        with node("x", a.endpoint, advertise=nowhere) as x:
            eventually(lambda: f"at {nowhere} (advertise=)" in str(x.explain("x")))
            told = f"{nowhere} (advertise=), and is bound to {x._driver.link.address};"
            eventually(lambda: any(told in one.getMessage() for one in caplog.records))
            (record,) = [one for one in caplog.records if "hold it UNREACHABLE" in one.getMessage()]
            assert record.getMessage().startswith("Mesh 'x' of ")
            assert "hold it UNREACHABLE" not in f"{a.explain('a')}{b.explain('b')}"
