"""send_frames, which is native for a list or tuple of bytes: the same as what stands behind it.

Not here: topics and single bodies (test_send_native.py), kinds of buffers (test_buffers.py), what
arrives of random frames (test_frames_formed.py).
Law: nobody can tell which of the two ways a message went, but by a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import native
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, joined

PARTS_MAX = int(lib.MM_PARTS_MAX)
SEGMENT_MAX = 32 * 1024
"""About what goes out from where it lies; more is copied first."""


class Text(bytes):
    """Bytes of a user's own, that say other things of themselves."""

    def __len__(self) -> int:
        return 1

    def __bytes__(self) -> bytes:
        raise AssertionError("nobody asks")


class Frames(list[Any]):
    """A list of a user's own: what it gives when it is iterated is what is sent."""

    def __iter__(self) -> Iterator[Any]:
        return iter([b"given"])


@contextmanager
def routed() -> Iterator[tuple[mm.Router, mm.Dealer]]:
    """A Router, and a Dealer that it knows as "me"."""
    with (
        mm.Router(bind="tcp://127.0.0.1:0") as router,
        mm.Dealer(connect=router.endpoint, identity=b"me") as dealer,
    ):
        router.wait_for_peers(timeout=WAIT_S)
        yield router, dealer


@pytest.mark.parametrize("count", [1, 2, 3, PARTS_MAX - 1, PARTS_MAX, PARTS_MAX + 1, 40])
@pytest.mark.parametrize("size", [0, 1, 255, 256, SEGMENT_MAX // PARTS_MAX, SEGMENT_MAX, 100_000])
@pytest.mark.parametrize("make", [list, tuple, iter, Frames], ids=lambda m: m.__name__)
def test_frames_of_any_number_and_size_arrive(
    count: int, size: int, make: Callable[[Any], Any]
) -> None:
    """On either side of what is sent from where it lies, of a sequence of any kind."""
    frames = [bytes([i]) * size for i in range(count)]
    wanted = [b"given"] if make is Frames else frames
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_frames(make(frames))
        push.send_frames(make(frames), timeout=WAIT_S)
        assert pull.recv_frames(timeout=WAIT_S) == wanted
        assert pull.recv_frames(timeout=WAIT_S) == wanted
        assert push.stats().sent_messages == 2
        assert push.stats().sent_bytes == 2 * sum(map(len, wanted))


@pytest.mark.parametrize("size", range(SEGMENT_MAX - 66, SEGMENT_MAX + 2, 11))
def test_no_octet_is_lost_where_one_way_ends(size: int) -> None:
    """Of three frames that just fit, or just do not."""
    frames = [b"", b"a" * 9, b"b" * (size - 200)]
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_frames(frames)
        assert pull.recv_frames(timeout=WAIT_S) == frames


@pytest.mark.parametrize("way", ["plain", "mixed"])
def test_bytes_of_a_users_own_are_sent_as_they_lie(way: str) -> None:
    """Whatever they say of themselves."""
    frames = [Text(b"news"), b"x", *([bytearray(b"y")] if way == "mixed" else [])]
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send_frames(frames)
        assert pull.recv_frames(timeout=WAIT_S)[:2] == [b"news", b"x"]


WRONG: list[tuple[Any, type[Exception], str]] = [
    ([], mm.UsageError, "at least one frame"),
    ((), mm.UsageError, "at least one frame"),
    (b"abc", TypeError, "sequence of frames"),
    (["text"], TypeError, "str"),
    ([b"a", None], TypeError, "NoneType"),
    (7, TypeError, "iterable"),
]


@pytest.mark.parametrize(("frames", "error", "words"), WRONG, ids=lambda v: str(v)[:20])
def test_what_is_no_frames_is_refused_in_both_worlds(
    frames: Any, error: type[Exception], words: str
) -> None:
    """And sends nothing."""
    with joined(mm.Push, mm.Pull) as (push, _):
        with pytest.raises(error, match=words):
            push.send_frames(frames)
        assert push.stats().sent_messages == 0

    async def awaited() -> None:
        async with aio.Push() as push:
            with pytest.raises(error, match=words):
                await push.send_frames(frames)
            assert push.stats().sent_messages == 0

    asyncio.run(awaited())


@pytest.mark.parametrize("timeout", [-1, "1", float("nan")])
def test_what_is_no_time_is_refused_before_anything_is_sent(timeout: Any) -> None:
    """As of send()."""
    with joined(mm.Push, mm.Pull) as (push, _):
        with pytest.raises((TypeError, ValueError)):
            push.send_frames([b"a", b"b"], timeout=timeout)
        assert push.stats().sent_messages == 0


def test_one_too_large_is_refused_with_its_size() -> None:
    """Of all frames, by either way."""
    with joined(mm.Push, mm.Pull, message_size_max=31) as (push, pull):
        for frames in ([b"x" * 16, b"y" * 16], [bytearray(b"x" * 16), b"y" * 16]):
            with pytest.raises(mm.TooLargeError) as refused:
                push.send_frames(frames)
            assert refused.value.size == 32
        push.send_frames([b"x" * 16, b"y" * 15])
        assert len(pull.recv_frames(timeout=WAIT_S)) == 2


def test_a_full_queue_and_nobody_there_are_told_as_of_any_send() -> None:
    """Without waiting; nothing is sent twice."""
    with mm.Push(no_peer="error") as alone, pytest.raises(mm.WouldBlockError):
        alone.send_frames([b"a", b"b"])
    with mm.Push(send_queue_messages=2) as push:
        with pytest.raises(mm.WouldBlockError):
            for _ in range(4):
                push.send_frames([b"a", b"b"], timeout=0)
        assert push.stats().sent_messages <= 2


def test_a_router_sends_to_whom_the_first_frame_names() -> None:
    """Natively, too; it needs one behind it, and somebody of that name."""
    with routed() as (router, dealer):
        router.send_frames([b"me", b"", b"x"])
        router.send_frames((b"me", b"x"), timeout=WAIT_S)
        router.send(b"y", to=b"me")
        wanted = [[b"", b"x"], [b"x"], [b"y"]]
        assert [dealer.recv_frames(timeout=WAIT_S) for _ in wanted] == wanted
        with pytest.raises(mm.UsageError, match="at least one frame behind"):
            router.send_frames([b"me"])
        with pytest.raises(mm.PeerError) as unknown:
            router.send_frames([b"you", b"x"])
        assert unknown.value.peer == b"you"
        assert router.stats().sent_messages == len(wanted)


def test_a_closed_socket_says_so() -> None:
    """As any call."""
    push = mm.Push()
    push.close()
    with pytest.raises(mm.ClosedError):
        push.send_frames([b"a", b"b"])


def test_in_a_loop_frames_go_the_same_ways() -> None:
    """Awaited, of each number."""

    async def run() -> list[list[bytes]]:
        async with (
            aio.Router(bind="tcp://127.0.0.1:0") as router,
            aio.Dealer(connect=router.endpoint, identity=b"me") as dealer,
        ):
            await router.wait_for_peers(timeout=WAIT_S)
            for count in (1, PARTS_MAX - 1, PARTS_MAX, 40):
                await router.send_frames([b"me", *[b"x"] * count])
                await router.send_frames(iter([b"me", *[b"x"] * count]), timeout=WAIT_S)
            return [await dealer.recv_frames(timeout=WAIT_S) for _ in range(8)]

    got = asyncio.run(run())
    assert [len(frames) for frames in got] == [
        count for count in (1, PARTS_MAX - 1, PARTS_MAX, 40) for _ in range(2)
    ]


@pytest.mark.parametrize(
    "given", [(), (1,), (1, [b"x"], 1), ("1", [b"x"], 1, None), (1, [b"x"], "1", None)]
)
def test_the_native_call_takes_four_arguments(given: tuple[Any, ...]) -> None:
    """It is no call for users, and crashes for nobody."""
    with pytest.raises(TypeError):
        native.send_frames(*given)


def test_the_native_call_leaves_what_is_not_plain() -> None:
    """Nothing was done then."""
    with mm.Push() as push:
        for frames, least, topic in (
            ([], 1, None),
            ([b"x"], 2, None),
            ([b"x"] * (PARTS_MAX + 1), 1, None),
            ([b"x"] * PARTS_MAX, 1, "t"),
            ([b"x"], 1, ""),
            ([b"x"], 1, "\udcff"),
            ([b"x"], 1, 5),
            ({b"x"}, 1, None),
            (Frames([b"x"]), 1, None),
        ):
            assert native.send_frames(push._handle, frames, least, topic) is None
