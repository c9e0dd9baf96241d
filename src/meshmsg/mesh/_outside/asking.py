"""Asks a node of a mesh, from outside of the mesh: a command line, a task of Spark.

Not here: who answers (questions.py), what is printed (_cli). Law: what is waited for is bounded by
one time for all of it; who asks joins nothing.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from typing import Any

from meshmsg._binding.core import ends_of, left_of
from meshmsg._binding.errors import PeerError, RefusedError, TimedOutError, UsageError
from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._security.policy import Policy
from meshmsg._security.tls import Secret
from meshmsg._sync.roles import Dealer
from meshmsg.mesh._addresses import PLAIN, PROTECTED, address_of
from meshmsg.mesh._link import QUESTION
from meshmsg.mesh._opening import policy_of
from meshmsg.mesh._outside.info import MeshInfo, mesh_info
from meshmsg.mesh._outside.questions import LIST, TOKEN

LOOK_S = 0.5
"""Seconds between two looks whether who is watched is gone."""
TIMEOUT_S = 5.0
"""Seconds that an answer is waited for, if nothing else is said."""


class Asked:
    """What one who asks sends, and reads of what comes: nothing here waits."""

    def __init__(self, address: str, security: Policy | None) -> None:
        """Begin; UsageError: it is no address of a mesh port."""
        self.address = address_of(address, "the address")
        self.url = self.address if security is None else self.address.replace(PLAIN, PROTECTED, 1)
        self._secret = security is not None

    def question(self, verb: str, node: str = "") -> tuple[bytes, list[bytes]]:
        """Return the octets that the answer has again, and what is sent."""
        token = os.urandom(TOKEN)
        return token, [QUESTION, token, json.dumps({"ask": verb, "node": node}).encode()]

    def answer(self, frames: Sequence[bytes], token: bytes) -> dict[str, Any] | None:
        """Return the answer that these frames are; None: they are of another question.

        Raises:
            RefusedError: The node says no.
            PeerError: It cannot be read.
        """
        if frames[0] != token:
            return None
        try:
            told = json.loads(frames[1])
        except (ValueError, IndexError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise PeerError(f"{self.address} gave no answer that can be read", address=self.address)
        if "error" in told:
            raise RefusedError(f"{self.address}: {told['error']}", address=self.address)
        return told

    def nobody(self, error: TimedOutError, events: Sequence[Event]) -> TimedOutError:
        """Return what is raised if no connection came about, by what happened meanwhile."""
        words = f"{self.address}: {self._hint({one.reason for one in events})}{error}"
        return TimedOutError(words, code=error.code, address=self.address)

    def silent(self, timeout: float | None) -> TimedOutError:
        """Return what is raised if nobody answers on a connection."""
        return TimedOutError(
            f"{self.address} is there, and did not answer within {timeout:g} s: it may be no mesh "
            "port",
            address=self.address,
        )

    def _hint(self, reasons: set[Reason]) -> str:
        """Say what to give, if the handshake ended for want of it."""
        if Reason.PLAINTEXT in reasons:
            return "this mesh has a secret: give its file, --secret FILE, as secret= of its nodes; "
        if Reason.TLS_ALERT in reasons:
            return "this mesh most likely has another secret than that of --secret; "
        if self._secret and Reason.HANDSHAKE_EOF in reasons:
            return "this mesh most likely has no secret: leave out --secret; "
        return ""


class Asking:
    """Asks one node, as often as one likes, and waits in a thread."""

    def __init__(self, address: str, security: Policy | None) -> None:
        """Connect.

        Args:
            address: Of a mesh port.
            security: The secret of the cluster, if it has one.

        Raises:
            UsageError: It is no address.
        """
        self._asked = Asked(address, security)
        self._dealer = Dealer(connect=self._asked.url, security=security)
        self._token = b""

    def ask(self, verb: str, node: str = "", timeout: float | None = TIMEOUT_S) -> dict[str, Any]:
        """Ask, and return the answer.

        Raises:
            TimedOutError: Nobody answered in time; it says what is known of the connection.
            RefusedError: The node says no.
            PeerError: What came is no answer.
        """
        deadline = ends_of(timeout)
        try:
            self._dealer.wait_for_peers(1, timeout=timeout)
            self._token, frames = self._asked.question(verb, node)
            self._dealer.send_frames(frames, timeout=left_of(deadline))
        except TimedOutError as error:
            raise self._asked.nobody(error, self._dealer.events()) from None
        try:
            return self._next(deadline)
        except TimedOutError:
            raise self._asked.silent(timeout) from None

    def _next(self, deadline: float | None) -> dict[str, Any]:
        while True:
            frames = self._dealer.recv_frames(timeout=left_of(deadline))
            told = self._asked.answer(frames, self._token)
            if told is not None:
                return told

    def told(self, timeout: float | None = None) -> dict[str, Any] | None:
        """Return the next event of "watch"; None: none came in that time, if there is one.

        Raises:
            PeerError: The node is gone: nothing will come, also if another one is there later.
        """
        ends = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return self._next(min(time.monotonic() + LOOK_S, ends))
            except TimedOutError:
                self.check()
            if time.monotonic() >= ends:
                return None

    def check(self) -> None:
        """Refuse to go on if the node is gone.

        Raises:
            PeerError: It is, also if another one is there now.
        """
        if any(one.kind == EventKind.PEER_DOWN for one in self._dealer.events()):
            address = self._asked.address
            words = f"{address}: the node left or died, and tells no more"
            raise PeerError(words, address=address)

    def close(self) -> None:
        """Ask no more."""
        self._dealer.close()


def check_timeout(timeout: float | None) -> None:
    """Refuse one in which nobody can answer.

    Raises:
        TypeError, ValueError: It is no time.
        UsageError: It is 0.
    """
    if ends_of(timeout) == 0:
        raise UsageError("timeout is 0; an answer takes longer")


def ask(
    address: str,
    *,
    secret: str | os.PathLike[str] | Secret | None = None,
    timeout: float | None = TIMEOUT_S,
) -> MeshInfo:
    """Ask any node of a mesh who is there and what they offer, and do not join.

    For a program that looks once: it has no member's thread, port and traffic. `meshmsg mesh ls`
    asks so.

    Thread-safe: yes.

    Args:
        address: Of the node's mesh port, such as "tcp://10.0.0.5:7450".
        secret: As of `Mesh`: the cluster's secret, or the path of its file.
        timeout: Seconds for all of it, more than 0; None waits for ever.

    Returns:
        What that node knows; another one may know more, or less.

    Raises:
        UsageError: It is no address of a mesh port, or an argument is wrong.
        TimedOutError: Nobody answered in time; it says what is known of the connection, such as
            that the mesh has a secret.
        PeerError: What came is no answer.
        ResourceError, OSError: As of the secret, and of a socket.
    """
    check_timeout(timeout)
    asking = Asking(address, policy_of(secret))
    try:
        return mesh_info(asking.ask(LIST, timeout=timeout), asking._asked.address)
    finally:
        asking.close()
