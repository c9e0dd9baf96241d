"""`send(confirm=True)`: what a receipt tells, to threads and to tasks.

Not here: each message's fate in worlds that go wrong (tests/sim/test_fates.py).
"""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg import aio
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until

UP = "tcp://127.0.0.1:0"
SIZES = [0, 1, 5_000, 100_000]
KEPT: dict[str, Any] = {"delivery": "at_least_once"}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("more", [{}, {"key": b"k"}], ids=str)
def test_a_receipt_is_open_until_its_message_is_acknowledged(size: int, more: Any) -> None:
    """Then it says so, as often as it is asked, also once the socket is closed."""
    with mm.Push(bind=UP, **KEPT) as push:
        receipt = push.send(bytes(size), confirm=True, **more)
        assert receipt.outcome is None
        with pytest.raises(mm.WouldBlockError):
            receipt.wait(timeout=0)
        with pytest.raises(mm.TimedOutError):
            receipt.wait(timeout=0.01)
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            message = pull.recv(timeout=WAIT_S)
            assert (len(message), receipt.outcome) == (size, None)
            assert message.ack()
            receipt.wait(timeout=WAIT_S)
            receipt.wait(timeout=0)
            assert receipt.outcome == "acked"
            assert "acked" in repr(receipt)
    assert receipt.outcome == "acked"


def test_without_confirm_there_is_no_receipt() -> None:
    """As ever."""
    with mm.Push(bind=UP, **KEPT) as push:
        assert push.send(b"x") is None
        assert push.send(b"x", confirm=False, key=b"k") is None


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair", "Bus"])
def test_who_is_not_acknowledged_has_no_receipts(role: str) -> None:
    """Said by the call; nothing is sent."""
    with getattr(mm, role)(bind=UP) as one:
        with pytest.raises((mm.UsageError, TypeError), match="at_least_once"):
            one.send(b"x", confirm=True)
        assert one.stats().sent_messages == 0


def test_a_send_that_fails_leaves_no_receipt_behind() -> None:
    """No room, too large, no time."""
    with mm.Push(bind=UP, **KEPT, send_queue_messages=1, message_size_max=100) as push:
        kept = push.send(b"x", confirm=True)
        for timeout, kind in ((0, mm.WouldBlockError), (0.01, mm.TimedOutError)):
            with pytest.raises(kind):
                push.send(b"y", confirm=True, timeout=timeout)
        with pytest.raises(mm.TooLargeError):
            push.send(bytes(101), confirm=True)
        with pytest.raises(ValueError, match="timeout"):
            push.send(b"y", confirm=True, timeout=-1)
        assert push.stats().sent_messages == 1
        assert kept.outcome is None


def test_many_are_waited_for_in_any_order_by_any_thread() -> None:
    """Also the same one by several."""
    with mm.Push(bind=UP, **KEPT) as push, mm.Pull(connect=push.endpoint) as pull:
        receipts = [push.send(b"%d" % i, confirm=True, timeout=WAIT_S) for i in range(500)]
        done: list[int] = []

        def wait(own: list[mm.Receipt]) -> None:
            for receipt in own:
                receipt.wait(timeout=WAIT_S)
                done.append(1)

        threads = [
            threading.Thread(target=wait, args=(own,))
            for own in (receipts, receipts[::-1], receipts[::3])
        ]
        for thread in threads:
            thread.start()
        for _ in range(500):
            pull.recv(timeout=WAIT_S)
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=0.01)  # asking says that the last one is done
        for thread in threads:
            thread.join(WAIT_S)
        assert len(done) == 500 + 500 + 167


def test_who_closes_ends_the_wait() -> None:
    """With an error, in a thread that waits and in one that asks later."""
    push = mm.Push(bind=UP, **KEPT)
    receipt = push.send(b"x", confirm=True)
    errors: list[BaseException] = []
    began = threading.Event()

    def wait() -> None:
        began.set()
        try:
            receipt.wait(timeout=WAIT_S)
        except mm.ClosedError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    began.wait(WAIT_S)
    push.close()
    thread.join(WAIT_S)
    assert len(errors) == 1
    with pytest.raises(mm.ClosedError):
        receipt.wait(timeout=0)
    with pytest.raises(mm.ClosedError):
        _ = receipt.outcome


