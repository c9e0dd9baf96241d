"""Batches: recv_batch, send_batch, and what a MessageBatch is."""

from __future__ import annotations

import asyncio
import copy
import gc
import itertools
import pickle
import threading
import weakref
from collections.abc import Collection, Reversible, Sequence

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
KEPT_MAX = 12 * 1024
"""Bytes that a kept batch of 32 messages of 100 bytes holds at most: a copy, and its arrays."""
SPARE_MAX = 8 * 1024 * 1024
"""Bytes of arenas (16 of 256 KiB) and segments (32 of 128 KiB) that the core keeps for the next."""


def joined(push: mm.Push, pull: mm.Pull) -> None:
    """Connect the two."""
    pull.connect(push.bind(UP))
    push.wait_for_peers(timeout=WAIT_S)


def gathered(pull: mm.Pull, count: int, **options: float) -> list[bytes]:
    """Receive so many messages by batches."""
    found: list[bytes] = []
    while len(found) < count:
        found += pull.recv_batch(timeout=WAIT_S, **options)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("sizes", [[64] * 3000, [0, 1, 255, 256, 5000] * 300, [70_000, 3, 300_000]])
def test_batches_hold_every_message_in_order(sizes: list[int]) -> None:
    """Small and large, alike and not, whatever the segments underneath look like."""
    bodies = [bytes([i % 256]) * size for i, size in enumerate(sizes)]
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        sent = push.send_many(bodies[:900])
        found = gathered(pull, sent)
        for body in bodies[900:]:
            push.send(body)
            found += pull.recv_batch(1, timeout=WAIT_S)
        assert found == bodies


def test_a_batch_is_copied_as_what_cannot_change_and_says_how_to_pickle_it() -> None:
    """Its bodies can be, and Arrow's array of them."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send_many([b"a", b"b"])
        batch = pull.recv_batch(2, max_wait=WAIT_S, timeout=WAIT_S)
    assert batch.data == b"ab"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match=r"batch\.to_list\(\), or .*pyarrow\.array\(batch\)"):
            pickle.dumps(batch, protocol)
    assert copy.copy(batch) is batch
    assert copy.deepcopy([batch])[0] is batch
    assert pickle.loads(pickle.dumps(batch.to_list())) == [b"a", b"b"]


def test_a_batch_is_a_sequence() -> None:
    """Length, index from both ends, slices, iteration, list, equality, repr, sizes."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send_many([b"a", b"bb", b"", b"dddd"])
        batch = pull.recv_batch(max_wait=WAIT_S, max_messages=4, timeout=WAIT_S)
        assert len(batch) == 4
        assert (batch[0], batch[-1], batch[2]) == (b"a", b"dddd", b"")
        assert batch[1:3] == [b"bb", b""]
        assert batch[::-1] == [b"dddd", b"", b"bb", b"a"]
        assert batch[1:][1:][0] == b""
        assert list(batch) == batch.to_list() == [b"a", b"bb", b"", b"dddd"]
        assert batch[3:].data == b"dddd"
        assert batch.offsets == [0, 1, 3, 3, 7]
        assert batch[1:].offsets == [0, 2, 2, 6]
        assert batch.nbytes == 7
        assert batch.data.readonly
        assert batch.peers == [pull.peers()[0].id] * 4
        assert batch.topics == [""] * 4
        assert batch != [b"a"]
        assert batch != b"abb"
        assert repr(batch) == "<MessageBatch of 4 messages, 7 bytes>"
        with pytest.raises(IndexError, match="message 4 of a batch of 4"):
            batch[4]
        with pytest.raises(TypeError, match="unhashable"):
            hash(batch)


def test_a_batch_does_what_sequences_do_and_is_none_of_them() -> None:
    """Were it one, polars would take it apart before it looked for Arrow."""
    bodies = [b"a", b"bb", b"a", b"c"]
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send_many(bodies)
        batch = pull.recv_batch(4, max_wait=WAIT_S, timeout=WAIT_S)
    assert not isinstance(batch, Sequence)
    assert isinstance(batch, Collection)
    assert isinstance(batch, Reversible)
    assert list(reversed(batch)) == bodies[::-1]
    assert b"bb" in batch
    assert b"b" not in batch
    assert batch.count(b"a") == 2
    for bounds in ((), (1,), (-2,), (1, 3), (0, -1)):
        assert batch.index(b"a", *bounds) == bodies.index(b"a", *bounds)
    for bounds in ((3,), (1, 2)):
        with pytest.raises(ValueError, match="not in list"):
            batch.index(b"a", *bounds)
    assert batch == batch[:]
    assert bodies == batch
    assert tuple(bodies) != batch[1:]
    assert batch[1:] != batch[:3]
    assert batch.__eq__(7) is NotImplemented


