"""A send that waits for room waits no longer than its message is of use: by role, by call, by
threads and by tasks, with nobody there and with full queues.

Not here: messages that expire in a queue (tests/sim/test_fates.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S
from tests.support.room import UP, Room, room

TTL_S = 0.05
ALONE = r"no peer for (a message|more) that expires \(ttl\) within 0.0\d+ s"
FULL = r"no room for a message that expires \(ttl\) within [\d.]+ s: its peer's queue is full"
BODY = b"b" * 1_000_000
"""Larger than what a kernel takes for a peer that does not read."""

Send = Callable[..., Any]
CALLS: dict[str, tuple[str, Send]] = {
    "send": ("Push", lambda one, **more: one.send(b"x", **more)),
    "send a buffer": ("Dealer", lambda one, **more: one.send(bytearray(b"x"), **more)),
    "send_frames": ("Pair", lambda one, **more: one.send_frames([b"a", b"x"], **more)),
    "send, confirmed": ("Push", lambda one, **more: one.send(b"x", confirm=True, **more)),
    "send_many": ("Push", lambda one, **more: one.send_many([b"x"] * 9, **more)),
    "send_many of a generator": ("Dealer", lambda one, **more: one.send_many(iter([b"x"]), **more)),
    "send_many, confirmed": (
        "Push",
        lambda one, **more: one.send_many([b"x"], confirm=True, **more),
    ),
    "send_batch": ("Push", lambda one, **more: one.send_batch(pa.array([b"x"]), **more)),
    "request": ("Req", lambda one, **more: one.request(b"x", **more)),
    "request, again": ("Req", lambda one, **more: one.request(b"x", retries=5, **more)),
    "request_frames": ("Req", lambda one, **more: one.request_frames([b"x"], **more)),
}


def options(name: str) -> dict[str, Any]:
    """Of the socket that sends so."""
    return {"delivery": "at_least_once", "no_peer": "block"} if "confirmed" in name else {}


def nothing_waits(socket: Any) -> bool:
    """What was not sent is in no queue, and counted as nothing."""
    stats = socket.stats()
    return stats.sent_messages == stats.queued_out_messages == stats.dropped_expired == 0


@pytest.mark.parametrize("timeout", [None, WAIT_S])
@pytest.mark.parametrize("name", CALLS)
def test_with_nobody_there_a_send_ends_with_its_ttl(name: str, timeout: float | None) -> None:
    """By threads and by tasks; it says why, and nothing was sent."""
    role, send = CALLS[name]
    found = "no peer for a request that" if role == "Req" else ALONE
    with getattr(mm, role)(bind=UP, **options(name)) as one:
        with pytest.raises(mm.TimedOutError, match=found):
            send(one, ttl=TTL_S, timeout=timeout)
        assert nothing_waits(one)

    async def main() -> None:
        async with getattr(aio, role)(bind=UP, **options(name)) as other:
            with pytest.raises(mm.TimedOutError, match=found):
                await send(other, ttl=TTL_S, timeout=timeout)
            assert nothing_waits(other)

    asyncio.run(main())


@pytest.mark.parametrize("name", CALLS)
def test_a_time_out_that_comes_first_is_as_ever(name: str) -> None:
    """It does not speak of the ttl; and who does not wait is told so."""
    role, send = CALLS[name]
    with getattr(mm, role)(bind=UP, **options(name)) as one:
        with pytest.raises(mm.TimedOutError) as late:
            send(one, ttl=WAIT_S, timeout=TTL_S)
        with pytest.raises(mm.WouldBlockError):
            send(one, ttl=WAIT_S, timeout=0)
        assert "ttl" not in str(late.value)
        with pytest.raises((TypeError, ValueError, mm.UsageError)):
            send(one, ttl=WAIT_S, timeout=-1)


def full(r: Room, role: str, peer: str, **more: Any) -> tuple[Any, Any]:
    """Two sockets of a simulated world; the first sends until its peer, which reads nothing, has no
    room for more."""
    sender = r.open(role, bind=UP, send_queue_messages=1, **more)
    reader = r.open(peer, connect=sender.endpoint, recv_queue_messages=1)
    sender.wait_for_peers(timeout=WAIT_S)
    return sender, reader


def fill(sender: Any, **more: Any) -> int:
    """Send until there is no room; how many went."""
    sent = 0
    try:
        while True:
            sender.send(BODY, timeout=0.1, **more)
            sent += 1
    except mm.TimedOutError:
        return sent


def test_a_full_queue_is_waited_for_no_longer_than_the_message_is_of_use() -> None:
    """What is received later is what was sent before and behind, not what expired."""
    with room() as r:
        sender, reader = full(r, "Push", "Pull")
        sent = fill(sender)
        began = r.world.now
        with pytest.raises(mm.TimedOutError, match=FULL):
            sender.send(b"expired", ttl=2)
        assert 1.9 < r.world.now - began < 2.1
        for _ in range(sent):
            assert reader.recv(timeout=WAIT_S) == BODY
        sender.send(b"behind", ttl=2)
        assert reader.recv(timeout=WAIT_S) == b"behind"
        assert sender.stats().dropped_expired == 0


@pytest.mark.parametrize("call", ["send_many", "send_many of a generator", "send_batch"])
def test_of_many_it_is_said_how_many_went_and_that_it_was_the_ttl(call: str) -> None:
    """By threads and by tasks; two found room, in a Push that nobody is connected to."""
    limits: dict[str, Any] = {"delivery": "at_least_once", "send_queue_messages": 2}
    bodies = [b"x"] * 9
    many = r"for another message that expires \(ttl\) after 2 within"
    found = r"for more that expires \(ttl\) within" if call == "send_batch" else many

    def way(one: Any) -> Any:
        if call == "send_batch":
            return one.send_batch(pa.array(bodies), ttl=TTL_S, timeout=WAIT_S)
        return one.send_many(bodies if call == "send_many" else iter(bodies), ttl=TTL_S)

    with mm.Push(bind=UP, **limits) as push:
        with pytest.raises(mm.TimedOutError, match=found) as failed:
            way(push)
        assert vars(failed.value)["sent"] == 2

    async def main() -> None:
        async with aio.Push(bind=UP, **limits) as push:
            with pytest.raises(mm.TimedOutError, match=found) as failed:
                await way(push)
            assert vars(failed.value)["sent"] == 2

    asyncio.run(main())


def test_room_that_comes_in_time_is_taken() -> None:
    """Before the ttl is over, whatever the time-out is."""
    with mm.Push(bind=UP) as push, ExitStack() as stack:

        async def main() -> mm.Message:
            sending = asyncio.create_task(
                asyncio.to_thread(push.send, b"in time", ttl=WAIT_S, timeout=2 * WAIT_S)
            )
            pull = stack.enter_context(mm.Pull(connect=push.endpoint))
            await sending
            return await asyncio.to_thread(pull.recv, timeout=WAIT_S)

        assert asyncio.run(main()) == b"in time"


def test_a_survey_that_waits_for_room_is_not_asked_beyond_its_ttl() -> None:
    """By threads: its deadline is longer. Nobody was asked."""
    with room() as r:
        asker, _ = full(r, "Surveyor", "Respondent", overflow="block")
        with pytest.raises(mm.TimedOutError, match="no room for a message within 0.2 s"):
            for _ in range(100):
                asker.survey(BODY, deadline=0.2).close()
        asked = asker.stats().sent_messages
        with pytest.raises(mm.TimedOutError, match=r"that expires \(ttl\)"):
            asker.survey(b"x", deadline=WAIT_S, ttl=0.5)
        assert asker.stats().sent_messages == asked


def test_an_asyncio_survey_likewise() -> None:
    """The await ends with the ttl of the question. Room may come, if the machine is slow."""

    async def fill(asker: aio.Surveyor) -> None:
        with pytest.raises(mm.TimedOutError, match="no room for a message within 0.2 s"):
            for _ in range(100):
                (await asker.survey(BODY, deadline=0.2)).close()

    async def main() -> None:
        async with aio.Surveyor(bind=UP, overflow="block", send_queue_messages=1) as asker:
            with mm.Respondent(connect=asker.endpoint, recv_queue_messages=1):
                await asker.wait_for_peers(timeout=WAIT_S)
                with pytest.raises(mm.TimedOutError, match=r"that expires \(ttl\)"):
                    for _ in range(100):
                        await fill(asker)
                        (await asker.survey(b"x", deadline=WAIT_S, ttl=TTL_S)).close()

    asyncio.run(main())


def test_a_question_that_has_expired_is_not_asked_again() -> None:
    """It was sent, and nobody answered in time; what is left of its retries is not used."""
    with mm.Rep(bind=UP) as rep, mm.Req(connect=rep.endpoint) as req:
        req.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError, match="no reply"):
            req.request(b"q", timeout=2 * TTL_S, retries=1_000, ttl=TTL_S)
        assert req.stats().sent_messages == 1

    async def main() -> None:
        async with (
            aio.Rep(bind=UP) as other,
            aio.Req(connect=other.endpoint) as one,
        ):
            await one.wait_for_peers(timeout=WAIT_S)
            with pytest.raises(mm.TimedOutError, match="no reply"):
                await one.request(b"q", timeout=2 * TTL_S, retries=1_000, ttl=TTL_S)
            assert one.stats().sent_messages == 1

    asyncio.run(main())


def test_it_is_told_that_the_attempts_ended_as_the_ttl_was_over() -> None:
    """Of several; the last ones were not made."""
    with mm.Rep(bind=UP) as rep, mm.Req(connect=rep.endpoint) as req:
        req.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError, match=r"no reply to \d+ attempts.*its ttl is over"):
            req.request(b"q", timeout=TTL_S, retries=1_000, ttl=4 * TTL_S)
        assert req.stats().sent_messages < 20


LIMITS: list[tuple[dict[str, float], bool]] = [
    ({"timeout": WAIT_S, "deadline": WAIT_S}, False),
    ({"deadline": WAIT_S, "ttl": WAIT_S}, True),
]


@pytest.mark.parametrize(("limits", "goes"), LIMITS)
def test_a_deadline_stays_with_who_asks_and_a_ttl_goes_on(
    limits: dict[str, float], goes: bool
) -> None:
    """By threads and by tasks: nothing is added to a plain question."""

    async def served(rep: mm.Rep) -> None:
        request = await asyncio.to_thread(rep.recv, timeout=WAIT_S)
        assert (request.expires is not None, request.timestamp is not None) == (goes, goes)
        request.reply(b"done")

    async def main() -> None:
        more: dict[str, Any] = limits
        with mm.Rep(bind=UP) as rep, mm.Req(connect=rep.endpoint) as req:
            asked = asyncio.to_thread(req.request, b"q", **more)
            assert (await asyncio.gather(asked, served(rep)))[0] == b"done"
            async with aio.Req(connect=rep.endpoint) as one:
                await asyncio.gather(one.request(b"q", **more), served(rep))

    asyncio.run(main())