def test_pyzmq_cannot_acknowledge_and_the_receipt_says_so() -> None:
    """It is known as soon as the message was written."""
    with mm.Push(bind=UP, **KEPT) as push, zmq.Context() as context:
        with context.socket(zmq.PULL) as other:
            other.rcvtimeo = int(WAIT_S * 1000)
            other.connect(push.endpoint)
            push.wait_for_peers(timeout=WAIT_S)
            receipt = push.send(b"x", confirm=True)
            with pytest.raises(mm.UndeliveredError, match="cannot acknowledge") as caught:
                receipt.wait(timeout=WAIT_S)
            assert (caught.value.reason, receipt.outcome) == ("unknown", "unknown")
            assert other.recv() == b"x"


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
def test_what_the_socket_drops_is_told(overflow: Any) -> None:
    """Which one it is, is a matter of the policy."""
    options: dict[str, Any] = {"overflow": overflow, "send_queue_messages": 1}
    with mm.Push(bind=UP, **KEPT, **options) as push:
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull:
            push.wait_for_peers(timeout=WAIT_S)
            first = push.send(b"0", confirm=True)
            assert pull.recv(timeout=WAIT_S) == b"0"
            receipts = [push.send(b"%d" % i, confirm=True) for i in range(1, 4)]
            lost = [receipt for receipt in receipts if receipt.outcome == "dropped"]
            assert len(lost) >= 1
            assert first.outcome is None
            assert (receipts[-1] in lost) is (overflow == "drop_newest")
            assert push.stats().dropped_overflow == len(lost)


def test_a_receipt_nobody_refers_to_takes_no_room() -> None:
    """Open or not."""
    with mm.Push(bind=UP, **KEPT, send_queue_messages=100_000) as push:
        kept = [push.send(b"x", confirm=True) for _ in range(20_000)]
        full = live_bytes()
        kept.clear()
        gc.collect()
        again = [push.send(b"x", confirm=True) for _ in range(20_000)]
        del again
        assert live_bytes() - full < full  # the messages took room, the receipts none


def test_tasks_await_receipts() -> None:
    """Singly, together, with a time-out, and cancelled."""

    async def main() -> None:
        async with aio.Push(bind=UP, **KEPT) as push:
            async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
                receipts = [await push.send(b"%d" % i, confirm=True) for i in range(50)]
                with pytest.raises(mm.TimedOutError):
                    await receipts[0].wait(timeout=0.01)
                waiting = asyncio.create_task(receipts[1].wait())
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                everything = asyncio.gather(*(receipt.wait() for receipt in receipts))
                for _ in range(50):
                    (await pull.recv(timeout=WAIT_S)).ack()
                await asyncio.wait_for(everything, WAIT_S)
                assert {receipt.outcome for receipt in receipts} == {"acked"}
                with pytest.raises(mm.UsageError):
                    async with aio.Push(bind=UP) as plain:
                        await plain.send(b"x", confirm=True)

    asyncio.run(main())


def test_a_task_hears_what_is_not_delivered() -> None:
    """By an error, with the reason."""

    async def main() -> None:
        async with aio.Push(bind=UP, **KEPT, max_attempts=1) as push:
            async with aio.Pull(connect=push.endpoint, ack="manual") as pull:
                receipt = await push.send(b"x", confirm=True)
                (await pull.recv(timeout=WAIT_S)).nack()
                with pytest.raises(mm.UndeliveredError) as caught:
                    await receipt
                assert caught.value.reason == "attempts"
                assert push.stats().dropped_attempts == 1

    asyncio.run(main())


def test_a_drained_push_has_no_open_receipts() -> None:
    """What is acknowledged and what is buried is not waited for."""
    with mm.Push(bind=UP, **KEPT, max_attempts=1) as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            receipts = [push.send(b"%d" % i, confirm=True, timeout=WAIT_S) for i in range(10)]
            for i in range(10):
                message = pull.recv(timeout=WAIT_S)
                assert message.nack() if i % 2 else message.ack()
            with pytest.raises(mm.MeshError, match="5 dropped"):
                push.drain(timeout=WAIT_S).raise_for_loss()
            outcomes = [receipt.outcome for receipt in receipts]
            wait_until(lambda: push.stats().dropped_attempts == 5)
            assert sorted(map(str, outcomes)) == ["acked"] * 5 + ["attempts"] * 5
