"""Peers of ZMTP and of SP on one port of one socket at once: libzmq, NNG, and ours over both.

Law: nobody's messages get lost, changed, or to whom they are not for.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.spside import NngSide
from tests.interop.zmqside import zmq_socket
from tests.support import refsp as ref
from tests.support.pairs import WAIT_S
from tests.support.together import together

PEERS, MESSAGES = 10, 200
FEW = 100
"""Messages that a SUB of NNG has room for: 128, and it drops the rest."""
UP = "tcp://127.0.0.1:0"

pytestmark = pytest.mark.leaves_threads


def crowd(stack: ExitStack, kinds: tuple[int, int, type[Any]], url: str) -> list[Any]:
    """PEERS of each: libzmq, NNG, ours over ZMTP, ours over SP."""
    zmq_kind, sp_kind, role = kinds
    found: list[Any] = []
    for _ in range(PEERS):
        theirs = stack.enter_context(zmq_socket(zmq_kind))
        theirs.connect(url)
        other = NngSide(sp_kind, url)
        stack.callback(other.close)
        found += [theirs, other]
        found += [stack.enter_context(role(connect=where)) for where in (url, f"sp+{url}")]
    return found


def test_a_pull_takes_from_all_of_them_in_order() -> None:
    """Each message once, in the order of its sender."""
    with mm.Pull(bind=UP) as pull, ExitStack() as stack:
        pushes = crowd(stack, (zmq.PUSH, ref.PUSH, mm.Push), pull.endpoint)

        def push(number: int) -> None:
            for i in range(MESSAGES):
                pushes[number].send(b"%d %d" % (number, i))

        got: dict[int, list[int]] = {i: [] for i in range(len(pushes))}

        def take() -> None:
            for _ in range(len(pushes) * MESSAGES):
                who, number = map(int, pull.recv(timeout=WAIT_S).split())
                got[who].append(number)

        together([take, *[lambda n=n: push(n) for n in range(len(pushes))]], 2 * WAIT_S)
        assert all(numbers == list(range(MESSAGES)) for numbers in got.values())
        wires = [peer.wire for peer in pull.peers()]
        assert (wires.count("zmtp"), wires.count("sp")) == (2 * PEERS, 2 * PEERS)
        stats = pull.stats()
        assert (stats.dropped, stats.disconnects, stats.handshakes_failed) == (0, 0, 0)


def test_a_rep_answers_each_of_them_its_own_question() -> None:
    """Whatever its wire, and whatever order the answers take."""
    with mm.Rep(bind=UP) as rep, ExitStack() as stack:
        reqs = crowd(stack, (zmq.REQ, ref.REQ, mm.Req), rep.endpoint)

        def ask(number: int) -> None:
            req = reqs[number]
            for i in range(MESSAGES // 10):
                body = b"%d %d" % (number, i)
                if isinstance(req, mm.Req):
                    assert req.request(body, timeout=WAIT_S) == body + b"!"
                else:
                    req.send(body)
                    assert req.recv() == body + b"!"

        def serve() -> None:
            for _ in range(len(reqs) * (MESSAGES // 10)):
                request = rep.recv(timeout=WAIT_S)
                assert request.reply(request + b"!")

        together([serve, *[lambda n=n: ask(n) for n in range(len(reqs))]], 2 * WAIT_S)
        assert rep.stats().dropped == 0


def test_a_pub_reaches_all_of_them() -> None:
    """Over ZMTP with a topic of its own, over SP in front of the body."""
    with mm.Pub(bind=UP, overflow="block") as pub, ExitStack() as stack:
        subs = crowd(stack, (zmq.SUB, ref.SUB, mm.Sub), pub.endpoint)
        for sub in subs:
            if isinstance(sub, mm.Sub):
                sub.subscribe("")
            elif not isinstance(sub, NngSide):
                sub.setsockopt(zmq.SUBSCRIBE, b"")
        pub.wait_for_subscribers("t", len(subs), timeout=WAIT_S)

        def heard(number: int) -> None:
            sub = subs[number]
            for i in range(FEW):
                if isinstance(sub, NngSide):
                    assert sub.recv() == b"t%d" % i
                elif isinstance(sub, mm.Sub):
                    message = sub.recv(timeout=WAIT_S)
                    assert message.topic.encode() + message == b"t%d" % i
                else:
                    assert sub.recv_multipart() == [b"t", b"%d" % i]

        def publish() -> None:
            for i in range(FEW):
                pub.send(b"%d" % i, topic="t", timeout=WAIT_S)

        together([publish, *[lambda n=n: heard(n) for n in range(len(subs))]], 2 * WAIT_S)
        assert pub.stats().dropped == 0


def test_a_push_shares_out_to_all_of_them() -> None:
    """Each message to one of them, none lost."""
    with mm.Push(bind=UP) as push, ExitStack() as stack:
        pulls = crowd(stack, (zmq.PULL, ref.PULL, mm.Pull), push.endpoint)
        push.wait_for_peers(len(pulls), timeout=WAIT_S)
        total = len(pulls) * MESSAGES
        got: list[int] = []

        def take(number: int) -> None:
            pull = pulls[number]
            while (body := pull.recv()) != b"end":
                got.append(int(body))

        def send() -> None:
            for i in range(total):
                push.send(b"%d" % i, timeout=WAIT_S)
            push.drain(timeout=WAIT_S)  # with empty queues it goes round
            for _ in pulls:
                push.send(b"end", timeout=WAIT_S)

        together([send, *[lambda n=n: take(n) for n in range(len(pulls))]], 2 * WAIT_S)
        assert sorted(got) == list(range(total))
        assert push.stats().dropped == 0
