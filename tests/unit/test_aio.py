"""asyncio: nothing is lost by a cancel, nobody is forgotten, other loops work or say why not."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"


async def linked() -> tuple[Any, Any]:
    """A Push and a Pull that see each other."""
    push = aio.Push(bind=UP)
    pull = aio.Pull(connect=push.endpoint)
    await push.wait_for_peers(timeout=WAIT_S)
    await pull.wait_for_peers(timeout=WAIT_S)
    return push, pull


STEPS = st.lists(
    st.sampled_from(
        ["send", "send3", "recv", "recv_short", "cancel_old", "cancel_new", "yield", "many"]
    ),
    min_size=5,
    max_size=60,
)


async def play(push: Any, pull: Any, steps: list[str], start: int) -> int:
    """Any order of sends, receives, time-outs and cancels; then everything sent must have been
    received."""
    got: list[int] = []
    waiting: list[asyncio.Task[Any]] = []
    number = start

    async def receive(timeout: float | None, many: bool) -> None:
        try:
            found = (
                await pull.recv_many(3, timeout=timeout)
                if many
                else [await pull.recv(timeout=timeout)]
            )
        except mm.TimedOutError:
            return
        got.extend(map(int, found))

    for step in steps:
        if step.startswith("send"):
            for _ in range(3 if step == "send3" else 1):
                await push.send(b"%d" % number)
                number += 1
        elif step in ("recv", "many"):
            waiting.append(asyncio.ensure_future(receive(None, step == "many")))
        elif step == "recv_short":
            waiting.append(asyncio.ensure_future(receive(0.0005, False)))
        elif step == "cancel_old" and waiting:
            waiting.pop(0).cancel()
        elif step == "cancel_new" and waiting:
            waiting.pop().cancel()
        else:
            await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    while len(got) < number - start:
        got.append(int(await pull.recv(timeout=WAIT_S)))
    assert sorted(got) == list(range(start, number)), "lost or doubled"
    return number


@given(st.lists(STEPS, min_size=10, max_size=10), st.randoms(use_true_random=False))
@settings(max_examples=120, deadline=None)
def test_no_interleaving_of_cancels_loses_or_doubles_a_message(
    scripts: list[list[str]], dice: random.Random
) -> None:
    """Some 1,200 interleavings of several waiters, cancels and time-outs, drawn by hypothesis."""

    async def run() -> None:
        push, pull = await linked()
        try:
            number = 0
            for steps in scripts:
                number = await play(push, pull, steps, number)
        finally:
            push.close()
            pull.close()

    asyncio.run(run())


@pytest.mark.leaves_threads  # uvloop keeps a pipe for forks
@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
def test_many_requests_at_once_on_both_loops(runner: Any) -> None:
    """One wake-up completes all whose answers came; a cancelled one harms nobody."""

    async def run() -> None:
        async with aio.Rep(bind=UP) as rep, aio.Req(connect=rep.endpoint) as req:

            async def serve() -> None:
                async for request in rep:
                    request.reply(request + b"!")

            serving = asyncio.ensure_future(serve())
            asking = [
                asyncio.ensure_future(req.request(b"%d" % i, timeout=WAIT_S)) for i in range(500)
            ]
            await asyncio.sleep(0)
            for task in asking[::7]:
                task.cancel()
            found = await asyncio.gather(*asking, return_exceptions=True)
            for i, answer in enumerate(found):
                assert (
                    isinstance(answer, asyncio.CancelledError)
                    if i % 7 == 0
                    else answer == b"%d!" % i
                )
            rep.close()
            await serving

    runner(run())


class NoReader(asyncio.SelectorEventLoop):
    """A loop that cannot watch descriptors, as the Windows proactor."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:  # type: ignore[override]
        """Refuse, but for what the loop needs itself."""
        if fd == self._ssock.fileno():  # type: ignore[attr-defined]
            super().add_reader(fd, callback, *args)
        else:
            raise NotImplementedError


def test_a_loop_that_cannot_watch_descriptors_is_refused_clearly() -> None:
    """UsageError names the loop and the way out."""
    loop = NoReader()

    async def run() -> None:
        with mm.Engine() as engine:
            pull = aio.Pull(bind=UP, engine=engine)
            try:
                await pull.recv(timeout=WAIT_S)
            finally:
                pull.close()

    try:
        with pytest.raises(mm.UsageError, match="NoReader"):
            loop.run_until_complete(run())
    finally:
        loop.close()


def test_closing_ends_every_waiting_task() -> None:
    """Receivers, senders and those who wait for peers."""

    async def run() -> None:
        pull, push = aio.Pull(bind=UP), aio.Push(bind=UP)
        tasks = [
            asyncio.ensure_future(t) for t in (pull.recv(), push.send(b"x"), pull.wait_for_peers(3))
        ]
        await asyncio.sleep(0)
        pull.close()
        push.close()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(result, mm.ClosedError)

    asyncio.run(run())


def test_time_outs_of_every_kind() -> None:
    """recv, send, request and wait_for_peers."""

    async def run() -> None:
        async with aio.Pull(bind=UP) as pull, aio.Push(bind=UP) as push, aio.Req(bind=UP) as req:
            for waiting in (
                pull.recv(timeout=0.01),
                push.send(b"x", timeout=0.01),
                req.request(b"x", timeout=0.01, retries=1),
                pull.wait_for_peers(timeout=0.01),
            ):
                with pytest.raises(mm.TimedOutError):
                    await waiting
            with pytest.raises(mm.WouldBlockError):
                await pull.recv(timeout=0)

    asyncio.run(run())


def test_sync_and_asyncio_offer_the_same() -> None:
    """Names of classes and of their public members."""
    for name in aio.__all__:
        sync, awaited = getattr(mm, name), getattr(aio, name)
        mine = {n for n in dir(sync) if not n.startswith("_")}
        theirs = {n for n in dir(awaited) if not n.startswith("_")}
        assert mine == theirs, name


def test_all_public_names_exist_and_are_listed() -> None:
    """__all__ is what there is."""
    public = {n for n, v in vars(mm).items() if not n.startswith("_") and isinstance(v, type)}
    assert public | {"ANYBODY", "NONE", "has", "keygen"} == set(mm.__all__)
