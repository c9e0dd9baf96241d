"""As on machines with other numbers of processors: who waits spins only on more than two, and helps
to write only there.

Not here: what is gained by it (bench). Law: whatever the engine believes, nothing is lost, doubled
or out of order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._socket import engine
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, endpoint_for
from tests.unit import test_thread_stress as stress

ASKED = 40
"""Peers of a survey: over 32, a thread that waits helps to write."""
ROUNDS = 30
PUBLISHED = 3_000


@pytest.fixture(autouse=True, params=[1, 4, 16])
def processors(request: pytest.FixtureRequest) -> Iterator[int]:
    """So many, for the engines of the test; the default engine is opened anew."""
    engine.close_all()
    lib.mm_test_cpus(request.param)
    yield request.param
    lib.mm_test_cpus(0)


@pytest.mark.parametrize(
    "scene",
    [
        stress.test_publishing_from_many_threads_reaches_every_subscriber_whole_and_in_order,
        stress.test_requests_and_answers_of_many_threads_find_each_other,
        stress.test_looking_in_never_disturbs_who_sends_and_receives,
    ],
    ids=["publishing", "requests", "looking"],
)
def test_many_threads_do_as_on_this_machine(scene: Callable[[], None]) -> None:
    """The scenes of the thread tests, unchanged."""
    scene()


@pytest.mark.parametrize("spin", [0.0, 0.0005, "auto"])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_round_trips_with_and_without_spinning(transport: str, spin: Any, short_path: Path) -> None:
    """Requests and answers in turn: each answer is that of its request."""
    with (
        mm.Rep(bind=endpoint_for(transport, short_path), spin=spin) as rep,
        mm.Req(connect=rep.endpoint, spin=spin) as req,
    ):

        def answers() -> None:
            for _ in range(ROUNDS):
                request = rep.recv(timeout=WAIT_S)
                request.reply(request + b"!")

        answering = threading.Thread(target=answers)
        answering.start()
        for number in range(ROUNDS):
            assert req.request(b"%d" % number, timeout=WAIT_S) == b"%d!" % number
        answering.join(WAIT_S)
        assert not answering.is_alive()


def test_a_survey_of_many_is_written_by_two_threads_and_answered_by_all() -> None:
    """Whoever writes which half: every peer is asked once, and heard once."""
    with mm.Surveyor(bind="tcp://127.0.0.1:0") as surveyor:
        nodes = [mm.Respondent(connect=surveyor.endpoint) for _ in range(ASKED)]

        def answer(node: mm.Respondent) -> None:
            for request in node:
                request.reply(request)

        threads = [threading.Thread(target=answer, args=(node,)) for node in nodes]
        for thread in threads:
            thread.start()
        surveyor.wait_for_peers(ASKED, timeout=WAIT_S)
        for number in range(ROUNDS):
            answers = list(surveyor.survey(b"%d" % number, deadline=WAIT_S))
            assert [bytes(answer) for answer in answers] == [b"%d" % number] * ASKED
            assert len({answer.peer for answer in answers}) == ASKED
        for node in nodes:
            node.close()
        for thread in threads:
            thread.join(WAIT_S)


def test_a_burst_to_many_subscribers_arrives_in_order() -> None:
    """Written by the runner, by the publisher and by who waits, in turn."""
    with mm.Pub(bind="tcp://127.0.0.1:0", overflow="block") as pub:
        subs = [mm.Sub(connect=pub.endpoint, topics=[""]) for _ in range(ASKED)]
        pub.wait_for_subscribers("", ASKED, timeout=WAIT_S)
        seen: list[list[int]] = [[] for _ in subs]

        def take(sub: mm.Sub, into: list[int]) -> None:
            while len(into) < PUBLISHED:
                into += [int(body) for body in sub.recv_many(PUBLISHED, timeout=WAIT_S)]

        threads = [threading.Thread(target=take, args=a) for a in zip(subs, seen, strict=True)]
        for thread in threads:
            thread.start()
        for number in range(PUBLISHED):
            pub.send(b"%d" % number, timeout=WAIT_S)
        for thread in threads:
            thread.join(WAIT_S)
        assert all(found == list(range(PUBLISHED)) for found in seen)
        for sub in subs:
            sub.close()
