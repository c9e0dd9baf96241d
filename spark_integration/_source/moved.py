"""Where the spool of a task is by now: its producer may have begun again after the planning.

Not here: who reads there (reading.py), the node that the driver has (discovery.py). Law: a task
asks and does not join; what is found counts only if it shows the spool with that uuid.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

import meshmsg as mm
from meshmsg.mesh import State

from .discovery import ROLE
from .opening import TLS, remote_of
from .options import SourceOptions

LOG = logging.getLogger("meshmsg")
ANSWER_S = 1.0
"""Seconds that a node, or an endpoint that it tells of, has for its answer."""
PROBES_MAX = 16
"""Endpoints that are asked for their uuid: those of nodes that came last."""
QUESTION = (b"meshmsg.ask", b'{"ask": "ls"}')
"""What a mesh port is asked: its mark, and, behind octets that the answer has again, JSON."""
_THERE = (State.ALIVE.name, State.SUSPECT.name)


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
            members = _members(node, options.mesh.secret)
            offered = [one for one in _offered(members, options.mesh.service) if one not in planned]
        except (mm.MeshError, OSError, ValueError, LookupError) as error:  # or it is no answer
            LOG.info("%s does not say where the spool %s is: %s", node, uuid, error)
            continue
        return next((url for url in offered[:PROBES_MAX] if _shows(url, uuid, options)), "")
    return ""


def _members(node: str, secret: str | None) -> list[dict[str, Any]]:
    """Ask a node who is there, as `meshmsg mesh ls` does.

    Raises:
        TimedOutError: It did not answer.
        UsageError, ResourceError, OSError: As of the secret.
    """
    security = None if secret is None else mm.Secret(secret)
    url = node if security is None else node.replace("tcp://", TLS, 1)
    token = os.urandom(8)
    with mm.Dealer(connect=url, security=security) as dealer:
        dealer.wait_for_peers(1, timeout=ANSWER_S)
        dealer.send_frames([QUESTION[0], token, QUESTION[1]], timeout=ANSWER_S)
        frames = dealer.recv_frames(timeout=ANSWER_S)
    told: list[dict[str, Any]] = json.loads(frames[1])["members"]
    return told


def _offered(members: list[dict[str, Any]], service: str) -> Iterator[str]:
    """Give the endpoints of a service, of the nodes that are there; who came last goes first."""
    for member in sorted(members, key=lambda one: float(one["since"])):
        if member["state"] in _THERE:
            for one in member["services"]:
                if one["name"] == service and one["role"] == ROLE:
                    yield from one["endpoints"]


def _shows(url: str, uuid: str, options: SourceOptions) -> bool:
    try:
        with remote_of((url,), options, ANSWER_S) as remote:
            return remote.info().uuid == uuid
    except mm.MeshError as error:
        LOG.info("%s does not say which spool it shows: %s", url, error)
        return False
