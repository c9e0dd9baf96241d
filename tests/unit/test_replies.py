"""Answering a request: once, with any bytes, along its own way back; and taking requests one by
one, however they are waited for."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import select
import signal
import sys
import threading
import weakref
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import native
from tests.support.forked import in_child, refused
from tests.support.pairs import WAIT_S, joined

Asked = tuple[mm.Rep, mm.Dealer, mm.Request]


def ask(rep: mm.Rep, dealer: mm.Dealer, body: bytes = b"question") -> mm.Request:
    """Have a request received."""
    dealer.send_frames([b"way", b"", body])
    return rep.recv(timeout=WAIT_S)


@pytest.fixture
def asked() -> Iterator[Asked]:
    """A Rep with a request, and the Dealer that asked."""
    with joined(mm.Rep, mm.Dealer, message_size_max=100_000) as (rep, dealer):
        yield rep, dealer, ask(rep, dealer)


class Own(bytes):
    """Bytes of somebody's own."""


@pytest.mark.parametrize(
    "answer",
    [b"", b"answer", Own(b"own"), mm.Message(b"m"), bytearray(b"array"), b"x" * 99_000]
    + [memoryview(b"view"), memoryview(b"v" * 9000), array("I", [1, 2])],
    ids=lambda answer: f"{type(answer).__name__}-{len(answer)}",
)
def test_an_answer_is_whatever_has_bytes(asked: Asked, answer: Any) -> None:
    """Of any size that is allowed, and whole."""
    _, dealer, request = asked
    assert request.reply(answer) is True
    assert dealer.recv_frames(timeout=WAIT_S) == [b"way", b"", bytes(answer)]


def test_a_request_may_be_its_own_answer_and_be_named(asked: Asked) -> None:
    """By keyword as well."""
    _, dealer, request = asked
    assert request.reply(data=request)
    assert dealer.recv(timeout=WAIT_S) == b"question"


def test_a_refused_answer_leaves_the_request_open_each_time(asked: Asked) -> None:
    """What is no answer, and what is too large, however often."""
    _, dealer, request = asked
    for _ in range(3):
        with pytest.raises(mm.TooLargeError, match="100,003 bytes in 3 frames") as error:
            request.reply(bytes(100_000))
        assert (error.value.size, error.value.limit) == (100_003, 100_000)
        with pytest.raises(mm.TooLargeError):
            request.reply(bytearray(100_000))
        with pytest.raises(TypeError, match="encode"):
            request.reply("text")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            request.reply()  # type: ignore[call-arg]
    assert request.reply(b"1")
    for again in (b"2", bytearray(b"2"), bytes(100_000)):
        with pytest.raises(mm.UsageError, match="answered already"):
            request.reply(again)
    with pytest.raises(TypeError, match="bytes-like"):
        request.reply(2)  # type: ignore[arg-type]
    assert dealer.recv(timeout=WAIT_S) == b"1"


def test_a_closed_socket_says_so_each_time(asked: Asked) -> None:
    """Nothing was sent, so nothing was answered."""
    rep, _, request = asked
    rep.close()
    for _ in range(2):
        with pytest.raises(mm.ClosedError, match="cannot reply"):
            request.reply(b"x")


def test_who_asked_is_known_before_and_after_the_answer(asked: Asked) -> None:
    """As for any message."""
    rep, _, request = asked
    peer = rep.peers()[0].id
    assert request.peer == peer
    request.reply(b"x")
    assert request.peer == peer
    assert (request.topic, request.frames) == ("", (b"question",))


def test_a_received_request_is_copied_and_shown_as_bytes(asked: Asked) -> None:
    """A copy is the request itself, and can answer it; pickled it is its body, plain bytes."""
    _, _, request = asked
    assert copy.copy(request) is request
    assert copy.deepcopy(request) is request
    twin = pickle.loads(pickle.dumps(request))
    assert type(twin) is bytes
    assert twin == b"question"
    assert repr(request) == "b'question'"
    assert {request: 1}[b"question"] == 1


