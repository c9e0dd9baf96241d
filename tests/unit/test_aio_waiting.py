"""How asyncio tasks wait: order, fairness, several loops, loops and engines that end."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg import aio
from meshmsg.aio._loop import LoopWaker, waker_of
from tests.support.linked import RUNNERS, UP, deliver, linked, turns
from tests.support.pairs import WAIT_S

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 4)),
        st.tuples(st.just("wait"), st.sampled_from([None, 0.0001])),
        st.tuples(st.just("many"), st.integers(1, 4)),
        st.tuples(st.just("cancel"), st.integers(0, 5)),
        st.tuples(st.just("now"), st.just(0)),
        st.tuples(st.just("turn"), st.integers(1, 3)),
    ),
    min_size=3,
    max_size=25,
)


class Interleaving:
    """Runs actions against a Pull and records what its tasks got, in the order they got it."""

    def __init__(self, push: mm.Push, pull: aio.Pull) -> None:
        self.push = push
        self.pull = pull
        self.sent = 0
        self.got: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def _one(self, timeout: float | None) -> None:
        try:
            self.got.append(int(await self.pull.recv(timeout=timeout)))
        except (mm.TimedOutError, mm.WouldBlockError):
            return

    async def _several(self, count: int) -> None:
        self.got += map(int, await self.pull.recv_many(count))

    async def act(self, action: str, value: Any) -> None:
        """Do one of the actions."""
        if action == "send":
            deliver(self.push, *(b"%d" % (self.sent + i) for i in range(value)))
            self.sent += value
        elif action == "wait":
            self.tasks.append(asyncio.ensure_future(self._one(value)))
        elif action == "many":
            self.tasks.append(asyncio.ensure_future(self._several(value)))
        elif action == "now":
            await self._one(0)
        elif action == "cancel" and self.tasks:
            self.tasks.pop(value % len(self.tasks)).cancel()
        else:
            await turns(value or 1)

    async def end(self) -> None:
        """Cancel who still waits, and receive the rest."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        while len(self.got) < self.sent:
            self.got.append(int(await self.pull.recv(timeout=WAIT_S)))


@settings(max_examples=200, deadline=None)
@given(st.lists(ACTIONS, min_size=10, max_size=10))
def test_whatever_is_cancelled_every_message_comes_once_and_in_order(
    scripts: list[list[Any]],
) -> None:
    """2,000 interleavings of sends, receives, batches, time-outs and cancels of any waiter.

    What was sent has reached the engine before the loop goes on, so a script always runs alike.
    """

    async def run() -> None:
        async with linked("inproc://interleavings") as (push, pull):
            for script in scripts:
                play = Interleaving(push, pull)
                for action, value in script:
                    await play.act(action, value)
                await play.end()
                assert play.got == list(range(play.sent))
                assert pull.stats().queued_in_messages == 0

    asyncio.run(run())


@pytest.mark.parametrize("runner", RUNNERS)
def test_waiters_are_served_in_the_order_they_came(runner: Any) -> None:
    """First come, first served, also after one in the middle gave up."""

    async def run() -> None:
        async with linked() as (push, pull):
            got: dict[int, bytes] = {}

            async def wait(i: int) -> None:
                got[i] = await pull.recv(timeout=WAIT_S)

            tasks = [asyncio.ensure_future(wait(i)) for i in range(6)]
            await turns()
            tasks[2].cancel()
            await turns()
            deliver(push, *(b"%d" % i for i in range(5)))
            await asyncio.gather(*tasks, return_exceptions=True)
            assert got == {0: b"0", 1: b"1", 3: b"2", 4: b"3", 5: b"4"}

    runner(run())


def test_one_wake_up_is_enough_for_a_batch() -> None:
    """Many messages, many waiters: the core rings once, the rest goes from task to task."""

    async def run() -> None:
        async with linked() as (push, pull):
            rings = 0
            waker = pull._waker(asyncio.get_running_loop())
            take = waker._on_ready

            def counted() -> None:
                nonlocal rings
                rings += 1
                take()

            asyncio.get_running_loop().add_reader(waker._fd, counted)
            tasks = [asyncio.ensure_future(pull.recv(timeout=WAIT_S)) for _ in range(50)]
            await turns()
            rings = 0  # without what it still had to tell about the peer
            deliver(push, *(b"%d" % i for i in range(50)))
            assert await asyncio.gather(*tasks) == [b"%d" % i for i in range(50)]
            assert rings == 1

    asyncio.run(run())


def waits_for(task: asyncio.Task[Any]) -> Any:
    """The future a task awaits."""
    return task._fut_waiter  # type: ignore[attr-defined]


@pytest.mark.parametrize("runner", RUNNERS, ids=["asyncio", "uvloop"])
def test_cancelled_recv_hands_its_wake_to_the_next_waiter(runner: Any) -> None:
    """Cancelled between being woken and running, by a task that was woken with it."""

    async def run() -> None:
        async with linked() as (push, pull), linked() as (other_push, other_pull):
            first = asyncio.ensure_future(pull.recv())
            second = asyncio.ensure_future(pull.recv())

            async def cancel() -> None:
                await other_pull.recv()
                assert waits_for(first).done()
                first.cancel()

            task = asyncio.ensure_future(cancel())
            await turns()
            deliver(other_push, b"cancel")
            deliver(push, b"x")
            await task
            assert await asyncio.wait_for(second, WAIT_S) == b"x"
            with pytest.raises(asyncio.CancelledError):
                await first

    runner(run())


