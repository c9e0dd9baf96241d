"""Message and Request: bytes that know where they came from, and how to answer."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.core import Slot, lib, native
from meshmsg._binding.message import IN_PLACE, PEERS_MAX, WHOLE, FullMessage, message_class
from tests.support.pairs import WAIT_S, joined, wait_until
from tests.support.unlike import called


def test_a_message_is_its_body_and_nothing_else_counts() -> None:
    """Equality, hashing, slicing, methods: those of bytes."""
    message = FullMessage(b"body")
    message.topic, message.peer = "t", 7
    assert message == b"body"
    assert hash(message) == hash(b"body")
    assert {b"body": 1}[message] == 1
    assert message[1:] == b"ody"
    assert message.frames == (b"body",)
    assert repr(message) == "b'body'"


def test_what_is_not_known_has_an_empty_value() -> None:
    """No attribute is sometimes there."""
    message = mm.Message(b"")
    assert (message.topic, message.peer, message.frames) == ("", 0, (b"",))


def test_a_pickle_is_plain_bytes() -> None:
    """Who unpickles it may have no meshmsg."""
    twin = pickle.loads(pickle.dumps(mm.Message(b"body")))
    assert type(twin) is bytes
    assert twin == b"body"


def test_a_copy_of_what_cannot_change_is_the_message_itself() -> None:
    """With its topic, its frames and its peer, also inside of something that is copied."""
    with (
        mm.Pub(bind="inproc://copies") as pub,
        mm.Sub(connect="inproc://copies", topics="t") as sub,
    ):
        pub.wait_for_subscribers("t", timeout=WAIT_S)
        pub.send(b"1", topic="t")
        message = sub.recv(timeout=WAIT_S)
    assert message.topic == "t"
    assert copy.copy(message) is message
    assert copy.deepcopy([message])[0] is message
    with mm.Rep(bind="inproc://copied") as rep, mm.Dealer(connect="inproc://copied") as dealer:
        dealer.send_frames([b"", b"q"])
        request = rep.recv(timeout=WAIT_S)
        assert copy.copy(request) is request


@pytest.mark.parametrize(
    ("topic", "expected"), [("fx.eur", "fx.eur"), (b"\xff\xfe", "\udcff\udcfe"), ("grün", "grün")]
)
def test_a_topic_comes_back_as_it_was_given_and_can_be_used_again(
    topic: Any, expected: str
) -> None:
    """Even one that is no UTF-8."""
    with (
        mm.Pub(bind="inproc://topics") as pub,
        mm.Sub(connect="inproc://topics", topics=[topic]) as sub,
    ):
        pub.wait_for_subscribers(topic, timeout=WAIT_S)
        pub.send(b"1", topic=topic)
        message = sub.recv(timeout=WAIT_S)
        assert (message.topic, message, len(message.frames)) == (expected, b"1", 2)
        pub.send(b"2", topic=message.topic)
        assert sub.recv(timeout=WAIT_S).topic == expected


def test_a_publication_without_topic_is_a_single_frame() -> None:
    """Matched on its own beginning, as ZeroMQ does it."""
    with mm.Pub(bind="inproc://plain") as pub, mm.Sub(connect="inproc://plain", topics="fx") as sub:
        pub.wait_for_subscribers("fx", timeout=WAIT_S)
        pub.send(b"bonds 1")
        pub.send(b"fx 1.08")
        message = sub.recv(timeout=WAIT_S)
        assert (message, message.topic, message.frames) == (b"fx 1.08", "", (b"fx 1.08",))


def test_peers_are_told_apart_by_id_or_identity() -> None:
    """A Pull's peer is an id of peers(); a Router's is its identity."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"x")
        assert pull.recv(timeout=WAIT_S).peer == pull.peers()[0].id
    with joined(mm.Router, mm.Dealer) as (router, dealer):
        dealer.send_frames([b"a", b"b"])
        message = router.recv(timeout=WAIT_S)
        assert message.peer == router.peers()[0].identity
        assert message.frames == (b"a", b"b")


