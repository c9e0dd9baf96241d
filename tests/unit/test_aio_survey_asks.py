"""When an asyncio survey asks: at once, as the sync one does; and how its room is waited for."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S

HUGE = bytes(4_000_000)
"""More than the buffers of a connection take."""
UPS = pytest.mark.parametrize("up", ["tcp://127.0.0.1:0", "ipc://{}/s", "inproc://asks"])


@asynccontextmanager
async def linked(up: str, **options: Any) -> AsyncIterator[tuple[aio.Surveyor, mm.Respondent]]:
    """An asyncio Surveyor and a sync Respondent, connected."""
    async with aio.Surveyor(bind=up, **options) as asker:
        with mm.Respondent(connect=asker.endpoint, recv_queue_messages=1) as peer:
            await asker.wait_for_peers(timeout=WAIT_S)
            yield asker, peer


async def bodies(survey: aio.Survey) -> list[bytes]:
    """Return all its answers."""
    return [bytes(answer) async for answer in survey]


async def fill(asker: aio.Surveyor) -> list[aio.Survey]:
    """Ask until a question has to wait for room: that one is the last."""
    asked = []
    while not asked or asked[-1].asked:
        asked.append(asker.survey(HUGE, deadline=math.inf))
        await asyncio.sleep(0)
    return asked


@UPS
def test_a_survey_that_nobody_iterates_asks_at_once_as_the_sync_one_does(
    up: str, tmp_path: Any
) -> None:
    """The loop does not run between the question and its answer."""

    async def main() -> None:
        async with linked(up.format(tmp_path)) as (asker, peer):
            survey = asker.survey(b"q", deadline=WAIT_S)
            assert peer.recv(timeout=WAIT_S).reply(b"a")
            assert peer.drain(timeout=WAIT_S).delivered == 1
            assert await bodies(survey) == [b"a"]
            assert await asker.survey(b"nobody answers", deadline=0.01) is not survey
            assert peer.recv(timeout=WAIT_S) == b"nobody answers"

    asyncio.run(main())


def test_a_survey_may_be_made_before_a_loop_runs() -> None:
    """It asks all the same; its answers are for whichever loop iterates."""
    asker = aio.Surveyor(bind="tcp://127.0.0.1:0")
    with mm.Respondent(connect=asker.endpoint) as peer:
        asyncio.run(asker.wait_for_peers(timeout=WAIT_S))
        survey = asker.survey(b"q", deadline=WAIT_S)
        assert peer.recv(timeout=WAIT_S).reply(b"a")
        assert asyncio.run(bodies(survey)) == [b"a"]
    asker.close()


def test_an_awaited_survey_is_itself_and_asks_once() -> None:
    """However often it is awaited; iterated over in the same line."""

    async def main() -> None:
        async with linked("tcp://127.0.0.1:0") as (asker, peer):
            survey = await asker.survey(b"q", deadline=WAIT_S)
            assert await survey is survey
            assert peer.recv(timeout=WAIT_S).reply(b"a")
            assert [bytes(answer) async for answer in await survey] == [b"a"]
            assert asker.stats().sent_messages == 1

    asyncio.run(main())


@pytest.mark.parametrize("waiting", ["await", "iterate"])
def test_a_question_without_room_goes_out_once_it_is_waited_for(waiting: str) -> None:
    """overflow="block": the call does not wait, whoever awaits or iterates does."""

    async def main() -> None:
        async with linked("tcp://127.0.0.1:0", overflow="block", send_queue_messages=1) as (
            asker,
            peer,
        ):
            *sent, last = await fill(asker)
            assert (last.asked, asker.stats().sent_messages) == ((), len(sent))
            asking: asyncio.Future[Any] = asyncio.ensure_future(
                bodies(last) if waiting == "iterate" else last._asked()
            )
            loop = asyncio.get_running_loop()
            for _ in sent:
                await loop.run_in_executor(None, lambda: peer.recv(timeout=WAIT_S))
            request = await loop.run_in_executor(None, lambda: peer.recv(timeout=WAIT_S))
            assert request.reply(b"the last")
            if waiting == "await":
                assert await asking is last
            assert (await asking if waiting == "iterate" else await bodies(last)) == [b"the last"]
            assert len(last.asked) == 1

    asyncio.run(main())


def test_a_survey_in_want_of_room_ends_at_its_deadline_which_ran_since_the_call() -> None:
    """The error tells the whole deadline; the survey is over, and asked nobody."""

    async def main() -> None:
        async with linked("tcp://127.0.0.1:0", overflow="block", send_queue_messages=1) as (
            asker,
            _,
        ):
            await fill(asker)
            with pytest.raises(mm.TimedOutError, match=r"within 0\.05 s"):
                while True:  # a kernel may find room for a few more
                    late = asker.survey(HUGE, deadline=0.05)
                    await late
            assert (late.asked, late.missing, await bodies(late)) == ((), (), [])

    def run() -> None:
        asyncio.run(main())
        gc.collect()

    with pytest.warns(RuntimeWarning, match="asked nobody"):  # of what `fill` left waiting
        run()


@pytest.mark.parametrize("gone", ["peer", "surveyor", "survey"])
def test_a_question_that_waits_for_room_ends_with_whatever_leaves(gone: str) -> None:
    """A peer that leaves makes room: nobody is left to ask; a closed surveyor is an error."""

    async def main() -> None:
        async with linked("tcp://127.0.0.1:0", overflow="block", send_queue_messages=1) as (
            asker,
            peer,
        ):
            last = (await fill(asker))[-1]
            asking = asyncio.ensure_future(bodies(last))
            await asyncio.sleep(0)
            {"peer": peer, "surveyor": asker, "survey": last}[gone].close()  # type: ignore[attr-defined]
            if gone == "surveyor":
                with pytest.raises(mm.ClosedError):
                    await asking
            elif gone == "peer":
                assert await asking == []
            else:
                peer.close()
                assert (await asking, len(asker._surveys)) == ([], 0)

    asyncio.run(main())


@pytest.mark.parametrize("cut", ["refused", "too large", "closed"])
def test_what_the_sync_survey_raises_the_call_raises(cut: str) -> None:
    """Nothing is left for the iteration to find out."""

    async def main() -> None:
        options: dict[str, Any] = {"overflow": "error", "send_queue_messages": 1}
        error: type[mm.MeshError] = mm.WouldBlockError
        if cut == "too large":
            options, error = {"message_size_max": 1000}, mm.TooLargeError
        if cut == "closed":
            options, error = {}, mm.ClosedError
        async with linked("tcp://127.0.0.1:0", **options) as (asker, _):
            if cut == "closed":
                asker.close()
            with pytest.raises(error):
                for _ in range(100):
                    asker.survey(HUGE, deadline=math.inf)

    asyncio.run(main())
