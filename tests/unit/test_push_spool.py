"""`Push(spool=)`: what is sent is in the spool before the call returns, and goes out from there.

Not here: crashes (tests/crash/test_push_spool_kill.py), what goes wrong (test_push_spool_odd.py).
"""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.feeding import World, nothing, settled, taken, up_to_end
from tests.support.looped import run
from tests.support.pairs import WAIT_S, wait_until

BODIES = [b"", b"a", b"b" * 300, b"c" * 5_000, b"d" * 40_000]


def send(push: Any, how: str, bodies: list[bytes], **options: Any) -> Any:
    """Send them by one of the calls."""
    if how == "send":
        return [push.send(body, **options) for body in bodies]
    if how == "frames":
        return [push.send_frames([body], **options) for body in bodies]
    if how == "batch":
        return push.send_batch(pa.array(bodies, pa.binary()), **options)
    source = bodies if how == "many" else iter(bodies)
    return push.send_many(source, **options)


CALLS = ["send", "frames", "many", "iterator", "batch"]


@pytest.mark.parametrize("durability", ["buffered", "os", "disk"])
@pytest.mark.parametrize("how", CALLS)
def test_what_is_sent_without_a_peer_goes_out_in_the_next_life(
    world: World, tmp_path: Path, how: str, durability: str
) -> None:
    """In order, each once; and what was acknowledged does not go again."""
    with world.life(tmp_path / "s", durability=durability) as (spool, push):
        send(push, how, BODIES)
        assert spool.info().last_seq == len(BODIES)
    for more in ([b"more"], []):
        with world.life(tmp_path / "s", durability=durability) as (_, push):
            send(push, how, more)
            with world.socket("Pull", connect=push.endpoint) as pull:
                assert taken(pull, len(more)) == more if not more else True
                if more:
                    assert taken(pull, len(BODIES) + 1) == BODIES + more
                nothing(pull)
                assert settled(push).delivered == (len(BODIES) + 1 if more else 0)


@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.parametrize("how", CALLS)
def test_receipts_are_those_of_any_push(
    world: World, tmp_path: Path, how: str, confirm: bool
) -> None:
    """Open until a receiver is done; then they say so, also when they are asked for late."""
    with world.life(tmp_path / "s") as (_, push):
        got = send(push, how, BODIES, confirm=confirm)
        if how in ("send", "frames"):
            assert [one is not None for one in got] == [confirm] * len(BODIES)
        else:
            assert (len(got) if confirm else got) == len(BODIES)
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, len(BODIES)) == BODIES
            nothing(pull)
            for one in got if confirm else ():
                world.wait(one)
                assert one.outcome == "acked"
            settled(push)
        late = push.send(b"late", confirm=True)
        assert late.outcome is None
        with pytest.raises(mm.WouldBlockError):
            world.wait(late, 0)
    with pytest.raises(mm.ClosedError):
        world.wait(late)


def test_what_goes_with_a_message_is_kept_with_it(world: World, tmp_path: Path) -> None:
    """Key, headers, times, frames: after the next life they are what they were."""
    with world.life(tmp_path / "s") as (_, push):
        push.send(b"x", key="k", headers={"a": "b"}, ttl=1_000, timestamp=5.0)
        push.send_frames([b"1", b"", b"3"], key=b"frames")
        push.send_many([b"y", b"z"], headers={"run": "1"})
    with world.life(tmp_path / "s") as (_, push):
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            got = [pull.recv(timeout=WAIT_S) for _ in range(4)]
            with world.socket("Pull", connect=push.endpoint) as other:
                nothing(other)
    first, frames, y, z = got
    assert (first.key, first.headers, first.timestamp) == (b"k", {"a": "b"}, 5.0)
    assert 0 < first.expires
    assert ([bytes(f) for f in frames.frames], frames.key) == ([b"1", b"", b"3"], b"frames")
    assert [(bytes(m), m.headers) for m in (y, z)] == [(b"y", {"run": "1"}), (b"z", {"run": "1"})]


