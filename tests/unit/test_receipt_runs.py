"""`send_many(confirm=True)` and `send_batch(confirm=True)`: receipts of many, to threads and tasks.

Not here: one receipt (test_receipts.py), what breaks a call off (test_receipts_kept.py), each
message's fate in worlds that go wrong (tests/sim/test_fates.py).
"""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.support.calls import WAYS, Way
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
SIZES = [0, 1, 5_000, 100_000]
KEPT: dict[str, Any] = {"delivery": "at_least_once"}
NONE = {"open": 0, "acked": 0, "unknown": 0, "expired": 0, "attempts": 0, "dropped": 0}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """Each way to use the Push."""
    made = Way(request.param)
    yield made
    made.end()


def acked(pull: mm.Pull, count: int) -> list[bytes]:
    """Take so many, and acknowledge each."""
    found = []
    for _ in range(count):
        message = pull.recv(timeout=WAIT_S)
        assert message.ack()
        found.append(bytes(message))
    return found


def sent(push: Any, call: str, bodies: list[bytes], **more: Any) -> Any:
    """Send them, as that call takes them."""
    if call == "send_batch":
        return push.send_batch(pa.array(bodies, pa.binary()), **more)
    return push.send_many(bodies if call == "send_many" else iter(bodies), **more)


