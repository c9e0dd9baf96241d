"""A `send_many(confirm=True)` that is broken off: the receipts of what was sent are not lost.

Not here: one that ends well (test_receipt_runs.py), `.sent` and `.unsent` without receipts
(test_send_many.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._sync import sending
from tests.support.calls import WAYS, Way
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
KEPT: dict[str, Any] = {"delivery": "at_least_once"}
BODIES = [b"%d" % i for i in range(20)]
LIMITS: list[dict[str, int]] = [
    {"send_queue_messages": 5},
    {"send_queue_bytes": 5 * 65},
    {"send_queue_bytes": 1},
]
"""Of the queue, smaller than the run; the last one than one message, which goes alone then."""


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """Each way to use the Push."""
    made = Way(request.param)
    yield made
    made.end()


def delivered(push: Any, count: int) -> list[bytes]:
    """Take what it has, and be done with it."""
    found: list[bytes] = []
    with mm.Pull(connect=push.endpoint, ack="manual") as pull:
        for _ in range(count):
            message = pull.recv(timeout=WAIT_S)
            found.append(bytes(message))
            assert message.ack()
        wait_until(lambda: push.stats().unacked_messages == 0)
    return found


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("timeout", [0, 0.02])
@pytest.mark.parametrize("call", ["list", "generator", "array"])
def test_what_found_no_room_is_given_back_and_the_rest_has_receipts(
    way: Way, limit: dict[str, int], timeout: float, call: str
) -> None:
    """They are waited for as any others."""
    with way.open("Push", bind=UP, **KEPT, **limit) as push:
        kind = mm.TimedOutError if timeout else mm.WouldBlockError
        with pytest.raises(kind, match="no peer for") as caught:
            if call == "array":
                way(push.send_batch(pa.array(BODIES), confirm=True, timeout=timeout))
            else:
                given = BODIES if call == "list" else iter(BODIES)
                way(push.send_many(given, confirm=True, timeout=timeout))
        error: Any = caught.value
        sent = error.sent
        assert 1 <= sent <= 5
        assert isinstance(error.receipts, way.module.Receipts)
        assert error.receipts.outcomes() == [None] * sent
        assert call == "array" or error.unsent == BODIES[sent:]
        assert push.stats().queued_out_messages == sent
        assert delivered(push, sent) == BODIES[:sent]
        way(error.receipts.wait(timeout=WAIT_S))
        assert error.receipts.tally()["acked"] == sent


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("timeout", [None, WAIT_S])
def test_who_waits_for_room_sends_all(
    way: Way, limit: dict[str, int], timeout: float | None
) -> None:
    """With one set of receipts, in the order of the messages."""
    with way.open("Push", bind=UP, **KEPT, **limit) as push:
        found: list[bytes] = []
        taker = threading.Thread(target=lambda: found.extend(delivered(push, 20)))
        taker.start()
        receipts = way(push.send_many(iter(BODIES), confirm=True, timeout=timeout))
        way(receipts.wait(timeout=timeout))
        taker.join(WAIT_S)
        assert found == BODIES
        assert receipts.outcomes() == ["acked"] * 20


BROKEN: list[tuple[Any, type[BaseException], dict[str, int]]] = [
    ("text", TypeError, {}),
    (bytes(101), mm.TooLargeError, {"message_size_max": 100}),
    (RuntimeError("the disk is gone"), RuntimeError, {}),
    (KeyboardInterrupt(), KeyboardInterrupt, {}),
]


@pytest.mark.parametrize(("wrong", "kind", "more"), BROKEN, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("whole", [True, False])
def test_what_stands_before_something_wrong_has_receipts(
    way: Way, wrong: Any, kind: type[BaseException], more: dict[str, int], whole: bool
) -> None:
    """Of a body that is refused, or an iterable that fails."""

    def source() -> Iterator[Any]:
        yield from BODIES[:7]
        if isinstance(wrong, BaseException):
            raise wrong
        yield wrong
        yield b"later"

    if whole and isinstance(wrong, BaseException):
        return  # a list does not fail
    with way.open("Push", bind=UP, **KEPT, **more) as push:
        given = list(source()) if whole else source()
        try:
            way(push.send_many(given, confirm=True, key=b"k"))
        except kind as error:
            told: Any = error
        sent = 0 if kind is KeyboardInterrupt else 7  # it is for now: what was taken comes back
        assert (told.sent, len(told.receipts)) == (sent, sent)
        assert delivered(push, sent) == BODIES[:sent]
        way(told.receipts.wait(timeout=WAIT_S))


REFUSED: list[tuple[dict[str, Any], dict[str, Any], type[BaseException], str]] = [
    ({}, {}, mm.UsageError, "at_least_once"),
    (KEPT, {"timeout": -1}, ValueError, "timeout"),
    (KEPT, {"ttl": -1}, mm.UsageError, "ttl"),
    (KEPT, {"headers": {"a": bytes(20_000)}}, mm.TooLargeError, "16,384"),
]


@pytest.mark.parametrize("call", ["send_many", "send_batch"])
@pytest.mark.parametrize(("options", "more", "kind", "words"), REFUSED, ids=str)
def test_a_call_that_is_refused_has_sent_nothing(
    way: Way, call: str, options: Any, more: Any, kind: type[BaseException], words: str
) -> None:
    """Nor taken anything; and says so."""
    with way.open("Push", bind=UP, **options) as push:
        given = BODIES if call == "send_many" else pa.array(BODIES)
        with pytest.raises(kind, match=words) as caught:
            way(getattr(push, call)(given, confirm=True, **more))
        error: Any = caught.value
        assert (error.sent, len(error.receipts)) == (0, 0)
        assert call == "send_batch" or error.unsent == BODIES
        assert push.stats().sent_messages == 0


def test_an_array_with_a_null_has_receipts_up_to_it(way: Way) -> None:
    """And of chunks before it."""
    chunks = pa.chunked_array([[b"0", b"1"], [b"2", None, b"4"]], pa.binary())
    with way.open("Push", bind=UP, **KEPT) as push:
        with pytest.raises(mm.UsageError, match="element 3") as caught:
            way(push.send_batch(chunks, confirm=True, key=b"k"))
        error: Any = caught.value
        assert (error.sent, len(error.receipts)) == (3, 3)
        assert delivered(push, 3) == [b"0", b"1", b"2"]
        way(error.receipts.wait(timeout=WAIT_S))


def test_a_push_that_is_closed_meanwhile_says_how_much_it_had_sent(way: Way) -> None:
    """Its receipts are of a socket that is closed."""
    with way.open("Push", bind=UP, **KEPT, send_queue_messages=5) as push:
        closer = threading.Thread(
            target=lambda: (
                wait_until(lambda: push.stats().queued_out_messages == 5),
                push.close(),
            )
        )
        closer.start()
        with pytest.raises(mm.ClosedError) as caught:
            way(push.send_many(BODIES, confirm=True))
        closer.join(WAIT_S)
        error: Any = caught.value
        assert (error.sent, len(error.receipts)) == (5, 5)
        with pytest.raises(mm.ClosedError):
            error.receipts.outcomes()


def test_a_signals_function_that_raises_leaves_the_receipts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever it does: here as the call comes back from C."""

    class Alarm(Exception):
        """Of the signal's function."""

    class Native:
        """As the real one, and then the signal comes."""

        def send_list(self, *given: Any) -> int:
            """Send it all, and then be interrupted."""
            code: int = real.send_list(*given)
            if code == 0:
                raise Alarm
            return code

    real = sending.native
    with mm.Push(bind=UP, **KEPT) as push:
        monkeypatch.setattr(sending, "native", Native())
        with pytest.raises(Alarm) as caught:
            push.send_many(BODIES, confirm=True)
        monkeypatch.undo()
        error: Any = caught.value
        assert (error.sent, error.unsent, len(error.receipts)) == (20, [], 20)
        assert delivered(push, 20) == BODIES
        error.receipts.wait(timeout=WAIT_S)