def test_a_message_is_known_by_the_same_name_in_each_life(world: World, tmp_path: Path) -> None:
    """So a window of what is done holds across them; its number is that of the spool."""
    seen = []
    for life in range(3):
        with world.life(tmp_path / "s") as (spool, push):
            push.send(b"%d" % life)
            with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
                messages = [pull.recv(timeout=WAIT_S) for _ in range(life + 1)]
                seen.append([m.seq for m in messages])
                assert [m.attempt for m in messages] == [1] * (life + 1)
    assert seen[1][:1] == seen[0]
    assert seen[2][:2] == seen[1]
    assert len(set(seen[2])) == 3
    assert [name[1] for name in seen[2]] == [1, 2, 3]


def test_a_lost_worker_gives_its_messages_to_another(world: World, tmp_path: Path) -> None:
    """As without a spool, at once, as a further attempt."""
    with world.life(tmp_path / "s") as (_, push):
        push.send_many([b"1", b"2"])
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            assert taken(pull, 2) == [b"1", b"2"]
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            again = [pull.recv(timeout=WAIT_S) for _ in range(2)]
            assert sorted(bytes(m) for m in again) == [b"1", b"2"]
            assert all(m.ack() for m in again)
            settled(push)


@pytest.mark.parametrize("lives", [1, 2])
def test_delayed_messages_wait_in_the_spool(world: World, tmp_path: Path, lives: int) -> None:
    """They hold up nobody, and go in the order of their times, also in another life. Those that are
    soon may all be due once a slow machine comes to the first; one that is far never is."""
    soon = time.time() + 1.0
    when = {b"third": soon + 0.2, b"first": soon, b"second": soon + 0.1}
    with world.spool(tmp_path / "s") as spool:
        with world.push(spool) as push:
            push.send(b"far", delay=3_600)
            for body, at in when.items():
                push.send(body, at=at)
            push.send(b"now")
            if lives == 1:
                with world.socket("Pull", connect=push.endpoint) as pull:
                    got = taken(pull, 4)
                    assert sorted(got) == sorted([b"now", *when])
                    assert [one for one in got if one != b"now"] == [b"first", b"second", b"third"]
                    nothing(pull)
                    wait_until(lambda: push.drain(timeout=0).queued == 1)
    if lives == 2:
        with world.life(tmp_path / "s") as (_, push):
            with world.socket("Pull", connect=push.endpoint) as pull:
                assert sorted(taken(pull, 4)) == sorted([b"now", *when])
                nothing(pull)
                wait_until(lambda: push.drain(timeout=0).queued == 1)


def test_priorities_order_what_waits_in_the_socket(world: World, tmp_path: Path) -> None:
    """What was put is kept with its priority; the next life may have fewer levels than it says."""
    with world.life(tmp_path / "s", push_priorities=3) as (_, push):
        for body in (b"low", b"high", b"middle"):
            push.send(body, priority={b"low": 2, b"middle": 1, b"high": 0}[body])
    with world.life(tmp_path / "s", push_priorities=2) as (_, push):
        with world.socket("Pull", connect=push.endpoint, prefetch=1) as pull:
            assert set(taken(pull, 3)) == {b"low", b"high", b"middle"}
            nothing(pull)
            settled(push)


def test_finish_is_told_once_all_is_done(world: World, tmp_path: Path) -> None:
    """Also what was put before is sent; nothing more is taken."""
    with world.life(tmp_path / "s") as (_, push):
        push.send_many([b"%d" % i for i in range(1_000)])
        push.finish()
        with pytest.raises(mm.UsageError, match="finish"):
            push.send(b"x")
        with pytest.raises(mm.UsageError, match="finish"):
            push.send_many([b"x"])
        with pytest.raises(mm.TimedOutError):
            push.wait_for_finished(timeout=0.01)
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert len(up_to_end(pull)) == 1_000
            push.wait_for_finished(1, timeout=WAIT_S)


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_a_backlog_is_read_behind(world: World, tmp_path: Path, transport: str) -> None:
    """Far more than the queues hold: the rest is in the files, in its order."""
    dice = random.Random(5)
    bodies = [dice.randbytes(dice.choice([1, 50, 400])) for _ in range(5_000)]
    bind = {"tcp": "tcp://127.0.0.1:0", "ipc": f"ipc://{tmp_path}/i", "inproc": "inproc://behind"}
    with world.life(tmp_path / "s", push_bind=bind[transport], push_send_queue_messages=50) as (
        _,
        push,
    ):
        push.send_many(bodies)
        stats = push.stats()
        assert stats.queued_out_messages <= 50
        with world.socket("Pull", connect=push.endpoint, prefetch=20) as pull:
            assert taken(pull, len(bodies)) == bodies
            nothing(pull)
            settled(push)
            assert push.stats().dropped_overflow == 0