def test_a_request_that_no_socket_gave_has_nobody_to_answer() -> None:
    """It counts as answered; its way is that of all of them."""
    made = mm.Request(b"made")
    assert (made, made.peer, made.frames) == (b"made", 0, (b"made",))
    with pytest.raises(mm.UsageError, match="answered already"):
        made.reply(b"x")
    with pytest.raises(TypeError):
        type(native.no_way())()


def test_a_class_of_ones_own_is_asked_once_for_each_answer() -> None:
    """Also where what is given has to be made bytes first."""
    seen: list[object] = []

    class Logged(mm.Request):
        """Notes what it is to be answered with."""

        def reply(self, data: bytes | bytearray | memoryview) -> bool:
            """Answer it."""
            seen.append(data)
            return super().reply(data)

    for answer in (b"1", bytearray(b"2")):
        with pytest.raises(mm.UsageError):
            Logged(b"x").reply(answer)
    assert seen == [b"1", bytearray(b"2")]


def test_a_request_keeps_its_socket_no_longer_than_itself() -> None:
    """Not at all once it is answered; and a cycle of the two is collected."""
    with joined(mm.Rep, mm.Dealer) as (rep, dealer):
        request = ask(rep, dealer)
        before = sys.getrefcount(rep)
        del request
        assert sys.getrefcount(rep) == before - 1
        answered = ask(rep, dealer)
        assert sys.getrefcount(rep) == before
        assert answered.reply(b"answer")
        assert sys.getrefcount(rep) == before - 1
    other = mm.Rep(bind="inproc://cycle")
    with mm.Dealer(connect="inproc://cycle") as dealer:
        vars(other)["kept"] = ask(other, dealer)
    other.close()
    seen = weakref.ref(other)
    del other
    gc.collect()
    assert seen() is None


def test_a_request_is_answered_by_the_process_that_received_it(asked: Asked) -> None:
    """A forked child is told, and its parent still may."""
    _, dealer, request = asked
    assert in_child(lambda: refused(lambda: request.reply(b"child")))
    assert request.reply(b"parent")
    assert dealer.recv(timeout=WAIT_S) == b"parent"


class Stop(Exception):
    """Raised by a signal's function."""


def test_an_answer_that_a_signal_ends_was_sent_or_may_still_be() -> None:
    """Never twice, and never not at all; some signals come while it is sent."""
    main, armed, go, over = threading.get_ident(), [False], threading.Event(), threading.Event()

    def stop(*_: object) -> None:
        if armed[0]:
            armed[0] = False
            raise Stop

    def storm() -> None:
        while not over.is_set():
            go.wait()
            go.clear()
            signal.pthread_kill(main, signal.SIGUSR1)

    def cut_short(request: mm.Request, body: bytes | bytearray) -> bool:
        """Whether a signal came; if so, the answer may have been sent."""
        go.set()
        try:
            armed[0] = True
            request.reply(body)
            armed[0] = False
        except Stop:
            return True
        return False

    before = signal.signal(signal.SIGUSR1, stop)
    thread = threading.Thread(target=storm)
    thread.start()
    sent_before = 0
    try:
        with joined(mm.Rep, mm.Dealer) as (rep, dealer):
            for i in range(100_000):
                request = ask(rep, dealer)
                body = bytearray(b"%d" % i) if i % 2 else b"%d" % i
                if cut_short(request, body):
                    try:
                        assert request.reply(body)
                    except mm.UsageError:
                        sent_before += 1
                assert dealer.recv(timeout=WAIT_S) == body
                if sent_before == 20:
                    break
            with pytest.raises(mm.WouldBlockError):
                dealer.recv(timeout=0)
    finally:
        over.set()
        go.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    assert sent_before == 20


