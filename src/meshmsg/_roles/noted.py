"""What goes with a message, as a socket sends it: by the clock of its engine.

Not here: the octets (_binding/metadata.py), who waits.
"""

from __future__ import annotations

from array import array

from meshmsg._binding.core import lib
from meshmsg._binding.data import Question, size_of
from meshmsg._binding.note import MessageOptions, encode
from meshmsg._socket.base import SocketBase

_MS = 1000


def note_of(socket: SocketBase, options: MessageOptions) -> bytes:
    """Return the octets of what goes with a message sent now; of nothing, no octets."""
    if all(value is None for value in options.values()):
        return b""
    now_ms = lib.mm_wall_ms(socket._handle)
    if now_ms < 0:
        socket._check(int(now_ms), "asking for the time")
    return encode(now_ms / _MS, **options)


def with_note(socket: SocketBase, question: Question, options: MessageOptions) -> Question:
    """Return a question or an answer, and what goes with it."""
    note = note_of(socket, options) if options else b""
    if not note:
        return question
    if isinstance(question, tuple):
        return question[0], question[1], note
    return question, array("Q", [size_of(question)]).tobytes(), note
