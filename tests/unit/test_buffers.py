"""Every call that sends, with every kind of buffer: what arrives is what it holds, to the byte.

Not here: calls that wait for room (tests/sim/test_buffers_that_wait). Law: what something says of
itself, its len for one, is asked by no call: C reads what the buffer is, never more.
"""

from __future__ import annotations

import ast
import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg
import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import ffi
from meshmsg._binding.data import buffer_of, bytes_of, exact_bytes, pack_frames
from tests.support.buffers import BODY, KINDS, REFUSED, Lying, Raising
from tests.support.pairs import WAIT_S, joined

SOURCES = Path(meshmsg.__file__).parent


@contextmanager
def published() -> Iterator[tuple[mm.Pub, mm.Sub]]:
    """A publisher and who wants everything of it."""
    with joined(mm.Pub, mm.Sub) as (pub, sub):
        sub.subscribe("")
        pub.wait_for_subscribers("", timeout=WAIT_S)
        yield pub, sub


@pytest.mark.parametrize("kind", KINDS)
def test_one_function_tells_c_what_to_read(kind: str) -> None:
    """All three forms of a body hold the same octets, and the sizes are those of its memory."""
    make, body = KINDS[kind]
    data, size = buffer_of(make())
    assert size == len(body)
    assert ffi.buffer(data if isinstance(data, ffi.CData) else ffi.from_buffer(data))[:] == body
    assert bytes.__eq__(bytes_of(make()), body) is True
    assert type(exact_bytes(make())) is bytes
    assert exact_bytes(make()) == body
    whole, sizes, count = pack_frames([make(), b"|", make()])
    assert (whole, list(sizes), count) == (body + b"|" + body, [len(body), 1, len(body)], 3)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shared_out_arrives_as_it_is(kind: str) -> None:
    """By each call of a Push, a Dealer and a Pair, natively or not."""
    make, body = KINDS[kind]
    for one, other in ((mm.Push, mm.Pull), (mm.Dealer, mm.Dealer), (mm.Pair, mm.Pair)):
        with joined(one, other) as (push, pull):
            push.send(make())
            push.send(make(), timeout=WAIT_S)
            push.send(make(), timeout=0)
            push.send_frames([make(), b"", make()])
            assert push.send_many([make(), b"", make()]) == 3
            assert push.send_many(iter([make(), make()]), timeout=WAIT_S) == 2
            found = [pull.recv_frames(timeout=WAIT_S) for _ in range(9)]
            one_body = [body]
            assert found == [
                *[one_body] * 3,
                [body, b"", body],
                one_body,
                [b""],
                one_body,
                *[one_body] * 2,
            ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_published_arrives_as_it_is(kind: str) -> None:
    """With a topic and without; of a Bus, too."""
    make, body = KINDS[kind]
    with published() as (pub, sub):
        pub.send(make())
        pub.send(make(), topic="t")
        pub.send(make(), topic=Lying(b"t"))
        pub.send_frames([b"t", make()])
        pub.send_many([make()])
        found = [sub.recv_frames(timeout=WAIT_S) for _ in range(5)]
        assert found == [[body], [b"t", body], [b"t", body], [b"t", body], [body]]
    with joined(mm.Bus, mm.Bus) as (bus, other):
        bus.send(make())
        bus.send_many(iter([make()]))
        assert [other.recv_frames(timeout=WAIT_S) for _ in range(2)] == [[body]] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_and_answered_arrives_as_it_is(kind: str) -> None:
    """Requests, surveys, replies, and what a Router sends."""
    make, body = KINDS[kind]
    with joined(mm.Router, mm.Dealer) as (router, dealer):
        dealer.send(b"here")
        me = router.recv(timeout=WAIT_S).peer
        router.send(make(), to=me)
        router.send(make(), to=Lying(me))
        router.send_frames([bytearray(me), make(), make()])
        found = [dealer.recv_frames(timeout=WAIT_S) for _ in range(3)]
        assert found == [[body], [body], [body, body]]
    with joined(mm.Dealer, mm.Rep) as (dealer, rep):
        dealer.send_frames([b"", make()])
        request = rep.recv(timeout=WAIT_S)
        assert request == body
        assert request.reply(make())
        assert dealer.recv_frames(timeout=WAIT_S) == [b"", body]
    with joined(mm.Surveyor, mm.Respondent) as (surveyor, respondent):
        survey = surveyor.survey(make(), deadline=WAIT_S)
        asked = respondent.recv(timeout=WAIT_S)
        assert asked == body
        assert asked.reply(make())
        assert [bytes(answer) for answer in survey] == [body]


def answered(req: mm.Req, rep: mm.Rep, question: Any, answer: Any) -> tuple[bytes, bytes]:
    """Ask on a thread of its own; what the other end got, and what came back."""
    seen: list[bytes] = []

    def serve() -> None:
        request = rep.recv(timeout=WAIT_S)
        seen.append(bytes(request))
        request.reply(answer)

    serving = threading.Thread(target=serve)
    serving.start()
    reply = req.request(question, timeout=WAIT_S)
    serving.join(WAIT_S)
    return seen[0], bytes(reply)


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_arrives_as_it_is(kind: str) -> None:
    """And its reply."""
    make, body = KINDS[kind]
    with joined(mm.Req, mm.Rep) as (req, rep):
        assert answered(req, rep, make(), make()) == (body, body)


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_loop_all_of_it_arrives_as_it_is(kind: str) -> None:
    """The same calls, awaited."""
    make, body = KINDS[kind]

    async def shared_out() -> list[list[bytes]]:
        async with (
            aio.Push(bind="tcp://127.0.0.1:0") as push,
            aio.Pull(connect=push.endpoint) as pull,
        ):
            await push.send(make())
            await push.send(make(), timeout=WAIT_S)
            await push.send_frames([make(), make()])
            await push.send_many([make(), b""])
            await push.send_many(iter([make()]))
            return [await pull.recv_frames(timeout=WAIT_S) for _ in range(6)]

    async def published_too() -> list[list[bytes]]:
        async with (
            aio.Pub(bind="tcp://127.0.0.1:0") as pub,
            aio.Sub(connect=pub.endpoint, topics="") as sub,
        ):
            await pub.wait_for_subscribers("", timeout=WAIT_S)
            await pub.send(make(), topic="t")
            await pub.send(make(), topic=Lying(b"t"))
            await pub.send(make())
            return [await sub.recv_frames(timeout=WAIT_S) for _ in range(3)]

    async def asked() -> list[bytes]:
        async with (
            aio.Req(bind="tcp://127.0.0.1:0") as req,
            aio.Rep(connect=req.endpoint) as rep,
            aio.Surveyor(bind="tcp://127.0.0.1:0") as surveyor,
            aio.Respondent(connect=surveyor.endpoint) as respondent,
            aio.Router(bind="tcp://127.0.0.1:0") as router,
            aio.Dealer(connect=router.endpoint, identity=b"me") as dealer,
        ):
            await surveyor.wait_for_peers(timeout=WAIT_S)
            await router.wait_for_peers(timeout=WAIT_S)
            asking = asyncio.create_task(req.request(make(), timeout=WAIT_S))
            request = await rep.recv(timeout=WAIT_S)
            request.reply(make())
            survey = surveyor.survey(make(), deadline=WAIT_S)
            answering = asyncio.create_task(anext(survey))
            question = await respondent.recv(timeout=WAIT_S)
            question.reply(make())
            await router.send(make(), to=Lying(b"me"))
            routed = await dealer.recv(timeout=WAIT_S)
            return [request, await asking, question, await answering, routed]

    assert asyncio.run(shared_out()) == [[body], [body], [body, body], [body], [b""], [body]]
    assert asyncio.run(published_too()) == [[b"t", body], [b"t", body], [body]]
    assert asyncio.run(asked()) == [body] * 5


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_sent_is_refused_with_what_to_do(kind: str) -> None:
    """By each call alike; nothing of it is sent."""
    make, hint = REFUSED[kind]
    with (
        mm.Pub() as pub,
        mm.Req() as req,
        mm.Surveyor() as surveyor,
        mm.Router() as router,
        mm.Push() as push,
    ):
        calls = [
            lambda: push.send(make()),
            lambda: push.send(make(), timeout=1),
            lambda: push.send_frames([b"", make()]),
            lambda: push.send_many([make(), b""]),  # what stands before it would wait for a peer
            lambda: push.send_many(iter([make()])),
            lambda: pub.send(make(), topic="t"),
            lambda: req.request(make()),
            lambda: surveyor.survey(make()),
            lambda: router.send(make(), to=b"me"),
            lambda: mm.Request(b"").reply(make()),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=hint):
                call()
        assert push.stats().sent_messages == pub.stats().sent_messages == 0


def test_too_large_ones_are_told_by_their_bytes() -> None:
    """In each call's error, though they say other things of themselves."""
    with joined(mm.Push, mm.Pull, message_size_max=31) as (push, _):
        for kind in ("array", "cast_2d", "bytearray"):
            for call in (push.send, lambda data: push.send_many([data])):
                with pytest.raises(mm.TooLargeError, match="32") as refused:
                    call(KINDS[kind][0]())
                assert refused.value.size == len(BODY)
        for kind_of in (Lying, Raising):
            for call in (push.send, lambda data: push.send_many([data])):
                with pytest.raises(mm.TooLargeError) as refused:
                    call(kind_of(b"x" * 33))
                assert refused.value.size == 33


def test_names_and_topics_are_taken_as_they_are() -> None:
    """Of subclasses that say other things of themselves."""
    with (
        mm.Router(bind="tcp://127.0.0.1:0") as router,
        mm.Dealer(connect=router.endpoint, identity=Lying(b"me")) as dealer,
    ):
        dealer.send(b"x")
        assert router.recv(timeout=WAIT_S).peer == b"me"
        with pytest.raises(mm.PeerError, match=r"b'hello'") as unknown:
            router.send(b"x", to=Lying(b"hello"))
        assert unknown.value.peer == b"hello"
    with published() as (pub, sub):
        sub.unsubscribe("")
        sub.subscribe(Lying(b"news"))
        sub.wait_for_subscribed(timeout=WAIT_S)  # else the first subscription may still stand
        pub.wait_for_subscribers(Lying(b"news"), timeout=WAIT_S)
        assert pub.subscribers(Raising(b"news")) == 1
        assert pub.subscribers("new") == 0
        sub.unsubscribe(Raising(b"news"))


def calls_of_c() -> Iterator[tuple[Path, ast.Call]]:
    """Every call of the core in the sources, and where it stands."""
    for path in sorted(SOURCES.rglob("*.py")):
        if "bench" in path.relative_to(SOURCES).parts:
            continue  # it measures calls of the core; a copied package has it inside
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id in ("lib", "native")
            ):
                yield path, node


