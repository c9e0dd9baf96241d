"""What a socket has received and not given out: messages prefetched in batches, in order; and what
C hands over made into messages.

Not here: waiting. Law: a prefetched message is in `_ready` before anybody can take a later one from
the core, and nobody prefetches while another thread sleeps in a receive: so order holds, and no
message waits behind a thread that is busy with an earlier one. A batch is read at once, by the
thread it belongs to; nothing made here points into it.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from meshmsg._binding.core import Slot, address_of, ffi, lib, native
from meshmsg._binding.message import WHOLE, Message
from meshmsg._socket.base import SocketBase
from meshmsg._socket.signature import verb

MessageT = TypeVar("MessageT", bound=Message)


class Inbox(SocketBase, Generic[MessageT]):
    """The receiving side of a socket, without waiting; nothing, of a role that receives nothing."""

    _form = WHOLE
    """What its messages are made of."""

    def _prepare(self) -> None:
        super()._prepare()
        if not self._receives:
            return
        self._ready = native.ready(self._form)
        """Messages (see csrc/binding/ready.c), made as they are taken."""
        self._prefetched = False
        """Whether anybody ever prefetched: until then a receive needs no lock."""

    def _opened(self) -> None:
        super()._opened()
        if self._receives:
            self._ready.serve(self._handle, self._slice_ms)

    def _discard(self) -> int:
        if not self._receives:
            return 0
        with self._ready:
            count = len(self._ready)
            self._ready.clear()
        return count

    def _forget(self) -> None:
        super()._forget()
        if self._receives:
            self._ready.forget()

    def _held(self) -> tuple[int, int]:
        if not self._receives:
            return 0, 0
        count, size, made = self._ready.known()
        size += sum(sum(map(len, message.frames)) for message in made)
        return count + len(made), size

    def _watch(self) -> None:
        """From now on take messages from the core one call at a time, and tell it what is left."""
        self._ready.watch()

    def _unpack(self, batch: Any) -> list[MessageT]:
        """Turn a batch that is the caller's into messages."""
        found: list[MessageT] = self._form.unpack(address_of(batch))
        return found

    def _unpack_one(self, slot: Slot) -> MessageT:
        """Turn a batch of one message into that message."""
        [message] = self._unpack(slot.batch)
        slot.drop()
        return message


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
    with self._ready:
        self._check(lib.mm_fileno(self._handle, out), "asking for the descriptor")
        self._ready.watch()
    return int(out[0])