CALLS = ["send_many", "send_many of a generator", "send_batch"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("more", [{}, {"key": b"k"}], ids=str)
def test_receipts_are_open_until_their_messages_are_acknowledged(
    way: Way, call: str, size: int, more: Any
) -> None:
    """Then they say so, as often as they are asked, also once the socket is closed."""
    bodies = [bytes(size) + b"%d" % i for i in range(20)]
    with way.open("Push", bind=UP, **KEPT) as push:
        receipts = way(sent(push, call, bodies, confirm=True, timeout=WAIT_S, **more))
        assert isinstance(receipts, way.module.Receipts)
        assert len(receipts) == 20
        assert receipts.outcomes() == [None] * 20
        with pytest.raises(mm.WouldBlockError, match=r"no receipt of 20 of 20 messages now"):
            way(receipts.wait(timeout=0))
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            assert acked(pull, 7) == bodies[:7]
            wait_until(lambda: receipts.tally() == NONE | {"acked": 7, "open": 13})
            with pytest.raises(mm.TimedOutError, match=r"no receipt of 13 of 20 messages within"):
                way(receipts.wait(timeout=0.01))
            assert receipts.outcomes() == ["acked"] * 7 + [None] * 13
            assert acked(pull, 13) == bodies[7:]
            way(receipts.wait(timeout=WAIT_S))
            way(receipts.wait(timeout=0))
            assert receipts.tally() == NONE | {"acked": 20}
    way(receipts.wait())
    assert receipts.outcomes() == ["acked"] * 20
    assert [receipt.outcome for receipt in receipts] == ["acked"] * 20


@pytest.mark.parametrize("call", CALLS)
def test_of_nothing_there_are_none(way: Way, call: str) -> None:
    """And nobody waits for them."""
    with way.open("Push", bind=UP, **KEPT) as push:
        receipts = way(sent(push, call, [], confirm=True))
        way(receipts.wait())
        assert (len(receipts), receipts.outcomes(), receipts.tally()) == (0, [], NONE)
        with pytest.raises(IndexError):
            receipts[0]
        assert way(sent(push, call, [])) == 0
        assert way(sent(push, call, [b"x"], confirm=False)) == 1


def test_frames_have_a_receipt_together(way: Way) -> None:
    """One for all, with what goes with them, and where nobody acknowledges none."""
    with way.open("Push", bind=UP, **KEPT) as push:
        receipt = way(push.send_frames([b"a", b"", b"c" * 100_000], confirm=True, key="k"))
        assert isinstance(receipt, way.module.Receipt)
        assert way(push.send_frames([b"d"])) is None
        assert way(push.send_frames([b"e"], ttl=5)) is None
        with pytest.raises(mm.UsageError, match="at least one frame"):
            way(push.send_frames([], confirm=True))
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            message = pull.recv(timeout=WAIT_S)
            assert (message.frames, message.key) == ((b"a", b"", b"c" * 100_000), b"k")
            assert receipt.outcome is None
            assert message.ack()
            way(receipt.wait(timeout=WAIT_S))
    with way.open("Push", bind=UP) as push:
        with pytest.raises(mm.UsageError, match="at_least_once"):
            way(push.send_frames([b"x"], confirm=True))
        assert push.stats().sent_messages == 0


def test_receipts_are_a_sequence(way: Way) -> None:
    """Of receipts that are equal if they are of the same message; each is asked by itself."""
    with way.open("Push", bind=UP, **KEPT) as push:
        receipts = way(push.send_many([b"a", b"b", b"c", b"d"], confirm=True))
        lone = way(push.send(b"e", confirm=True))
        assert list(receipts) == [receipts[i] for i in range(4)] == receipts[:]
        assert receipts[-1] == receipts[3] != receipts[0]
        assert receipts[1::2] == [receipts[1], receipts[3]]
        assert (receipts.index(receipts[2]), lone in receipts, receipts[3] in receipts) == (
            *(2, False),
            True,
        )
        assert len({*receipts, *receipts, lone}) == 5
        assert receipts[0] != "a"
        for at in (4, -5):
            with pytest.raises(IndexError):
                receipts[at]
        assert "4 of 4 messages open" in repr(receipts)
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            messages = [pull.recv(timeout=WAIT_S) for _ in range(5)]
            assert messages[2].ack()
            last = receipts[2]
            way(last.wait(timeout=WAIT_S))
            assert (last.outcome, receipts[2].outcome, receipts[1].outcome) == (
                *("acked", "acked"),
                None,
            )
            with pytest.raises(mm.WouldBlockError):
                way(receipts[3].wait(timeout=0))
            del receipts
            gc.collect()
            assert messages[3].ack()
            assert messages[4].ack()
            way(lone.wait(timeout=WAIT_S))
            assert last.outcome == "acked"


def test_one_of_them_keeps_its_outcome(way: Way) -> None:
    """When nobody refers to the others."""
    with way.open("Push", bind=UP, **KEPT) as push:
        third = way(push.send_many([b"a", b"b", b"c"], confirm=True))[2]
        gc.collect()
        assert third.outcome is None
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            acked(pull, 3)
            way(third.wait(timeout=WAIT_S))


def test_those_that_are_given_up_are_told_once_all_are_known(way: Way) -> None:
    """By their index, each with its reason, in their order."""
    with way.open("Push", bind=UP, **KEPT, max_attempts=1) as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            receipts = way(push.send_many([b"%d" % i for i in range(10)], confirm=True))
            for i in range(9):
                message = pull.recv(timeout=WAIT_S)
                assert message.nack() if i % 3 else message.ack()
            wait_until(lambda: receipts.tally()["open"] == 1)
            with pytest.raises(mm.TimedOutError, match="no receipt of 1 of 10 messages"):
                way(receipts.wait(timeout=0.01))
            acked(pull, 1)
            with pytest.raises(mm.UndeliveredError, match="6 of 10 messages will not be") as caught:
                way(receipts.wait(timeout=WAIT_S))
            lost = [1, 2, 4, 5, 7, 8]
            assert list(caught.value.undelivered.items()) == [(i, "attempts") for i in lost]
            assert caught.value.reason == "attempts"
            assert receipts.tally() == NONE | {"acked": 4, "attempts": 6}
            with pytest.raises(mm.UndeliveredError) as single:
                way(receipts[1].wait())
            assert (single.value.reason, single.value.undelivered) == ("attempts", {})


def test_peers_that_cannot_acknowledge_are_told_from_those_that_can(way: Way) -> None:
    """Each message by the peer that it was written to."""
    with way.open("Push", bind=UP, **KEPT) as push, zmq.Context() as context:
        with context.socket(zmq.PULL) as other, mm.Pull(connect=push.endpoint) as pull:
            other.rcvtimeo = int(WAIT_S * 1000)
            other.connect(push.endpoint)
            way(push.wait_for_peers(2, timeout=WAIT_S))
            receipts = way(push.send_many([b"%d" % i for i in range(40)], confirm=True))
            wait_until(lambda: receipts.tally()["unknown"] == 20)
            theirs = sorted(int(other.recv()) for _ in range(20))
            ours = sorted(int(pull.recv(timeout=WAIT_S)) for _ in range(20))
            with pytest.raises(mm.TimedOutError):
                pull.recv(timeout=0.01)  # asking says that the last one is done
            with pytest.raises(mm.UndeliveredError, match="cannot acknowledge") as caught:
                way(receipts.wait(timeout=WAIT_S))
            assert caught.value.undelivered == dict.fromkeys(theirs, "unknown")
            assert [i for i, o in enumerate(receipts.outcomes()) if o == "acked"] == ours


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
def test_what_the_socket_drops_is_told(way: Way, overflow: Any) -> None:
    """Which ones, is a matter of the policy; the call has sent them all."""
    options: dict[str, Any] = {"overflow": overflow, "send_queue_messages": 4}
    with way.open("Push", bind=UP, **KEPT, **options) as push:
        receipts = way(push.send_many([b"%d" % i for i in range(20)], confirm=True))
        lost = range(4, 20) if overflow == "drop_newest" else range(16)
        expected = [("dropped" if i in lost else None) for i in range(20)]
        assert receipts.outcomes() == expected
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            acked(pull, 4)
            with pytest.raises(mm.UndeliveredError) as caught:
                way(receipts.wait(timeout=WAIT_S))
        assert list(caught.value.undelivered) == list(lost)


def test_who_waits_hears_of_what_another_send_drops() -> None:
    """At once: nothing else happens that would wake it. A loop does not look every so often."""
    options: dict[str, Any] = {"overflow": "drop_oldest", "send_queue_messages": 1}

    async def main() -> None:
        async with aio.Push(bind=UP, **KEPT, **options) as push:
            lone = await push.send(b"0", confirm=True)
            waiting = asyncio.create_task(lone.wait())
            await asyncio.sleep(0)
            receipts = await push.send_many([b"1", b"2", b"3"], confirm=True)
            with pytest.raises(mm.UndeliveredError, match="the socket dropped it"):
                await asyncio.wait_for(waiting, WAIT_S)
            rest = asyncio.create_task(receipts.wait())
            await asyncio.sleep(0)
            await push.send(b"4")
            with pytest.raises(mm.UndeliveredError, match="3 of 3 messages"):
                await asyncio.wait_for(rest, WAIT_S)

    asyncio.run(main())


def test_many_receipts_are_few_objects() -> None:
    """Neither Python's nor the core's: an octet or two a message."""
    many = 100_000
    bodies = [b"x"] * many
    roomy = {"send_queue_messages": 4 * many, "send_queue_bytes": 2**30}
    with mm.Push(bind=UP, **KEPT, **roomy) as push:
        tracemalloc.start()
        receipts = push.send_many(bodies, confirm=True)
        taken, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(receipts) == many
        assert taken < 3 * many
        assert peak < 12 * many  # send_many has a list of them
        assert len(receipts._starts) == 1
        full = live_bytes()
        del receipts
        gc.collect()
        assert many < full - live_bytes() < 3 * many


def test_threads_send_side_by_side_and_each_has_its_own() -> None:
    """Numbers of one are not consecutive then."""
    with mm.Push(bind=UP, **KEPT, send_queue_messages=100_000) as push:
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=20_000) as pull:
            found: dict[int, mm.Receipts] = {}

            def send(who: int) -> None:
                bodies = (b"%d.%d" % (who, i) for i in range(3_000))
                found[who] = push.send_many(bodies, confirm=True, timeout=WAIT_S)

            threads = [threading.Thread(target=send, args=(who,)) for who in range(3)]
            for thread in threads:
                thread.start()
            for _ in range(9_000):
                message = pull.recv(timeout=WAIT_S)
                who, i = map(int, bytes(message).split(b"."))
                if i % 7 != who:
                    assert message.ack()
            for thread in threads:
                thread.join(WAIT_S)
            for who, receipts in found.items():
                expected = [(None if i % 7 == who else "acked") for i in range(3_000)]
                wait_until(lambda r=receipts, e=expected: r.outcomes() == e)  # type: ignore[misc]


def test_any_number_wait_and_who_closes_ends_it(way: Way) -> None:
    """What was known before stays known."""
    with way.open("Push", bind=UP, **KEPT) as push:
        receipts = way(push.send_many([b"a", b"b"], confirm=True))
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            acked(pull, 1)
            way(receipts[0].wait(timeout=WAIT_S))
        push.close()
        for ask in (receipts.outcomes, receipts.tally):
            with pytest.raises(mm.ClosedError):
                ask()
        with pytest.raises(mm.ClosedError):
            way(receipts.wait(timeout=0))
        assert receipts[0].outcome == "acked"
        with pytest.raises(mm.ClosedError):
            _ = receipts[1].outcome


def test_a_thread_that_waits_is_ended_by_close() -> None:
    """As others that wait at the same time."""
    push = mm.Push(bind=UP, **KEPT)
    receipts = push.send_many([b"x"] * 5, confirm=True)
    errors: list[BaseException] = []
    began = threading.Barrier(4)

    def wait() -> None:
        began.wait(WAIT_S)
        try:
            receipts.wait(timeout=WAIT_S)
        except mm.ClosedError as error:
            errors.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    began.wait(WAIT_S)
    push.close()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(errors) == 3