def test_what_is_done_goes_from_the_disk(world: World, tmp_path: Path) -> None:
    """Whole files, by themselves; a number that is done is not read again."""
    with world.life(tmp_path / "s") as (spool, push):
        push.send_many([b"%6d" % i * 100 for i in range(1_000)])
        files = spool.info().files
        assert files > 5
        with world.socket("Pull", connect=push.endpoint) as pull:
            taken(pull, 1_000)
            nothing(pull)
            settled(push)
        wait_until(lambda: spool.info().files <= 2)
    with world.life(tmp_path / "s") as (spool, push):
        assert settled(push).delivered == 0
        assert spool.info().last_seq == 1_000


@pytest.mark.parametrize("confirm", [False, True])
def test_tasks_put_in_their_order(tmp_path: Path, confirm: bool) -> None:
    """However many there are: nobody steps aside before it has put."""

    async def main() -> list[int]:
        async with (
            aio.Spool(tmp_path / "s", durability="os") as spool,
            aio.Push(spool=spool) as push,
        ):
            sends = (push.send(b"%d" % i, key="one", confirm=confirm) for i in range(500))
            await asyncio.gather(*sends)
            return [int(body) for body in (await spool.read(1)).messages]

    assert run(main) == list(range(500))


def test_a_copy_of_a_spool_gives_its_messages_names_of_their_own(tmp_path: Path) -> None:
    """A backup that goes on beside what it was made of: no two messages are taken for one."""
    with World(None).life(tmp_path / "s") as (_, push):
        push.send(b"both have it")
    shutil.copytree(tmp_path / "s", tmp_path / "copy")
    names = []
    for folder in ("s", "copy"):
        with World(None).life(tmp_path / folder) as (spool, push):
            push.send(folder.encode())
            with mm.Pull(connect=push.endpoint, ack="manual") as pull:
                got = [pull.recv(timeout=WAIT_S) for _ in range(2)]
                names.append([(spool.info().uuid, m.seq) for m in got])
    assert names[0][0] == names[1][0]
    assert names[0][1] != names[1][1]


def test_two_spools_have_no_name_in_common(world: World, tmp_path: Path) -> None:
    """Each counts its lives and messages from 1 on: a window of one receiver tells them apart."""
    window, names = mm.MemoryDedupeWindow(limit=10), []
    with (
        world.life(tmp_path / "a") as (_, one),
        world.life(tmp_path / "b") as (_, two),
        world.socket("Pull", connect=[one.endpoint, two.endpoint], ack="manual") as pull,
    ):
        for push in (one, two):
            push.send_many([b"1", b"2"])
        for _ in range(4):
            message = pull.recv(timeout=WAIT_S)
            assert window.add(message)
            names.append(message.seq)
    assert sorted(name[1] for name in names) == [1, 1, 2, 2]


def test_files_wait_for_the_push_whoever_else_they_wait_for(tmp_path: Path) -> None:
    """What nobody was sent does not go because another cursor is done with it."""
    options = {"until_acked_by": ["audit"]}
    with World(None).life(tmp_path / "s", **options) as (spool, push):
        push.send_many([b"%6d" % i * 100 for i in range(1_000)])
        with spool.cursor("audit") as audit:
            audit.done_up_to(1_000)
        assert spool.info().files > 5
        with mm.Pull(connect=push.endpoint) as pull:
            assert len(taken(pull, 1_000)) == 1_000
            nothing(pull)
            settled(push)
        wait_until(lambda: spool.info().files <= 2)
