"""Nodes of other clusters that speak to this one: they are told whose it is, and so are its users.

Not here: what is told of them (strangers.py of the mesh). Law: nothing that they say is kept but
their two names; they are answered on their own connection only, so that who they are was looked at.
"""

from __future__ import annotations

from collections import deque

from ..here import Here
from ..limits import FOREIGN_MAX
from ..messages import DIGEST, HEAD, Kind
from ..octets import MalformedError, Rumour, cluster_tag, rumour_octets, rumours_of
from ..told import Arrival, Record, Stranger

_WHERE = {Kind.HELLO: HEAD.size + DIGEST.size, Kind.NEWS: HEAD.size}
"""Where their record is, by what they say: as they begin a sync, and as they answer."""


class Foreign:
    """What one node heard of them."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self._heard: deque[Stranger] = deque(maxlen=FOREIGN_MAX)

    def hear(self, arrival: Arrival, kind: Kind, tag: bytes, sender: bytes) -> None:
        """Take a message of another cluster; one that begins a sync is answered."""
        at = _WHERE.get(kind)
        if at is None or arrival.reply <= 0:
            return
        record = self._record(arrival.data, at)
        if record is None or cluster_tag(record.cluster) != tag or record.node_id[:8] != sender:
            return
        self._heard.append(Stranger(record.name, record.cluster, arrival.source, arrival.reply))
        if kind == Kind.HELLO:
            head = self.here.head(Kind.NEWS)
            self.here.answer(arrival, head + rumour_octets(Rumour.RECORD, self.here.me.raw))

    def _record(self, data: bytes, at: int) -> Record | None:
        try:
            bodies = [body for kind, body in rumours_of(data, at) if kind == Rumour.RECORD]
            return self.here.decode(bodies[0]).record if bodies else None
        except MalformedError:
            self.here.counts["malformed message"] += 1
            return None

    def take(self) -> list[Stranger]:
        """Return them, once each time that they spoke."""
        heard = list(self._heard)
        self._heard.clear()
        return heard
