"""Reading a spool, from a number on, while it is written.

Not here: the spool itself (_spool/spool.py). Law: nothing is left out without a word: what is gone
is an error, or, if the spool was opened so, a gap that is given in its place. Who goes on where a
`read` of the spool ended gets the reader that stands there, so nothing is looked for. A signal's
function runs as a function begins, behind a call, or as a loop goes on: what is to be given is
forgotten where none of these comes before it is.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import (
    EINTR,
    SLICE_MS,
    address_of,
    ends_of,
    ffi,
    left_of,
    lib,
    native,
    to_ms,
)
from meshmsg._binding.errors import ClosedError, SpoolCorruptError, SpoolTrimmedError
from meshmsg._hints.unshared import Unshared
from meshmsg._spool.arguments import SEQ_MAX, whole
from meshmsg._spool.batch import BATCH_MAX_BYTES, BATCH_MAX_MESSAGES, SpoolBatch, check_batch
from meshmsg._spool.held import Held
from meshmsg._spool.message import SpoolGap, SpoolMessage, behind, seq_of

if TYPE_CHECKING:
    from typing_extensions import Self


IDLE_MAX = 4
"""Readers that a spool keeps, each with an open file and the memory of a batch."""
_RUN = 1000
"""Messages of a batch that an iteration has made at once."""


class SpoolReader(Unshared):
    """Reads the messages of a spool in their order; made by `Spool.reader`.

    Iterating gives what there is, and ends where that ends. For one thread at a time; others may
    close it.
    """

    _key = 0
    """Of it, among the readers of its spool; 0: it was not opened."""
    _below = SEQ_MAX
    """Batches have numbers below that one."""

    def __init__(self, spool: Held, seq: int) -> None:
        self._spool = spool
        out = ffi.new("mm_spool_reader **")
        with spool._in_use() as pointer:
            spool._raise_for(int(type(spool)._opens(pointer, seq, out)), "opening a reader")
            self._key = id(self)
            spool._readers[self._key] = out[0]
        self._pointer: Any = out[0]
        self._address = address_of(out[0])
        self._lock = threading.RLock()
        self._used = self._closed = False
        """Whether its thread is in a call; whether nobody gets into one any more."""
        self._seq = seq
        self._goes_on = ffi.new("uint64_t *")
        self._ready = False
        self._made: deque[SpoolMessage | SpoolGap] = deque()
        """What an iteration made, and did not give out yet."""
        self._got: list[SpoolMessage | SpoolGap] = []
        """What a read has so far: one that a signal's function breaks off leaves it to the next."""
        self._again = 0
        """Where a read began that nobody has yet, or it was told to go on; 0: neither."""

    @property
    def seq(self) -> int:
        """The number that is read next."""
        first = self._made or self._got
        return self._again or (seq_of(first[0]) if first else self._seq)

    def seek(self, seq: int) -> None:
        """Go on with another number, forth or back.

        Thread-safe: no.

        Args:
            seq: The number that is read next, from 1 on.

        Raises:
            ClosedError: It was closed.
        """
        whole("seq", seq, 1)
        with self._in_use():
            made: deque[SpoolMessage | SpoolGap] = deque()
            self._made, self._got, self._again = made, [], seq

    def read(
        self, max_messages: int = 1000, *, timeout: float | None = 0
    ) -> list[SpoolMessage | SpoolGap]:
        """Read what there is, up to so many.

        Thread-safe: no.

        Args:
            max_messages: How many at most, 1 and more.
            timeout: Seconds to wait for the first one; None waits for ever, 0 never waits.

        Returns:
            Messages, in the order of their numbers, without one left out; empty when none came in
            time. With `on_corruption="gap"` a `SpoolGap` stands for those that are gone.

        Raises:
            SpoolTrimmedError: What is next was removed by retention; `first` is the first one that
                is still there (`seek`).
            SpoolCorruptError: What is next is harmed, `first` to `last`; `seek(error.last + 1)`
                goes on behind it.
            ClosedError: It, or its spool, was closed.
        """
        whole("max_messages", max_messages, 1)
        if made := self._made:
            with self._in_use():
                given = list(islice(made, max_messages))
                left = deque(islice(made, max_messages, None))
            if self._made is made:  # nothing is called from here on, see the law
                self._made = left
            return given
        return self._read(max_messages, timeout)

    def _read(
        self, most: int, timeout: float | None, whole: bool = True
    ) -> list[SpoolMessage | SpoolGap]:
        """Read up to so many; `whole` False: those of one batch, which takes little memory."""
        deadline = ends_of(timeout)
        began, got = self._begin(), self._got
        while len(got) < most and (whole or not got):
            late = deadline is not None and deadline <= time.monotonic()
            ms = 0 if got or late else to_ms(left_of(deadline))
            with self._in_use():
                if self._ready or self._load(got, ms):
                    self._take(got, most)
                elif got or late:
                    break
        given, rest = got[:most], got[most:]
        if self._again == began:  # nothing is called from here on, see the law
            self._got, self._again = rest, 0
        return given

    def _begin(self, *, anew: bool = False) -> int:
        """Stand behind what a read has so far, and say where that began; anew: where it began."""
        with self._in_use() as pointer:
            got = self._got
            if self._again or (anew and (self._made or got)):
                began = self.seq
                seq = behind(got[-1]) if got and not anew else began
                lib.mm_spool_reader_seek(pointer, seq)
                self._seq, self._ready = seq, False
                if anew:
                    made: deque[SpoolMessage | SpoolGap] = deque()
                    self._again, self._made, self._got = began, made, []
            self._again = began = self.seq
        return began

    def read_batch(
        self,
        max_messages: int = BATCH_MAX_MESSAGES,
        *,
        max_bytes: int = BATCH_MAX_BYTES,
        timeout: float | None = 0,
    ) -> SpoolBatch:
        """Read what there is as one table, without making a Python object of each message.

        Thread-safe: no.

        Args:
            max_messages: How many at most, 1 to 16,777,216.
            max_bytes: Bytes of bodies, and of what goes with them, after which no further message
                is taken; to 1 GiB. It takes so much memory, and half of that at most besides.
            timeout: Seconds to wait for the first one; None waits for ever, 0 never waits.

        Returns:
            One message or more, in the order of their numbers, without one left out; without any
            when none came in time.

        Raises:
            SpoolTrimmedError, SpoolCorruptError, ClosedError: As `read`. With
                `on_corruption="gap"` what is gone stands in `gaps`.
        """
        most, size = check_batch(max_messages, max_bytes)
        deadline = ends_of(timeout)
        began = self._begin(anew=True)
        batch = self._table(most, size, deadline)
        if self._again == began:  # nothing is called from here on, see the law
            self._again = 0
        return batch

    def _table(self, most: int, size: int, deadline: float | None) -> SpoolBatch:
        """Read a batch; whoever gets it says that it is not to be read again."""
        gaps: list[SpoolMessage | SpoolGap] = []
        out = ffi.new("mm_spool_rows **")
        while True:
            with self._in_use() as pointer:
                run, below = self._run(most, bool(gaps))
                wait = 0 if gaps else to_ms(left_of(deadline))
                rc = 0
                if run:
                    rc = int(
                        lib.mm_spool_rows_read(
                            pointer, below, run, size, wait, SLICE_MS, self._goes_on, out
                        )
                    )
                    self._ready = False
                if rc == 1:
                    batch = SpoolBatch(out[0], gaps, seq=self._seq)
                    self._took(out[0])
                    return batch
                self._pass()
                if rc == 0:
                    return SpoolBatch(lib.mm_spool_rows_none(), gaps, seq=self._seq)
                if rc != EINTR:
                    self._amiss(rc, gaps)
                elif not gaps:
                    self._spool._still()

    def _run(self, most: int, some: bool) -> tuple[int, int]:
        """Go on to what is to be read: how many may be, at most, and below which number."""
        return most if self._seq < self._below else 0, self._below

    def _took(self, rows: Any) -> None:
        """Rows were read, and what compaction removed behind them is passed."""
        self._seq = int(lib.mm_spool_reader_seq(self._pointer))

    def _pass(self) -> None:
        """What compaction removed was passed: go on with what is next."""
        seq = int(lib.mm_spool_reader_seq(self._pointer))
        if seq > self._seq:
            self._passed(self._seq, seq - 1)
            self._seq = seq

    def _passed(self, first: int, last: int) -> None:
        """Those numbers are not there any more."""

    @contextmanager
    def _in_use(self) -> Iterator[Any]:
        """Keep it, and its spool, from being closed meanwhile."""
        with self._spool._in_use(), self._lock:
            outer, self._used = self._used, True
            try:
                if self._closed:
                    raise ClosedError("the reader was closed", code=lib.MM_ECLOSED)
                yield self._pointer
            finally:
                self._used = outer
                if self._closed and not outer:
                    self._free()

    def _load(self, got: list[SpoolMessage | SpoolGap], ms: int) -> bool:
        """Have a batch ready, or a gap in what was got; false: there is neither, for now."""
        rc = int(lib.mm_spool_reader_load(self._pointer, ms, SLICE_MS, self._goes_on))
        self._pass()
        if rc in (0, EINTR):
            if rc == EINTR:
                self._spool._still()
            return False
        self._ready = rc == 1
        if self._ready:
            return True
        if got:
            return False  # what is amiss is told with the next call, when these were taken
        self._amiss(rc, got)
        return False

    def _amiss(self, rc: int, got: list[SpoolMessage | SpoolGap]) -> None:
        """Tell what is amiss with the next message, or go on behind it, with a gap in its place."""
        goes_on = int(self._goes_on[0])
        self._spool._still()
        if rc == lib.MM_ENOENT:
            raise SpoolTrimmedError(
                f"{self._spool.path}: message {self._seq} was removed; {goes_on} is the first that "
                "is there",
                seq=self._seq,
                first=goes_on,
            )
        if rc == lib.MM_SPOOL_HARMED and self._spool._gaps:
            got.append(SpoolGap(self._seq, goes_on - 1))
            lib.mm_spool_reader_seek(self._pointer, goes_on)
            self._seq = goes_on
            return
        if rc == lib.MM_SPOOL_HARMED:
            raise SpoolCorruptError(
                f"{self._spool.path}: messages {self._seq} to {goes_on - 1} are harmed",
                first=self._seq,
                last=goes_on - 1,
            )
        self._spool._raise_for(rc, f"reading message {self._seq}")

    def _take(self, got: list[SpoolMessage | SpoolGap], most: int, below: int = SEQ_MAX) -> None:
        before = len(got)
        self._ready = False  # until it is known that there is more
        try:
            rc = int(native.spool_take(self._address, SpoolMessage, got, most, below))
        finally:
            if len(got) > before:
                last = got[-1]
                assert isinstance(last, SpoolMessage)
                self._seq = last.seq + 1
                self._pass()
        self._ready = rc == 1
        self._spool._raise_for(rc, f"reading message {self._seq}")

    def __iter__(self) -> Iterator[SpoolMessage | SpoolGap]:
        while self._made or self._make():
            made = self._made
            while made and made is self._made:  # `close` and `read` put another one there
                one = made[0]
                del made[0]  # popleft would be a call, see the law
                yield one

    def _make(self) -> bool:
        # That one is empty, and no call comes between the read and `extend`.
        self._made.extend(self._read(_RUN, 0, whole=False))
        return bool(self._made)

    def close(self) -> None:
        """Close it; the spool stays open. Again: nothing.

        Thread-safe: yes; a `read` that waits raises ClosedError, also one that this thread is in,
        if a signal's function closes it.
        """
        if os.getpid() != self._spool._pid:
            return  # its spool was given up as the process was forked
        with self._lock:
            self._closed = True
            if not self._used:  # else whoever is in it does that, further up the stack
                self._free()

    def _free(self) -> None:
        self._made, self._got, self._again = deque(), [], 0
        self._spool._close_readers(self._key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._key and os.getpid() == self._spool._pid:
            self._spool._close_readers(self._key)


def read(
    self: Held,
    seq: int,
    *,
    max_messages: int = BATCH_MAX_MESSAGES,
    max_bytes: int = BATCH_MAX_BYTES,
    timeout: float | None = 0,
) -> SpoolBatch:
    """Read from a number on, as one table, without making a Python object of each message.

    Who goes on with `last_seq + 1` of a batch reads on there; else the number is looked for in
    its segment file.

    Thread-safe: yes.

    Args:
        seq: The number that it begins with, 1 and more. It may be one that is yet to come.
        max_messages: How many at most, 1 to 16,777,216.
        max_bytes: Bytes after which no further message is taken, as of
            `SpoolReader.read_batch`.
        timeout: Seconds to wait for the first one; None waits for ever, 0 never waits.

    Returns:
        One message or more, without one left out; without any when none came in time. Its
        `last_seq + 1` is then `seq` again.

    Raises:
        SpoolTrimmedError, SpoolCorruptError, ClosedError: As `SpoolReader.read`.
    """
    whole("seq", seq, 1)
    reader: SpoolReader | None = _reader_at(self, seq)
    assert reader is not None
    try:
        return reader.read_batch(max_messages, max_bytes=max_bytes, timeout=timeout)
    finally:
        with self._inside.lock:
            if self._pointer is not None and len(self._idle_readers) < IDLE_MAX:
                self._idle_readers.append(reader)
                reader = None
        if reader is not None:
            reader.close()


def _reader_at(spool: Held, seq: int) -> SpoolReader:
    with spool._in_use(), spool._inside.lock:  # in the child of a fork nobody may have left it
        idle = spool._idle_readers
        at = next((i for i, one in enumerate(idle) if one.seq == seq), None)
        if at is None and len(idle) == IDLE_MAX:
            at = 0  # the one that was used the longest ago
        reader: SpoolReader | None = idle.pop(at) if at is not None else None
    if reader is None:
        return SpoolReader(spool, seq)
    if reader.seq != seq:
        reader.seek(seq)
    return reader
