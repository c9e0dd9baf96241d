"""Which publishers have a topic: what `wait_for_subscribed` returns, and what it says in vain.

Not here: waiting (_sync/roles.py, aio/_roles.py), what the core knows of each peer
(ends/inspect.c). Law: only what the peer's socket has for certain is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from meshmsg._binding.peer_info import PeerInfo
from meshmsg._hints.plural import counted, plural
from meshmsg._socket.causes import What, listed

if TYPE_CHECKING:
    from typing_extensions import Self

    from meshmsg._socket.base import SocketBase


class Subscribed(int):
    """How many publishers are certain to have all topics, as an `int`; and which ones have them.

    Attributes:
        certain: Peers of meshmsg, whose socket has the topics.
            An XPub with `manual=True` among them still decides itself what it sends.
        probable: Peers that are not of meshmsg and answered a PING behind the topics. libzmq does
            so before its socket has taken them over: what its program publishes meanwhile is
            missed.
        written: Peers that cannot answer: of ZMTP 3.0, to which the topics were written, and of SP,
            which send everything once they have us among their peers (NNG a moment later).
    """

    certain: tuple[PeerInfo, ...]
    probable: tuple[PeerInfo, ...]
    written: tuple[PeerInfo, ...]

    def __new__(cls, count: int, peers: Iterable[PeerInfo] = ()) -> Self:
        self = super().__new__(cls, count)
        known = list(peers)
        self.certain = tuple(peer for peer in known if peer.subscribed == "certain")
        self.probable = tuple(peer for peer in known if peer.subscribed == "probable")
        self.written = tuple(peer for peer in known if peer.subscribed == "written")
        return self

    def __repr__(self) -> str:
        others = {"probable": self.probable, "written": self.written}
        parts = [
            f"{what}: {listed([peer.address for peer in peers])}"
            for what, peers in others.items()
            if peers
        ]
        return f"<{'; '.join([f'{int(self)} certain', *parts])}>"


def not_subscribed(socket: SocketBase, count: int, info: Any) -> What:
    """What a wait for subscriptions says that ends before so many peers have them."""

    def told() -> str:
        known = info.confirmed + info.probable + info.unconfirmable
        there = known + info.waiting
        words = f"{known} of {counted(max(count, there), 'peer')} known to have all topics"
        queued = sum(one.queued_in_messages for one in socket.peers()) if info.waiting else 0
        if not queued:
            return words
        return (
            f"{words}; {counted(queued, 'message')} {plural(queued, 'waits', 'wait')} to be "
            "received, and while the receive queue is full no answer is read"
        )

    return told
