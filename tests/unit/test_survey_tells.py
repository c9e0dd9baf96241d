"""What a survey tells of itself and of those it asked, sync and asyncio."""

from __future__ import annotations

import asyncio
import math
import pickle
import pydoc
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S
from tests.support.surveys import DEADLINE_S, simulated

UPS = pytest.mark.parametrize("up", ["tcp://127.0.0.1:0", "ipc://{}/s", "inproc://tells"])


@UPS
@pytest.mark.parametrize("mode", ["sync", "asyncio"])
def test_who_is_missing_is_told_with_the_address_it_has_or_had(
    up: str, mode: str, tmp_path: Any
) -> None:
    """Still an int, as in `asked`; also of a peer that left before it was looked at."""
    kind: Any = mm.Surveyor if mode == "sync" else aio.Surveyor
    asker = kind(bind=up.format(tmp_path))
    peers = [mm.Respondent(connect=asker.endpoint) for _ in range(2)]
    while len(asker.peers()) < 2:
        pass
    places = {peer.id: peer.address for peer in asker.peers()}
    survey = asker.survey(b"who?", deadline=math.inf)
    assert {peer: peer.address for peer in survey.missing} == places
    assert survey.missing == survey.asked
    other = asker.survey(b"who?", deadline=math.inf)
    peers[0].close()
    while len(asker.peers()) > 1:
        pass
    assert {peer.id: peer.address for peer in other.missing} == places
    asker.close()
    assert {peer.id: peer.address for peer in survey.missing} == places
    peers[1].close()


def test_a_peer_that_was_asked_survives_pickling_and_shows_itself() -> None:
    """An int with an address."""
    peer = mm.AskedPeer(7, "tcp://127.0.0.1:5555")
    again = pickle.loads(pickle.dumps(peer))
    assert (again, again.address, type(again)) == (7, peer.address, mm.AskedPeer)
    assert repr(peer) == "AskedPeer(7, address='tcp://127.0.0.1:5555')"


def test_a_survey_shows_how_it_stands_on_the_clock_of_its_engine() -> None:
    """Asked, answered, missing, and the time left, which is simulated here."""
    with simulated(3) as sim:
        survey = sim.asker.survey(b"q", deadline=DEADLINE_S)
        sim.answer(1)
        next(survey)
        sim.world.run(1)
        shown = repr(survey)
        assert shown.startswith("<meshmsg.Survey: 3 asked, 1 answered, 2 missing, at most ")
        left = float(shown.split("at most ")[1].split(" s left")[0])
        assert 0 < left <= DEADLINE_S - 1
        sim.world.run(DEADLINE_S)
        assert repr(survey).endswith(" missing, over>")
        sim.answer(0, 2)
        endless = sim.asker.survey(b"q", deadline=math.inf)
        assert repr(endless).endswith("3 missing, no deadline>")
        sim.answer(0, 1, 2)
        assert len(list(endless)) == 3
        assert repr(endless).endswith("3 answered, 0 missing, over>")


def test_an_asyncio_survey_shows_how_it_stands() -> None:
    """With the same words."""

    async def main() -> None:
        async with aio.Surveyor(bind="inproc://shows") as asker:
            survey = asker.survey(b"q", deadline=WAIT_S)
            assert repr(survey).startswith("<meshmsg.Survey: 0 asked, 0 answered, 0 missing, ")
            assert [answer async for answer in survey] == []
            assert repr(survey).endswith(", over>")

    asyncio.run(main())


def test_the_help_of_a_request_is_about_requests() -> None:
    """Not about how an attribute is fetched."""
    text = pydoc.render_doc(mm.Request, renderer=pydoc.plaintext)
    assert "attrgetter" not in text
    assert "Who asked" in text