def test_a_time_out_around_an_iteration_does_not_end_it() -> None:
    """anext may be cancelled and called again."""

    async def run() -> None:
        async with linked() as (push, pull):
            messages = aiter(pull)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(messages), 0.001)
            deliver(push, b"1", b"2")
            assert await asyncio.wait_for(anext(messages), WAIT_S) == b"1"
            async for message in pull:
                assert message == b"2"
                break

    asyncio.run(run())


def test_two_loops_share_a_socket_and_none_is_forgotten() -> None:
    """A loop cannot wake the other one's tasks, so neither keeps messages to itself."""
    with mm.Push(bind=UP) as push:
        pull = aio.Pull(connect=push.endpoint)
        push.wait_for_peers(timeout=WAIT_S)
        count = 3000
        left = threading.Semaphore(0)
        seen: list[list[int]] = [[], []]

        async def consume(mine: list[int]) -> None:
            async def task() -> None:
                async for message in pull:
                    mine.append(int(message))
                    left.release()

            await asyncio.gather(task(), task())

        threads = [
            threading.Thread(target=lambda mine=mine: asyncio.run(consume(mine))) for mine in seen
        ]
        for thread in threads:
            thread.start()
        push.send_many([b"%d" % i for i in range(count)], timeout=WAIT_S)
        for _ in range(count):
            assert left.acquire(timeout=WAIT_S)
        pull.close()
        for thread in threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        assert sorted(seen[0] + seen[1]) == list(range(count))
        for mine in seen:
            assert mine == sorted(mine)


def test_a_socket_goes_from_loop_to_loop_with_what_it_holds() -> None:
    """One asyncio.run after the other; prefetched messages wait in between."""
    with mm.Push(bind=UP) as push:
        pull = aio.Pull(connect=push.endpoint)
        push.wait_for_peers(timeout=WAIT_S)
        deliver(push, *(b"%d" % i for i in range(10)))
        for i in range(10):

            async def one() -> bytes:
                return await pull.recv(timeout=WAIT_S)

            assert asyncio.run(one()) == b"%d" % i
        pull.close()


@pytest.mark.parametrize("runner", RUNNERS)
def test_loops_that_end_leave_no_descriptor(runner: Any) -> None:
    """Their wakers go with them; of the last, the engine may have a listener yet to close."""
    loops = 20

    async def wait() -> None:
        async with aio.Pull(bind=UP) as pull:
            with pytest.raises(mm.TimedOutError):
                await pull.recv(timeout=0.001)

    runner(wait())
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(loops):
        runner(wait())
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) < before + loops // 2


def test_a_waker_goes_with_its_loop() -> None:
    """It does not keep a closed loop alive."""
    seen: list[weakref.ref[Any]] = []

    async def wait() -> None:
        async with aio.Pull(bind=UP) as pull:
            with pytest.raises(mm.TimedOutError):
                await pull.recv(timeout=0.001)
            seen.extend(
                [
                    weakref.ref(asyncio.get_running_loop()),
                    weakref.ref(pull._waker(asyncio.get_running_loop())),
                ]
            )

    asyncio.run(wait())
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


KINDS = ["recv", "send", "request", "wait_for_peers", "drain", "iteration"]


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("where", ["this thread", "another thread"])
def test_closing_an_engine_wakes_every_task_that_waits_in_its_sockets(
    runner: Any, where: str
) -> None:
    """Wherever it is closed; the loop goes on, and its descriptors can be used again."""

    async def run() -> None:
        engine = mm.Engine()
        pull, push, req = (kind(bind=UP, engine=engine) for kind in (aio.Pull, aio.Push, aio.Req))

        async def iterate() -> None:
            async for _ in pull:
                raise AssertionError("nothing was sent")

        waits = [pull.recv(), push.send(b"x"), req.request(b"x"), pull.wait_for_peers(2), iterate()]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        await turns()
        if where == "this thread":
            engine.close()
        else:
            closing = threading.Thread(target=engine.close)
            closing.start()
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT_S)
        assert [type(outcome) for outcome in outcomes] == [mm.ClosedError] * 4 + [type(None)]
        if where != "this thread":
            closing.join(WAIT_S)
        async with linked() as (other, again):
            deliver(other, b"still works")
            assert await again.recv(timeout=WAIT_S) == b"still works"

    runner(run())


def test_a_socket_opened_on_a_loop_s_closed_engine_is_refused() -> None:
    """Also when the loop still knows the engine."""

    async def run() -> None:
        with mm.Engine() as engine:
            waker = waker_of(engine, asyncio.get_running_loop())
            assert waker_of(engine, asyncio.get_running_loop()) is waker
        with pytest.raises(mm.ClosedError):
            aio.Pull(engine=engine)

    asyncio.run(run())


def test_a_waker_is_closed_once_and_serves_nobody_then() -> None:
    """Closing twice is harmless."""

    async def run() -> None:
        with mm.Engine() as engine:
            loop = asyncio.get_running_loop()
            waker = LoopWaker(loop, engine)
            assert waker.serves(loop)
            waker.close()
            waker.close()
            assert not waker.serves(loop)

    asyncio.run(run())
