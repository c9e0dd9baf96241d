"""Surveyor and Respondent between threads and in simulated worlds: who is asked, who answers, when
a survey is over.

Not here: asyncio (test_aio_survey.py), the role alone (tests/c/test_survey.c).
"""

from __future__ import annotations

import gc
import math
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer
from tests.support.surveys import DEADLINE_S, simulated

UP = "tcp://127.0.0.1:0"
DEADLINES_S = (0.3, 3.0, WAIT_S)
"""Tried in turn: the first one is enough but on a slow machine."""


def test_everybody_is_asked_and_the_last_answer_ends_the_survey() -> None:
    """Long before the deadline; the answers say whose they are."""
    with simulated() as sim:
        began = sim.world.now
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        for i in (2, 0, 1):
            assert sim.answer(i) == [True]
            sim.world.run(0.1)
        ids = [p.id for p in sim.asker.peers()]
        assert [(bytes(a), a.peer) for a in survey] == [
            (b"2", ids[2]),
            (b"0", ids[0]),
            (b"1", ids[1]),
        ]
        assert sim.world.now - began < 1.0
        assert survey.asked == tuple(sorted(ids))
        assert survey.answered == (ids[2], ids[0], ids[1])
        assert survey.missing == ()
        assert list(survey) == []


def test_at_the_deadline_the_survey_says_who_is_missing() -> None:
    """On the clock of the engine."""
    with simulated() as sim:
        began = sim.world.now
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(1)
        assert [bytes(a) for a in survey] == [b"1"]
        assert sim.world.now - began == pytest.approx(DEADLINE_S, abs=0.01)
        ids = survey.asked
        assert (survey.answered, survey.missing) == ((ids[1],), (ids[0], ids[2]))


def test_an_answer_after_the_deadline_is_late_even_if_nobody_waited_for_it() -> None:
    """What came in time is still given out, what came later is not."""
    with simulated(2) as sim:
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(0)
        sim.world.run(DEADLINE_S + 0.1)
        assert sim.answer(1) == [True]
        sim.world.run(1.0)
        assert [bytes(a) for a in survey] == [b"0"]
        assert sim.asker.stats().dropped_late == 1
        assert mm.EventKind.LATE_REPLY in [event.kind for event in sim.asker.events()]


def test_as_many_answers_as_expected_end_the_survey() -> None:
    """Who answers after them is late; more than there are peers is one of each."""
    with simulated() as sim:
        began = sim.world.now
        two = sim.asker.survey(b"two?", deadline=DEADLINE_S, expect=2)
        sim.answer(0, 1, 2)
        assert len(list(two)) == 2
        assert len(two.missing) == 1
        many = sim.asker.survey(b"many?", deadline=DEADLINE_S, expect=99)
        sim.answer(0, 1, 2)
        assert len(list(many)) == 3
        assert sim.world.now - began < DEADLINE_S
        assert sim.asker.stats().dropped_late == 1


def test_a_peer_that_leaves_is_not_waited_for() -> None:
    """The survey ends when nobody is left who could answer."""
    with simulated(2) as sim:
        began = sim.world.now
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(0)
        sim.peers[1].recv(timeout=WAIT_S)
        sim.peers[1].close()
        assert [bytes(a) for a in survey] == [b"0"]
        assert sim.world.now - began < 1.0
        assert survey.missing == survey.asked[1:]


def test_with_nobody_there_a_survey_is_over_at_once() -> None:
    """It asked nobody, and that is counted."""
    with simulated(0) as sim:
        survey = sim.asker.survey(b"anybody?", deadline=DEADLINE_S)
        assert list(survey) == []
        assert (survey.asked, survey.answered, survey.missing) == ((), (), ())
        assert sim.world.now < DEADLINE_S
        assert sim.asker.stats().dropped_no_peer == 1


