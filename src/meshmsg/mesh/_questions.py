"""Questions to a node by who is no member: a command line. They come to the mesh port, so that who
asks has passed the same `security=`.

Not here: what is printed (_cli). Law: an answer is one message of JSON; what cannot be read gets
none; nobody is made to leave by who has not proved that it has the secret.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from meshmsg._binding.errors import PeerError, RefusedError, TimedOutError
from meshmsg._binding.snapshots import EventKind, Reason
from meshmsg._mesh.told import Event, Member
from meshmsg._security.policy import Policy
from meshmsg._sync.roles import Dealer
from meshmsg.mesh._addresses import PLAIN, PROTECTED, address_of
from meshmsg.mesh._driver import Driver
from meshmsg.mesh._explain import Explanation, event_dict, matching, member_dict
from meshmsg.mesh._link import QUESTION, Came

FRAMES = 3
"""Of a question: its mark, octets that the answer has again, and JSON."""
TOKEN = 8
"""Octets that tell answers apart."""
QUESTION_MAX = 1_024
"""Octets of the JSON of a question."""
WATCHERS_MAX = 16
"""Who is told of events at once; the oldest goes first."""
LOOK_S = 0.5
"""Seconds between two looks whether who is watched is gone."""
TIMEOUT_S = 5.0
"""Seconds that an answer is waited for."""


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
        if verb == "ls":
            told = [member_dict(one, now) for one in members]
            return {"cluster": own.cluster, "me": own.node_id.hex(), "members": told}
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


class Asking:
    """Asks one node, from outside of the mesh."""

    def __init__(self, address: str, security: Policy | None) -> None:
        """Connect.

        Args:
            address: Of a mesh port.
            security: The secret of the cluster, if it has one.

        Raises:
            UsageError: It is no address.
        """
        self.address = address_of(address, "the address")
        url = self.address if security is None else self.address.replace(PLAIN, PROTECTED, 1)
        self._dealer = Dealer(connect=url, security=security)
        self._secret = security is not None

    def ask(self, verb: str, node: str = "", timeout: float = TIMEOUT_S) -> dict[str, Any]:
        """Ask, and return the answer.

        Raises:
            TimedOutError: Nobody answered in time; it says what is known of the connection.
            RefusedError: The node says no.
            PeerError: What came is no answer.
        """
        token = os.urandom(TOKEN)
        question = json.dumps({"ask": verb, "node": node}).encode()
        try:
            self._dealer.wait_for_peers(1, timeout=timeout)
        except TimedOutError as error:
            words = f"{self.address}: {self._hint()}{error}"
            raise TimedOutError(words, code=error.code, address=self.address) from None
        self._dealer.send_frames([QUESTION, token, question], timeout=timeout)
        answer = self.next(token, timeout)
        self._token = token
        if "error" in answer:
            raise RefusedError(f"{self.address}: {answer['error']}", address=self.address)
        return answer

    def next(self, token: bytes | None = None, timeout: float | None = None) -> dict[str, Any]:
        """Return the next answer to a question.

        Raises:
            TimedOutError, PeerError: As of `ask`.
        """
        token = token or self._token
        while True:
            try:
                frames = self._dealer.recv_frames(timeout=timeout)
            except TimedOutError:
                raise TimedOutError(
                    f"{self.address} is there, and did not answer within {timeout:g} s: it may be "
                    "no mesh port",
                    address=self.address,
                ) from None
            if frames[0] != token:
                continue
            try:
                told = json.loads(frames[1])
            except (ValueError, IndexError, RecursionError):
                told = None
            if not isinstance(told, dict):
                raise PeerError(f"{self.address} gave no answer that can be read")
            return told

    def told(self) -> dict[str, Any]:
        """Return the next event of "watch", however long that takes.

        Raises:
            PeerError: The node is gone: nothing will come, also if another one is there later.
        """
        while True:
            try:
                return self.next(timeout=LOOK_S)
            except TimedOutError:
                gone = any(one.kind == EventKind.PEER_DOWN for one in self._dealer.events())
            if gone:
                words = f"{self.address}: the node left or died, and tells no more"
                raise PeerError(words, address=self.address)

    def _hint(self) -> str:
        """Say what to give, if the handshake ended for want of it."""
        reasons = {one.reason for one in self._dealer.events()}
        if Reason.PLAINTEXT in reasons:
            return "this mesh has a secret: give its file, --secret FILE, as secret= of its nodes; "
        if Reason.TLS_ALERT in reasons:
            return "this mesh most likely has another secret than that of --secret; "
        if self._secret and Reason.HANDSHAKE_EOF in reasons:
            return "this mesh most likely has no secret: leave out --secret; "
        return ""

    def close(self) -> None:
        """Ask no more."""
        self._dealer.close()
