"""What a socket has received and not given out: messages prefetched in batches, in order; and what
C hands over made into messages.

Not here: waiting. Law: a prefetched message is in `_ready` before anybody can take a later one from
the core, and nobody prefetches while another thread sleeps in a receive: so order holds, and no
message waits behind a thread that is busy with an earlier one. A batch is read at once, by the
thread it belongs to; nothing made here points into it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from meshmsg._binding.core import Slot, fast, ffi, lib
from meshmsg._binding.message import FullMessage, Message, Request, message_class
from meshmsg._socket.base import SocketBase
from meshmsg._socket.signature import verb

MessageT = TypeVar("MessageT", bound=Message)


class Inbox(SocketBase, Generic[MessageT]):
    """The receiving side of a socket, without waiting; nothing, of a role that receives nothing."""

    _made_of: Callable[[int], type[Message]] | type[Request] = staticmethod(message_class)
    """The class of a peer's messages of one frame; or that of requests, which all are."""

    def _prepare(self) -> None:
        super()._prepare()
        if not self._receives:
            return
        self._ready: Any = fast.ready(self._made_of)
        """Messages (see csrc/binding/ready.c), made as they are taken."""
        self._inbox_lock = threading.RLock()
        """Re-entrant, as a signal may come while it is held, and what runs then may close the
        socket."""
        self._prefetched = False
        """Whether anybody ever prefetched: until then a receive needs no lock."""
        self._watched = False
        """Whether anybody waits for it from outside: by its descriptor, in a poller."""

    def _opened(self) -> None:
        super()._opened()
        if self._receives:
            self._ready.serve(self._handle, self._slice_ms)

    def _discard(self) -> int:
        if not self._receives:
            return 0
        with self._inbox_lock:
            count = len(self._ready)
            self._ready.clear()
        return count

    def _forget(self) -> None:
        super()._forget()
        if self._receives:
            self._ready.clear()
            self._inbox_lock = threading.RLock()

    def _held(self) -> tuple[int, int]:
        if not self._receives:
            return 0, 0
        count, size, made = self._ready.known()
        size += sum(sum(map(len, message.frames)) for message in made)
        return count + len(made), size

    def _take_ready(self) -> MessageT | None:
        """One prefetched message, or None."""
        message: MessageT | None = self._ready.pop()
        if message is not None and self._watched:
            self._settle_held()
        return message

    def _take_many(self, max_messages: int) -> list[MessageT]:
        """Prefetched messages, perhaps none."""
        found: list[MessageT] = self._ready.take(max_messages)
        if self._watched:
            self._settle_held()
        return found

    def _settle_held(self) -> None:
        """Have the core tell who watches of what is ready here as well."""
        with self._inbox_lock:
            told = None
            while told is not bool(self._ready):  # a signal's function may receive in between
                told = self._ready.tell()
                lib.mm_hold(self._handle, told)

    def _watch(self) -> None:
        """From now on take messages from the core one call at a time, and tell it what is left."""
        with self._inbox_lock:
            self._watched = True
            self._ready.hold()
            self._settle_held()

    def _keep(self, messages: list[MessageT]) -> None:
        """Make ready what a call that failed had taken, beside what it left there; who waits looks.

        What failed is most likely a signal's function, or was cancelled.
        """
        self._ready.put_back(messages)
        if self._ready:
            if self._watched:
                self._settle_held()
            lib.mm_interrupt(self._handle)

    def _unpack_at(self, address: int) -> list[MessageT]:
        """Turn the batch at that address into messages."""
        form = self._message
        return [
            form(frames, peer, envelope)
            if len(frames) > 1  # every role reads a single frame alike
            else cast("MessageT", message_class(peer)(frames[0]))
            for frames, peer, envelope in fast.parts(address)
        ]

    def _unpack_one(self, slot: Slot) -> MessageT:
        """Turn a batch of one message into that message."""
        [message] = self._unpack_at(slot.address)
        slot.drop()
        return message

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> MessageT:
        """Make a message of its frames, two or more; roles that read them differently override
        this."""
        message = FullMessage(frames[-1])
        message.peer = peer
        message._frames = tuple(frames)
        return cast("MessageT", message)


@verb
def fileno(self: Inbox[Any]) -> int:
    """Return a descriptor that is readable exactly while a receive would find a message.

    For event loops of others: level-triggered; do not read from it. Once it was asked for, the
    socket takes messages from the core one call at a time.

    Thread-safe: yes.

    Returns:
        The descriptor, the same each time; it belongs to the socket.

    Raises:
        ClosedError: The socket was closed.
    """
    out = ffi.new("int *")
    with self._inbox_lock:
        self._check(lib.mm_fileno(self._handle, out), "asking for the descriptor")
        self._watch()
    return int(out[0])
