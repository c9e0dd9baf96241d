"""A loop begins to watch an engine that is closed at that moment by another thread.

Not here: engines that are closed while a loop watches them (test_aio.py, test_push_spool_odd.py).
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.aio import _loop, _socket


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("taken", [False, True])
def test_a_descriptor_of_others_is_not_watched(
    monkeypatch: pytest.MonkeyPatch, at: int, taken: bool
) -> None:
    """Also where somebody has its number by then: it would wake the loop for ever."""
    calls: list[int] = []

    with ExitStack() as stack, mm.Engine() as engine:

        def dup(fd: int) -> int:
            calls.append(fd)
            if len(calls) == at:
                engine.close()
                while taken and max(*pipe_into(stack)) < fd:
                    pass
            return real(fd)

        real: Any = os.dup
        monkeypatch.setattr(_loop.os, "dup", dup)

        async def watch() -> None:
            _loop.LoopWaker(asyncio.get_running_loop(), engine)

        with pytest.raises(mm.ClosedError):
            asyncio.run(watch())
    assert len(calls) >= at


def pipe_into(stack: ExitStack) -> tuple[int, int]:
    """Open a pipe, which is closed with the stack."""
    ends = os.pipe()
    for end in ends:
        stack.callback(os.close, end)
    return ends


def test_who_begins_to_wait_then_is_told_which_socket_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It knows of no waker."""
    engine = mm.Engine()
    real = _socket.waker_of

    def closing(*args: Any) -> Any:
        engine.close()
        return real(*args)

    monkeypatch.setattr(_socket, "waker_of", closing)

    async def wait() -> None:
        async with mm.aio.Pull(bind="tcp://127.0.0.1:0", engine=engine) as pull:
            await pull.recv()

    with pytest.raises(mm.ClosedError, match="waiting: this Pull was closed"):
        asyncio.run(wait())
