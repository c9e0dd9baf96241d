"""What became of a message, and where it was kept, for who sent it with `confirm=True`.

Not here: those of a run of messages (_delivery/run_receipts.py), waiting (_sync/receipts.py,
aio/_receipts.py), when it is known (csrc/queue/receipts.h).
Law: an outcome is kept here before the core forgets it, so any thread may ask, as often as it
likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from meshmsg._binding.core import EAGAIN, ECLOSED, lib, native, to_ms
from meshmsg._binding.errors import UndeliveredError, UsageError
from meshmsg._hints.unshared import Unshared
from meshmsg._socket.base import SocketBase

Outcome = Literal["acked", "unknown", "expired", "attempts", "dropped"]
Survives = Literal["memory", "buffered", "os", "disk"]
"""Where a message is kept until it is done, the least first (docs/spool.md)."""

OUTCOMES: dict[int, Outcome] = {
    lib.MM_RECEIPT_ACKED: "acked",
    lib.MM_RECEIPT_UNKNOWN: "unknown",
    lib.MM_RECEIPT_EXPIRED: "expired",
    lib.MM_RECEIPT_ATTEMPTS: "attempts",
    lib.MM_RECEIPT_DROPPED: "dropped",
}
WORDS: dict[Outcome, str] = {
    "unknown": "it was written to a peer that cannot acknowledge",
    "expired": "its time was over before it could be sent (ttl)",
    "attempts": "it was handed out as often as it may be (max_attempts)",
    "dropped": "the socket dropped it; its events say why",
}


class _Run(Protocol):
    """Receipts that one is of."""

    def _ask_one(self, at: int, number: int, ms: int, slice_ms: int) -> int: ...
    def _known(self, at: int) -> Outcome | None: ...


class ReceiptForm(Unshared):
    """Of one message: made by `send(confirm=True)`, or one of those of `send_many`."""

    _outcome: Outcome | None = None

    def __init__(
        self,
        socket: SocketBase,
        number: int,
        run: _Run | None = None,
        at: int = 0,
        outcome: Outcome | None = None,
        kept: Survives | None = "memory",
    ) -> None:
        self._outcome = outcome
        self._kept: Survives | None = kept
        self._socket = socket
        self._number = number
        self._run = run
        """Those it is one of, which keep its outcome, and its place there; None: it is alone."""
        self._at = at

    @property
    def outcome(self) -> Outcome | None:
        """What became of it, as far as that is known now; None: nothing yet.

        "acked": a receiver is done with it. Else it was not delivered, or nobody can tell:
        "expired", "attempts", "dropped", "unknown" (`UndeliveredError`). Never blocks.

        Raises:
            ClosedError: The socket was closed before it was known.
        """
        if self._outcome is None:
            rc = self._ask(0, 0)
            if rc < 0 and rc != EAGAIN and self._outcome is None:
                raise self._socket._error(rc, "asking for a receipt")
        return self._outcome

    @property
    def kept(self) -> Survives | None:
        """Where the message was when `send` returned, and so what it survives until it is done.

        "memory": in this process only, as the Push has no spool; it survives the loss of a
        receiver. Else the `durability` of the spool: "disk" survives the process, the system and
        the machine's power; "os" the process, killed or not; "buffered" is to be written soon.
        None: it was not kept (`overflow="drop_newest"`). Never blocks, and never changes: what the
        spool removes later, unacknowledged (`overflow="drop_oldest"`, `max_age`, `trim`), survives
        nothing any more; the event SPOOL_REMOVED tells.
        """
        return self._kept

    @property
    def seq(self) -> int | None:
        """Its number in the spool, as an offset in Kafka; None: it is in none."""
        return self._number if self._kept not in (None, "memory") else None

    def _ask(self, ms: int, slice_ms: int) -> int:
        """Wait for it; what comes out is kept."""
        if self._outcome is not None:
            return 0
        if self._run is not None:
            rc = self._run._ask_one(self._at, self._number, ms, slice_ms)
            self._outcome = self._run._known(self._at)
            return 0 if self._outcome is not None else min(rc, 0)
        rc = int(lib.mm_receipt_wait(self._socket._handle, self._number, ms, slice_ms))
        if rc == ECLOSED:
            rc = self._socket._known.outcome(self._number) or rc
        if rc > 0:
            self._outcome = OUTCOMES[rc]
            lib.mm_receipt_forget(self._socket._handle, self._number)
        elif self._outcome is not None:
            return 0  # another thread was told meanwhile
        return min(rc, 0)

    def _result(self) -> None:
        outcome = self._outcome
        if outcome is not None and outcome != "acked":
            raise UndeliveredError(
                f"the message was not acknowledged: {WORDS[outcome]}", reason=outcome
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReceiptForm):
            return NotImplemented
        return self._socket is other._socket and self._which() == other._which()

    def __hash__(self) -> int:
        return hash((id(self._socket), self._which()))

    def _which(self) -> tuple[int, int]:
        """Which message of its socket it is of; what was not kept has no number."""
        if self._number:
            return 0, self._number
        return id(self if self._run is None else self._run), self._at

    def __del__(self) -> None:
        if self._outcome is None and getattr(self, "_run", self) is None:
            lib.mm_receipt_forget(self._socket._handle, self._number)

    def __repr__(self) -> str:
        kept = f"kept: {self._kept}" if self._kept else "not kept"
        what = f"{self._number}: {self._outcome or 'open'}, {kept}"
        return f"<meshmsg.{type(self).__name__} {what}>"


def confirmed_at_once(socket: SocketBase, frames: Sequence[object], timeout: float | None) -> int:
    """Send a message of one frame that is bytes, if there is room now; return its receipt's number.

    0: nothing was sent; it is left to who waits, and says why.
    """
    if timeout is not None:
        to_ms(timeout)  # refuses what is no time
    plain = len(frames) == 1 and isinstance(frames[0], bytes)
    return max(int(native.send_confirmed(socket._handle, frames[0])), 0) if plain else 0


def check_confirms(flags: int) -> None:
    """Refuse where nobody acknowledges."""
    if not flags & lib.MM_OPT_AT_LEAST_ONCE:
        raise UsageError('confirm=True is for a Push with delivery="at_least_once"')
