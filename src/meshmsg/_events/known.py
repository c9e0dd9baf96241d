"""What became of messages, as far as that was known when their socket was closed.

Not here: receipts, which ask for it (_delivery/receipts.py). Law: it is there before the core
forgets it, so a receipt that is asked only then says what it would have said before.
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.core import ffi, lib

_SIZE: int = lib.MM_RECEIPT_BLOCK
_OPEN: int = lib.MM_RECEIPT_OPEN


class Known:
    """Of one socket, by the numbers of its messages."""

    def __init__(self) -> None:
        self._blocks: dict[int, bytes] = {}
        """An octet a number, of so many numbers each."""

    def note(self, handle: int) -> None:
        """Take what the socket knows, unless it is closed already."""
        count = int(lib.mm_receipts_all(handle, ffi.NULL, ffi.NULL, 0))
        while count >= 0:
            room = 2 * count
            indexes, outcomes = ffi.new("uint64_t[]", room), ffi.new("uint8_t[]", room * _SIZE)
            count = int(lib.mm_receipts_all(handle, indexes, outcomes, room))
            if 0 <= count <= room:  # else again, as others send meanwhile
                self._take(count, indexes, ffi.buffer(outcomes))
                return

    def _take(self, count: int, indexes: Any, octets: Any) -> None:
        self._blocks = {indexes[i]: octets[i * _SIZE : (i + 1) * _SIZE] for i in range(count)}

    def outcome(self, number: int) -> int:
        """Return what became of a message, an mm_receipt; MM_RECEIPT_OPEN: it was not known."""
        block = self._blocks.get(number // _SIZE)
        found = block[number % _SIZE] if block is not None else _OPEN
        return found if found < lib.MM_RECEIPTS else _OPEN

    def fill(self, first: int, outcomes: bytearray, start: int, end: int) -> None:
        """Put in place of those that are open there what is known of them, from a number on."""
        for at in range(start, end):
            if outcomes[at] == _OPEN:
                outcomes[at] = self.outcome(first + at - start)
