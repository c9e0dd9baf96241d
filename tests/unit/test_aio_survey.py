"""Surveyor, Respondent and Bus for asyncio: many tasks at once, cancelled ones, loops and sockets
that end."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

import meshmsg as mm
from meshmsg import aio
from tests.support.looped import until
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
RUNNERS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


@asynccontextmanager
async def linked(
    count: int = 2, **options: Any
) -> AsyncIterator[tuple[aio.Surveyor, list[mm.Respondent]]]:
    """An asyncio Surveyor and some sync Respondents, all connected, in the order of their ids."""
    async with aio.Surveyor(bind=UP, **options) as asker:
        peers = []
        try:
            for i in range(count):
                peers.append(mm.Respondent(connect=asker.endpoint))
                await asker.wait_for_peers(i + 1, timeout=WAIT_S)
            yield asker, peers
        finally:
            for peer in peers:
                peer.close()


async def receive(peer: mm.Respondent) -> mm.Request:
    """Receive in a thread, while the loop runs."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, lambda: peer.recv(timeout=WAIT_S))


async def bodies(survey: aio.Survey) -> list[bytes]:
    """Return all its answers."""
    return [bytes(answer) async for answer in survey]


@RUNNERS
def test_everybody_is_asked_and_the_last_answer_ends_the_survey(run: Callable[..., None]) -> None:
    """Each answer says whose it is; the question went out before anybody iterated."""

    async def main() -> None:
        async with linked() as (asker, peers):
            survey = asker.survey(b"who?", deadline=WAIT_S)
            assert (len(survey.asked), asker.stats().sent_messages) == (2, 1)
            asking = asyncio.ensure_future(bodies(survey))
            for i, peer in enumerate(peers):
                (await receive(peer)).reply(b"%d" % i)
            assert sorted(await asking) == [b"0", b"1"]
            assert survey.asked == tuple(sorted(survey.answered))
            assert survey.missing == ()
            assert await bodies(survey) == []

    run(main())


@RUNNERS
def test_at_the_deadline_the_survey_says_who_is_missing(run: Callable[..., None]) -> None:
    """What came in time was given out."""

    async def main() -> None:
        async with linked() as (asker, peers):
            for deadline in (0.3, 3.0, WAIT_S):  # the first one is enough but on a slow machine
                survey = asker.survey(b"who?", deadline=deadline)
                asking = asyncio.ensure_future(bodies(survey))
                (await receive(peers[1])).reply(b"1")
                found = await asking
                if found:
                    break
            assert found == [b"1"]
            assert survey.missing == survey.asked[:1]

    run(main())


@RUNNERS
def test_hundreds_of_tasks_survey_at_once(run: Callable[..., None]) -> None:
    """More than one look tells of; each gets its own answers."""

    async def main() -> None:
        async with linked(0) as (asker, _):
            peers = [aio.Respondent(connect=asker.endpoint) for _ in range(2)]

            async def serve(peer: aio.Respondent) -> None:
                async for request in peer:
                    request.reply(request + b"!")

            serving = [asyncio.ensure_future(serve(peer)) for peer in peers]
            await asker.wait_for_peers(2, timeout=WAIT_S)
            surveys = [asker.survey(b"%d" % i, deadline=WAIT_S) for i in range(700)]
            found = await asyncio.gather(*map(bodies, surveys))
            assert found == [[b"%d!" % i] * 2 for i in range(700)]
            assert len(asker._surveys) == 0
            for peer in peers:
                peer.close()
            await asyncio.gather(*serving)

    run(main())


def test_expected_answers_and_a_peer_that_leaves_end_a_survey() -> None:
    """And with nobody there it is over at once."""

    async def main() -> None:
        async with linked() as (asker, peers):
            one = asyncio.ensure_future(bodies(asker.survey(b"1", deadline=math.inf, expect=1)))
            (await receive(peers[0])).reply(b"enough")
            assert await one == [b"enough"]
            survey = asker.survey(b"2", deadline=math.inf)
            two = asyncio.ensure_future(bodies(survey))
            (await receive(peers[0])).reply(b"here")
            peers[1].close()
            assert await two == [b"here"]
            assert survey.missing == survey.asked[1:]
            peers[0].close()
            while asker.peers():
                await asyncio.sleep(0)
            assert await bodies(asker.survey(b"3", deadline=math.inf)) == []

    asyncio.run(main())


