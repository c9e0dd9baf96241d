"""Where the spool of a task is by now: its producer may have begun again after the planning.

Not here: who reads there (reading.py), the node that the driver has (discovery.py). Law: a task
asks and does not join; what is found counts only if it shows the spool with that uuid.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import meshmsg as mm
from meshmsg.mesh import MemberInfo, State, ask

from .discovery import ROLE
from .opening import remote_of
from .options import SourceOptions

LOG = logging.getLogger("meshmsg")
ANSWER_S = 1.0
"""Seconds that a node, or an endpoint that it tells of, has for its answer."""
PROBES_MAX = 16
"""Endpoints that are asked for their uuid: those of nodes that came last."""
_THERE = (State.ALIVE, State.SUSPECT)


def where(uuid: str, planned: Sequence[str], nodes: Sequence[str], options: SourceOptions) -> str:
    """Return an endpoint that shows a spool now; "" if none is known.

    Args:
        uuid: Of the spool.
        planned: Endpoints that are known already.
        nodes: Mesh ports to ask; the first that answers counts.
        options: Of the source, with a mesh.
    """
    if options.mesh is None:
        return ""
    for node in nodes:
        try:
            told = ask(node, secret=options.mesh.secret, timeout=ANSWER_S)
        except (mm.MeshError, OSError) as error:
            LOG.info("%s does not say where the spool %s is: %s", node, uuid, error)
            continue
        offered = [
            one for one in _offered(told.members, options.mesh.service) if one not in planned
        ]
        return next((url for url in offered[:PROBES_MAX] if _shows(url, uuid, options)), "")
    return ""


def _offered(members: Sequence[MemberInfo], service: str) -> Iterator[str]:
    """Give the endpoints of a service, of the nodes that are there; who came last goes first."""
    for member in sorted(members, key=lambda one: one.since):
        if member.state in _THERE:
            for one in member.services:
                if one.name == service and one.role == ROLE:
                    yield from one.endpoints


def _shows(url: str, uuid: str, options: SourceOptions) -> bool:
    try:
        with remote_of((url,), options, ANSWER_S) as remote:
            return remote.info().uuid == uuid
    except mm.MeshError as error:
        LOG.info("%s does not say which spool it shows: %s", url, error)
        return False
