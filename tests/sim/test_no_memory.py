"""Whole conversations in Python, again and again, with the n-th allocation of the core failing, for
every n there is.

Not here: the same in C (tests/c/test_no_memory.c), and allocations of Python's own. Law: nothing
crashes, hangs or leaks; a call that found no memory says so and has done nothing; what was accepted
arrives once and in order, or its connection was lost and it is counted.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.featured import say
from tests.support.mm import lib

T = TypeVar("T")
UP = "tcp://127.0.0.1:0"
TRIES = 8
"""How often a call that found no memory is made again: one allocation fails, so once would do."""
POINTS_MAX = 5000
"""Allocations of one conversation, at most; more would mean that it never ends."""
SHORT_S = 30.0
"""Virtual seconds to wait for what may have been lost."""


def again(call: Callable[[], T]) -> T:
    """Call until there is memory; anything but the errors for that is a fault."""
    for _ in range(TRIES):
        try:
            return call()
        except (mm.ResourceError, MemoryError):
            continue
    return call()


@contextmanager
def failing(point: int) -> Iterator[list[bool]]:
    """Let the n-th allocation from here fail; the list then says whether there was one."""
    failed: list[bool] = []
    lib.mm_test_alloc_fail(point)
    try:
        yield failed
    finally:
        failed.append(lib.mm_test_alloc_fail(0) <= 0)


class Stage:
    """Two engines in a world, and sockets on them."""

    def __init__(self) -> None:
        self.world = again(lambda: SimWorld(3))
        self.engines = [again(self.world.engine) for _ in range(2)]
        self.sockets: list[Any] = []

    def open(self, role: Any, engine: int = 0, **options: Any) -> Any:
        """Open a socket; without memory there is none, and again."""
        socket = again(lambda: role(engine=self.engines[engine], **options))
        self.sockets.append(socket)
        return socket

    def pair(self, listens: Any, dials: Any, **options: Any) -> tuple[Any, Any]:
        """Open two that know each other."""
        one = self.open(listens, bind=UP)
        other = self.open(dials, 1, connect=one.endpoint, **options)
        again(lambda: one.wait_for_peers(1, timeout=SHORT_S))
        return one, other

    def lost(self) -> int:
        """Messages that the books say were lost, or may have been."""
        stats = [again(socket.stats) for socket in self.sockets]
        return sum(one.in_doubt_messages + one.dropped for one in stats)

    def disconnects(self) -> int:
        """Connections that ended."""
        return sum(again(socket.stats).disconnects for socket in self.sockets)

    def close(self) -> None:
        """Close all; that needs no memory."""
        for socket in self.sockets:
            socket.close()
        self.world.close()


def received(take: Callable[[], list[bytes]], wanted: int) -> list[bytes]:
    """Take until all is there, or nothing comes any more."""
    found: list[bytes] = []
    while len(found) < wanted:
        try:
            found += again(take)
        except mm.TimedOutError:
            break
    return found


def in_order(sent: list[bytes], got: list[bytes], stage: Stage) -> None:
    """Everything once and in order; what is missing is in the books."""
    assert len(set(got)) == len(got), "something came twice"
    assert [body for body in sent if body in set(got)] == got, "out of order"
    assert len(sent) - len(got) <= stage.lost(), "something is missing and nobody said so"


def pipeline(stage: Stage) -> None:
    """send, send_many, send_batch; recv, iteration, recv_many, recv_batch."""
    push, pull = stage.pair(mm.Push, mm.Pull)
    sent = [b"%03d" % n for n in range(24)]
    sent[5] *= 70_000  # by reference
    for body in sent[:8]:
        again(lambda body=body: push.send(body, timeout=SHORT_S))
    left = sent[8:16]
    while left:
        try:
            left = left[push.send_many(left, timeout=SHORT_S) :]
        except (mm.ResourceError, MemoryError) as error:
            left = left[getattr(error, "sent", 0) :]
    array = pa.array(sent[16:], pa.binary())
    done = 0
    while done < 8:
        try:
            done += push.send_batch(array[done:], timeout=SHORT_S)
        except (mm.ResourceError, MemoryError) as error:
            done += getattr(error, "sent", 0)
    got = received(lambda: [pull.recv(timeout=SHORT_S)], 4)
    got += received(lambda: pull.recv_many(6, timeout=SHORT_S), 6)
    got += received(lambda: list(pull.recv_batch(max_messages=100, timeout=SHORT_S)), 14)
    in_order(sent, [bytes(body) for body in got], stage)


def publishing(stage: Stage) -> None:
    """Topics that come and go, two subscribers."""
    pub = stage.open(mm.Pub, bind=UP, overflow="block")
    subs = [stage.open(mm.Sub, 1, connect=pub.endpoint) for _ in range(2)]
    for sub in subs:
        again(lambda sub=sub: sub.subscribe("a"))
        again(lambda sub=sub: sub.subscribe("b"))
        again(lambda sub=sub: sub.unsubscribe("b"))
    again(lambda: pub.wait_for_subscribers("a", 2, timeout=SHORT_S))
    sent = [b"%d" % n for n in range(12)]
    for body in sent:
        again(lambda body=body: pub.send(body, topic="a", timeout=SHORT_S))
        again(lambda body=body: pub.send(body, topic="b", timeout=SHORT_S))
    for sub in subs:
        got = received(lambda sub=sub: [sub.recv(timeout=SHORT_S)], len(sent))
        in_order(sent, [bytes(body) for body in got], stage)


def asking(stage: Stage) -> None:
    """Requests, over a Dealer that makes the envelope; one of a Req, which nobody answers."""
    rep, dealer = stage.pair(mm.Rep, mm.Dealer)
    sent = [b"%d" % n * (1 + 20_000 * (n == 3)) for n in range(6)]
    for body in sent:
        again(lambda body=body: dealer.send_frames([b"", body], timeout=SHORT_S))
    requests = received(lambda: [rep.recv(timeout=SHORT_S)], len(sent))
    in_order(sent, [bytes(request) for request in requests], stage)
    for request in requests:
        again(lambda request=request: request.reply(bytes(request)))
    got = received(lambda: [dealer.recv_frames(timeout=SHORT_S)[-1]], len(requests))
    in_order(sent, got, stage)
    req = stage.open(mm.Req, 1, connect=rep.endpoint)
    with pytest.raises((mm.TimedOutError, mm.PeerError)):
        again(lambda: req.request(b"q", timeout=SHORT_S, retries=1))


def surveying(stage: Stage) -> None:
    """Each respondent answers or is missing."""
    surveyor = stage.open(mm.Surveyor, bind=UP)
    nodes = [stage.open(mm.Respondent, 1, connect=surveyor.endpoint) for _ in range(3)]
    again(lambda: surveyor.wait_for_peers(3, timeout=SHORT_S))
    survey = again(lambda: surveyor.survey(b"?", deadline=SHORT_S))
    for node in nodes:
        try:
            request = again(lambda node=node: node.recv(timeout=1.0))
            again(lambda request=request: request.reply(b"!"))
        except mm.TimedOutError:
            pass
    answers = list_of(survey)
    assert len(answers) + len(survey.missing) <= 3 + stage.disconnects()
    assert len(answers) == 3 or stage.lost() or stage.disconnects()


def refusing(stage: Stage) -> None:
    """Each respondent answers in frames, declines, or is missing; a Dealer cannot be refused."""
    surveyor = stage.open(mm.Surveyor, bind=UP)
    nodes = [stage.open(mm.Respondent, 1, connect=surveyor.endpoint) for _ in range(4)]
    again(lambda: surveyor.wait_for_peers(4, timeout=SHORT_S))
    survey = again(lambda: surveyor.survey_frames([b"a", b"", b"?"], deadline=SHORT_S))
    told = 0
    for number, node in enumerate(nodes):
        try:
            request = again(lambda node=node: node.recv(timeout=1.0))
        except mm.TimedOutError:
            continue
        assert request.frames == (b"a", b"", b"?")
        if number % 2:
            told += again(lambda request=request: request.refuse("no"))
        else:
            told += again(lambda request=request: request.reply_frames([b"", b"!"]))
    stage.world.run(1.0)
    declined = again(lambda: survey.declined)
    answers = list_of(survey)
    heard = len(answers) + len(declined)
    assert heard + len(survey.missing) <= 4 + stage.disconnects()
    assert heard == told or stage.lost() or stage.disconnects()
    rep, dealer = stage.pair(mm.Rep, mm.Dealer)
    again(lambda: dealer.send_frames([b"", b"q"], timeout=SHORT_S))
    for request in received(lambda: [rep.recv(timeout=SHORT_S)], 1):
        assert again(lambda request=request: request.refuse("no")) is False


def list_of(survey: Any) -> list[bytes]:
    """Take the answers of a survey, until it is over."""
    found: list[bytes] = []
    answers = iter(survey)
    while True:
        try:
            found.append(bytes(next(answers)))
        except StopIteration:
            return found
        except (mm.ResourceError, MemoryError):
            continue


def routing(stage: Stage) -> None:
    """Frames there and back, by name."""
    router, dealer = stage.pair(mm.Router, mm.Dealer, identity=b"d")
    sent = [b"%d" % n for n in range(8)]
    for body in sent:
        again(lambda body=body: dealer.send_frames([b"x", body], timeout=SHORT_S))
    frames = received(lambda: [router.recv_frames(timeout=SHORT_S)], len(sent))  # type: ignore[list-item]
    in_order(sent, [one[-1:][0] for one in frames], stage)  # type: ignore[misc]
    back = 0
    for body in sent:
        try:
            again(lambda body=body: router.send_frames([b"d", body], timeout=SHORT_S))
            back += 1
        except mm.PeerError:
            assert stage.disconnects()
    got = received(lambda: [dealer.recv(timeout=SHORT_S)], back)
    in_order(sent, [bytes(body) for body in got], stage)


def looking(stage: Stage) -> None:
    """Peers, events, counters, receipts, disconnecting."""
    one, other = stage.pair(mm.Pair, mm.Pair)
    bus, far = stage.pair(mm.Bus, mm.Bus)
    again(lambda: one.send(b"1", timeout=SHORT_S))
    again(lambda: far.send(b"2"))
    again(lambda: one.drain(timeout=SHORT_S))
    for socket in stage.sockets:
        again(socket.peers)
        again(socket.events)
        repr(socket)
    poller = again(lambda: mm.Poller([other, far]))
    again(lambda: poller.poll(SHORT_S))
    again(lambda: other.disconnect(one.endpoint))
    poller.close()


def requiring(stage: Stage) -> None:
    """Who acknowledges gets everything, at least once; who shows nothing is refused."""
    engine = again(stage.world.engine)
    say(engine, "")
    options: dict[str, Any] = {"delivery": "at_least_once", "require": ("acks", "headers")}
    push = stage.open(mm.Push, bind=UP, **options)
    lacking = again(lambda: mm.Pull(connect=push.endpoint, engine=engine))
    stage.sockets.append(lacking)
    able = stage.open(mm.Pull, 1, connect=push.endpoint)
    sent = [b"%d" % n for n in range(6)]
    for body in sent:
        again(lambda body=body: push.send(body, key=body, timeout=SHORT_S))
    got: set[bytes] = set()
    while len(got) < len(sent):
        message = again(lambda: able.recv(timeout=SHORT_S))
        assert message.key == message
        got.add(bytes(message))
    stage.world.run(1.0)
    assert again(push.stats).closed[mm.Reason.FEATURE] > 0
    assert again(lacking.stats).parsed_messages == 0
    assert [peer.acks for peer in again(push.peers)] in ([True], [])


CONVERSATIONS = [pipeline, publishing, asking, surveying, refusing, routing, looking, requiring]


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda play: play.__name__)
def test_whichever_allocation_fails_nothing_is_lost_without_a_word(
    conversation: Callable[[Stage], None],
) -> None:
    """Every allocation in turn, until the conversation ends without having come to it."""
    live = lib.mm_live_handles()
    for point in range(1, POINTS_MAX):
        with failing(point) as failed:
            stage = Stage()
            try:
                conversation(stage)
            except BaseException as error:
                raise AssertionError(f"with allocation {point} failing") from error
            finally:
                stage.close()
        gc.collect(0)
        assert lib.mm_live_handles() == live, point
        if not failed[0]:
            assert point > 50, "the conversation hardly allocates: the hook is not reached"
            return
    raise AssertionError(f"still allocating after {POINTS_MAX} failures")
