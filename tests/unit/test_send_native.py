"""send() of a thread, which is native for plain bytes: the same as the function it stands for.

Not here: waiting for room (test_blocking), asyncio's (test_aio_coroutine). Law: nobody can tell
which of the two sent a message, but by a clock.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import itertools
import pickle
import pydoc
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import native
from tests.support.pairs import WAIT_S, joined

LARGE = 100_000
"""Bytes of a body that does not go into a segment."""


class Text(bytes):
    """Bytes of a user's own."""


class Counting(mm.Push):
    """What users do: a socket with a send of their own."""

    calls = 0

    def send(self, data: Any, *, timeout: float | None = None) -> None:
        """Count."""
        self.calls += 1
        super().send(data, timeout=timeout)


@contextmanager
def publishing(topic: str) -> Iterator[tuple[mm.Pub, mm.Sub]]:
    """Connect a subscriber of that to a publisher."""
    with (
        mm.Pub(bind="tcp://127.0.0.1:0", overflow="block") as pub,
        mm.Sub(connect=pub.endpoint, topics=topic) as sub,
    ):
        pub.wait_for_subscribers(topic, timeout=WAIT_S)
        yield pub, sub


BODIES = [b"", b"x", b"\0" * 255, b"y" * 256, Text(b"own"), b"z" * LARGE]
BORROWED_MAX = 32 * 1024 - 2 * 64
"""Bytes of two frames that are sent from where they lie; one more, and they are copied first."""
EDGES = [b"e" * (BORROWED_MAX - len(b"news") + more) for more in (-1, 0, 1, 64, 65)]
LIKE_BYTES = [bytearray(b"array"), memoryview(b"view"), memoryview(b"abcd")[1:3]]


