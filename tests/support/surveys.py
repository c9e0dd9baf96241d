"""A Surveyor and its Respondents in a simulated world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.pairs import WAIT_S

DEADLINE_S = 5.0
ENGINES_MAX = 8
"""Engines that the respondents share, if there are more of them."""


@dataclass
class Simulated:
    """A Surveyor and some Respondents in a world of their own, all connected."""

    world: SimWorld
    asker: mm.Surveyor
    peers: list[mm.Respondent]

    def answer(self, *which: int) -> list[bool]:
        """Let these peers receive one survey and answer it with their number."""
        return [self.peers[i].recv(timeout=WAIT_S).reply(b"%d" % i) for i in which]


@contextmanager
def simulated(count: int = 3, **options: Any) -> Iterator[Simulated]:
    """Open a world of one Surveyor and so many Respondents."""
    with SimWorld(7) as world, ExitStack() as stack:
        asker = stack.enter_context(
            mm.Surveyor(bind="tcp://127.0.0.1:0", engine=world.engine(), **options)
        )
        engines = [world.engine() for _ in range(min(count, ENGINES_MAX))]
        peers = []
        for i in range(count):
            peer = mm.Respondent(connect=asker.endpoint, engine=engines[i % ENGINES_MAX])
            peers.append(stack.enter_context(peer))
            asker.wait_for_peers(i + 1, timeout=WAIT_S)  # in the order of their ids
        yield Simulated(world, asker, peers)
