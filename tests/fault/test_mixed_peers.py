"""Listeners that serve peers of both wires under mixed load: pyzmq, NNG, ours over ZMTP and ours
over SP push, ask, subscribe and answer surveys, all at once, and every message is accounted for.

For a few seconds fifty peers of each wire share four listeners; with MESHMSG_MIXED_SECONDS (60 is
what was promised) each listener has fifty of each. Law: nothing is lost, changed, doubled, or given
to whom it was not for, and no connection breaks.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.spside import NngSide
from tests.support import refsp as ref
from tests.support.pairs import WAIT_S
from tests.support.together import together

SHORT_S = 2.0
SECONDS = float(os.environ.get("MESHMSG_MIXED_SECONDS", SHORT_S))
EACH = (12, 12, 13, 13) if SECONDS <= SHORT_S else (50, 50, 50, 50)
"""Peers of each wire at each of the four listeners."""
UP = "tcp://127.0.0.1:0"
ROUND = 100
"""Messages of a publisher before all subscribers have caught up: a SUB of NNG has room for 128 and
drops the rest by itself."""
END = b"end"

pytestmark = pytest.mark.leaves_threads  # those of NNG stay


class Crowd:
    """Peers of one listener, half of them over each wire, and what is known of the whole run."""

    def __init__(self, stack: ExitStack, context: Any, counts: Counter[str]) -> None:
        self.stack, self.context, self.counts = stack, context, counts
        self.end = 0.0

    def over(self) -> bool:
        """Whether it is time to end."""
        return time.monotonic() >= self.end

    def foreign(self, kind: int, url: str) -> Any:
        """A socket of libzmq, connected."""
        socket = self.context.socket(kind)
        self.stack.callback(socket.close, 0)
        socket.setsockopt(zmq.RCVTIMEO, int(WAIT_S * 1000))
        socket.setsockopt(zmq.SNDTIMEO, int(WAIT_S * 1000))
        if kind == zmq.SUB:
            socket.setsockopt(zmq.SUBSCRIBE, b"")
        socket.connect(url)
        return socket

    def nng(self, protocol: int, url: str) -> NngSide:
        """A socket of NNG, connected."""
        socket = NngSide(protocol, url)
        self.stack.callback(socket.close)
        return socket

    def ours(self, role: Callable[..., Any], url: str, **options: Any) -> Any:
        """One of ours, connected."""
        return self.stack.enter_context(role(connect=url, **options))

    def kinds(
        self, number: int, role: Callable[..., Any], theirs: tuple[int | None, int], url: str
    ) -> list[list[Any]]:
        """So many of each wire, those of a kind together: a thread can serve each list."""
        half = number // 2 if theirs[0] is not None else 0
        return [
            [self.foreign(theirs[0] or 0, url) for _ in range(half)],
            [self.ours(role, url) for _ in range(number - half)],
            [self.nng(theirs[1], url) for _ in range(number // 2)],
            [self.ours(role, f"sp+{url}") for _ in range(number - number // 2)],
        ]


def numbered(lists: Sequence[list[Any]]) -> list[list[tuple[int, Any]]]:
    """The same lists, each socket with a number of its own."""
    numbers = iter(range(sum(map(len, lists))))
    return [[(next(numbers), socket) for socket in one] for one in lists]


def pushing(crowd: Crowd, pull: mm.Pull, number: int) -> list[Callable[[], None]]:
    """All push; the Pull has each sender's messages in order, all of them."""
    lists = numbered(crowd.kinds(number, mm.Push, (zmq.PUSH, ref.PUSH), pull.endpoint))
    sent: Counter[int] = Counter()

    def push(mine: list[tuple[int, Any]]) -> None:
        while not crowd.over():
            for who, socket in mine:
                socket.send(b"push %d %d" % (who, sent[who]))
                sent[who] += 1
        for _, socket in mine:
            socket.send(END)

    def take() -> None:
        got: Counter[int] = Counter()
        ends = 0
        while ends < 2 * number:
            message = pull.recv(timeout=WAIT_S)
            if message == END:
                ends += 1
                continue
            word, who, index = message.split()
            assert (word, int(index)) == (b"push", got[int(who)])
            got[int(who)] += 1
        assert got == sent
        crowd.counts["pushed"] += got.total()

    return [take, *[lambda mine=mine: push(mine) for mine in lists]]


def asking(crowd: Crowd, rep: mm.Rep, number: int) -> list[Callable[[], None]]:
    """All ask; each gets the answer to its own question."""
    lists = numbered(crowd.kinds(number, mm.Req, (zmq.REQ, ref.REQ), rep.endpoint))
    asked: Counter[int] = Counter()

    def ask(mine: list[tuple[int, Any]]) -> None:
        while not crowd.over():
            for who, socket in mine:
                trip(socket, b"ask %d %d" % (who, asked[who]))
                asked[who] += 1
        for _, socket in mine:
            trip(socket, END)

    def trip(socket: Any, question: bytes) -> None:
        if isinstance(socket, mm.Req):
            answer: bytes = socket.request(question, timeout=WAIT_S)
        else:
            socket.send(question)
            answer = socket.recv()
        assert answer == b"answer to " + question

    def serve() -> None:
        answered: Counter[int] = Counter()
        ends = 0
        while ends < 2 * number:
            request = rep.recv(timeout=WAIT_S)
            assert request.reply(b"answer to " + request)
            if request == END:
                ends += 1
                continue
            word, who, index = request.split()
            assert (word, int(index)) == (b"ask", answered[int(who)])
            answered[int(who)] += 1
        assert answered == asked
        crowd.counts["asked and answered"] += answered.total()

    return [serve, *[lambda mine=mine: ask(mine) for mine in lists]]


