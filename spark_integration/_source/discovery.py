"""Finds the spools that a mesh offers under a name, for the driver of a query.

Not here: who asks them (watch.py). Law: a node that is not heard of keeps its place, as what it
shows may be there; one that has left, or is forgotten, or withdrew its spool, has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from meshmsg import UsageError
from meshmsg.mesh import Member, Mesh, State

from .options import MeshOptions

ROLE = "spool"
"""What a node says that a `SpoolServer` is."""
NODES_MAX = 4
"""Other nodes that a task may ask, beside the driver's."""


class Found(NamedTuple):
    """What a mesh says of the spools of one service."""

    there: frozenset[str]
    """Endpoints of nodes that are taken to be there."""
    away: frozenset[str]
    """Of those that are not heard of, and may come back."""


class Discovery:
    """A node of the mesh, for as long as a query runs. Thread-safe: yes.

    Raises:
        UsageError, AddressError, InsecureBindError, ResourceError, OSError: As of a Mesh.
    """

    def __init__(self, options: MeshOptions) -> None:
        self._options = options
        self._mesh = Mesh(
            cluster=options.cluster,
            seeds=options.seeds,
            bind=options.bind,
            secret=options.secret,
        )

    def wait(self, timeout: float) -> None:
        """Wait until so many nodes offer the service as the options say.

        Raises:
            TimedOutError: There were not so many in time; it says what seeds say.
        """
        self._mesh.wait_for(self._options.service, self._options.least, timeout=timeout)

    def found(self) -> Found:
        """Return where the spools are.

        Raises:
            UsageError: What is offered under that name is no spool.
        """
        return found_of(self._options.service, self._mesh.endpoints(self._options.service))

    def nodes(self) -> tuple[str, ...]:
        """Return mesh ports that tell who is there: that of the driver, and some others."""
        _, *others = self._mesh.members()
        there = [one for one in others if one.state == State.ALIVE and one.record.addresses]
        told = [one.record.addresses[0] for one in there[:NODES_MAX]]
        return (self._mesh.endpoint, *told)

    def close(self) -> None:
        """Leave."""
        self._mesh.leave()


def found_of(service: str, endpoints: Mapping[str, Member]) -> Found:
    """Return where the spools of a service are.

    Args:
        service: The name.
        endpoints: As the mesh says it.

    Raises:
        UsageError: What is offered under that name is no spool.
    """
    for member in endpoints.values():
        for one in member.record.services:
            if one.name == service and one.role != ROLE:
                raise UsageError(
                    f"{member.record.name} offers a {one.role} as {service!r}, which cannot be "
                    "read: announce a SpoolServer, and say its name by option mesh.service"
                )
    away = {url for url, one in endpoints.items() if one.state == State.UNREACHABLE}
    return Found(frozenset(endpoints.keys() - away), frozenset(away))
