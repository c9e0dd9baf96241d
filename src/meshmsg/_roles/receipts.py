"""What became of a message, for who sent it with `confirm=True`.

Not here: waiting (_sync/receipts.py, aio/_receipts.py), when it is known (csrc/queue/receipts.h).
Law: an outcome is kept here before the core forgets it, so any thread may ask, as often as it
likes.
"""

from __future__ import annotations

from typing import Literal

from meshmsg._binding.core import EAGAIN, lib
from meshmsg._binding.errors import UndeliveredError, UsageError
from meshmsg._socket.base import SocketBase

Outcome = Literal["acked", "unknown", "expired", "attempts", "dropped"]

_OUTCOMES: dict[int, Outcome] = {
    lib.MM_RECEIPT_ACKED: "acked",
    lib.MM_RECEIPT_UNKNOWN: "unknown",
    lib.MM_RECEIPT_EXPIRED: "expired",
    lib.MM_RECEIPT_ATTEMPTS: "attempts",
    lib.MM_RECEIPT_DROPPED: "dropped",
}
_WORDS: dict[Outcome, str] = {
    "unknown": "it was written to a peer that cannot acknowledge",
    "expired": "its time was over before it could be sent (ttl)",
    "attempts": "it was handed out as often as it may be (max_attempts)",
    "dropped": "the socket dropped it; its events say why",
}


class ReceiptForm:
    """Of one message: made by `send(confirm=True)`."""

    _outcome: Outcome | None = None

    def __init__(self, socket: SocketBase, number: int) -> None:
        self._socket = socket
        self._number = number

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

    def _ask(self, ms: int, slice_ms: int) -> int:
        """Wait for it; what comes out is kept."""
        if self._outcome is not None:
            return 0
        rc = int(lib.mm_receipt_wait(self._socket._handle, self._number, ms, slice_ms))
        if rc > 0:
            self._outcome = _OUTCOMES[rc]
            lib.mm_receipt_forget(self._socket._handle, self._number)
        elif self._outcome is not None:
            return 0  # another thread was told meanwhile
        return min(rc, 0)

    def _result(self) -> None:
        outcome = self._outcome
        if outcome is not None and outcome != "acked":
            raise UndeliveredError(
                f"the message was not acknowledged: {_WORDS[outcome]}", reason=outcome
            )

    def __del__(self) -> None:
        if self._outcome is None and hasattr(self, "_number"):
            lib.mm_receipt_forget(self._socket._handle, self._number)

    def __repr__(self) -> str:
        return f"<meshmsg.{type(self).__name__} {self._number}: {self._outcome or 'open'}>"


def check_confirms(flags: int) -> None:
    """Refuse where nobody acknowledges."""
    if not flags & lib.MM_OPT_AT_LEAST_ONCE:
        raise UsageError('confirm=True is for a Push with delivery="at_least_once"')
