"""Surveys: who was asked, who answered and who did not; what threads and asyncio share.

Not here: asking, and waiting for answers (_sync/survey.py, aio/_survey.py). Law: when a survey is
over is decided by the core, on the engine's clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import borrow, give_back, lib, native
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._binding.snapshots import EventKind
from meshmsg._socket.base import SocketBase
from meshmsg._socket.clock import now_of
from meshmsg._socket.inspecting import events_from
from meshmsg._socket.options import check_count

if TYPE_CHECKING:
    from typing_extensions import Self

ID_SIZE = 8
"""Octets of the id of one that was asked."""
REFUSALS_AT_ONCE = 64
"""Refusals one call into C tells of."""
OVER = (lib.MM_ESTATE, lib.MM_EINVAL)
"""What says that no answer will come: the survey is over, or was closed."""


class AskedPeer(int):
    """A peer that a survey asked: an int, its id as in `peers()`, that knows more of it.

    Attributes:
        address: Where it is or was connected, as in `peers()`; "" when that is not known any more.
        reason: Why it declined, in its own words; "" when it gave none, or did not decline.
    """

    address: str
    reason: str

    def __new__(cls, peer: int, address: str = "", reason: str = "") -> Self:
        self = super().__new__(cls, peer)
        self.address = address
        self.reason = reason
        return self

    @property
    def id(self) -> int:
        """Its id, as in `peers()`."""
        return int(self)

    def __repr__(self) -> str:
        why = f", reason={self.reason!r}" if self.reason else ""
        return f"AskedPeer({int(self)}, address={self.address!r}{why})"


class Outcome:
    """Who was asked and who answered, so far; once the survey is over, for good."""

    _over = False
    _addresses: Mapping[int, str] = MappingProxyType({})
    _refused: Mapping[int, str] = MappingProxyType({})
    """Of whom something is known; most surveys need neither."""

    def __init__(self, surveyor: SocketBase, deadline: float) -> None:
        self._surveyor: Any = surveyor
        self._deadline = deadline
        self._ends = (monotonic() if surveyor._slice_ms else now_of(surveyor)) + deadline
        self._begun: list[Any] = [0, b""]
        """Its id, 0: it has not begun, and the ids of those who were asked, as octets."""
        self._answered: list[int] = []

    @property
    def asked(self) -> tuple[int, ...]:
        """The ids of all peers that were connected when the survey began."""
        return tuple(memoryview(self._begun[1]).cast("Q"))

    @property
    def answered(self) -> tuple[int, ...]:
        """The ids of those whose answers were given out, in that order."""
        return tuple(self._answered)

    @property
    def declined(self) -> tuple[AskedPeer, ...]:
        """Those that refused to answer, ids with addresses and reasons, in that order."""
        self._hear()
        return self._as_peers(list(self._refused))

    @property
    def missing(self) -> tuple[AskedPeer, ...]:
        """The others, ids with addresses: too slow, gone, or with a full queue when asked."""
        self._hear()
        return self._as_peers(self._unheard())

    def _unheard(self) -> list[int]:
        heard = {*self._answered, *self._refused}
        return [peer for peer in self.asked if peer not in heard]

    def _hear(self) -> None:
        """Note who refused, as far as that may have changed and the core still knows it."""
        told = len(self._answered) + len(self._refused)
        if self._over or told * ID_SIZE >= len(self._begun[1]):
            return
        slot = borrow()
        try:
            handle, number = self._surveyor._handle, self._begun[0]
            while (rc := lib.mm_recv_refusals(handle, number, slot.batch, REFUSALS_AT_ONCE)) > 0:
                told_now = {
                    peer: frames[-1].decode("utf-8", "replace")
                    for frames, peer, _ in native.parts(slot.address)
                }
                self._refused = {**self._refused, **told_now}
            if rc == lib.MM_ENOMEM:
                self._surveyor._check(rc, "looking for refusals")
        finally:
            slot.drop()
            give_back(slot)

    def _as_peers(self, ids: list[int]) -> tuple[AskedPeer, ...]:
        """Say of ids where they are connected, or were, and why they declined."""
        wanted = {peer for peer in ids if peer not in self._addresses}
        if wanted:
            with suppress(MeshError):  # closed: what is known is known
                self._addresses = {**self._addresses, **self._find(wanted)}
        return tuple(
            AskedPeer(peer, self._addresses.get(peer, ""), self._refused.get(peer, ""))
            for peer in ids
        )

    def _find(self, wanted: set[int]) -> dict[int, str]:
        """Look for addresses: among the peers, and for those that left in what is known of it."""
        surveyor = self._surveyor
        found = {peer.id: peer.address for peer in surveyor.peers() if peer.id in wanted}
        if len(found) < len(wanted):
            for event in events_from(surveyor, 1)[0]:
                if event.kind is EventKind.PEER_UP and event.peer in wanted:
                    found.setdefault(event.peer, event.address)
        return found

    def __repr__(self) -> str:
        self._hear()
        asked, missing = len(self.asked), len(self._unheard())
        left = max(self._ends - now_of(self._surveyor), 0.0)
        if self._over or left == 0:
            state = "over"
        elif math.isinf(left):
            state = "no deadline"
        else:
            state = f"at most {left:.3g} s left"
        counts = f"{asked} asked, {len(self._answered)} answered, {missing} missing"
        if self._refused:
            counts += f", {len(self._refused)} declined"
        return f"<meshmsg.{type(self).__name__}: {counts}, {state}>"


def check_survey(deadline: float, expect: int | None) -> int:
    """Refuse bounds that are none; return how many answers end the survey, 0: those of all."""
    if isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not deadline > 0:
        raise UsageError(f"deadline is {deadline!r}; it is a number of seconds above 0")
    if expect is None:
        return 0
    check_count("expect", expect, 1)
    return expect


def count_late(handle: int, ready: Any) -> None:
    """Drop answers that nobody wants any more; they count as late, as those that come later do."""
    left = ready.take(len(ready)) if ready else []
    if left:
        size = sum(sum(map(len, answer.frames)) for answer in left)
        lib.mm_answers_late(handle, len(left), size)
