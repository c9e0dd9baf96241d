"""What every pair of roles must do, over every transport: plain async functions over two sockets.

Sync sockets come wrapped (test_matrix.py), so that one suite covers sync, threads and asyncio.
Law: a case gets two sockets that see each other, and leaves nothing behind in them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.pairs import WAIT_S

COUNT = 300
BODIES = [b"", b"x", b"\0" * 255, b"y" * 256, b"z" * 70_000]


async def all_sizes(a: Any, b: Any) -> Any:
    """Messages of all sizes arrive whole and in order; return what the sender learns of them."""
    for body in BODIES:
        await a.send(body, timeout=WAIT_S)
    for body in BODIES:
        assert await b.recv(timeout=WAIT_S) == body
    report = await a.drain(timeout=WAIT_S)
    report.raise_for_loss()
    return report


async def one_way(a: Any, b: Any) -> None:
    """Messages of all sizes arrive whole and in order, and the sender learns that they did."""
    assert (await all_sizes(a, b)).delivered == len(BODIES)


async def fed(send: Any, recv: Any, messages: list[Any]) -> None:
    """Each arrives whole and in its place, while the next are sent."""

    async def feed() -> None:
        for message in messages:
            await send(message, timeout=WAIT_S)

    feeding = asyncio.ensure_future(feed())
    for message in messages:
        assert await recv(timeout=WAIT_S) == message
    await feeding


async def large(a: Any, b: Any) -> None:
    """Frames that are handed over by reference, between small ones, each in its place."""
    sent = [[b"x" * 300_000], [b"small"], [b"head", b"y" * 400_000, b"", b"tail"], [b"z" * 262_144]]
    await fed(a.send_frames, b.recv_frames, sent)


async def many(a: Any, b: Any) -> None:
    """A batch crosses whole, in order, while it is received."""
    bodies = [b"%d" % i for i in range(COUNT)]
    sending = asyncio.ensure_future(a.send_many(bodies, timeout=WAIT_S))
    found: list[bytes] = []
    while len(found) < COUNT:
        found += await b.recv_many(64, timeout=WAIT_S)
    assert await sending == COUNT
    assert found == bodies


async def frames(a: Any, b: Any) -> None:
    """A message of several frames arrives as these frames, empty ones too."""
    sent = [b"one", b"", b"three" * 100]
    await a.send_frames(sent, timeout=WAIT_S)
    assert await b.recv_frames(timeout=WAIT_S) == sent


async def both_ways(a: Any, b: Any) -> None:
    """What goes there comes back."""
    for i in range(20):
        await a.send(b"ping %d" % i, timeout=WAIT_S)
        assert await b.recv(timeout=WAIT_S) == b"ping %d" % i
        await b.send(b"pong %d" % i, timeout=WAIT_S)
        assert await a.recv(timeout=WAIT_S) == b"pong %d" % i


async def published(a: Any, b: Any) -> None:
    """A subscriber gets what it asked for, and nothing else."""
    b.subscribe("fx.")
    await a.wait_for_subscribers("fx.eur", timeout=WAIT_S)
    await a.send(b"no", topic="bonds")
    await a.send(b"yes", topic="fx.eur")
    message = await b.recv(timeout=WAIT_S)
    assert (message, message.topic) == (b"yes", "fx.eur")


async def subscribed_by_message(a: Any, b: Any) -> None:
    """An XSub subscribes by message; an XPub is told."""
    await b.send(b"\x01t", timeout=WAIT_S)
    await a.wait_for_subscribers("t1", timeout=WAIT_S)
    await a.send(b"body", topic="t1")
    assert (await b.recv_frames(timeout=WAIT_S)) == [b"t1", b"body"]


async def serve(socket: Any) -> None:
    """Answer COUNT questions, each with itself and a mark."""
    for _ in range(COUNT):
        request = await socket.recv(timeout=WAIT_S)
        assert request.reply(request + b"!")


async def asked(a: Any, b: Any) -> None:
    """a is a Rep, b a Req: many questions at once, each gets its own answer."""
    serving = asyncio.ensure_future(serve(a))
    asking = [b.request(b"%d" % i, timeout=WAIT_S) for i in range(COUNT)]
    assert await asyncio.gather(*asking) == [b"%d!" % i for i in range(COUNT)]
    await serving


async def routed(a: Any, b: Any) -> None:
    """a is a Router, b a Dealer: the answer goes to who asked."""
    await b.send(b"who am I?", timeout=WAIT_S)
    message = await a.recv(timeout=WAIT_S)
    assert message == b"who am I?"
    await a.send(b"you", to=message.peer, timeout=WAIT_S)
    assert await b.recv(timeout=WAIT_S) == b"you"


async def routed_request(a: Any, b: Any) -> None:
    """a is a Router that keeps the envelope, b a Req."""
    asking = asyncio.ensure_future(b.request(b"q", timeout=WAIT_S))
    *envelope, body = await a.recv_frames(timeout=WAIT_S)
    await a.send_frames([*envelope, body + b"!"], timeout=WAIT_S)
    assert await asking == b"q!"


async def dealt_request(a: Any, b: Any) -> None:
    """a is a Rep, b a Dealer that makes the envelope itself."""
    await b.send_frames([b"mark", b"", b"q"], timeout=WAIT_S)
    request = await a.recv(timeout=WAIT_S)
    assert request == b"q"
    assert request.reply(b"a")
    assert await b.recv_frames(timeout=WAIT_S) == [b"mark", b"", b"a"]


async def answers_to(survey: Any) -> list[bytes]:
    """Return all answers of a survey."""
    return [bytes(answer) async for answer in survey]


async def surveyed(a: Any, b: Any) -> None:
    """a is a Surveyor, b a Respondent: many surveys at once, each gets its own answer."""
    serving = asyncio.ensure_future(serve(b))
    asking = [answers_to(a.survey(b"%d" % i, deadline=WAIT_S)) for i in range(COUNT)]
    assert await asyncio.gather(*asking) == [[b"%d!" % i] for i in range(COUNT)]
    await serving


async def surveyed_once(a: Any, b: Any, body: bytes, **options: Any) -> Any:
    """One question, one answer; return the survey, which knows who answered."""
    survey = a.survey(body, deadline=WAIT_S, **options)
    asking = asyncio.ensure_future(answers_to(survey))
    request = await b.recv(timeout=WAIT_S)
    assert request == body
    assert request.reply(request + b"!")
    assert await asking == [body + b"!"]
    assert (survey.answered, survey.missing) == (survey.asked, ())
    return survey


async def surveyed_in_turn(a: Any, b: Any) -> None:
    """The same one by one; the survey knows who answered, and what was sent has arrived."""
    for size in (0, 1, 255, 256, 70_000, 300_000):
        survey = await surveyed_once(a, b, b"q" * size, expect=1)
        assert len(survey.asked) == 1
    assert (await a.drain(timeout=WAIT_S)).delivered == 6
    assert (await b.drain(timeout=WAIT_S)).delivered == 6


async def routers(a: Any, b: Any) -> None:
    """Two Routers: one must know the other's name; b is called "bee"."""
    await a.send(b"hello", to=b"bee", timeout=WAIT_S)
    message = await b.recv(timeout=WAIT_S)
    assert message == b"hello"
    await b.send(b"back", to=message.peer, timeout=WAIT_S)
    assert await a.recv(timeout=WAIT_S) == b"back"


CASES = [
    ("Push", "Pull", one_way),
    ("Push", "Pull", many),
    ("Push", "Pull", frames),
    ("Push", "Pull", large),
    ("Pair", "Pair", both_ways),
    ("Pair", "Pair", one_way),
    ("Dealer", "Dealer", both_ways),
    ("Dealer", "Dealer", frames),
    ("Dealer", "Dealer", large),
    ("Pub", "Sub", published),
    ("XPub", "Sub", published),
    ("Pub", "XSub", subscribed_by_message),
    ("XPub", "XSub", subscribed_by_message),
    ("Rep", "Req", asked),
    ("Router", "Req", routed_request),
    ("Router", "Dealer", routed),
    ("Rep", "Dealer", dealt_request),
    ("Router", "Router", routers),
    ("Surveyor", "Respondent", surveyed),
    ("Surveyor", "Respondent", surveyed_in_turn),
    ("Bus", "Bus", both_ways),
    ("Bus", "Bus", one_way),
    ("Bus", "Bus", many),
    ("Bus", "Bus", frames),
    ("Bus", "Bus", large),
]