def test_a_slice_outlives_its_batch_and_its_socket() -> None:
    """The memory lives as long as anybody points into it."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send_many([b"%05d" % i for i in range(900)])
        batch = pull.recv_batch(timeout=WAIT_S, max_wait=WAIT_S, max_messages=900)
    part, view = batch[10:12], batch[800:].data
    del batch
    gc.collect()
    assert part.to_list() == [b"00010", b"00011"]  # type: ignore[union-attr]
    assert bytes(view[:5]) == b"00800"


def test_a_view_of_the_bodies_keeps_them() -> None:
    """Though nobody has the batch any more."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send(b"bodies")
        batch = pull.recv_batch(timeout=WAIT_S)
        core = weakref.ref(batch._batch)
        part = batch.data[2:4]
        del batch
        gc.collect()
        assert core() is not None
        assert part == b"di"
        del part
        gc.collect()
        assert core() is None


def test_limits_of_a_batch_are_kept() -> None:
    """max_messages is exact, max_bytes ends it, and the rest is there for the next."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send_many([b"x" * 100] * 100)
        push.drain(timeout=WAIT_S).raise_for_loss()
        assert len(pull.recv_batch(1, timeout=WAIT_S)) == 1
        assert len(pull.recv_batch(7, timeout=WAIT_S)) == 7
        some = pull.recv_batch(max_bytes=250, timeout=WAIT_S)
        assert 1 <= len(some) <= 3
        assert len(gathered(pull, 92 - len(some))) == 92 - len(some)
        assert pull.stats().received_messages == 100
        assert pull.stats().received_bytes == 10_000


def test_a_batch_waits_for_more_only_as_long_as_it_is_told() -> None:
    """max_wait gathers what comes later; without it a batch is what is there."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        for i in range(50):
            push.send(b"%d" % i)
        assert len(pull.recv_batch(50, max_wait=WAIT_S, timeout=WAIT_S)) == 50
        push.send(b"one")
        assert pull.recv_batch(2, max_wait=0.001, timeout=WAIT_S) == [b"one"]


@pytest.mark.parametrize("wait", [-1.0, float("nan"), float("inf")])
def test_what_is_no_time_to_gather_is_refused(wait: float) -> None:
    """Before anything is taken."""
    with mm.Pull() as pull, pytest.raises(mm.UsageError, match="max_wait"):
        pull.recv_batch(max_wait=wait)