def test_an_answer_wakes_only_the_survey_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And wakes it once."""
    woken: list[aio.Survey] = []
    wake = aio.Survey._wake

    def counted(survey: aio.Survey) -> None:
        woken.append(survey)
        wake(survey)

    monkeypatch.setattr(aio.Survey, "_wake", counted)

    async def main() -> None:
        async with linked(1) as (asker, peers):
            surveys = [asker.survey(b"%d" % i, deadline=WAIT_S) for i in range(10)]
            asking = [asyncio.ensure_future(anext(survey)) for survey in surveys]
            requests = [await receive(peers[0]) for _ in surveys]
            chosen = requests[3]
            chosen.reply(b"yes")
            index = int(chosen)
            assert await asking[index] == b"yes"
            assert woken == [surveys[index]]
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    asyncio.run(main())


@pytest.mark.parametrize("woken", [False, True])
def test_a_cancelled_wait_has_taken_no_answer(woken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it was woken before it was cancelled or not; whoever iterates next gets it."""
    wake = aio.Survey._wake

    def wake_and_cancel(survey: aio.Survey) -> None:
        wake(survey)
        for task in asyncio.all_tasks():
            if task.get_name() == "waiting":
                task.cancel()

    async def main() -> None:
        async with linked(1) as (asker, peers):
            survey = asker.survey(b"q", deadline=WAIT_S)
            waiting = asyncio.create_task(survey.__anext__(), name="waiting")
            await asyncio.sleep(0)
            peers[0].recv(timeout=WAIT_S).reply(b"a")
            peers[0].drain(timeout=WAIT_S).raise_for_loss()  # the loop has not run meanwhile
            if woken:
                monkeypatch.setattr(aio.Survey, "_wake", wake_and_cancel)
            else:
                waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            monkeypatch.undo()
            assert survey.answered == ()
            assert await bodies(survey) == [b"a"]

    asyncio.run(main())


def test_a_survey_whose_begin_was_cut_off_goes_on_with_the_same_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by a signal's function, once the question was sent."""

    def cut_off(_: object) -> None:
        raise RuntimeError("raised by a signal's function")

    async def run() -> None:
        async with linked(1) as (asker, [peer]):
            survey = asker.survey(b"q", deadline=WAIT_S)
            monkeypatch.setattr(asker, "_watch_answers", cut_off)
            with pytest.raises(RuntimeError):
                await anext(survey)
            monkeypatch.undo()
            waiting = asyncio.ensure_future(bodies(survey))
            (await receive(peer)).reply(b"a")
            assert await asyncio.wait_for(waiting, WAIT_S) == [b"a"]
            with pytest.raises(mm.WouldBlockError):
                peer.recv(timeout=0)

    asyncio.run(run())


def test_a_task_that_is_cancelled_forgets_its_survey() -> None:
    """Its answers are late; the other tasks are not disturbed."""

    async def main() -> None:
        async with linked(1) as (asker, peers):
            tasks = [
                asyncio.ensure_future(bodies(asker.survey(b"%d" % i, deadline=WAIT_S)))
                for i in range(4)
            ]
            requests = [await receive(peers[0]) for _ in tasks]
            tasks[1].cancel()
            tasks[2].cancel()
            await asyncio.wait(tasks[1:3])
            del tasks[1:3]
            gc.collect()
            for request in requests:
                request.reply(request)
            assert await asyncio.gather(*tasks) == [[b"0"], [b"3"]]
            await until(lambda: asker.stats().dropped_late == 2)
            assert len(asker._surveys) == 0

    asyncio.run(main())


def test_two_tasks_may_share_a_survey() -> None:
    """It is asked once; each answer goes to one of them, and both come to the end."""

    async def main() -> None:
        async with linked(4) as (asker, peers):
            survey = asker.survey(b"q", deadline=WAIT_S)
            tasks = [asyncio.ensure_future(bodies(survey)) for _ in range(2)]
            for i, peer in enumerate(peers):
                (await receive(peer)).reply(b"%d" % i)
            first, second = await asyncio.gather(*tasks)
            assert sorted(first + second) == [b"0", b"1", b"2", b"3"]
            assert asker.stats().sent_messages == 1

    asyncio.run(main())


def test_closing_a_survey_ends_who_waits_for_it() -> None:
    """As an ordinary end; later answers are late."""

    async def main() -> None:
        async with linked(1) as (asker, peers):
            survey = asker.survey(b"q", deadline=WAIT_S)
            waiting = asyncio.ensure_future(bodies(survey))
            request = await receive(peers[0])
            survey.close()
            survey.close()
            assert await waiting == []
            request.reply(b"x")
            await until(lambda: asker.stats().dropped_late == 1)
            unheard = asker.survey(b"closed before anybody iterates")
            unheard.close()
            assert await bodies(unheard) == []
            assert asker.stats().sent_messages == 2

    asyncio.run(main())