def test_of_threads_that_answer_many_requests_each_is_answered_once() -> None:
    """Whoever comes first; the others are told."""
    count = 200
    with joined(mm.Rep, mm.Dealer) as (rep, dealer):
        requests = [ask(rep, dealer, b"%d" % i) for i in range(count)]
        outcomes: list[int] = []

        def answer() -> None:
            done = 0
            for request in requests:
                try:
                    done += request.reply(request)
                except mm.UsageError:
                    continue
            outcomes.append(done)

        threads = [threading.Thread(target=answer) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert sum(outcomes) == count
        found = sorted(int(dealer.recv(timeout=WAIT_S)) for _ in range(count))
        assert found == list(range(count))
        with pytest.raises(mm.WouldBlockError):
            dealer.recv(timeout=0)


def by_recv(rep: mm.Rep) -> mm.Request:
    """Wait for as long as it takes."""
    return rep.recv()


def by_timeout(rep: mm.Rep) -> mm.Request:
    """Wait for so long."""
    return rep.recv(timeout=WAIT_S)


def by_poller(rep: mm.Rep) -> mm.Request:
    """Wait elsewhere, then take it."""
    with mm.Poller([rep]) as poller:
        assert poller.poll(WAIT_S) == [rep]
        return rep.recv()


def by_fileno(rep: mm.Rep) -> mm.Request:
    """Wait by the descriptor."""
    assert select.select([rep], [], [], WAIT_S)[0] == [rep]
    return rep.recv(timeout=0)


@pytest.mark.parametrize("way", [by_recv, by_timeout, by_poller, by_fileno])
@pytest.mark.parametrize("size", [0, 64, 70_000])
def test_requests_taken_one_by_one_are_whole_in_order_and_counted(
    way: Callable[[mm.Rep], mm.Request], size: int
) -> None:
    """More than the queue holds: taking one makes room for the next."""
    bodies = [b"%3d" % i + bytes(size) for i in range(30)]
    with joined(mm.Rep, mm.Dealer, recv_queue_messages=2) as (rep, dealer):
        sending = threading.Thread(
            target=lambda: [dealer.send_frames([b"w", b"", b"head", body]) for body in bodies]
        )
        sending.start()
        for body in bodies:
            request = way(rep)
            assert (request, request.frames) == (body, (b"head", body))
            assert request.reply(request)
            assert dealer.recv_frames(timeout=WAIT_S) == [b"w", b"", body]
        sending.join(WAIT_S)
        stats = rep.stats()
        assert stats.received_messages == len(bodies)
        assert stats.received_bytes == sum(len(body) + 5 for body in bodies)
        with pytest.raises(mm.WouldBlockError):
            rep.recv(timeout=0)


def test_the_descriptor_tells_of_what_is_left() -> None:
    """At once, after each request that was taken."""
    with joined(mm.Rep, mm.Dealer) as (rep, dealer):
        for _ in range(3):
            dealer.send_frames([b"", b"x"])
        dealer.drain(timeout=WAIT_S).raise_for_loss()
        for left in (2, 1, 0):
            assert select.select([rep], [], [], WAIT_S)[0] == [rep]
            rep.recv()
            assert bool(select.select([rep], [], [], 0)[0]) == (left > 0)


def test_threads_that_wait_for_requests_all_get_their_share() -> None:
    """Who takes one without waiting passes the wake on to who sleeps."""
    count = 400
    with joined(mm.Rep, mm.Dealer) as (rep, dealer):
        found: list[bytes] = []

        def serve() -> None:
            while (request := rep.recv()) != b"end":
                found.append(bytes(request))
                request.reply(request)

        threads = [threading.Thread(target=serve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for i in range(count):
            dealer.send_frames([b"", b"%d" % i])
        for _ in threads:
            dealer.send_frames([b"", b"end"])
        for thread in threads:
            thread.join(WAIT_S)
        assert sorted(map(int, found)) == list(range(count))


def test_an_asyncio_rep_gives_the_same_requests() -> None:
    """And answers them the same way."""

    async def run() -> None:
        async with aio.Rep(bind="inproc://replies") as rep:
            with mm.Dealer(connect="inproc://replies") as dealer:
                dealer.send_frames([b"way", b"", b"question"])
                request = await rep.recv(timeout=WAIT_S)
                assert type(request) is mm.Request
                assert request.peer == rep.peers()[0].id
                with pytest.raises(TypeError):
                    request.reply(5)  # type: ignore[arg-type]
                assert request.reply(memoryview(b"answer"))
                with pytest.raises(mm.UsageError, match="answered already"):
                    request.reply(b"again")
                assert dealer.recv_frames(timeout=WAIT_S) == [b"way", b"", b"answer"]

    asyncio.run(run())
