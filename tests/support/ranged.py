"""Servers and readers of ranges, of threads and of a loop, under the same calls.

Not here: what a range has, and what is amiss with one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import meshmsg as mm
from meshmsg import aio
from meshmsg._binding.core import ffi, lib
from meshmsg._ranges.places import Filled
from tests.support.inloop import InLoop, LoopThread
from tests.support.pairs import of_its_own

WORLDS = ("threads", "asyncio")


class RemoteInLoop(InLoop):
    """Stands in for a spool of another process that is read in a loop."""

    def read(self, *args: Any, **options: Any) -> Iterator[mm.SpoolBatch]:
        """Return an iterator that goes on by steps of the loop."""
        made = self._thread.call(lambda: self._real.read(*args, **options))
        return self._steps(made)

    def lease(self, *args: Any) -> InLoop:
        """Return a lease of the loop."""
        return InLoop(self._thread, self._thread.call(lambda: self._real.lease(*args)))

    def _steps(self, made: Any) -> Iterator[mm.SpoolBatch]:
        async def step() -> Any:
            return await anext(made, None)

        try:
            while (batch := self._thread.call(step)) is not None:
                yield batch
        finally:
            self._thread.call(made.aclose)


class Ranged:
    """One world: what is opened in it is closed with it."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name = name
        self._stack = stack
        self._loop: LoopThread | None = None
        if name == "asyncio":
            self._loop = LoopThread()
            stack.callback(self._loop.close)

    def server(self, spool: Any, bind: str | None = None, **options: Any) -> Any:
        """Show a spool."""
        where = of_its_own() if bind is None else bind
        kind: Callable[..., Any] = aio.SpoolServer if self._loop else mm.SpoolServer
        return self._stack.enter_context(self._make(InLoop, kind, spool, bind=where, **options))

    def remote(self, endpoint: str, **options: Any) -> Any:
        """Read from there."""
        kind: Callable[..., Any] = aio.RemoteSpool if self._loop else mm.RemoteSpool
        return self._stack.enter_context(self._make(RemoteInLoop, kind, endpoint, **options))

    def shown(self, spool: Any, **options: Any) -> Any:
        """Show a spool, and read from there."""
        return self.remote(self.server(spool, **options).endpoint)

    def _make(self, stands: Any, kind: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if self._loop is None:
            return kind(*args, **options)
        return stands(self._loop, self._loop.call(lambda: kind(*args, **options)))


def messages(batches: Iterator[mm.SpoolBatch]) -> list[mm.SpoolMessage]:
    """Return the messages of all batches."""
    return [message for batch in batches for message in batch.messages]


def seqs(batches: Iterator[mm.SpoolBatch]) -> list[int]:
    """Return the numbers of the messages of all batches."""
    return [message.seq for message in messages(batches)]


def octets_of(answer: bytes | Filled) -> bytes:
    """Return what an answer has, also where only who sends it takes it."""
    if isinstance(answer, bytes):
        return answer
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    room = ffi.cast("mm_msg *", pointer(answer.room, b"meshmsg.room"))
    return bytes(ffi.buffer(lib.mm_msg_frame(room, 0, ffi.new("uint64_t *")), answer.size))


def late(call: Callable[[], Any]) -> str:
    """How a call is too late, whether an answer came in its time or none; "" if it is not."""
    try:
        call()
    except mm.TimedOutError as error:
        return str(error)
    return ""