def test_gathering_may_take_for_ever() -> None:
    """However long that is in nanoseconds; a full batch does not wait."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        for _ in range(2):
            push.send(b"one")
            assert pull.recv_batch(1, max_wait=1e300, timeout=WAIT_S) == [b"one"]


def test_nothing_there_is_told_as_elsewhere() -> None:
    """Now, in time, and after the end."""
    pull = mm.Pull()
    with pytest.raises(mm.WouldBlockError):
        pull.recv_batch(timeout=0)
    with pytest.raises(mm.TimedOutError):
        pull.recv_batch(timeout=0.001)
    with pytest.raises(mm.UsageError):
        pull.recv_batch(0)
    pull.close()
    with pytest.raises(mm.ClosedError):
        pull.recv_batch()


def test_a_bad_time_is_refused_though_messages_are_there() -> None:
    """And they stay there."""
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send(b"here")
        push.drain(timeout=WAIT_S)
        with pytest.raises(ValueError, match="timeout"):
            pull.recv_batch(timeout=-1)
        assert pull.recv_batch(timeout=WAIT_S) == [b"here"]


def test_a_batch_that_was_interrupted_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a signal between the core's return and ours."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send(b"here")
        push.drain(timeout=WAIT_S)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("meshmsg._sync.batches.MessageBatch", interrupted)
            pull.recv_batch(timeout=WAIT_S)
        assert pull.recv_batch(timeout=WAIT_S) == [b"here"]


def test_prefetched_messages_come_first() -> None:
    """An iteration that was left has taken more than it gave."""
    with mm.Pub(bind=UP, overflow="block") as pub, mm.Sub(connect=pub.endpoint, topics=[""]) as sub:
        pub.wait_for_subscribers(timeout=WAIT_S)
        for i in range(10):
            pub.send(b"%d" % i, topic=f"t{i}")
        pub.drain(timeout=WAIT_S)
        assert next(iter(sub)) == b"0"
        batch = sub.recv_batch(4, timeout=WAIT_S)
        assert batch == [b"1", b"2", b"3", b"4"]
        assert batch.topics == ["t1", "t2", "t3", "t4"]
        assert batch[1:3].topics == ["t2", "t3"]  # type: ignore[union-attr]
        assert list(sub.recv_batch(5, timeout=WAIT_S)) == [b"5", b"6", b"7", b"8", b"9"]


def test_topics_stand_beside_bodies() -> None:
    """A message of two frames: its body in the batch, its topic in topics."""
    with mm.Pub(bind=UP, overflow="block") as pub, mm.Sub(connect=pub.endpoint, topics=[""]) as sub:
        pub.wait_for_subscribers(timeout=WAIT_S)
        pub.send(b"plain")
        pub.send(b"with", topic="fx.eur")
        pub.send(b"x" * 300_000, topic="large")
        batch = sub.recv_batch(2, max_wait=WAIT_S, timeout=WAIT_S)
        assert batch.to_list() == [b"plain", b"with"]
        assert batch.topics == ["", "fx.eur"]
        assert batch[1:].topics == ["fx.eur"]  # type: ignore[union-attr]
        assert sub.recv_batch(timeout=WAIT_S) == [b"x" * 300_000]


def test_only_what_is_an_array_is_sent_as_one() -> None:
    """Lists have send_many."""
    with mm.Push(bind=UP) as push, pytest.raises(TypeError, match="send_many"):
        push.send_batch([b"a"])


def test_a_batch_goes_on_as_it_came() -> None:
    """Received by one socket, sent by another, without Python objects in between."""
    bodies = [b"%d" % i for i in range(500)]
    with mm.Push() as push, mm.Pull() as pull, mm.Push() as again, mm.Pull() as last:
        joined(push, pull)
        joined(again, last)
        push.send_many(bodies)
        batch = pull.recv_batch(500, max_wait=WAIT_S, timeout=WAIT_S)
        assert again.send_batch(batch[100:], timeout=WAIT_S) == 400
        assert gathered(last, 400) == bodies[100:]


def test_a_batch_that_does_not_fit_says_how_much_was_sent() -> None:
    """And nothing is sent twice or lost."""
    bodies = [b"x" * 10] * 20
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)
        push.send_many(bodies)
        batch = pull.recv_batch(20, max_wait=WAIT_S, timeout=WAIT_S)
    with mm.Push(bind=UP) as alone:
        with pytest.raises(mm.TimedOutError) as failed:
            alone.send_batch(batch, timeout=0.01)
        assert vars(failed.value)["sent"] == 0
        with pytest.raises(mm.WouldBlockError):
            alone.send_batch(batch, timeout=0)
    with mm.Push(bind=UP, message_size_max=5) as small, mm.Pull(connect=small.endpoint):
        small.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match="10 bytes"):
            small.send_batch(batch)


def test_asyncio_has_the_same() -> None:
    """recv_batch gathers, send_batch sends, prefetched ones come first."""

    async def main() -> None:
        async with aio.Push() as push, aio.Pull() as pull:
            pull.connect(push.bind(UP))
            await push.wait_for_peers(timeout=WAIT_S)
            await push.send_many([b"%d" % i for i in range(100)])
            assert await pull.recv(timeout=WAIT_S) == b"0"
            found = list(await pull.recv_batch(timeout=WAIT_S))
            while len(found) < 99:
                found += await pull.recv_batch(timeout=WAIT_S, max_wait=0.01)
            assert found == [b"%d" % i for i in range(1, 100)]
            await push.send_many([b"a", b"b", b"c"])
            batch = await pull.recv_batch(3, max_wait=WAIT_S, timeout=WAIT_S)
            assert await push.send_batch(batch) == 3
            assert await pull.recv_batch(3, max_wait=WAIT_S, timeout=WAIT_S) == [b"a", b"b", b"c"]
            with pytest.raises(mm.WouldBlockError):
                await pull.recv_batch(timeout=0)

    asyncio.run(main())


def test_a_cancelled_gathering_loses_nothing() -> None:
    """What it had taken is there for the next receive, in order."""

    async def main() -> None:
        async with aio.Push() as push, aio.Pull() as pull:
            pull.connect(push.bind(UP))
            await push.wait_for_peers(timeout=WAIT_S)
            await push.send_many([b"1", b"2"])
            await push.drain(timeout=WAIT_S)
            task = asyncio.create_task(pull.recv_batch(10, max_wait=WAIT_S))
            while pull.stats().received_messages < 2:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await push.send(b"3")
            assert [await pull.recv(timeout=WAIT_S) for _ in range(3)] == [b"1", b"2", b"3"]

    asyncio.run(main())


def body_of(number: int) -> bytes:
    """A body that says which one it is, at its beginning, throughout, and at its end."""
    return b"%08d" % number + bytes([number % 251]) * (700 + number % 600) + b"%08d" % number


def half_of(batch: mm.MessageBatch) -> mm.MessageBatch:
    """A slice; the batch it is of is forgotten."""
    half = batch[: max(1, len(batch) // 2)]
    assert isinstance(half, mm.MessageBatch)
    return half


def test_batches_that_are_kept_stay_as_they_were_while_more_arrive() -> None:
    """They are parts of what was read; nothing is read there again until they are gone."""
    count = 20_000
    kept: list[mm.MessageBatch] = []
    with mm.Push() as push, mm.Pull() as pull:
        joined(push, pull)

        def produce() -> None:
            push.send_many(map(body_of, range(count)), timeout=WAIT_S)

        thread = threading.Thread(target=produce)
        thread.start()
        total = 0
        while total < count:
            batch = pull.recv_batch(timeout=WAIT_S)
            total += len(batch)
            kept.append(batch if len(kept) % 2 == 0 else half_of(half_of(batch)))
        thread.join(WAIT_S)
    number = 0
    for batch in kept:
        for body in batch:
            found = int(body[:8])
            assert found >= number
            assert body == body_of(found)
            number = found + 1


def test_many_small_batches_that_are_kept_hold_little() -> None:
    """Whatever they were cut from, arenas among it, is not theirs to keep."""
    small, rest, rounds, chunk = 32, 1_568, 600, 1_600
    with mm.Push() as push, mm.Pull(recv_queue_messages=20_000) as pull:
        joined(push, pull)
        thread = threading.Thread(
            target=lambda: push.send_many([bytes(100)] * (rounds * chunk), timeout=WAIT_S)
        )
        thread.start()
        kept: list[mm.MessageBatch] = []
        before = live_bytes()
        for _ in range(rounds):
            for wanted, keep in ((small, True), (rest, False)):
                while wanted > 0:
                    batch = pull.recv_batch(wanted, timeout=WAIT_S)
                    wanted -= len(batch)
                    kept += [batch] if keep else []
        thread.join(WAIT_S)
        assert sum(map(len, kept)) == small * rounds
        assert live_bytes() - before <= len(kept) * KEPT_MAX + SPARE_MAX


def test_those_of_asyncio_hold_no_more() -> None:
    """They are taken in steps, and finished by another call."""

    async def main() -> None:
        async with aio.Push() as push, aio.Pull(recv_queue_messages=20_000) as pull:
            pull.connect(push.bind(UP))
            await push.wait_for_peers(timeout=WAIT_S)
            kept: list[mm.MessageBatch] = []
            before = live_bytes()
            for _ in range(300):
                await push.send_many([bytes(100)] * 1_600, timeout=WAIT_S)
                left = 1_600
                while left > 0:
                    batch = await pull.recv_batch(32 if left == 1_600 else left, timeout=WAIT_S)
                    kept += [batch] if left == 1_600 else []
                    left -= len(batch)
            assert len(kept) == 300
            assert live_bytes() - before <= len(kept) * KEPT_MAX + SPARE_MAX

    asyncio.run(main())


def test_what_found_no_room_is_kept_where_it_was_read() -> None:
    """A receiver that takes nothing, then a few, then the rest: all there, in order, unharmed."""
    count = 6_000
    with mm.Push() as push, mm.Pull(recv_queue_messages=300) as pull:
        joined(push, pull)
        thread = threading.Thread(
            target=lambda: push.send_many(map(body_of, range(count)), timeout=WAIT_S)
        )
        thread.start()
        found: list[bytes] = []
        for most in itertools.chain([1, 7, 299], itertools.repeat(4096)):
            found += pull.recv_batch(most, timeout=WAIT_S)
            if len(found) == count:
                break
        thread.join(WAIT_S)
    assert found == list(map(body_of, range(count)))