@pytest.mark.parametrize("body", BODIES + LIKE_BYTES, ids=lambda b: f"{type(b).__name__}{len(b)}")
@pytest.mark.parametrize("timeout", [None, 5, 1.5, 0, "absent"])
def test_a_body_arrives_as_it_was(body: Any, timeout: Any) -> None:
    """Native or not, with each kind of time."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        if timeout == "absent":
            push.send(body)
        else:
            push.send(body, timeout=timeout)
        assert pull.recv(timeout=WAIT_S) == bytes(body)
        assert push.stats().sent_messages == 1
        assert push.stats().sent_bytes == len(body)


@pytest.mark.parametrize("body", [*BODIES, *EDGES, bytearray(b"array")], ids=lambda b: str(len(b)))
@pytest.mark.parametrize(
    ("topic", "frame"),
    [("news", b"news"), (b"news", b"news"), ("ü", "ü".encode()), ("n\udcff", b"n\xff")],
)
@pytest.mark.parametrize("timed", [False, True])
def test_a_topic_is_a_frame_in_front(body: Any, topic: Any, frame: bytes, timed: bool) -> None:
    """Text is UTF-8, with what came in as other bytes; either way round."""
    with publishing("") as (pub, sub):
        if timed:
            pub.send(body, timeout=WAIT_S, topic=topic)
        else:
            pub.send(body, topic=topic)
        assert sub.recv_frames(timeout=WAIT_S) == [frame, bytes(body)]


@pytest.mark.parametrize("topic", ["", b"", None])
def test_no_topic_is_no_frame(topic: Any) -> None:
    """The body is matched then."""
    with publishing("bo") as (pub, sub):
        pub.send(b"other", topic=topic)
        pub.send(b"body", topic=topic)
        assert sub.recv_frames(timeout=WAIT_S) == [b"body"]


@pytest.mark.parametrize("topic", ["ü", "ü".encode(), bytearray("ü".encode())])
@pytest.mark.parametrize("kind", [mm.Pub, mm.XPub])
def test_frames_have_a_topic_in_front_as_a_body_has(kind: Any, topic: Any) -> None:
    """Of threads; without a topic, with an empty one, or of what is no frames, as always."""
    with kind(bind="tcp://127.0.0.1:0") as pub, mm.Sub(connect=pub.endpoint, topics="") as sub:
        pub.wait_for_subscribers("", timeout=WAIT_S)
        pub.send_frames([b"a", b"b"], topic=topic)
        pub.send_frames((b"a",), topic=topic, timeout=0)
        pub.send_frames([b"a", b"b"], topic="")
        pub.send_frames([b"a"])
        raw = "ü".encode()
        wanted = [[raw, b"a", b"b"], [raw, b"a"], [b"a", b"b"], [b"a"]]
        assert [sub.recv_frames(timeout=WAIT_S) for _ in wanted] == wanted
        with pytest.raises(mm.UsageError):
            pub.send_frames([], topic=topic)
        with pytest.raises(TypeError, match="sequence of frames"):
            pub.send_frames(b"a", topic=topic)
        with pytest.raises(TypeError, match="a topic is"):
            pub.send_frames([b"a"], topic=5)
        assert pub.stats().sent_messages == len(wanted)


def test_in_a_loop_frames_have_a_topic_in_front() -> None:
    """The same, awaited."""

    async def run(kind: Any) -> list[list[bytes]]:
        async with (
            kind(bind="tcp://127.0.0.1:0") as pub,
            aio.Sub(connect=pub.endpoint, topics="") as sub,
        ):
            await pub.wait_for_subscribers("", timeout=WAIT_S)
            await pub.send_frames([b"a", b"b"], topic="t")
            await pub.send_frames([b"a"], topic=b"", timeout=WAIT_S)
            with pytest.raises(mm.UsageError):
                await pub.send_frames([], topic="t")
            return [await sub.recv_frames(timeout=WAIT_S) for _ in range(2)]

    for kind in (aio.Pub, aio.XPub):
        assert asyncio.run(run(kind)) == [[b"t", b"a", b"b"], [b"a"]]


def test_topics_and_none_in_a_burst_stay_in_order_and_apart() -> None:
    """Of one publisher, small and large, to those who want them."""
    with publishing("t") as (pub, sub):
        sent = []
        for i in range(300):
            body = b"%d" % i * (1 if i % 50 else LARGE // 100)
            topic = ["t", "u", "tt", ""][i % 4]
            pub.send(b"t" + body, topic=topic)
            if topic != "u":
                sent.append([topic.encode(), b"t" + body] if topic else [b"t" + body])
        assert [sub.recv_frames(timeout=WAIT_S) for _ in sent] == sent


@pytest.mark.parametrize("data", ["text", None, 5, [b"x"], memoryview(b"abcd")[::2]])
@pytest.mark.parametrize("more", [{}, {"timeout": 1}])
def test_what_is_no_message_is_refused_with_a_hint(data: Any, more: dict[str, Any]) -> None:
    """Nothing of it is sent."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        with pytest.raises(TypeError, match="a message is bytes"):
            push.send(data, **more)
        push.send(b"next")
        assert pull.recv(timeout=WAIT_S) == b"next"


@pytest.mark.parametrize("timeout", [-1, -0.5, float("nan"), "1", -(2**70)])
@pytest.mark.parametrize("kind", [mm.Push, mm.Pub])
def test_what_is_no_time_is_refused_and_nothing_is_sent(kind: Any, timeout: Any) -> None:
    """The same errors as other calls have."""
    with kind(bind="tcp://127.0.0.1:0") as socket:
        with pytest.raises((ValueError, TypeError)):
            socket.send(b"x", timeout=timeout)
        assert socket.stats().sent_messages == 0


def test_what_the_function_does_not_take_is_a_type_error() -> None:
    """Not swallowed by what stands for it."""
    with mm.Push(bind="tcp://127.0.0.1:0") as push, mm.Pub(bind="tcp://127.0.0.1:0") as pub:
        calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
            (push, (b"x",), {"topic": "t"}),
            (push, (b"x", 1), {}),
            (push, (), {}),
            (pub, (b"x",), {"to": b"y"}),
            (pub, (b"x",), {"topic": "t", "timeout": 1, "other": 2}),
            (pub, (b"x",), {"topic": 5}),
        ]
        for socket, args, named in calls:
            with pytest.raises(TypeError):
                socket.send(*args, **named)
            assert socket.stats().sent_messages == 0
        with pytest.raises(TypeError):
            mm.Push.send(b"x")  # type: ignore[call-arg, arg-type]


