"""A node answers questions of who is no member. They come to the mesh port, so that who asks has
passed the same `security=`.

Not here: asking (asking.py). Law: an answer is one message of JSON; what cannot be read gets none;
nobody is made to leave by who has not proved that it has the secret.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from meshmsg._mesh.told import Event, Member
from meshmsg.mesh._driver import Driver
from meshmsg.mesh._explain import Explanation, matching
from meshmsg.mesh._link import Came
from meshmsg.mesh._outside.info import MeshInfo, event_dict, member_dict, member_info, mesh_dict

FRAMES = 3
"""Of a question: its mark, octets that the answer has again, and JSON."""
LIST = "ls"
"""The question who is there."""
TOKEN = 8
"""Octets that tell answers apart."""
QUESTION_MAX = 1_024
"""Octets of the JSON of a question."""
WATCHERS_MAX = 16
"""Who is told of events at once; the oldest goes first."""


class Asked(Protocol):
    """The node that is asked."""

    _driver: Driver

    def _members(self) -> list[Member]:
        """Tell of all nodes, this one first."""
        ...

    def _explained(self, node: str) -> Explanation:
        """Tell why this node sees another one."""
        ...

    def _leave_soon(self) -> None:
        """Leave, without waiting for it."""
        ...


class Questions:
    """Answers of one node, on the thread of its mesh."""

    def __init__(self, mesh: Asked, *, trusted: bool) -> None:
        """Answer for a mesh.

        Args:
            mesh: Whose members are told of.
            trusted: Whether who asks has the secret, or is on this machine: it may make the node
                leave then.
        """
        self._mesh, self._trusted = mesh, trusted
        self._watchers: OrderedDict[int, bytes] = OrderedDict()

    def answer(self, came: Came) -> bytes | None:
        """Return the answer to a question; None: it is none."""
        if len(came.frames) != FRAMES or len(came.frames[2]) > QUESTION_MAX:
            return None
        if len(came.frames[1]) != TOKEN:
            return None
        try:
            asked = json.loads(came.frames[2])
            verb, node = str(asked["ask"]), str(asked.get("node", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return json.dumps(self._told(verb, node, came)).encode()

    def _told(self, verb: str, node: str, came: Came) -> dict[str, Any]:
        mesh = self._mesh
        members, now = mesh._members(), mesh._driver.clock()
        own = members[0].record
        if verb == LIST:
            known = tuple(member_info(one, now) for one in members)
            return mesh_dict(MeshInfo(own.cluster, own.node_id, known))
        if verb == "explain":
            told = [member_dict(one, now) for one in matching(members, node)]
            return {"node": node, "lines": mesh._explained(node).lines(), "members": told}
        if verb == "ping":
            return {"name": own.name, "node_id": own.node_id.hex()}
        if verb == "watch":
            self._watchers[came.reply] = came.frames[1]
            while len(self._watchers) > WATCHERS_MAX:
                self._watchers.popitem(last=False)
            return {"watching": True, "members": [member_dict(one, now) for one in members]}
        if verb == "leave":
            if not self._trusted:
                return {"error": "without a secret nobody on another machine may have it leave"}
            mesh._leave_soon()
            return {"name": own.name, "left": True}
        return {"error": f"it knows no question {verb[:32]!r}"}

    def told(self, events: Sequence[Event]) -> bool:
        """Tell who watches; on the thread of the mesh."""
        link, now = self._mesh._driver.link, self._mesh._driver.clock()
        for event in events:
            data = json.dumps(event_dict(event, now)).encode()
            for reply, token in list(self._watchers.items()):
                before = link.dropped
                link.answer(reply, [token, data])
                if link.dropped != before:  # it is gone, or does not read
                    del self._watchers[reply]
        return True

    def closed(self) -> None:
        """There will be no more."""
        self._watchers.clear()
