"""The error of a request that was refused: in the words of who refused it.

Not here: asking (_sync/request.py, aio/_request.py). Law: what a peer says is fit for a line of a
log.
"""

from __future__ import annotations

from contextlib import suppress

from meshmsg._binding.core import EREFUSED, Slot, error_for, fast
from meshmsg._binding.errors import MeshError
from meshmsg._socket.base import SocketBase


def shown(reason: str) -> str:
    """What a peer says, fit for a line of a log."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in reason)


def refused(socket: SocketBase, slot: Slot) -> MeshError:
    """The error of a request that was refused; its reason is in that batch."""
    [(frames, number, _)] = fast.parts(slot.address)
    slot.drop()
    who = None
    with suppress(MeshError):  # closed meanwhile
        who = next((peer for peer in socket.peers() if peer.id == number), None)
    reason = frames[-1].decode("utf-8", "replace")
    why = f": {shown(reason)}" if reason else ", and did not say why"
    return error_for(
        EREFUSED,
        f"the peer refused the request{why}",
        address=who.endpoint if who is not None else "",
        peer=who.identity if who is not None else b"",
        reason=reason,
    )
