"""Answers of a survey that come together: what is given out, what is late, whose they were.

Not here: who is asked and when a survey is over (test_survey.py), asyncio (test_aio_survey.py).
"""

from __future__ import annotations

import gc
import threading
from contextlib import ExitStack

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S
from tests.support.surveys import DEADLINE_S, simulated


@pytest.mark.parametrize("how", ["closed", "dropped", "looped over and dropped"])
def test_answers_that_came_together_and_were_not_wanted_are_late(how: str) -> None:
    """One was given out and counts as received; the others, taken with it, as late."""
    with simulated() as sim:
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(0, 1, 2)
        sim.world.run(0.1)
        answer = next(iter(survey) if "looped" in how else survey)
        assert survey.answered == (answer.peer,)
        assert len(survey.missing) == 2
        if how == "closed":
            survey.close()
            assert list(survey) == []
        else:
            del survey
            gc.collect()
        stats = sim.asker.stats()
        assert (stats.received_messages, stats.received_bytes) == (1, 1)
        assert stats.dropped_late == 2


def test_more_answers_than_are_taken_at_once_are_all_given_out() -> None:
    """Each from its peer, in the order they came."""
    count = 80
    with simulated(count) as sim:
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(*range(count))
        sim.world.run(0.1)
        answers = [(bytes(a), a.peer) for a in survey]
        ids = survey.asked
        assert sorted(answers) == sorted((b"%d" % i, ids[i]) for i in range(count))
        assert survey.missing == ()
        assert sim.asker.stats().received_messages == count


def test_a_loop_goes_by_way_of_next_only_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is there costs it no call of Python's."""
    with simulated(3) as sim:
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(0, 1, 2)
        sim.world.run(0.1)
        asked: list[mm.Survey] = []

        def ends(self: mm.Survey) -> mm.Message:
            asked.append(self)
            raise StopIteration

        monkeypatch.setattr(mm.Survey, "__next__", ends)
        assert len(list(survey)) == 3
        assert asked == [survey]


def test_large_answers_come_whole_beside_small_ones() -> None:
    """Only what is worth a copy is taken together."""
    sizes = [1, 3_000_000, 10, 70_000, 100, 0, 2_000_000]
    with simulated(len(sizes)) as sim:
        survey = sim.asker.survey(b"how many?", deadline=DEADLINE_S)
        for peer, size in zip(sim.peers, sizes, strict=True):
            assert peer.recv(timeout=WAIT_S).reply(b"x" * size)
            sim.world.run(0.1)
        assert [len(answer) for answer in survey] == sizes


def test_who_answered_is_told_as_answers_are_given_out() -> None:
    """Not as they are taken: what is left of a loop that was left is given out by the next."""
    with simulated(5) as sim:
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(0, 1, 2, 3, 4)
        sim.world.run(0.1)
        given: list[int] = []
        for answer in survey:
            given.append(int(answer.peer))
            assert survey.answered == tuple(given)
            if len(given) == 2:
                break
        assert len(survey.missing) == 3
        given += [int(answer.peer) for answer in survey]
        assert survey.answered == tuple(given)
        assert sorted(given) == list(survey.asked)


def test_answers_reach_every_thread_that_waits_for_them() -> None:
    """Of one survey that two threads go through: none waits for what the other holds."""
    with (
        mm.Surveyor(bind="inproc://threads") as asker,
        ExitStack() as stack,
    ):
        peers = [stack.enter_context(mm.Respondent(connect="inproc://threads")) for _ in range(40)]
        asker.wait_for_peers(len(peers), timeout=WAIT_S)
        survey = asker.survey(b"who?", deadline=WAIT_S)
        found: list[bytes] = []
        threads = [
            threading.Thread(target=lambda: found.extend(map(bytes, survey)), daemon=True)
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for i, peer in enumerate(peers):
            assert peer.recv(timeout=WAIT_S).reply(b"%d" % i)
        for thread in threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        assert sorted(found) == sorted(b"%d" % i for i in range(len(peers)))