def test_many_surveys_at_once_each_get_their_own_answers() -> None:
    """Answered last to first, read first to last."""
    with simulated(1) as sim:
        surveys = [sim.asker.survey(b"%d" % i, deadline=DEADLINE_S) for i in range(100)]
        requests = [sim.peers[0].recv(timeout=WAIT_S) for _ in surveys]
        for request in reversed(requests):
            assert request.reply(request + b"!")
        for i, survey in enumerate(surveys):
            assert [bytes(a) for a in survey] == [b"%d!" % i]


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_a_survey_that_is_given_up_is_forgotten(how: str) -> None:
    """Answers that were there, and those that come, are late; closing twice is harmless."""
    with simulated(2) as sim:
        survey = sim.asker.survey(b"who?", deadline=DEADLINE_S)
        sim.answer(0)
        sim.world.run(1.0)
        if how == "closed":
            survey.close()
            survey.close()
            assert list(survey) == []
        else:
            del survey
            gc.collect()
        assert sim.asker.stats().dropped_late == 1
        sim.answer(1)
        sim.world.run(1.0)
        assert sim.asker.stats().dropped_late == 2


def test_a_full_queue_misses_the_question_and_its_peer_is_missing() -> None:
    """The default, drop_newest: counted, told, not waited for."""
    options: dict[str, Any] = {"send_queue_messages": 1}
    with simulated(1, **options) as sim:
        [peer] = [p.id for p in sim.asker.peers()]
        sim.world.partition(sim.asker._engine, sim.peers[0]._engine, 1000.0)
        surveys = []
        while sim.asker.stats().dropped_overflow == 0:
            surveys.append(sim.asker.survey(b"x" * 300_000, deadline=DEADLINE_S))
            assert len(surveys) < 10
        began = sim.world.now
        last = surveys[-1]
        assert list(last) == []
        assert (last.asked, last.missing) == ((peer,), (peer,))
        assert sim.world.now == began
        assert mm.EventKind.DROPPED in [event.kind for event in sim.asker.events()]


@pytest.mark.parametrize(
    ("overflow", "error"), [("error", mm.WouldBlockError), ("block", mm.TimedOutError)]
)
def test_a_survey_that_may_not_miss_anybody_asks_all_or_raises(
    overflow: str, error: type[Exception]
) -> None:
    """Within the deadline; nobody is asked."""
    options: dict[str, Any] = {"send_queue_messages": 1, "overflow": overflow}
    with simulated(2, **options) as sim:
        sim.world.partition(sim.asker._engine, sim.peers[0]._engine, 1000.0)
        with pytest.raises(error):
            for _ in range(10):
                sim.asker.survey(b"x" * 300_000, deadline=0.5)
        asked = sim.asker.stats().sent_messages
        assert len([sim.peers[1].recv(timeout=1.0) for _ in range(asked)]) == asked
        with pytest.raises(mm.TimedOutError):
            sim.peers[1].recv(timeout=1.0)


def test_an_answer_to_who_is_gone_is_refused() -> None:
    """reply says False, and counts it; a second answer is a mistake."""
    with simulated(1) as sim:
        sim.asker.survey(b"1", deadline=DEADLINE_S)
        first = sim.peers[0].recv(timeout=WAIT_S)
        assert first.reply(b"x")
        with pytest.raises(mm.UsageError, match="answered already"):
            first.reply(b"y")
        sim.asker.survey(b"2", deadline=DEADLINE_S)
        second = sim.peers[0].recv(timeout=WAIT_S)
        sim.asker.close()
        sim.world.run(5.0)
        assert not second.reply(b"x")
        assert sim.peers[0].stats().dropped_peer_gone == 1


def test_what_was_parsed_is_received_queued_or_counted() -> None:
    """The accounting identity of the asker, per peer on its sending side."""
    with simulated() as sim:
        untaken = sim.asker.survey(b"untaken", deadline=DEADLINE_S)
        sim.answer(0, 1)
        taken = sim.asker.survey(b"taken", deadline=DEADLINE_S)
        sim.peers[2].recv(timeout=WAIT_S)
        sim.answer(0, 1, 2)
        assert len(list(taken)) == 3
        stats = sim.asker.stats()
        assert (stats.queued_in_messages, stats.received_messages) == (2, 3)
        assert stats.parsed_messages == stats.received_messages + stats.queued_in_messages
        assert (stats.sent_messages, stats.written_messages) == (2, 6)
        assert sim.asker.drain(timeout=WAIT_S).delivered == 6
        untaken.close()
        stats = sim.asker.stats()
        assert (stats.queued_in_messages, stats.dropped_late) == (0, 2)


# ---- on real engines ----


