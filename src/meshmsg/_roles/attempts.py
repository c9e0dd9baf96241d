"""The attempts of one request: how long each may take, and whether there is a further one.

Not here: asking (_sync/request.py, aio/_request.py). Law: pure; whoever calls tells the time. An
attempt ends with its answer, a refusal, a lost peer or a time-out; another one may follow the last
two only.
"""

from __future__ import annotations

import math

from meshmsg._binding.core import EREFUSED, LEAST_S, error_for, lib, to_ms
from meshmsg._binding.errors import MeshError, PeerError, UsageError
from meshmsg._socket.base import SocketBase
from meshmsg._socket.causes import seconds
from meshmsg._socket.options import check_count

NO_RETRY = "retries=0 are used up; ask again if asking twice does no harm"


class Attempts:
    """Those of one request, made so far and still to be made.

    Args:
        timeout: Seconds each may take; None: no limit.
        retries: How many may follow the first one.
        deadline: Seconds that all of them may take together; None: no limit.
        now: Seconds on a clock.
    """

    def __init__(
        self, timeout: float | None, retries: int, deadline: float | None, now: float
    ) -> None:
        check_count("retries", retries)
        to_ms(timeout)  # refuses what is no time
        if deadline is not None and (
            isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not deadline > 0
        ):
            raise UsageError(f"deadline is {deadline!r}; it is seconds, above 0, or None")
        self._timeout = timeout
        self._retries = self._left = retries
        self._deadline = deadline
        self._began = now
        self._ends = math.inf if deadline is None else now + deadline
        self._made = self._sent = self._lost = 0
        self._expired = False

    def begin(self, now: float) -> float | None:
        """Count one more attempt; return the seconds it may take."""
        self._made += 1
        if self._deadline is None:
            return self._timeout
        left = max(self._ends - now, LEAST_S)
        return left if self._timeout is None else min(left, self._timeout)

    def last(self) -> None:
        """Say that there is no further attempt: the question has expired."""
        self._left, self._expired = 0, True

    def next(self, form: SocketBase, error: MeshError, asked: bool, now: float) -> None:
        """Say that there is another attempt after one that ended so, or raise what ends them all.

        Args:
            form: The socket that asked.
            error: How the last attempt ended.
            asked: Whether its question was sent.
            now: Seconds on the same clock.
        """
        self._sent += asked
        self._lost += isinstance(error, PeerError)
        if error.code != EREFUSED and self._left > 0 and not self._over(now):
            self._left -= 1
            return
        if isinstance(error, PeerError):
            raise self._peer_lost(error) from None
        if self._expired and self._made == 1:
            raise error from None
        raise self._late(form, now) from None

    def _over(self, now: float) -> bool:
        return now >= self._ends - LEAST_S

    def _peer_lost(self, error: PeerError) -> MeshError:
        if self._expired:
            why = "its ttl is over"
        elif self._left == 0:
            why = f"retries={self._retries} are used up; ask again if asking twice does no harm"
        else:
            why = f"the deadline of {seconds(self._deadline or 0)} is over"
        return lost(error, why + (self._outcomes() if self._lost < self._made else ""))

    def _late(self, form: SocketBase, now: float) -> MeshError:
        """The error of time that is up: how many attempts there were, and what became of them."""
        what, how = ("no reply", "to") if self._sent else ("no room for a request", "in")
        total = self._deadline if self._over(now) else None
        if self._made == 1:
            return form._error(lib.MM_ETIMEDOUT, what, self._timeout if total is None else total)
        each = "" if self._timeout is None else f" of {seconds(self._timeout)} each"
        what += f" {how} {self._made} attempts{each}"
        if total is not None:
            what += f" within {seconds(total)}"
        if self._expired:
            what += ", and its ttl is over"
        if self._sent and (self._lost or self._sent < self._made):
            what += self._outcomes()
        return form._error(lib.MM_ETIMEDOUT, what)

    def _outcomes(self) -> str:
        """Say which attempts may have been carried out by a peer, and which were never sent."""
        silent, unsent = self._sent - self._lost, self._made - self._sent
        parts = {
            "lost with its peer and may have been done": self._lost,
            "sent but not answered and may have been done": silent,
            "never sent": unsent,
        }
        return "; " + ", ".join(f"{count} {what}" for what, count in parts.items() if count)


def lost(error: PeerError, why: str) -> MeshError:
    """The error of a request whose peer went away, or, as it is, of one that was refused."""
    if error.code == EREFUSED:
        return error
    return error_for(
        error.code,
        "the peer that had the request went away before it answered; whether it did the work is "
        f"unknown ({why})",
    )