def test_it_can_be_called_through_the_class_kept_and_overridden() -> None:
    """As a function of the class can."""
    with joined(Counting, mm.Pull) as (push, pull):
        push.send(b"1")
        mm.Push.send(push, b"2")
        mm.Push.send(push, data=b"3")
        kept = push.send
        kept(b"4")
        kept(data=b"5")
        assert push.calls == 3
        assert [pull.recv(timeout=WAIT_S) for _ in range(5)] == [b"1", b"2", b"3", b"4", b"5"]


def test_a_kept_method_keeps_its_socket_and_nothing_else_does() -> None:
    """No cycle, no leak."""
    push = mm.Push()
    seen = weakref.ref(push)
    kept = push.send
    push.close()
    del push
    assert seen() is not None
    with pytest.raises(mm.ClosedError):
        kept(b"x")
    gc.disable()
    try:
        del kept
        assert seen() is None
    finally:
        gc.enable()


def test_limits_closed_sockets_and_full_queues_say_what_they_always_said() -> None:
    """With a topic and without."""
    with mm.Pub(bind="tcp://127.0.0.1:0", message_size_max=10) as pub:
        for more in ({}, {"topic": "t"}, {"timeout": 1}):
            with pytest.raises(mm.TooLargeError, match="10"):
                pub.send(b"x" * 11, **more)  # type: ignore[arg-type]
        with pytest.raises(mm.TooLargeError, match="10"):
            pub.send(b"x" * 9, topic="to")
        pub.close()
        for more in ({}, {"topic": "t"}, {"timeout": 1}):
            with pytest.raises(mm.ClosedError):
                pub.send(b"x", **more)  # type: ignore[arg-type]
    with mm.Push() as push:
        for timeout in (0, 0.001):
            with pytest.raises(mm.WouldBlockError if timeout == 0 else mm.TimedOutError):
                push.send(b"x", timeout=timeout)


NATIVE: list[dict[str, Any]] = [
    {}, {"timeout": None}, {"timeout": 5}, {"topic": "t"}, {"topic": b"t", "timeout": 0.5},
]  # fmt: skip
WRITTEN: list[dict[str, Any]] = [{"timeout": -1}, {"topic": ""}, {"topic": "\udcff"}, {"to": 1}]


def recording(calls: list[tuple[Any, ...]], awaited: bool) -> Any:
    """A method that notes what is not sent natively, right or wrong."""

    def take(*args: Any, **named: Any) -> None:
        calls.append((args, named))

    return native.send_method(take, ("timeout", "topic"), awaited, take)


@pytest.mark.parametrize("more", NATIVE + WRITTEN, ids=str)
def test_what_is_plain_is_sent_without_the_function(more: dict[str, Any]) -> None:
    """And what is not comes to it as it was given."""
    calls: list[tuple[Any, ...]] = []
    method = recording(calls, False)
    with publishing("") as (pub, _sub):
        for _ in range(3):  # one in many is the function's, whatever it is
            method(pub, b"x", **more)
        if more in WRITTEN:
            assert calls == [((pub, b"x"), more)] * 3
        else:
            assert len(calls) <= 1
            assert pub.stats().sent_messages >= 2