Asked = tuple[mm.Rep, mm.Dealer, mm.Request]


@pytest.fixture
def asked() -> Iterator[Asked]:
    """A Rep with a request of two frames, and the Dealer that asked."""
    with joined(mm.Rep, mm.Dealer, message_size_max=1000) as (rep, dealer):
        dealer.send_frames([b"way", b"back", b"", b"head", b"question"])
        yield rep, dealer, rep.recv(timeout=WAIT_S)


def test_a_request_shows_its_frames_and_hides_its_envelope(asked: Asked) -> None:
    """The body is the last frame; the answer finds its way back."""
    _, dealer, request = asked
    assert type(request) is mm.Request
    assert request == b"question"
    assert request.frames == (b"head", b"question")
    assert request.reply(memoryview(b"answer"))
    assert dealer.recv_frames(timeout=WAIT_S) == [b"way", b"back", b"", b"answer"]


def test_a_request_is_answered_once(asked: Asked) -> None:
    """The second answer is a mistake of the caller."""
    _, _, request = asked
    assert request.reply(b"1")
    with pytest.raises(mm.UsageError, match="answered already"):
        request.reply(b"2")


@pytest.mark.parametrize("bad", ["text", 5, None, [b"x"]])
def test_what_is_no_answer_is_refused_and_the_request_stays_open(asked: Asked, bad: Any) -> None:
    """An int is not turned into so many zero bytes."""
    _, dealer, request = asked
    with pytest.raises(TypeError, match="encode" if isinstance(bad, str) else "bytes-like"):
        request.reply(bad)
    assert request.reply(b"a proper one")
    assert dealer.recv(timeout=WAIT_S) == b"a proper one"


def test_an_answer_over_the_limit_is_refused_and_a_shorter_one_goes(asked: Asked) -> None:
    """TooLargeError; whoever asked still gets an answer."""
    _, dealer, request = asked
    with pytest.raises(mm.TooLargeError, match="1,000 bytes"):
        request.reply(b"x" * 1001)
    assert request.reply(b"short")
    assert dealer.recv(timeout=WAIT_S) == b"short"