@contextmanager
def served(answers: list[bytes | None], **options: Any) -> Iterator[mm.Surveyor]:
    """A Surveyor whose peers answer with the question and this; None never answers."""

    def serve(peer: mm.Respondent, answer: bytes | None) -> None:
        for request in peer:
            if answer is not None:
                request.reply(request + answer)

    with mm.Surveyor(bind=UP, **options) as asker:
        peers = [mm.Respondent(connect=asker.endpoint) for _ in answers]
        threads = [
            threading.Thread(target=serve, args=(peer, answer))
            for peer, answer in zip(peers, answers, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            asker.wait_for_peers(len(answers), timeout=WAIT_S)
            yield asker
        finally:
            for peer in peers:
                peer.close()
            for thread in threads:
                thread.join(WAIT_S)


def test_many_threads_survey_at_once() -> None:
    """Each gets the answers to its own questions, whatever the others do."""
    wrong: list[object] = []

    def ask(who: int) -> None:
        for number in range(20):
            body = b"%d %d" % (who, number)
            found = sorted(map(bytes, asker.survey(body, deadline=WAIT_S)))
            if found != [body + b"a", body + b"b"]:
                wrong.append((body, found))

    with served([b"a", b"b"]) as asker:
        threads = [threading.Thread(target=ask, args=(who,)) for who in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert wrong == []
        assert asker.stats().received_messages == 400


def test_an_answer_wakes_only_who_waits_for_it() -> None:
    """A thread whose survey nobody answers sleeps through 500 surveys of another one."""
    silent_asked = threading.Event()
    switches: list[int] = []

    def wait_for_nothing() -> None:
        survey = asker.survey(b"silence", deadline=WAIT_S)
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        silent_asked.set()
        assert list(survey) == []
        switches.append(resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before)

    with mm.Surveyor(bind=UP) as asker, mm.Respondent(connect=asker.endpoint) as peer:
        peer.fileno()  # so that the engine's own thread polls, and no thread that waits does for it
        asker.wait_for_peers(timeout=WAIT_S)
        thread = threading.Thread(target=wait_for_nothing)
        thread.start()
        assert silent_asked.wait(WAIT_S)
        assert peer.recv(timeout=WAIT_S) == b"silence"
        for _ in range(500):
            survey = asker.survey(b"q", deadline=WAIT_S)
            peer.recv(timeout=WAIT_S).reply(b"a")
            assert [bytes(a) for a in survey] == [b"a"]
        peer.close()  # which ends the silence
        thread.join(WAIT_S)
        assert switches
        assert switches[0] < 250


def test_two_threads_may_share_a_survey() -> None:
    """Each answer goes to one of them, and both come to the end."""
    with served([b"%d" % i for i in range(8)]) as asker:
        survey = asker.survey(b"", deadline=WAIT_S)
        found: list[list[bytes]] = [[], []]

        def read(into: list[bytes]) -> None:
            into.extend(map(bytes, survey))

        threads = [threading.Thread(target=read, args=(into,)) for into in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert sorted(found[0] + found[1]) == [b"%d" % i for i in range(8)]
        assert len(survey.answered) == 8


def test_a_deadline_passes_on_a_main_thread_that_looks_at_signals() -> None:
    """The wait is cut into slices; the survey is not."""
    with served([b"!", None]) as asker:
        for deadline in DEADLINES_S:
            survey = asker.survey(b"q", deadline=deadline)
            found = [bytes(a) for a in survey]
            if found:
                break
        assert found == [b"q!"]
        assert len(survey.missing) == 1


def test_closing_the_socket_ends_a_wait_with_an_error() -> None:
    """From a signal handler here; the answers are not complete, so it is no ordinary end."""
    with served([None]) as asker:
        survey = asker.survey(b"q", deadline=math.inf)
        before = signal.signal(signal.SIGALRM, lambda *_: asker.close())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(mm.ClosedError):
                next(survey)
        finally:
            signal.signal(signal.SIGALRM, before)
        with pytest.raises(mm.ClosedError):
            asker.survey(b"q")


@pytest.mark.parametrize("deadline", [0, -1.0, math.nan, True, "1", None])
def test_a_deadline_that_is_none_is_refused(deadline: Any) -> None:
    """Before anybody is asked."""
    with mm.Surveyor() as asker:
        with pytest.raises(mm.UsageError, match="deadline is"):
            asker.survey(b"q", deadline=deadline)
        assert asker.stats().sent_messages == 0


@pytest.mark.parametrize("expect", [0, -1, 1.5, True, 2**32])
def test_a_number_of_answers_that_is_none_is_refused(expect: Any) -> None:
    """None alone means all."""
    with mm.Surveyor() as asker, pytest.raises(mm.UsageError, match="expect is"):
        asker.survey(b"q", expect=expect)


def test_a_question_is_bytes_within_the_limit() -> None:
    """As for any send."""
    with mm.Surveyor(message_size_max=10) as asker:
        with pytest.raises(mm.TooLargeError, match="11 bytes"):
            asker.survey(b"x" * 11)
        with pytest.raises(TypeError, match="encode it"):
            asker.survey("text")  # type: ignore[arg-type]


def test_large_answers_come_by_reference() -> None:
    """Whole, with their peer."""
    with served([b"y" * 400_000]) as asker:
        [answer] = asker.survey(b"x" * 300_000, deadline=WAIT_S)
        assert answer == b"x" * 300_000 + b"y" * 400_000
        assert answer.peer == asker.peers()[0].id


@pytest.mark.parametrize("count", [255, 256, 257])
def test_more_peers_than_one_look_tells_of_are_asked(count: int) -> None:
    """One look into the core tells of 256."""
    with mm.Surveyor(bind="inproc://crowd") as asker, ExitStack() as stack:
        peers = [stack.enter_context(mm.Respondent(connect="inproc://crowd")) for _ in range(count)]
        asker.wait_for_peers(count, timeout=WAIT_S)
        survey = asker.survey(b"q", deadline=WAIT_S)
        assert survey.asked == tuple(sorted(peer.id for peer in asker.peers()))
        assert survey.missing == survey.asked
        for peer in peers:
            assert peer.recv(timeout=WAIT_S).reply(b"a")
        assert len(list(survey)) == count
        assert survey.asked == tuple(sorted(survey.answered))


# ---- against raw octets ----


def test_a_survey_and_its_answer_are_what_the_wire_document_says() -> None:
    """Byte for byte; wrong answers are counted, and the right one still counts."""
    with mm.Surveyor(bind=UP) as asker, RawPeer(asker.endpoint) as raw:
        raw.shake(b"RESPONDENT")
        asker.wait_for_peers(timeout=WAIT_S)
        survey = asker.survey(b"who?", deadline=WAIT_S)
        (flags, head), empty, last = raw.frame(), raw.frame(), raw.frame()
        assert (flags, len(head), head[0] & 0x80) == (ref.MORE, 4, 0x80)
        assert (empty, last) == ((ref.MORE, b""), (0, b"who?"))
        number = int.from_bytes(head, "big")
        raw.send(ref.message(b"no id") + ref.message(head, b"not empty", b"x"))
        raw.send(ref.message(head, b"") + ref.survey(number & 0x7FFFFFFF, b"a word, no id"))
        raw.send(ref.survey(number, b"me") + ref.survey(number, b"me again"))
        assert [bytes(a) for a in survey] == [b"me"]
        raw.send(ref.survey(number, b"me, too late") + ref.ping(0, b"behind"))
        while not raw.frame()[1].startswith(b"\x04PONG"):
            continue
        stats = asker.stats()
        assert (stats.dropped_malformed, stats.dropped_late) == (3, 3)
        assert stats.parsed_messages == stats.received_messages + stats.dropped


def test_an_answer_goes_back_along_the_way_of_its_survey() -> None:
    """The words before the id, the id, the delimiter; without an id it is no survey."""
    way = b"\0\0\0\x07\x80\0\0\x01"
    with mm.Respondent(bind=UP) as peer, RawPeer(peer.endpoint) as raw:
        raw.shake(b"SURVEYOR")
        raw.send(ref.message(b"no survey") + ref.survey(1, b"no mark"))
        raw.send(ref.message(way, b"", b"one", b"two"))
        request = peer.recv(timeout=WAIT_S)
        assert (request, request.frames) == (b"two", (b"one", b"two"))
        assert request.reply(b"answer")
        assert [raw.frame()[1] for _ in range(3)] == [way, b"", b"answer"]
        assert peer.stats().dropped_malformed == 2