@pytest.mark.parametrize("end", ["socket", "engine"])
def test_closing_fails_every_survey_with_an_error_of_its_own(end: str) -> None:
    """The answers are not complete, so it is no ordinary end."""

    async def main() -> None:
        engine = mm.Engine()
        asker = aio.Surveyor(bind=UP, engine=engine)
        with mm.Respondent(connect=asker.endpoint) as peer:
            await asker.wait_for_peers(timeout=WAIT_S)
            tasks = [
                asyncio.ensure_future(bodies(asker.survey(b"q", deadline=WAIT_S))) for _ in range(3)
            ]
            for _ in tasks:
                await receive(peer)
            if end == "socket":
                asker.close()
            else:
                engine.close()
            errors = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(error) for error in errors] == [mm.ClosedError] * 3
            assert len({id(error) for error in errors}) == 3
            with pytest.raises(mm.ClosedError):
                await bodies(asker.survey(b"q"))
        engine.close()

    asyncio.run(main())


def test_a_loop_does_not_keep_an_unused_surveyor_alive() -> None:
    """It is known to the loop only while it waits."""

    async def main() -> None:
        asker = aio.Surveyor(bind=UP)
        with mm.Respondent(connect=asker.endpoint):
            await asker.wait_for_peers(timeout=WAIT_S)
            waiting = asyncio.ensure_future(bodies(asker.survey(b"q", deadline=WAIT_S)))
            while asker.stats().sent_messages == 0:
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert await bodies(asker.survey(b"q", deadline=0.01)) == []
            asker.close()
            seen = weakref.ref(asker)
            del asker, waiting
            gc.collect()
            assert seen() is None

    asyncio.run(main())


def test_a_survey_waits_for_room_within_its_deadline() -> None:
    """overflow="block": nobody is asked; "error": the same at once; both as in the sync one."""

    async def full(overflow: Any) -> None:
        async with aio.Surveyor(bind=UP, overflow=overflow, send_queue_messages=1) as asker:
            with mm.Respondent(connect=asker.endpoint, recv_queue_messages=1):
                await asker.wait_for_peers(timeout=WAIT_S)
                for _ in range(100):
                    await bodies(asker.survey(b"x" * 4_000_000, deadline=0.02))

    for overflow, error in [("error", mm.WouldBlockError), ("block", mm.TimedOutError)]:
        with pytest.raises(error):
            asyncio.run(full(overflow))


@pytest.mark.parametrize("options", [{"deadline": 0}, {"deadline": math.nan}, {"expect": 0}])
def test_bounds_that_are_none_are_refused_at_once(options: dict[str, Any]) -> None:
    """Not when the iteration begins."""
    asker = aio.Surveyor()
    with pytest.raises(mm.UsageError):
        asker.survey(b"q", **options)
    with pytest.raises(TypeError, match="encode it"):
        asker.survey("text")  # type: ignore[arg-type]
    asker.close()


def test_a_loop_that_ended_leaves_the_surveyor_to_the_next_one() -> None:
    """One after the other, not both at once."""
    asker = aio.Surveyor(bind=UP)
    with mm.Respondent(connect=asker.endpoint) as peer:

        async def once() -> list[bytes]:
            await asker.wait_for_peers(timeout=WAIT_S)
            asking = asyncio.ensure_future(bodies(asker.survey(b"q", deadline=WAIT_S)))
            (await receive(peer)).reply(b"a")
            return await asking

        assert [asyncio.run(once()), asyncio.run(once())] == [[b"a"], [b"a"]]
    asker.close()


@RUNNERS
def test_a_bus_reaches_all_its_peers_and_itself_not(run: Callable[..., None]) -> None:
    """Awaited, iterated, in batches."""

    async def main() -> None:
        async with aio.Bus(bind=UP) as hub:
            async with (
                aio.Bus(connect=hub.endpoint) as one,
                aio.Bus(connect=hub.endpoint) as two,
            ):
                await hub.wait_for_peers(2, timeout=WAIT_S)
                for leaf in (one, two):
                    await leaf.wait_for_peers(timeout=WAIT_S)
                assert await hub.send_many([b"a", b"b"], timeout=WAIT_S) == 2
                await one.send_frames([b"from", b"one"], timeout=WAIT_S)
                for leaf in (one, two):
                    assert await anext(leaf) == b"a"
                    assert await leaf.recv_many(10, timeout=WAIT_S) == [b"b"]
                message = await hub.recv(timeout=WAIT_S)
                assert message.frames == (b"from", b"one")
                assert message.peer in [peer.id for peer in hub.peers()]
                assert (await hub.drain(timeout=WAIT_S)).delivered == 4
                for bus in (hub, one, two):
                    with pytest.raises(mm.WouldBlockError):
                        await bus.recv(timeout=0)

    run(main())
