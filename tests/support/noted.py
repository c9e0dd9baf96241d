"""One exchange of each pair of roles, each message sent plain and with key and headers: for tests
of who is given what goes with a message.

Not here: what is checked of it. Law: sockets for threads, or of asyncio by way of inloop.py; what
is received comes back in the order it was sent, with the side that sent it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.support.inloop import InLoop
from tests.support.pairs import WAIT_S

NOTE: dict[str, Any] = {"key": "k-7", "headers": {"h": "v", "raw": b"\xff"}}
BODIES = [b"x", b"y" * 300, b"z" * 40_000]
"""Small ones, and one that goes by reference."""
NAMES = (b"ay", b"bee")
"""Of Routers, and of Dealers that a Router sends to first."""
Received = list[tuple[int, bool, bytes, Any]]
"""Who sent it (0, 1), whether with a note, its body, the message."""


def type_of(socket: Any) -> str:
    """The name of its class."""
    return type(getattr(socket, "_real", socket)).__name__


def sent_on(sockets: tuple[Any, Any], by: int) -> Received:
    """One sends, the other receives."""
    sender, receiver = sockets[by], sockets[1 - by]
    to = {"to": NAMES[1 - by]} if type_of(sender) == "Router" else {}
    found: Received = []
    for body in BODIES:
        for more in ({}, NOTE):
            if type_of(receiver) == "Rep":
                sender.send_frames([b"", body], timeout=WAIT_S, **more)
            elif type_of(sender) in ("Pub", "XPub"):
                sender.send(body, **more)
            else:
                sender.send(body, timeout=WAIT_S, **to, **more)
            found.append((by, bool(more), body, receiver.recv(timeout=WAIT_S)))
    return found


def one_way(a: Any, b: Any) -> Received:
    """a sends."""
    return sent_on((a, b), 0)


def published(a: Any, b: Any) -> Received:
    """a sends to b, which subscribes to all."""
    b.subscribe("")
    a.wait_for_subscribers(timeout=WAIT_S)
    return sent_on((a, b), 0)


def both_ways(a: Any, b: Any) -> Received:
    """a sends, then b."""
    return sent_on((a, b), 0) + sent_on((a, b), 1)


def back(a: Any, b: Any) -> Received:
    """b sends."""
    return sent_on((a, b), 1)


def asked(a: Any, b: Any) -> Received:
    """a answers what b asks."""
    found: Received = []
    with ThreadPoolExecutor(1) as threads:
        for body in BODIES:
            for more in ({}, NOTE):
                asking = threads.submit(b.request, body, timeout=WAIT_S, **more)
                request = a.recv(timeout=WAIT_S)
                found.append((1, bool(more), body, request))
                if type_of(a) == "Rep":
                    request.reply(body + b"!", **more)
                else:
                    a.send_frames([request.peer, *request.frames[:-1], body + b"!"], **more)
                found.append((0, bool(more), body + b"!", asking.result(WAIT_S)))
    return found


def answers(asker: Any, survey: Any) -> list[Any]:
    """All of them, also of asyncio."""
    if not hasattr(survey, "__aiter__"):
        return list(survey)
    return [answer._real for answer in InLoop(asker._thread, survey)]


def surveyed(a: Any, b: Any) -> Received:
    """a asks all, which is b."""
    found: Received = []
    for body in BODIES:
        for more in ({}, NOTE):
            survey = a.survey(body, deadline=WAIT_S, **more)
            request = b.recv(timeout=WAIT_S)
            found.append((0, bool(more), body, request))
            request.reply(body + b"!", **more)
            [answer] = answers(a, survey)
            found.append((1, bool(more), body + b"!", answer))
    return found


EXCHANGES: list[tuple[str, str, Callable[[Any, Any], Received]]] = [
    ("Push", "Pull", one_way),
    ("Pub", "Sub", published),
    ("Pub", "XSub", published),
    ("XPub", "Sub", published),
    ("XPub", "XSub", published),
    ("XPub", "XSub", back),
    ("Pair", "Pair", both_ways),
    ("Bus", "Bus", both_ways),
    ("Dealer", "Dealer", both_ways),
    ("Router", "Dealer", both_ways),
    ("Router", "Router", both_ways),
    ("Dealer", "Rep", one_way),
    ("Rep", "Req", asked),
    ("Router", "Req", asked),
    ("Surveyor", "Respondent", surveyed),
]


def options_of(role: str, place: int) -> dict[str, Any]:
    """What a socket of an exchange is opened with."""
    return {"identity": NAMES[place]} if role in ("Router", "Dealer") else {}