@pytest.mark.parametrize("more", [*NATIVE, {"timeout": -1}, {"timeout": -1, "topic": "t"}], ids=str)
def test_an_awaited_one_needs_no_function_for_its_coroutine(more: dict[str, Any]) -> None:
    """What is wrong with a time is told when it is awaited, as by the function's."""
    calls: list[tuple[Any, ...]] = []
    method = recording(calls, True)

    async def main() -> None:
        async with aio.Pub(bind="tcp://127.0.0.1:0") as pub:
            sending = method(pub, b"x", **more)
            assert pub.stats().sent_messages == 0
            if more.get("timeout") == -1:
                with pytest.raises(ValueError):
                    await sending
            else:
                await sending
                assert pub.stats().sent_messages == 1

    asyncio.run(main())
    assert calls == []


@pytest.mark.parametrize("more", [{"to": 1}, {"topic": "t", "timeout": 5, "to": 1}], ids=str)
def test_an_awaited_one_is_the_functions_with_other_arguments(more: dict[str, Any]) -> None:
    """As they were given."""
    calls: list[tuple[Any, ...]] = []
    method = recording(calls, True)

    async def main() -> None:
        async with aio.Pub(bind="tcp://127.0.0.1:0") as pub:
            method(pub, b"x", **more)
            method(pub, data=b"x")
            method(b"x")
            assert calls == [((pub, b"x"), more), ((pub,), {"data": b"x"}), ((b"x",), {})]

    asyncio.run(main())


@pytest.mark.parametrize(
    "args",
    [
        (),
        (1,),
        (1, ()),
        (print, ()),
        (print, (), False),
        (print, (), False, 1),
        (print, 1, False, print),
    ],
)
def test_a_method_is_made_of_a_function_and_what_it_takes(args: tuple[Any, ...]) -> None:
    """All of it."""
    with pytest.raises(TypeError, match="expected"):
        native.send_method(*args)


def test_in_a_loop_of_c_signals_and_other_threads_have_their_turn() -> None:
    """Every so often the function is called, and its call lets them."""
    calls: list[tuple[Any, ...]] = []
    method = recording(calls, False)
    with mm.Pub() as pub:
        deque(map(method, itertools.repeat(pub, 1024), itertools.repeat(b"x")), maxlen=0)
    assert len(calls) == 1024 // 256


class Odd(str):
    """A name that cannot be compared."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("odd")


def test_a_name_that_cannot_be_compared_is_its_own_error() -> None:
    """Not one of the interpreter's."""
    with mm.Push() as push, pytest.raises((RuntimeError, TypeError), match="odd|keyword"):
        push.send(b"x", **{Odd("timeout"): 1})


@pytest.mark.parametrize("kind", [mm.Push, mm.Pub])
def test_it_is_a_function_to_tools_that_mock_keep_and_copy(kind: Any) -> None:
    """Of tests, signals, callbacks and pickles."""
    assert inspect.isfunction(kind.send)
    assert pickle.loads(pickle.dumps(kind.send)) is kind.send
    assert copy.deepcopy(kind.send) is kind.send
    assert weakref.ref(kind.send)() is kind.send
    with kind() as socket:
        method = weakref.WeakMethod(socket.send)
        assert method() == socket.send
        with patch.object(kind, "send", autospec=True) as mock:
            socket.send(b"x", timeout=1)
            mock.assert_called_once_with(socket, b"x", timeout=1)
            with pytest.raises(TypeError):
                socket.send(1, 2, 3)
    try:
        kind.send.note = "kept"
        assert kind.send.note == "kept"
    finally:
        del kind.send.note


@pytest.mark.parametrize("kind", [mm.Push, mm.Pub])
def test_who_asks_is_told_of_the_function(kind: Any) -> None:
    """By tools that show documentation, signatures and source, of the class and of a socket."""
    assert "Thread-safe: yes" in pydoc.render_doc(kind.send)
    with kind() as socket:
        kept = socket.send
    for method in (kind.send, kept):
        assert method.__name__ == "send"
        assert "Thread-safe: yes" in method.__doc__
        assert "def send(" in inspect.getsource(method)
        assert "data" in inspect.signature(method).parameters
        assert "send" in repr(method)
    assert inspect.isroutine(kind.send)
    with pytest.raises(AttributeError):
        kind.send.no_such_thing()