def test_no_call_of_the_core_is_told_a_size_by_len() -> None:
    """A pointer and its size come from one function (buffer_of), so that they cannot differ.

    Of what the core writes to (ffi.new), and of lists and octets made here, the count may be told.
    """
    lists = {"messages", "left", "users", "more"}
    seen = 0
    for path, call in calls_of_c():
        seen += 1
        for node in ast.walk(call):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len":
                name = ast.unparse(node.args[0])
                ours = re.search(rf"\b{name}\b[\w, ]* = (ffi\.new|b\"\"\.join)\(", path.read_text())
                assert ours or name in lists, f"{path.name}:{call.lineno}: {ast.unparse(call)}"
    assert seen > 50


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda n: n.ma.array([1.0, 2.0], mask=[0, 1]), r"mask would be lost; send x\.filled\(\)"),
        (
            lambda n: n.array([[1, 2], [3, 4]], order="F"),
            r"not contiguous in C order .*numpy\.ascontiguousarray\(x\)",
        ),
        (lambda n: n.array([object()]), r"references to Python objects; .*x\.astype\(float\)"),
        (lambda n: n.array([(1, None)], "i8,O"), "references .*; send the fields of numbers only"),
    ],
    ids=["masked", "columns first", "objects", "objects in a record"],
)
def test_an_array_that_cannot_be_sent_says_what_can(make: Any, words: str) -> None:
    """What is advised can be done with this very array."""
    numpy = pytest.importorskip("numpy")
    with mm.Push() as push, pytest.raises(TypeError, match=words):
        push.send(make(numpy), timeout=0)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[ns]"])
def test_an_array_of_times_is_refused_with_what_can_be_sent(dtype: str) -> None:
    """NumPy gives no buffer of datetime64 and timedelta64; their numbers are integers."""
    numpy = pytest.importorskip("numpy")
    times = numpy.arange(3).astype("i8").view(dtype)
    with (
        mm.Push() as push,
        pytest.raises(TypeError, match=r"not ndarray.*; send x\.view\(\"i8\"\)"),
    ):
        push.send(times, timeout=0)
    with mm.Push() as push, pytest.raises(mm.WouldBlockError):
        push.send(times.view("i8"), timeout=0)
