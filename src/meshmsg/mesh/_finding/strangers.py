"""Nodes of other clusters that this one met: for the log, `explain` and who waits for others.

Not here: how they are heard (_mesh/joining/foreign.py); seeds that are theirs are told of as seeds
(_finding/unreached.py). Law: what is kept of them has a limit; one warning an hour a cluster.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from meshmsg._mesh.told import Stranger
from meshmsg.mesh._finding.unreached import AGAIN_S

CLUSTERS_MAX = 16
"""Other clusters that are remembered: the last ones."""


class Strangers:
    """Who of another cluster came to one node."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._met: OrderedDict[str, tuple[Stranger, float]] = OrderedDict()
        """By cluster: who came last, and when that was told."""

    def came(self, now: float, strangers: Iterable[Stranger]) -> list[str]:
        """Take those that came; return what is to be told of them now."""
        words = []
        for one in strangers:
            _, told = self._met.pop(one.cluster, (one, -AGAIN_S))
            if now - told >= AGAIN_S:
                words.append(f"{self._words(one)}; see mesh.explain")
                told = now
            self._met[one.cluster] = (one, told)
            if len(self._met) > CLUSTERS_MAX:
                self._met.popitem(last=False)
        return words

    def _words(self, one: Stranger) -> str:
        return (
            f"node {one.name!r} of {one.source} came for the cluster {one.cluster!r}, "
            f"not {self._cluster!r}"
        )

    def lines(self) -> tuple[str, ...]:
        """Say who came, the last one first. Thread-safe: under the lock of the driver."""
        return tuple(self._words(one) for one, _ in reversed(self._met.values()))


def answers_for(cluster: str, own: str) -> str:
    """Say what is wrong with an address that answers for another cluster."""
    return f"answers for the cluster {cluster!r}, not {own!r}"
