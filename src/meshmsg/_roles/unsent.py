"""What a send_many took from its iterable, and how much of that was sent.

Not here: sending it (_sync/sending.py, aio/_sending.py). Law: whatever ends a send_many, also what
a signal's function raises, each message that was taken is counted as sent or is given back, in
order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from meshmsg._binding.core import native
from meshmsg._binding.data import Data, bytes_of

CHUNK_MESSAGES = 1024
"""Messages of a send_many that cross into C at once."""
CHUNK_BYTES = 1024 * 1024
"""Bytes of a send_many that cross into C at once (one message may be larger)."""
SLOW_S = 0.001
"""Seconds a message may take to come out of a send_many's iterable before it is sent at once."""


class Taken:
    """The messages of a send_many: a list or a tuple whole, of others a chunk at a time."""

    def __init__(self, messages: Iterable[Data]) -> None:
        if isinstance(messages, (bytes, bytearray, memoryview, str)):
            raise TypeError(
                f"send_many takes several messages, a list of them for example, and this is one "
                f"({type(messages).__name__}); for one message use send"
            )
        if isinstance(messages, Mapping):
            raise TypeError(
                f"send_many takes messages, and of a {type(messages).__name__} it would send the "
                "keys; say which: x.keys() or x.values()"
            )
        if hasattr(messages, "__aiter__") and not hasattr(messages, "__iter__"):
            raise TypeError(
                f"send_many takes an iterable, and {type(messages).__name__} is an asynchronous "
                "one; send each with `async for message in x: await socket.send(message)`, or make "
                "a list first: [message async for message in x]"
            )
        self.chunk: list[bytes] = []
        """What was taken last; all before it was sent."""
        self.counts = [0, 0]
        """Messages sent: of the chunk, and of all. Native calls count them (native.send_list)."""
        self._whole = messages if isinstance(messages, (list, tuple)) else None
        """A list or tuple, until it is the chunk."""
        self._source: Iterator[Data] = iter(() if self._whole is not None else messages)
        self._more = True
        self._failed: Exception | None = None
        self._refused: list[Any] = []
        """What came out of the iterable and is no message, and of a list all behind it."""

    def fill(self) -> bool:
        """Take what is to be sent next, once all before it was sent; False: there is no more.

        When an iterable fails, or something in it is no message, what came before is given out
        first.

        Raises:
            Exception: What the iterable raised, or what says that something is no message.
        """
        self.chunk.clear()
        self.counts[0] = 0
        if self._whole is not None:
            self._convert(list(self._whole))
        elif self._more:
            self._gather()
        if not self.chunk and self._failed is not None:
            raise self._failed
        return bool(self.chunk)

    def _convert(self, whole: list[Any]) -> None:
        """Turn what is no bytes into such, up to what is no message."""
        failed: Exception | None = None
        refused: list[Any] = []
        if not native.all_bytes(whole):
            for i, message in enumerate(whole):
                try:
                    whole[i] = bytes_of(message)
                except Exception as error:
                    failed, refused = error, whole[i:]
                    del whole[i:]
                    break
        self._failed, self._refused = failed, refused
        self.chunk, self._whole, self._more = whole, None, False

    def _gather(self) -> None:
        """Take what comes one by one, perhaps slowly: a slow one waits for no other."""
        try:
            self._more = native.gather(
                self._source,
                self.chunk,
                CHUNK_MESSAGES,
                CHUNK_BYTES,
                SLOW_S,
                time.monotonic,
                bytes_of,
            )
        except Exception as error:
            self._failed = error
            self._more = False
            if self.chunk and not isinstance(self.chunk[-1], bytes):
                self._refused = [self.chunk.pop()]

    def tell(self, error: BaseException) -> None:
        """Have what ended the call say what was sent, and give back what was not."""
        unsent = [*self.chunk[self.counts[0] :], *self._refused, *(self._whole or ())]
        vars(error).update(sent=self.counts[1], unsent=unsent)
        if self._failed is not None and error is not self._failed:
            error.__context__ = self._failed


def tell_unsent(error: BaseException, messages: Iterable[Data], taken: Taken | None) -> None:
    """Have what ended a send_many say what was sent; also where nothing was taken yet."""
    if taken is not None:
        taken.tell(error)
        return
    unsent = list(messages) if isinstance(messages, (list, tuple)) else []
    vars(error).update(sent=0, unsent=unsent)


def no_room_after(count: int, expires: str) -> str:
    """What a send_many says that found no room once so many were sent; and perhaps why."""
    after = f"no room for another message{expires} after {count:,}"
    return after if count else f"no room for a message{expires}"
