"""`Push(spool=)` at its ends: closed in any order, forked, forgotten, cancelled; odd arguments.

Not here: what cannot be sent (test_push_spool_lost.py), what is not done
(test_push_spool_fates.py), crashes (tests/crash/test_push_spool_kill.py).
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.buffers import KINDS, REFUSED
from tests.support.feeding import UP, World, all_of, nothing, settled, taken
from tests.support.forked import in_child, refused
from tests.support.later import Later
from tests.support.looped import run, until
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT

BIG = b"x" * 1_000


@pytest.mark.parametrize("first", ["push", "spool", "engine"])
@pytest.mark.parametrize("call", ["receipt", "drain", "many", "receipts", "frames", "later"])
def test_closing_ends_who_waits(world: World, tmp_path: Path, call: str, first: str) -> None:
    """Whichever is closed first; the error says what was closed, and what was put is kept."""
    engine = mm.Engine()
    spool = world.spool(tmp_path / "s", max_bytes=2 * SEGMENT, overflow="block")
    push = world.push(spool, engine=engine)
    receipt = push.send(b"first", confirm=True)
    calls: dict[str, Callable[[], Any]] = {
        "receipt": lambda: world.wait(receipt),
        "drain": lambda: push.drain(timeout=WAIT_S),
        "many": lambda: push.send_many([BIG] * 500),
        "receipts": lambda: push.send_many(iter([BIG] * 500), confirm=True),
        "frames": lambda: [push.send_frames([BIG, b""]) for _ in range(500)],
        "later": lambda: [push.send(BIG, delay=5) for _ in range(500)],
    }
    waits = Later(calls[call])
    fills = call not in ("receipt", "drain")
    wait_until(lambda: spool.info().last_seq > (100 if fills else 0))
    (engine if first == "engine" else spool if first == "spool" else push).close()
    if call == "drain" and first == "spool":
        assert waits.result().queued == 1
    else:
        with pytest.raises(mm.ClosedError, match="spool" if first == "spool" else "Push") as raised:
            waits.result()
        assert vars(raised.value).get("sent", 0) >= (call in ("many", "receipts"))
    push.close()
    spool.close()
    engine.close()
    with world.spool(tmp_path / "s") as again:
        assert again.info().last_seq > (100 if fills else 0)


@pytest.mark.parametrize("order", ["push", "spool"])
def test_with_blocks_close_in_any_order(world: World, tmp_path: Path, order: str) -> None:
    """What is closed twice, or behind the other, does no harm; then nothing can be sent."""
    spool = world.spool(tmp_path / "s")
    push = world.push(spool)
    push.send(b"1")
    outer, inner = (push, spool) if order == "push" else (spool, push)
    with outer, inner:
        pass
    for call in (lambda: push.send(b"2"), lambda: push.send_many([b"2"])):
        with pytest.raises(mm.ClosedError):
            call()
    with pytest.raises(mm.ClosedError):
        push.drain(timeout=0)
    push.close()
    spool.close()
    with world.life(tmp_path / "s") as (_, again):
        with world.socket("Pull", connect=again.endpoint) as pull:
            assert all_of(again, pull) == [b"1"]


def test_a_spool_that_was_closed_takes_no_push(world: World, tmp_path: Path) -> None:
    """Nor does what is none; nothing is left open."""
    spool = world.spool(tmp_path / "s")
    spool.close()
    with pytest.raises(mm.ClosedError):
        world.push(spool)
    for wrong in ("s", tmp_path, object()):
        with pytest.raises(TypeError, match="spool"):
            world.socket("Push", spool=wrong)


def test_a_closed_engine_costs_nothing(world: World, tmp_path: Path) -> None:
    """What feeds it ends, and does not turn in circles until it is closed."""
    engine = mm.Engine()
    with world.spool(tmp_path / "s") as spool, world.push(spool, engine=engine) as push:
        push.send_many([b"x"] * 10_000)
        threads = len(os.listdir("/proc/self/task"))
        engine.close()
        wait_until(lambda: len(os.listdir("/proc/self/task")) <= threads - 2)  # and the engine's
        for call in (lambda: push.send(b"y"), lambda: push.drain(timeout=1)):
            with pytest.raises(mm.ClosedError, match="Push"):
                call()
        assert spool.info().last_seq == 10_000


def test_a_spool_has_one_push_at_a_time(world: World, tmp_path: Path) -> None:
    """A second one is refused, and the first goes on; closed, another one takes its place."""
    with world.spool(tmp_path / "s") as spool:
        with world.push(spool) as push:
            with pytest.raises(mm.UsageError, match="another socket"):
                world.push(spool)
            push.send(b"1")
        for number in range(3):
            with world.push(spool) as push:
                push.send(b"%d" % number)
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            assert all_of(push, pull) == [b"1", b"0", b"1", b"2"]
            settled(push)
        with world.push(spool) as push:
            assert settled(push).delivered == 0


def test_what_was_appended_is_sent_too(world: World, tmp_path: Path) -> None:
    """Before the Push was there, and beside it; in the order of their numbers."""
    with world.spool(tmp_path / "s") as spool:
        spool.append(b"1", key="k")
        spool.append_many([b"2", b"3"])
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            push.send(b"4")
            spool.append(b"5")
            push.send(b"6")
            assert taken(pull, 6) == [b"%d" % n for n in range(1, 7)]
            nothing(pull)
            settled(push)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_forgotten_pair_leaves_nothing(tmp_path: Path) -> None:
    """Collected in whatever order: the spool can be opened again, and has all."""
    for life in range(4):
        spool = mm.Spool(tmp_path / "s", durability="buffered")
        push: Any = mm.Push(bind=UP, spool=spool)
        push.send_many([b"x"] * 500)
        if life % 2:
            ring: list[Any] = [push, spool]
            ring.append(ring)
            del ring
        del push
        if life == 2:  # a Push that is gone makes room for another one
            gc.collect()
            mm.Push(bind=UP, spool=spool).close()
        del spool
        gc.collect()
    with mm.Spool(tmp_path / "s") as again:
        assert again.info().last_seq == 4 * 500
        assert not again.recovery.unclean


def test_in_the_child_of_a_fork_nothing_works_and_nothing_is_harmed(tmp_path: Path) -> None:
    """Each call says so; the parent goes on, with all its messages once."""
    with mm.Spool(tmp_path / "s") as spool, mm.Push(bind=UP, spool=spool) as push:
        receipt = push.send(b"1", confirm=True)
        calls: list[Callable[[], object]] = [
            lambda: push.send(b"x"),
            lambda: push.send(b"x", delay=1, confirm=True),
            lambda: push.send_many([b"x"]),
            lambda: push.drain(timeout=1),
            lambda: receipt.wait(timeout=1),
            lambda: mm.Push(bind=UP, spool=spool),
        ]

        def work() -> bool:
            told = refused(*calls)
            push.close()
            spool.close()
            return told

        assert in_child(work)
        push.send(b"2")
        with mm.Pull(connect=push.endpoint) as pull:
            assert all_of(push, pull) == [b"1", b"2"]
            settled(push)
            receipt.wait(timeout=WAIT_S)
        assert spool.info().last_seq == 2


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_of_buffer_is_kept(world: World, tmp_path: Path, kind: str) -> None:
    """By each call; what was kept is a copy."""
    make, body = KINDS[kind]
    with world.life(tmp_path / "s", durability="buffered") as (_, push):
        push.send(make())
        push.send(make(), delay=0.001)
        push.send_frames([make(), b"tail"])
        push.send_many([make(), make()], confirm=True)
        push.send_many(make() for _ in range(2))
        push.send_batch(pa.array([body], pa.binary()))
        with world.socket("Pull", connect=push.endpoint) as pull:
            got = [pull.recv_frames(timeout=WAIT_S) for _ in range(8)]
            assert sorted(tuple(map(bytes, one)) for one in got) == sorted(
                [(body,)] * 7 + [(body, b"tail")]
            )


@pytest.mark.parametrize("kind", sorted(REFUSED))
def test_what_is_no_buffer_is_refused(world: World, tmp_path: Path, kind: str) -> None:
    """By each call, with its own words; what came before it in a run is put, which `sent` says."""
    make, words = REFUSED[kind]
    with world.life(tmp_path / "s", durability="buffered") as (spool, push):
        for call in (push.send, lambda x: push.send_frames([b"a", x])):
            with pytest.raises(TypeError, match=words):
                call(make())
        assert spool.info().last_seq == 0
        for more in (False, True):
            with pytest.raises(TypeError, match=words) as raised:
                push.send_many([b"a", make(), b"b"], confirm=more)
            sent = vars(raised.value)["sent"]
            assert len(vars(raised.value).get("receipts", range(sent))) == sent
        assert spool.info().last_seq == 2 * sent


class Oops(Exception):
    """What an iterable raises in these tests."""


@pytest.mark.parametrize("confirm", [False, True])
def test_an_iterable_that_fails_says_what_was_put(
    world: World, tmp_path: Path, confirm: bool
) -> None:
    """What it gave before is put, and goes out."""

    def failing() -> Iterator[bytes]:
        for number in range(5_000):
            yield b"%d" % number
        raise Oops

    with world.life(tmp_path / "s") as (spool, push):
        with pytest.raises(Oops) as raised:
            push.send_many(failing(), confirm=confirm)
        sent, unsent = vars(raised.value)["sent"], vars(raised.value)["unsent"]
        assert sent + len(unsent) == 5_000
        assert spool.info().last_seq == sent
        if confirm:
            assert len(vars(raised.value)["receipts"]) == sent
        for nothing_in_it in ([], iter(())):
            assert not push.send_many(nothing_in_it)
        with pytest.raises(TypeError):
            push.send_many(b"abc")
        with pytest.raises(mm.UsageError):
            push.send_frames([])
        for wrong in (-1.0, float("nan"), "1"):
            with pytest.raises((ValueError, TypeError, mm.UsageError)):
                push.send(b"x", timeout=wrong)
        assert spool.info().last_seq == sent
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, sent) == [b"%d" % n for n in range(sent)]


CANCELLED: dict[str, Callable[[Any], Any]] = {
    "send": lambda push: push.send(BIG),
    "confirm": lambda push: push.send(BIG, confirm=True),
    "later": lambda push: push.send(BIG, delay=9),
    "frames": lambda push: push.send_frames([BIG, b""]),
    "many": lambda push: push.send_many([BIG] * 300),
    "receipts": lambda push: push.send_many([BIG] * 300, confirm=True),
}


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 10, None])
@pytest.mark.parametrize("call", CANCELLED)
def test_a_cancelled_call_says_what_was_put(tmp_path: Path, call: str, turns: int | None) -> None:
    """At each of its awaits: with room, and while it waits for room (None); `sent` is true."""

    async def main() -> None:
        async with (
            aio.Spool(
                tmp_path / "s", segment_bytes=SEGMENT, max_bytes=2 * SEGMENT, overflow="block"
            ) as spool,
            aio.Push(bind=UP, spool=spool) as push,
        ):
            if turns is None:
                await push.send_many([BIG] * 110)
            before = spool.info().last_seq
            task = asyncio.ensure_future(CANCELLED[call](push))
            for _ in range(turns or 0):
                await asyncio.sleep(0)
            if turns is None and call in ("many", "receipts"):
                await until(lambda: spool.info().last_seq > before)
            task.cancel()
            try:
                await task
                return
            except asyncio.CancelledError as error:
                sent = vars(error).get("sent")
                sent = vars(error.__context__ or error).get("sent") if sent is None else sent
            last = spool.info().last_seq
            assert last == before + (sent or 0)
            await push.send_many([], timeout=1)  # what is put now comes behind all of it
            assert spool.info().last_seq == last

    run(main)
