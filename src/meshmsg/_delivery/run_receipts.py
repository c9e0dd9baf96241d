"""What became of messages of a run, for who sent them with `confirm=True`.

A run has consecutive numbers, unless other threads send between its chunks. So it is a few ranges
of them, and an octet a message, whatever it is asked.
Not here: waiting (_sync/receipts.py, aio/_receipts.py), when it is known (csrc/queue/receipts.h).
Law: as in _delivery/receipts.py; who asks for all crosses into C once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast, overload

from meshmsg._binding.core import ECLOSED, ffi, lib
from meshmsg._binding.errors import UndeliveredError
from meshmsg._delivery.receipts import OUTCOMES, WORDS, Outcome, ReceiptForm, Survives
from meshmsg._hints.plural import counted
from meshmsg._hints.unshared import Unshared
from meshmsg._socket.base import SocketBase

ReceiptT = TypeVar("ReceiptT", bound=ReceiptForm)

Tally = dict[Outcome | Literal["open"], int]
"""How many messages came to what."""

_OPEN: int = lib.MM_RECEIPT_OPEN
_DROPPED: int = lib.MM_RECEIPT_DROPPED
_ACKED: int = lib.MM_RECEIPT_ACKED


class ReceiptsForm(Unshared, Sequence[ReceiptT], Generic[ReceiptT]):
    """Of messages of a run, in the order in which they were sent."""

    _kind: ClassVar[Any]
    """The class of one of them."""
    _kept: Survives = "memory"

    def __init__(self, socket: SocketBase) -> None:
        self._socket = socket
        self._ranges = array("Q")
        """Of numbers: the first, how many; and so on."""
        self._starts: list[int] = []
        """The index of the first of each range."""
        self._outcomes = bytearray()
        """Of each, an mm_receipt. Its size never changes once it is known who was sent."""

    def _reserve(self, count: int) -> int:
        """Return the first of so many numbers, for messages that are sent next."""
        first = ffi.new("uint64_t *")
        rc = lib.mm_receipts_reserve(self._socket._handle, count, first)
        if rc < 0:
            raise self._socket._error(rc, "asking for receipts")
        ranges = self._ranges
        if ranges and ranges[-2] + ranges[-1] == first[0]:
            ranges[-1] += count
        else:
            ranges.extend((first[0], count))
        return int(first[0])

    def _sent(self, count: int) -> None:
        """So many of those were sent, the first ones; twice is harmless."""
        given = self._ranges
        kept = array("Q")
        starts: list[int] = []
        at = 0
        for i in range(0, len(given), 2):
            some = min(given[i + 1], count - at)
            if some > 0:
                kept.extend((given[i], some))
                starts.append(at)
                at += some
        self._outcomes, self._starts, self._ranges = bytearray(count), starts, kept

    def _put(self, first: int, put: int, dropped: int) -> None:
        """So many were put into a spool, in a row; so many behind them were dropped."""
        for number, some, outcome in ((first, put, _OPEN), (0, dropped, _DROPPED)):
            if some:
                self._starts.append(len(self._outcomes))
                self._ranges.extend((number, some))
                self._outcomes += bytes((outcome,)) * some

    @property
    def kept(self) -> Survives:
        """Where the messages were when the call ended, as `Receipt.kept`; the least of all.

        Of a call with a spool that was broken off it is "buffered": nobody waited for more. Those
        that were not kept (`overflow="drop_newest"`) do not count. Never blocks.
        """
        return self._kept

    def _octets(self) -> Any:
        return ffi.from_buffer("uint8_t[]", self._outcomes, require_writable=True)

    def _numbers(self) -> tuple[Any, int]:
        return ffi.from_buffer("mm_receipt_range[]", self._ranges), len(self._starts)

    def _any_open(self) -> bool:
        return _OPEN in self._outcomes

    def _ask(self, ms: int, slice_ms: int) -> int:
        """Wait for all of them; what comes out is kept."""
        if not self._any_open():
            return 0
        rc = int(
            lib.mm_receipts_wait(
                self._socket._handle, *self._numbers(), self._octets(), ms, slice_ms
            )
        )
        return self._rest(rc)

    def _rest(self, rc: int) -> int:
        """Return a code if some are open though the socket was asked, which may be closed."""
        if rc == ECLOSED:
            for i, start in enumerate(self._starts):
                first, count = self._ranges[2 * i : 2 * i + 2]
                self._socket._known.fill(first, self._outcomes, start, start + count)
        return min(rc, 0) if self._any_open() else 0

    def _ask_one(self, at: int, number: int, ms: int, slice_ms: int) -> int:
        """Wait for one of them; what comes out is kept."""
        if self._outcomes[at] != _OPEN:
            return 0
        one = ffi.new("mm_receipt_range *", (number, 1))
        rc = int(
            lib.mm_receipts_wait(self._socket._handle, one, 1, self._octets() + at, ms, slice_ms)
        )
        if rc == ECLOSED:
            self._socket._known.fill(number, self._outcomes, at, at + 1)
        return rc

    def _known(self, at: int) -> Outcome | None:
        return OUTCOMES.get(self._outcomes[at])

    def _refresh(self) -> int:
        """Have the outcomes be those of now; a code, if it cannot and some are open."""
        if not self._any_open():
            return 0
        return self._rest(
            int(lib.mm_receipts_look(self._socket._handle, *self._numbers(), self._octets()))
        )

    def _look(self) -> None:
        rc = self._refresh()
        if rc < 0:
            raise self._socket._error(rc, "asking for receipts")

    def _waits_for(self) -> str:
        """What there is none of, in time."""
        self._refresh()
        open_ones = self._outcomes.count(_OPEN)
        return f"no receipt of {open_ones:,} of {counted(len(self), 'message')}"

    def _result(self) -> None:
        """Raise what tells of those that will not be acknowledged; all are known."""
        if self._outcomes.count(_ACKED) == len(self):
            return
        lost: list[tuple[int, Outcome]] = [
            (at, OUTCOMES[o]) for at, o in enumerate(self._outcomes) if o != _ACKED
        ]
        at, reason = lost[0]
        raise UndeliveredError(
            f"{len(lost):,} of {counted(len(self), 'message')} will not be acknowledged; "
            f"the first, at index {at}: {WORDS[reason]}",
            reason=reason,
            undelivered=dict(lost),
        )

    def outcomes(self) -> list[Outcome | None]:
        """Tell what became of each message, as far as that is known now.

        Never blocks. Thread-safe: yes.

        Returns:
            The outcome of each, in their order, as `Receipt.outcome`; None: nothing yet.

        Raises:
            ClosedError: The socket was closed before all were known.
        """
        self._look()
        return [OUTCOMES.get(outcome) for outcome in self._outcomes]

    def tally(self) -> Tally:
        """Count what became of the messages, as far as that is known now.

        Never blocks. Thread-safe: yes.

        Returns:
            For each outcome how many messages came to it, and for "open" those that came to none
            yet. All are there, with 0 as well.

        Raises:
            ClosedError: The socket was closed before all were known.
        """
        self._look()
        tally: Tally = {"open": self._outcomes.count(_OPEN)}
        tally.update((name, self._outcomes.count(code)) for code, name in OUTCOMES.items())
        return tally

    def __len__(self) -> int:
        return len(self._outcomes)

    @overload
    def __getitem__(self, index: int) -> ReceiptT: ...
    @overload
    def __getitem__(self, index: slice) -> list[ReceiptT]: ...
    def __getitem__(self, index: int | slice) -> ReceiptT | list[ReceiptT]:
        if isinstance(index, slice):
            return [self._one(at) for at in range(len(self))[index]]
        return self._one(range(len(self))[index])

    def _one(self, at: int) -> ReceiptT:
        i = bisect_right(self._starts, at) - 1
        first = self._ranges[2 * i]
        number, kept = (first + at - self._starts[i], self._kept) if first else (0, None)
        return cast("ReceiptT", self._kind(self._socket, number, self, at, kept=kept))

    def __del__(self) -> None:
        if _OPEN in getattr(self, "_outcomes", b""):
            lib.mm_receipts_forget(self._socket._handle, *self._numbers())

    def __repr__(self) -> str:
        open_ones = f"{self._outcomes.count(_OPEN):,} of {counted(len(self), 'message')}"
        return (
            f"<meshmsg.{type(self).__name__} of {open_ones} open when it was asked last, "
            f"kept: {self._kept}>"
        )


def tell_receipts(error: BaseException, receipts: ReceiptsForm[Any] | None) -> None:
    """Have what ended a call carry the receipts of what it sent, which it says already."""
    if receipts is not None:
        receipts._sent(vars(error)["sent"])
        vars(error).update(receipts=receipts)
