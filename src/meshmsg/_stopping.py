"""The end of receiving, without loss: what peers were asked for, and what became of it.

Not here: receiving itself (_recv, aio). Law: asking never waits, so a signal's function may do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meshmsg._core import lib, to_ms
from meshmsg._looking import Looking

StopState = Literal["asked", "stopped", "cancelled", "cannot", "late", "gone"]


@dataclass(frozen=True)
class StoppedPeer:
    """A peer that was asked to send nothing more, and what came of it.

    `state` is "asked": it has not answered yet; "stopped": it has sent its last message, all of
    them are here, and what it had not begun is for others; "cancelled": a publisher that knows no
    more than the end of subscriptions has been told of it; "cannot": it knows nothing of the kind,
    and was not read from any more; "late": it had not answered at the deadline; "gone": its
    connection ended.
    """

    id: int
    address: str
    state: StopState


@dataclass(frozen=True)
class StopReport:
    """What became of `stop_receiving`, peer by peer."""

    peers: tuple[StoppedPeer, ...]

    @property
    def waiting(self) -> bool:
        """Whether a peer has yet to answer."""
        return any(peer.state == "asked" for peer in self.peers)

    @property
    def clean(self) -> bool:
        """Whether every peer has said that it had sent its last message: nothing is lost."""
        return all(peer.state == "stopped" for peer in self.peers)


class Stopping(Looking):
    """A socket that can tell its peers to send nothing more."""

    def _prepare(self) -> None:
        super()._prepare()
        self._asked: dict[int, StoppedPeer] = {}

    def stop_receiving(self, *, deadline: float = 5.0) -> StopReport:
        """Have the peers send nothing more; what has come is still given out, and then the end.

        From now on the socket takes no new peers. Each peer hands what it has not begun to send to
        others (a Push), or keeps it for the next, and says when it has sent its last message. An
        iteration, or receives one by one, give out all that came until then. Then the iteration
        ends, and a receive raises ClosedError; the socket is still to be closed, and a Rep may
        still reply. This call waits for nothing, so a signal's function may make it. Made again, it
        tells how things stand, and the deadline begins anew.

        Thread-safe: yes. Cancel-safe: it never waits.

        Args:
            deadline: Seconds after which peers that have not answered are not read from any more.

        Returns:
            What each peer was asked, and what it has answered so far.

        Raises:
            ClosedError: The socket was closed.
        """
        self._stops = True
        self._check(lib.mm_stop_receiving(self._handle, to_ms(deadline)), "stopping to receive")
        here = {
            peer.id: StoppedPeer(peer.id, peer.address, peer.stopping)
            for peer in self.peers()
            if peer.stopping is not None
        }
        for number, peer in self._asked.items():
            if number not in here and peer.state != "stopped":
                here[number] = StoppedPeer(number, peer.address, "gone")
        self._asked = {**self._asked, **here}
        return StopReport(tuple(self._asked.values()))
