"""Who came to the mesh port and was not let in, as the two have not the same secret: for `explain`
and who waits for others.

Not here: nodes that this one dials (_link.py), those of other clusters (strangers.py). Law: of each
kind the last one is remembered; the thread of the events writes, others read.
"""

from __future__ import annotations

import time

from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._hints.plural import counted

_KINDS = {
    Reason.CRYPTO: "came with another secret than this node has: both are to have the same file",
    Reason.TLS_EXPECTED: "came without the secret of this mesh: it is to have the same file",
    Reason.PLAINTEXT: "came with a secret, and this node has none: give it the same file",
}
"""What is said of each."""
NONE_OF_OURS = "its secret is none of ours"
"""What the core says of another secret (csrc/wire/tls): other octets are CRYPTO as well."""


class TurnedAway:
    """Those who came to one node."""

    def __init__(self) -> None:
        self._last: dict[Reason, tuple[str, int, float]] = {}
        """By kind: who came last, how often somebody did, and when."""

    def note(self, event: Event) -> None:
        """Take an event of a connection that another one made."""
        other = event.reason != Reason.CRYPTO or NONE_OF_OURS in event.detail
        if event.kind == EventKind.HANDSHAKE_FAILED and event.reason in _KINDS and other:
            _, count, _ = self._last.get(event.reason, ("", 0, 0.0))
            count += max(event.count, 1)
            self._last[event.reason] = event.address, count, time.monotonic()

    def lines(self) -> tuple[str, ...]:
        """Say who came, the last one first. Thread-safe: yes."""
        now = time.monotonic()
        last = sorted(self._last.copy().items(), key=lambda one: -one[1][2])
        return tuple(
            f"{address or 'somebody'} {_KINDS[reason]} (secret=); {counted(count, 'time')}, the "
            f"last one {max(now - at, 0):.1f} s ago"
            for reason, (address, count, at) in last
        )
