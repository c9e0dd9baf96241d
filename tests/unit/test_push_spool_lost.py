"""`Push(spool=)`: what of a spool cannot be sent: it is counted and told once, and nobody hangs.

Not here: what a spool itself does with harm and limits (test_spool_harm.py, test_spool_limits.py),
messages that nobody takes (test_push_spool_fates.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.disks import failing_disk
from tests.support.feeding import World, all_of, nothing, settled, taken, told
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT, batches, body, segments, small, turn_bit

STOPPED = mm.EventKind.SPOOL_STOPPED
DROPPED = mm.EventKind.DROPPED


def harmed(path: Path, count: int = 30) -> int:
    """A spool of so many messages, each a batch, of which one is harmed: its number."""
    with small(path) as spool:
        for seq in range(1, count + 1):
            spool.append(body(seq))
    files = segments(path)
    assert len(files) > 2
    turn_bit(files[1], batches(files[1])[2] + 100)
    return int(files[1].stem) + 2


def test_it_stops_before_what_is_harmed(world: World, tmp_path: Path) -> None:
    """What is before it arrives; then each call says what is harmed, and none waits for it."""
    bad = harmed(tmp_path / "s")
    with world.life(tmp_path / "s") as (_, push):
        receipt = push.send(b"behind it", confirm=True)
        receipts = push.send_many([b"behind it"] * 3, confirm=True)
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, bad - 1) == [body(seq) for seq in range(1, bad)]
            nothing(pull)
            wait_until(lambda: push.stats().acked_messages == bad - 1)
            assert told(push, STOPPED).detail.startswith("messages of its spool are harmed")
            push.finish()
            report = push.drain(timeout=WAIT_S)
            assert (report.delivered, report.queued) == (bad - 1, 30 - bad + 1 + 4)
            waits = [
                lambda: world.wait(receipt),
                lambda: world.wait(receipts),
                lambda: push.wait_for_finished(timeout=WAIT_S),
                lambda: receipt.outcome,
            ]
            for wait in waits:
                with pytest.raises(mm.SpoolCorruptError, match="gap") as raised:
                    wait()
                assert (raised.value.first, raised.value.last) == (bad, bad)
            assert receipts.tally()["open"] == 3
            assert push.stats().dropped == 0
    with world.life(tmp_path / "s", on_corruption="gap") as (_, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, 34 - bad) == [
                *(body(seq) for seq in range(bad + 1, 31)),
                *[b"behind it"] * 4,
            ]


def test_what_was_read_before_goes_on(world: World, tmp_path: Path) -> None:
    """A worker is lost after it had stopped: what that one had is sent to the next."""
    bad = harmed(tmp_path / "s")
    with world.life(tmp_path / "s") as (_, push):
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            assert len(taken(pull, bad - 1)) == bad - 1
            told(push, STOPPED)
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert sorted(taken(pull, bad - 1)) == sorted(body(seq) for seq in range(1, bad))
            nothing(pull)


def test_a_gap_is_dropped_and_told(world: World, tmp_path: Path) -> None:
    """on_corruption="gap": it is counted once, and the rest goes on; the next life knows it."""
    bad = harmed(tmp_path / "s")
    with world.life(tmp_path / "s", on_corruption="gap") as (_, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert all_of(push, pull) == [body(seq) for seq in range(1, 31) if seq != bad]
            report = settled(push)
            assert (report.delivered, report.dropped, push.stats().dropped) == (29, 1, 1)
            event = told(push, DROPPED)
            assert event.count == 1
            assert "harmed" in event.detail
    with world.life(tmp_path / "s", on_corruption="gap") as (_, push):
        assert (settled(push).delivered, push.stats().dropped) == (0, 0)


@pytest.mark.parametrize("peer", [False, True])
def test_what_drop_oldest_removes_is_dropped_once(world: World, tmp_path: Path, peer: bool) -> None:
    """Each message is delivered or dropped, and its receipt says which; nothing stays open."""
    with world.life(
        tmp_path / "s", max_bytes=4 * SEGMENT, overflow="drop_oldest", push_send_queue_messages=5
    ) as (spool, push):
        receipts = push.send_many([b"%4d" % i * 250 for i in range(500)], confirm=True)
        assert spool.info().dropped_oldest > 100
        if not peer:  # told although there is nobody to send to
            wait_until(lambda: push.stats().dropped > 100)
            wait_until(lambda: receipts.tally()["dropped"] == push.stats().dropped)
            assert receipts.tally()["acked"] == 0
        with world.socket("Pull", connect=push.endpoint) as pull:
            got = all_of(push, pull)
            report = settled(push)
        assert report.delivered == len(got) == len(set(got))
        assert report.dropped == push.stats().dropped == 500 - len(got)
        assert "removed from its spool" in told(push, DROPPED).detail
        tally = receipts.tally()
        assert (tally["acked"], tally["dropped"]) == (len(got), 500 - len(got))
    with world.life(tmp_path / "s") as (_, push):
        assert (settled(push).delivered, push.stats().dropped) == (0, 0)


def test_what_is_trimmed_is_dropped_once(world: World, tmp_path: Path) -> None:
    """Also what waits for its time; also if it was trimmed between two sockets."""
    with world.spool(tmp_path / "s") as spool:
        with world.push(spool, send_queue_messages=1) as push:
            late = push.send(b"late", delay=3_600, confirm=True)
            lost = push.send_many([b"x" * 1_000] * 300, confirm=True)
            spool.trim(300)
            wait_until(lambda: late.outcome == "dropped")
            wait_until(lambda: lost.tally()["dropped"] > 0)
            assert push.stats().dropped == 1 + lost.tally()["dropped"]
        with world.push(spool, send_queue_messages=1) as push:
            assert push.stats().dropped == 0  # the first one told of what it had queued
            spool.trim(spool.info().last_seq)
        first = spool.info().first_seq
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            got = all_of(push, pull)
            assert len(got) == spool.info().last_seq + 1 - first
            assert settled(push).delivered == len(got)


def test_what_was_sent_and_removed_may_still_be_acknowledged(world: World, tmp_path: Path) -> None:
    """Its file goes while a worker has it: it is not dropped, if that one is done with it."""
    with world.life(tmp_path / "s") as (spool, push):
        receipts = push.send_many([b"%3d" % i * 1_000 for i in range(100)], confirm=True)
        with world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=100) as pull:
            messages = [pull.recv(timeout=WAIT_S) for _ in range(100)]
            assert spool.trim(100) > 1
            assert receipts.tally()["open"] == 100
            gone = spool.info().first_seq - 1
            assert all(message.ack() for message in messages[: gone - 1])
            wait_until(lambda: receipts.tally()["acked"] == gone - 1)
            assert push.stats().dropped == 0
        # What the worker had and was not done with, the socket has still, whatever became of files.
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert len(all_of(push, pull)) == 101 - gone
            settled(push)
        assert receipts.tally()["acked"] == 100


def fill_up(push: Any, spool: Any, error: type[mm.MeshError], timeout: float) -> None:
    """Put until a call puts nothing more, however often one is late; each says what it put."""

    def full() -> bool:
        before = spool.info().last_seq
        with pytest.raises(error) as raised:
            push.send_many([b"x" * 1_000] * 300, timeout=timeout)
        sent = vars(raised.value)["sent"]
        assert spool.info().last_seq == before + sent
        assert len(vars(raised.value)["unsent"]) == 300 - sent
        return sent == 0 and before > 50

    wait_until(full)


@pytest.mark.parametrize("how", ["send", "many"])
def test_a_full_spool_refuses(world: World, tmp_path: Path, how: str) -> None:
    """Each overflow, as of the spool; `sent` says what was put. Who waits for nothing may be told
    that another call of the loop is still in front of it."""
    for overflow in ("error", "block", "drop_newest"):
        with world.life(
            tmp_path / overflow, max_bytes=2 * SEGMENT, overflow=overflow, durability="buffered"
        ) as (spool, push):
            bodies = [b"x" * 1_000] * 300
            if overflow == "drop_newest":
                receipts = push.send_many(bodies, confirm=True)
                put = spool.info().last_seq
                assert receipts.tally()["dropped"] == 300 - put > 0
                one = push.send(b"x" * 1_000, confirm=True)
                assert one.outcome == "dropped"
                assert push.send(b"x" * 1_000) is None
                continue
            fails = overflow == "error"
            error, late = (mm.SpoolFullError, WAIT_S) if fails else (mm.TimedOutError, 0.02)
            fill_up(push, spool, error, late)
            for timeout in (0, late):
                at_once = (mm.WouldBlockError, mm.SpoolFullError) if fails else mm.WouldBlockError
                with pytest.raises(error if timeout else at_once) as raised:
                    if how == "send":
                        push.send(b"x" * 1_000, timeout=timeout)
                    else:
                        push.send_many(iter([b"x" * 1_000]), timeout=timeout, confirm=True)
                assert vars(raised.value)["sent"] == 0


def test_acknowledgements_make_room(world: World, tmp_path: Path) -> None:
    """Who waits for room gets it as messages are done: far more go through than there is room."""
    with world.life(
        tmp_path / "s", max_bytes=2 * SEGMENT, overflow="block", durability="buffered"
    ) as (spool, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            bodies = [b"%4d" % i * 250 for i in range(1_000)]
            sending = Later(lambda: push.send_many(bodies))
            assert taken(pull, 1_000) == bodies
            assert sending.result() == 1_000
            assert all_of(push, pull) == []
            settled(push)
        assert push.stats().dropped == 0


def test_a_cursor_that_cannot_be_saved_stops_it(world: World, tmp_path: Path) -> None:
    """The disk fails: acknowledgements are lost then, and nothing is sent over and over."""
    with world.spool(tmp_path / "s") as spool, world.push(spool) as push:
        receipts = push.send_many([b"x"] * 20, confirm=True)
        spool.flush()
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            messages = [pull.recv(timeout=WAIT_S) for _ in range(20)]
            with failing_disk():
                assert messages[0].ack()
                wait_until(lambda: cursor_failed(spool))
                for message in messages[1:]:
                    assert message.ack()
                assert "disk" in told(push, STOPPED).detail
                nothing(pull)
                wait_until(lambda: receipts.tally()["acked"] == 20)
                with pytest.raises(mm.SpoolFailedError):
                    push.send(b"y")
                assert push.drain(timeout=WAIT_S).queued > 0
            push.close()
        with pytest.raises(mm.SpoolFailedError):
            spool.close()
    with world.life(tmp_path / "s") as (_, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert set(all_of(push, pull)) == {b"x"}
            settled(push)


def cursor_failed(spool: Any) -> bool:
    """Whether the cursor of the Push could not be saved, as another one who has it is told."""
    real = getattr(spool, "_real", spool)
    real = getattr(real, "_spool", real)
    try:
        with real.cursor("push") as cursor:
            cursor.save(timeout=0)
    except mm.SpoolError as error:
        return isinstance(error, mm.SpoolFailedError)
    except (mm.WouldBlockError, mm.TimedOutError):
        pass
    return False


@pytest.mark.parametrize("how", ["send", "many", "iterator"])
def test_what_is_too_large_is_not_put(world: World, tmp_path: Path, how: str) -> None:
    """message_size_max counts, also of what was put before it was lowered: dropped, and told."""
    with world.life(tmp_path / "s") as (_, push):
        push.send_many([b"small", b"x" * 1_001, b"small too"])
        push.send_frames([b"f"] * 3)
    with world.life(tmp_path / "s", push_message_size_max=1_000, push_frames_max=2) as (
        spool,
        push,
    ):
        receipt, last = push.send(b"x" * 1_000, confirm=True), spool.info().last_seq
        with pytest.raises(mm.TooLargeError, match="message_size_max") as raised:
            if how == "send":
                push.send(b"x" * 1_001)
            else:
                bodies = [b"before", b"x" * 1_001, b"behind"]
                push.send_many(bodies if how == "many" else iter(bodies))
        put = 0 if how == "send" else 1
        assert spool.info().last_seq == last + put
        assert vars(raised.value).get("sent", 0) == put
        with world.socket("Pull", connect=push.endpoint) as pull:
            got = [b"small", b"small too", b"x" * 1_000] + [b"before"] * put
            assert all_of(push, pull) == got
            assert receipt.outcome == "acked"
            report = settled(push)
            assert (report.dropped, push.stats().dropped_unencodable) == (2, 2)
            assert "message_size_max" in told(push, DROPPED).detail
