"""Readers of a spool that stand where somebody is likely to go on.

A number is looked for in its segment file from the beginning of it on, so who goes on where an
answer ended gets the reader that stands there. Not here: who asks (answers.py). Law: it is a
cache: whoever asks for whatever number gets the same, with a reader that stands there or without.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from meshmsg._binding.core import native
from meshmsg._spool.held import Held
from meshmsg._spool.reader import SpoolReader

PLACES_MAX = 16
"""Readers that are kept, each with an open file and the memory of a batch."""


class Filled(NamedTuple):
    """An answer, in the memory that it goes out from."""

    room: Any
    """Of the native side: who sends it takes it."""
    size: int
    """Octets; there may be more room than was needed."""


class Blocks(NamedTuple):
    """What was read: whole batches, behind a head."""

    code: int
    """1, or why there are none: 0: not to be seen yet; MM_ENOENT: they went; MM_SPOOL_HARMED."""
    filled: Filled
    next_seq: int
    """The number behind them."""
    goes_on: int
    """The first that is there, or the one behind what is harmed."""


class Places:
    """The readers of one spool; used by several threads."""

    def __init__(self, spool: Held) -> None:
        self._spool = spool
        self._lock = threading.RLock()  # a signal's function may close them below `close`
        self._kept: list[SpoolReader] = []
        """The one that was used the longest ago is the first."""

    def read(self, seq: int, last: int, max_bytes: int, head: bytes, at: int) -> Blocks:
        """Read whole batches that have numbers from one to another, one batch at least.

        `max_bytes` is for the batches; `head` goes before them, and has the number behind them from
        its octet `at` on.
        """
        reader = self._take(seq)
        try:
            blocks = _read(reader, last, max_bytes, head, at)
        except BaseException:
            reader.close()
            raise
        if blocks.code != 1:  # it is not to be gone on with
            reader.close()
        else:
            self._keep(reader)
        return blocks

    def close(self) -> None:
        """Close them."""
        with self._lock:
            kept, self._kept = self._kept, []
        for reader in kept:
            reader.close()

    def _take(self, seq: int) -> SpoolReader:
        with self._lock:
            at = next((i for i, one in enumerate(self._kept) if one.seq == seq), None)
            if at is not None:
                return self._kept.pop(at)
        return SpoolReader(self._spool, seq)

    def _keep(self, reader: SpoolReader) -> None:
        with self._lock:
            self._kept.append(reader)
            gone = self._kept.pop(0) if len(self._kept) > PLACES_MAX else None
        if gone is not None:
            gone.close()


def _read(reader: SpoolReader, last: int, max_bytes: int, head: bytes, at: int) -> Blocks:
    with reader._in_use():
        code, room, size, next_seq, goes_on = native.spool_blocks(
            reader._address, reader._seq, last, max_bytes, head, at
        )
        reader._seq = next_seq
    return Blocks(code, Filled(room, size), next_seq, goes_on)