def test_of_many_threads_that_answer_one_does(asked: Asked) -> None:
    """And the others are told."""
    _, dealer, request = asked
    outcomes: list[object] = []
    start = threading.Barrier(8, timeout=WAIT_S)

    def answer() -> None:
        start.wait()
        try:
            outcomes.append(request.reply(b"x"))
        except mm.UsageError:
            outcomes.append("refused")

    threads = [threading.Thread(target=answer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert outcomes.count(True) == 1
    assert outcomes.count("refused") == 7
    assert dealer.recv(timeout=WAIT_S) == b"x"
    with pytest.raises(mm.WouldBlockError):
        dealer.recv(timeout=0)


def test_an_answer_to_somebody_who_left_is_counted_not_raised(asked: Asked) -> None:
    """False says so."""
    rep, dealer, request = asked
    dealer.close()
    while rep.peers():
        rep.wait_for_peers(0, timeout=WAIT_S)
    assert request.reply(b"too late") is False
    assert rep.stats().dropped_peer_gone == 1


def test_answering_on_a_closed_socket_is_an_error(asked: Asked) -> None:
    """Not a silent False."""
    rep, _, request = asked
    rep.close()
    with pytest.raises(mm.ClosedError):
        request.reply(b"x")


def test_batches_and_iterations_of_a_rep_are_requests_too() -> None:
    """Whichever way they are received."""
    with joined(mm.Rep, mm.Dealer) as (rep, dealer):
        for i in range(6):
            dealer.send_frames([b"", b"%d" % i])
        found = [rep.recv(timeout=WAIT_S), next(iter(rep))]
        while len(found) < 6:
            found += rep.recv_many(2, timeout=WAIT_S)
        for request in reversed(found):
            assert request.reply(request)
        assert [dealer.recv(timeout=WAIT_S) for _ in range(6)] == [
            b"5",
            b"4",
            b"3",
            b"2",
            b"1",
            b"0",
        ]


def test_a_peer_s_messages_are_of_its_own_class() -> None:
    """So that making one sets no attribute; there is no end of peers, and yet an end of classes."""
    assert message_class(5) is message_class(5)
    first = message_class(7)
    message = first(b"x")
    assert (message.peer, message.topic, message) == (7, "", b"x")
    assert isinstance(message, mm.Message)
    assert type(message).__name__ == "Message"
    for peer in range(10_000, 10_000 + PEERS_MAX + 1):
        message_class(peer)
    assert message_class(7) is not first
    assert message.peer == 7


def test_messages_made_in_place_are_like_those_that_were_called() -> None:
    """The same hash, end and size, whatever the size."""
    assert IN_PLACE
    for size in (0, 1, 7, 8, 100, 5000):
        assert native.check(message_class(1), bytes(range(256)) * 20 + bytes(size))
        assert native.check(message_class(1), b"z" * size)


def test_messages_are_called_where_those_made_in_place_are_unlike() -> None:
    """As on a Python whose bytes look otherwise."""
    with called(), joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"body", timeout=WAIT_S)
        found = pull.recv(timeout=WAIT_S)
        assert (found, found.peer) == (b"body", pull.peers()[0].id)


def test_native_calls_refuse_what_they_cannot_take() -> None:
    """With an exception, never more."""
    for wrong in ((), (1,), (1, "text"), ("x", b"y"), (1, b"x", 3)):
        with pytest.raises(TypeError):
            native.send(*wrong)
    assert native.send(12345, b"x") < 0
    for wrong_list in (
        (1, (), [0, 0], 0, 0, b"", 0),
        (1, [], [0, 0], 0, 0, b""),
        (1, [], 0, 0, 0, b"", 0),
        (1, [], [0], 0, 0, b"", 0),
        (1, [], ["0", 0], 0, 0, b"", 0),
        (1, ["a"], [0, 0], 0, 0, b"", 0),
        (1, [b"a"], [0, 0], "0", 0, b"", 0),
        (1, [b"a"], [0, 0], 0, 0, "", 0),
        (1, [b"a"], [0, 0], 0, 0, b"", "0"),
        (1, [b"a"], [0, 0], 0, 0, b"", -1),
    ):
        with pytest.raises((TypeError, OverflowError)):
            native.send_list(*wrong_list)
    assert native.send_list(12345, [b"x"], [0, 0], 0, 0, b"", 0) < 0
    assert native.send_list(12345, [b"x"], [0, 0], 0, 0, b"malformed", 0) == lib.MM_EINVAL
    for wrong_gathering in (
        ([b"a"], [], 1, 1, 0.1, time.monotonic, bytes),
        (iter(()), (), 1, 1, 0.1, time.monotonic, bytes),
        (iter(()), [], "1", 1, 0.1, time.monotonic, bytes),
        (iter(()), [], 1, 1, 0.1, None, bytes),
        (iter([1]), [], 1, 1, 0.1, time.monotonic, str),
        (iter(()), [], 1, 1, 0.1, str, bytes),
        (iter(()), []),
    ):
        with pytest.raises(TypeError):
            native.gather(*wrong_gathering)
    with pytest.raises(TypeError):
        native.all_bytes(())
    assert native.all_bytes([])
    assert native.all_bytes([b"a"])
    assert not native.all_bytes([b"a", "b"])
    with pytest.raises(TypeError):
        native.parts("1")
    with pytest.raises(TypeError):
        native.check(mm.Message, "x")


@pytest.mark.parametrize(("step", "taken"), [(0.25, 3), (0.5, 3), (0.75, 1)])
def test_what_takes_longer_than_is_slow_is_the_last_to_be_gathered(step: float, taken: int) -> None:
    """Not what takes just as long."""
    times = itertools.count(0.0, step)
    found: list[bytes] = []
    more = native.gather(iter([b"a"] * 3), found, 9, 99, 0.5, lambda: next(times), bytes)
    assert (len(found), more) == (taken, taken < 3)


def test_native_calls_of_questions_and_answers_refuse_what_they_cannot_take() -> None:
    """With an exception; a socket that is none is a code, as in C."""
    ready = native.ready(WHOLE)
    for wrong in ((), (None, 1, 2, 0), (None, "1", 2, 0, 0), (None, 1, "2", 0, 0)):
        with pytest.raises(TypeError):
            ready.answer(*wrong)
    assert ready.answer(None, 12345, 1, 0, 0) < 0
    for wrong_turn in ((), (None, 1), (None, "1", 2, 0, 0, 0)):
        with pytest.raises(TypeError):
            ready.turn(*wrong_turn)
    with pytest.raises(TypeError):
        ready.sleeps("1")
    for wrong_ready in ((), (1,), (message_class,), (WHOLE, WHOLE)):
        with pytest.raises(TypeError):
            native.ready(*wrong_ready)
    for wrong_answers in (
        (ready, print, None, 1, 2, 0),
        ([], print, None, 1, 2, 0, []),
        (ready, print, None, 1, 2, 0, ()),
        (ready, print, None, "1", 2, 0, []),
        (ready, print, None, 1, "2", 0, []),
    ):
        with pytest.raises(TypeError):
            native.answers(*wrong_answers)
    for wrong_survey in (
        (1, b"", 0, 1, 0, 0),
        (1, "", 0, 1, 0, 0, [0, b""]),
        (1, b"", 0, 1, 0, 0, [0]),
        (1, b"", 0, "1", 0, 0, [0, b""]),
        ("1", b"", 0, 1, 0, 0, [0, b""]),
    ):
        with pytest.raises(TypeError):
            native.survey(*wrong_survey)
    begun = [0, b""]
    assert native.survey(12345, b"", 0, 1, 0, 0, begun) < 0
    assert begun == [0, b""]
    assert native.no_way().reply("x") is None
    assert native.no_way().reply(b"x") == lib.MM_ESTATE
    assert native.no_way().about() == (None, 0, 0, False)
    one = (1).to_bytes(8, "little")
    for wrong_frames in (
        (),
        (b"x",),
        (b"x", one, b"", b""),
        (b"x", one, "1"),
        ("x", one),
        (b"x", "1"),
        (b"x", b""),
        (b"", b""),
        (b"x", one[:7]),
        (b"xy", one),
        (b"x", one + one),
        (b"x", b"\xff" * 8),
        (b"x", b"\xff" * 8 + (2).to_bytes(8, "little")),
    ):
        for call in (
            lambda q=wrong_frames: native.survey(1, q, 0, 1, 0, 0, [0, b""]),
            lambda q=wrong_frames: native.request(1, q, 0, 0, [0]),
            lambda q=wrong_frames: native.ask(1, 1, q),
            lambda q=wrong_frames: native.no_way().reply(q),
        ):
            with pytest.raises(TypeError):
                call()
    with pytest.raises(TypeError):
        native.no_way().refuse("x")
    assert native.no_way().refuse(b"x") == lib.MM_ESTATE


@pytest.mark.parametrize("size", [0, 64, 4000, 5000, 100_000])
def test_requests_and_replies_are_whole_whatever_their_size(size: int) -> None:
    """Small ones are copied into a batch, or lent by the core; nobody can tell."""
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    with mm.Rep(bind="inproc://whole") as rep, mm.Req(connect="inproc://whole") as req:
        asking = threading.Thread(target=lambda: answers.append(req.request(body, timeout=WAIT_S)))
        answers: list[mm.Message] = []
        asking.start()
        request = rep.recv(timeout=WAIT_S)
        assert (request, request.frames) == (body, (body,))
        assert request.peer == rep.peers()[0].id
        assert request.reply(request)
        asking.join()
        assert answers == [body]


def test_native_calls_of_a_loop_refuse_what_they_cannot_take() -> None:
    """With an exception; a socket or a waker that is none is a code, as in C."""
    slot = Slot()
    batch = slot.address
    refused: list[tuple[Any, tuple[Any, ...]]] = [
        (native.waker_take, ("1",)),
        (native.replies, ("1",)),
        *[
            (native.ask, wrong)
            for wrong in ((), (1, 2), ("1", 2, b"x"), (1, "2", b"x"), (1, 2, "x"))
        ],
        *[(native.watch, wrong) for wrong in ((), (1, 2), ("1", 2, 1), (1, "2", 1), (1, 2, "1"))],
        *[(native.reply_now, wrong) for wrong in ((), (1, 2, batch), (1, 2, batch, ()))],
        *[(native.reply_now, wrong) for wrong in ((1, 2, 0, {}), (1, "2", batch, {}))],
        *[(native.await_reply, wrong) for wrong in ((), (1, 2, batch, 0), (1, "2", batch, 0, 0))],
        *[(native.await_reply, wrong) for wrong in ((1, 2, 0, 0, 0), (1, 2, batch, "0", 0))],
        *[(native.request, wrong) for wrong in ((), (1, b"x", 0, 0), (1, b"x", 0, 0, (0,)))],
        *[(native.request, wrong) for wrong in (("1", b"x", 0, 0, [0]), (1, b"x", "0", 0, [0]))],
        (native.call, (1, b"x", batch, 0, 0, {})),
        (native.call, (1, "x", batch, 0, 0, {}, [0])),
        (native.call, (1, b"x", 0, 0, 0, {}, [0])),
        (native.call, (1, b"x", batch, "0", 0, {}, [0])),
        (native.call, (1, b"x", batch, 0, 0, (), [0])),
        (native.call, (1, b"x", batch, 0, 0, {}, (0,))),
    ]
    for call, wrong in refused:
        with pytest.raises(TypeError):
            call(*wrong)
    with pytest.raises(IndexError):
        native.call(12345, b"x", batch, 0, 0, {}, [])
    number = [7]
    assert native.call(12345, b"x", batch, 0, 0, {}, number) < 0
    assert number == [0]
    assert native.request(12345, b"x", 0, 0, number) < 0
    assert native.await_reply(12345, 1, batch, 0, 0) < 0
    assert native.waker_take(12345) < 0
    assert native.replies(12345) < 0
    assert native.ask(12345, 1, b"x") < 0
    assert native.watch(12345, 1, 1) < 0
    assert native.reply_now(12345, 1, batch, {}) < 0


def test_a_request_that_cannot_be_watched_for_is_not_asked() -> None:
    """The id would be lost otherwise, and the reply with it."""
    with mm.Rep(bind="tcp://127.0.0.1:0") as rep, mm.Req(connect=rep.endpoint) as req:
        req.wait_for_peers(timeout=WAIT_S)
        assert native.ask(req._handle, 12345, b"x") == lib.MM_EINVAL
        assert native.replies(req._handle) == []
        assert native.call(req._handle, b"y", Slot().address, 0, 0, {}, [0]) == lib.MM_EAGAIN


@pytest.mark.parametrize("how", ["request", "call"])
def test_a_request_whose_id_cannot_be_told_is_given_up(how: str) -> None:
    """Nobody would ever take its reply, which would stay with the socket: it counts as late."""
    with mm.Rep(bind="tcp://127.0.0.1:0") as rep, mm.Req(connect=rep.endpoint) as req:
        req.wait_for_peers(timeout=WAIT_S)
        nowhere: list[int] = []
        slot = Slot()
        with pytest.raises(IndexError):
            if how == "request":
                native.request(req._handle, b"q", 0, 0, nowhere)
            else:
                native.call(req._handle, b"q", slot.address, 0, 0, {}, nowhere)
        rep.recv(timeout=WAIT_S).reply(b"a")
        wait_until(lambda: req.stats().parsed_messages == 1)
        stats = req.stats()
        assert (stats.dropped_late, stats.queued_in_messages) == (1, 0)