def publishing(crowd: Crowd, pub: mm.Pub, number: int) -> list[Callable[[], None]]:
    """Everybody hears everything, in order."""

    def subscriber(**options: Any) -> mm.Sub:
        return mm.Sub(topics="", **options)

    lists = crowd.kinds(number, subscriber, (zmq.SUB, ref.SUB), pub.endpoint)
    caught_up = threading.Barrier(1 + len(lists))

    def publish() -> None:
        pub.wait_for_subscribers("news", 2 * number, timeout=WAIT_S)
        count, last = 0, False
        while not last:
            last = crowd.over()
            for i in range(ROUND):
                more = b"end" if last and i == ROUND - 1 else b"more"
                pub.send(b" %d %s" % (count, more), topic="news", timeout=WAIT_S)
                count += 1
            caught_up.wait(WAIT_S)
        crowd.counts["published"] += count
        crowd.counts["delivered"] += count * 2 * number

    def hear(mine: list[Any]) -> None:
        first, more = 0, True
        while more:
            for socket in mine:
                for i in range(first, first + ROUND):
                    word, index, go_on = whole(socket).split()
                    assert (word, int(index)) == (b"news", i)
                    more = go_on == b"more"
            first += ROUND
            caught_up.wait(WAIT_S)

    def whole(socket: Any) -> bytes:
        if isinstance(socket, mm.Sub):
            message = socket.recv(timeout=WAIT_S)
            return message.topic.encode() + message
        return (
            b"".join(socket.recv_multipart()) if isinstance(socket, zmq.Socket) else socket.recv()
        )

    return [publish, *[lambda mine=mine: hear(mine) for mine in lists]]


def surveying(crowd: Crowd, asker: mm.Surveyor, number: int) -> list[Callable[[], None]]:
    """Each survey has one answer of everybody, to this question. (libzmq has no surveys.)"""
    lists = numbered(crowd.kinds(number, mm.Respondent, (None, ref.RESPONDENT), asker.endpoint))

    def survey() -> None:
        asker.wait_for_peers(2 * number, timeout=WAIT_S)
        count, over = 0, False
        while not over:
            over = crowd.over()
            question = END if over else b"survey %d" % count
            answers = asker.survey(question, deadline=WAIT_S)
            names = sorted(
                int(who) for who, said in (a.split(b":") for a in answers) if said == question
            )
            assert names == list(range(2 * number))
            assert (len(answers.answered), answers.missing) == (2 * number, ())
            count += 1
        crowd.counts["surveys"] += count
        crowd.counts["answers"] += count * 2 * number

    def respond(mine: list[tuple[int, Any]]) -> None:
        question = b""
        while mine and question != END:
            for who, socket in mine:
                if isinstance(socket, mm.Respondent):
                    request = socket.recv(timeout=WAIT_S)
                    assert request.reply(b"%d:%s" % (who, request))
                    question = request
                else:
                    question = socket.recv()
                    socket.send(b"%d:%s" % (who, question))

    return [survey, *[lambda mine=mine: respond(mine) for mine in lists]]


def check(hub: Any, number: int) -> None:
    """All are still there, and nothing of theirs was lost."""
    wires = Counter(peer.wire for peer in hub.peers())
    assert wires == {"zmtp": number, "sp": number}
    stats = hub.stats()
    assert (stats.dropped, stats.disconnects, stats.handshakes_failed) == (0, 0, 0), stats


def test_listeners_that_serve_fifty_peers_of_each_wire_lose_and_confuse_nothing() -> None:
    """Four loads at once, each on a listener that speaks both wires; the counts agree."""
    counts: Counter[str] = Counter()
    hubs: list[Any] = []
    with zmq.Context() as context, ExitStack() as stack:
        crowd = Crowd(stack, context, counts)
        for role, options in (
            (mm.Pub, {"overflow": "block"}),
            (mm.Surveyor, {}),
            (mm.Pull, {}),
            (mm.Rep, {}),
        ):
            hubs.append(stack.enter_context(role(bind=UP, **options)))
        loads = (publishing, surveying, pushing, asking)
        calls = [
            c for load, hub, n in zip(loads, hubs, EACH, strict=True) for c in load(crowd, hub, n)
        ]
        for hub, number in zip(hubs, EACH, strict=True):
            hub.wait_for_peers(2 * number, timeout=WAIT_S)
        crowd.end = time.monotonic() + SECONDS
        together(calls, SECONDS + 3 * WAIT_S)
        for hub, number in zip(hubs, EACH, strict=True):
            check(hub, number)
    assert min(counts.values()) > 0
    print(f"{2 * sum(EACH)} peers, {SECONDS:g} s:", dict(counts))
