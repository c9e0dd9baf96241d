"""The end of receiving, without loss: what peers were asked for, and what became of it; and the end
of sending, of which peers are told.

Not here: receiving itself (_sync/receiving.py, aio), waiting until peers were told
(_sync/sending.py, aio). Law: asking and telling never wait, so a signal's function may do it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Literal

from meshmsg._binding.core import ESTATE, ffi, lib, to_ms
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._binding.record import Record
from meshmsg._binding.snapshots import text
from meshmsg._delivery.later import Later, later_of
from meshmsg._events.log_records import give, record_of
from meshmsg._hints.plural import counted
from meshmsg._socket.base import SocketBase
from meshmsg._socket.causes import What, about, listed
from meshmsg._socket.signature import verb

StopState = Literal["asked", "stopped", "cancelled", "cannot", "late", "gone"]

_STATES: dict[int, StopState] = {
    lib.MM_STOP_ASKED: "asked",
    lib.MM_STOP_STOPPED: "stopped",
    lib.MM_STOP_CANCELLING: "asked",
    lib.MM_STOP_CANCELLED: "cancelled",
    lib.MM_STOP_CANNOT: "cannot",
    lib.MM_STOP_LATE: "late",
    lib.MM_STOP_GONE: "gone",
}
_WORDS: dict[StopState, str] = {
    "asked": "has not answered yet",
    "stopped": "has sent its last message, and all came; nothing is lost",
    "cancelled": "has read that its subscriptions ended; what it still sent may be lost",
    "cannot": "knows no way to stop sending; what was on its way may be lost",
    "late": "had not said by the deadline that it was done; what was on its way may be lost",
    "gone": "lost its connection before it answered; what was on its way may be lost",
}


@dataclass(frozen=True, eq=False, repr=False)
class StoppedPeer(Record):
    """A peer that was asked to send nothing more, and what came of it; `str()` says it in words.

    `state` is "asked": it has not answered yet; "stopped": it has sent its last message, all of
    them are here, and what it had not begun is for others, or it has finished (`Push.finish`);
    "cancelled": a publisher that knows no more than the end of subscriptions has been told of it;
    "cannot": it knows nothing of the kind, and was not read from any more; "late": it had not
    answered at the deadline, and was not read from any more; "gone": its connection ended before it
    answered.

    The socket knows this of 65,536 peers that ended since; if more had not answered, one entry of
    `id` 0 says how many.
    """

    id: int
    address: str
    state: StopState

    @property
    def may_be_lost(self) -> bool:
        """Whether messages that were on their way from it may be lost; how many nobody knows."""
        return self.state not in ("asked", "stopped")

    def __str__(self) -> str:
        return f"{self.address} {_WORDS[self.state]}"


@dataclass(frozen=True, eq=False, repr=False)
class StopReport(Record):
    """What became of `stop_receiving`, peer by peer."""

    peers: tuple[StoppedPeer, ...]
    socket: str = field(default="", compare=False)
    """Which socket it is of, in words."""

    @property
    def waiting(self) -> bool:
        """Whether a peer has yet to answer."""
        return any(peer.state == "asked" for peer in self.peers)

    @property
    def clean(self) -> bool:
        """Whether every peer has said that it had sent its last message: nothing is lost."""
        return all(peer.state == "stopped" for peer in self.peers)

    @property
    def may_be_lost(self) -> bool:
        """Whether messages that were on their way from some peer may be lost."""
        return any(peer.may_be_lost for peer in self.peers)

    def raise_for_loss(self) -> None:
        """Raise unless every peer has said that it had sent its last message.

        Thread-safe: yes.

        Raises:
            MeshError: Messages may be lost, or a peer has yet to answer; it says of which peers.
        """
        if not self.clean:
            bad = [str(peer) for peer in self.peers if peer.state != "stopped"]
            whose = f" ({self.socket})" if self.socket else ""
            raise MeshError(f"not everything is known to have come: {listed(bad)}{whose}")


@verb
def stop_receiving(self: SocketBase, *, deadline: float | None = None) -> StopReport:
    """Have the peers send nothing more; what has come is still given out, and then the end.

    From now on the socket takes no new peers. Each peer hands what it has not begun to send to
    others (a Push), or keeps it for the next, and says when it has sent its last message. An
    iteration, or receives one by one, give out all that came until then. Then the iteration
    ends, and a receive raises ClosedError; the socket is still to be closed, and a Rep may
    still reply. This call waits for nothing, so a signal's function may make it. Made again, it
    tells how things stand, and the deadline begins anew.

    Peers that have not answered at a deadline are not read from any more: what is on its way
    from them may be lost. The log and `events` tell of it (PEER_UNREAD), and so does the
    report: once the iteration has ended, `stop_receiving().raise_for_loss()`.

    Thread-safe: yes. Cancel-safe: it never waits.

    Args:
        deadline: Seconds that peers have to answer; None: as long as their connections last.
            All that they have sent must be received before, so it depends on your program, too.

    Returns:
        What each peer was asked, and what it has answered so far.

    Raises:
        ClosedError: The socket was closed.
    """
    self._stops = True
    code = lib.mm_stop_receiving(self._handle, to_ms(deadline))
    self._check(code, "stopping to receive")
    return StopReport(_outcomes(self), about(self))


def _outcomes(self: SocketBase) -> tuple[StoppedPeer, ...]:
    """List what has become of all that were asked, also of those that are gone since.

    Who is still in its handshake may have sent messages, too: they come behind that.
    """
    cap, count = 16, ffi.new("uint32_t *")
    while True:
        out = ffi.new("mm_peer[]", cap)
        code = lib.mm_stop_peers(self._handle, out, cap, count)
        self._check(code, "stopping to receive")
        if count[0] <= cap:
            break
        cap = count[0] + 16
    found = [
        StoppedPeer(int(raw.id), text(raw.address), _STATES[raw.stop]) for raw in out[0 : count[0]]
    ]
    return tuple(sorted(found, key=lambda peer: peer.id))


@verb
def finish(self: SocketBase) -> None:
    """Send nothing more, and have the peers told so, once all that was sent is done.

    That is when nothing is queued any more, and where `delivery="at_least_once"`, nothing is left
    to be acknowledged. Then each connected Pull of meshmsg learns that there is no more, and so
    does each that comes later: its iteration ends, its `recv` raises EndOfStreamError. Other peers
    (pyzmq, NNG) are not told. Calling it again changes nothing; the socket is still to be closed,
    behind `wait_for_finished`.

    Thread-safe: yes; it waits for nothing, so a signal's function may call it. A `send` that waits
    for room ends with UsageError.

    Raises:
        ClosedError: The socket was closed.
    """
    self._finished, self._puts_max = True, -1
    self._check(int(lib.mm_finish(self._handle)), "finishing")


def _later(later: Later) -> list[str]:
    return [f"{later.count} to go later ({later.next_due})"] if later.count else []


def unfinished(self: SocketBase, count: int) -> What:
    """Say what there is still to be done and to be told."""

    def words() -> str:
        stats = self.stats()
        parts = [
            f"{stats.queued_out_messages} queued",
            f"{stats.unacked_messages} unacknowledged",
            *_later(later_of(self._handle)),
        ]
        left = f"{', '.join(parts[:-1])} and {parts[-1]}"
        due = sum(one.meshmsg and not one.finished for one in self.peers())
        here = f"{counted(due, 'peer')} here not told" if due else "nobody here to be told"
        told = f"{stats.finished_peers} of {counted(count, 'peer')} told" if count else here
        return f"not finished: {left}, {told}"

    return words


def told_of_end(self: SocketBase, count: int) -> int:
    """Return how many peers were told that there is no more; nobody, though nobody asked for a
    number, is worth a word: who is on the way back is not known here."""
    told = int(self.stats().finished_peers)
    if not told and not count:
        words = (
            f"{about(self)} is finished, and nobody was there to be told: who comes while it is "
            "open will be; wait_for_finished(count) waits for so many"
        )
        give(record_of(logging.INFO, words))
    return told


def check_finished(self: SocketBase, code: int) -> int:
    """Refuse to wait for what nobody asked for."""
    if code == ESTATE:
        raise UsageError("wait_for_finished() before finish() would wait for ever", code=code)
    return code