def test_a_task_that_is_cancelled_in_the_middle_leaves_the_receipts() -> None:
    """Of what was sent; the rest is given back. Another call goes on from there."""

    async def main() -> None:
        told: list[Any] = []

        async def send(push: aio.Push) -> None:
            try:
                await push.send_many(iter(BODIES), confirm=True, headers={"a": "b"})
            except asyncio.CancelledError as error:
                told.append(error)
                raise

        async with aio.Push(bind=UP, **KEPT, send_queue_messages=6) as push:
            task = asyncio.create_task(send(push))
            while push.stats().queued_out_messages < 6:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            error = told[0]
            assert (error.sent, error.unsent) == (6, BODIES[6:])
            assert len(error.receipts) == 6
            async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
                rest = asyncio.create_task(push.send_many(error.unsent, confirm=True))
                for body in BODIES:
                    message = await pull.recv(timeout=WAIT_S)
                    assert message == body
                    assert message.ack()
                await asyncio.wait_for(error.receipts, WAIT_S)
                await asyncio.wait_for((await rest).wait(), WAIT_S)

    asyncio.run(main())


def test_a_wait_that_is_cancelled_has_taken_nothing() -> None:
    """Tasks that wait for all, and for one of them, go on."""

    async def main() -> None:
        async with aio.Push(bind=UP, **KEPT) as push:
            receipts = await push.send_many(BODIES, confirm=True)
            waits = [asyncio.create_task(receipts.wait()) for _ in range(3)]
            waits += [asyncio.create_task(receipts[i].wait()) for i in (0, 19)]
            await asyncio.sleep(0)
            waits[0].cancel()
            with pytest.raises(asyncio.CancelledError):
                await waits[0]
            async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
                for _ in BODIES:
                    (await pull.recv(timeout=WAIT_S)).ack()
                await asyncio.wait_for(asyncio.gather(*waits[1:]), WAIT_S)
            assert receipts.tally()["acked"] == 20

    asyncio.run(main())
