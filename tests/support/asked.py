"""Who asks a node of a mesh from outside, with so little time that it is up before an answer.

Not here: the nodes (meshes.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.looped import until
from tests.support.pairs import wait_until


def came_to_something(socket: Any) -> bool:
    """Whether a connection of it was made, or failed."""
    kinds = mm.EventKind.PEER_UP, mm.EventKind.CONNECT_FAILED, mm.EventKind.HANDSHAKE_FAILED
    return any(one.kind in kinds for one in socket.events(since=0))


def ask_patiently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have who asks wait for a peer only from when it is known what becomes of its connection.

    So it can say why nobody answered, however short its time is and however slow the machine.
    """
    waits, awaits = mm.Dealer.wait_for_peers, aio.Dealer.wait_for_peers

    def patient(self: mm.Dealer, count: int = 1, *, timeout: float | None = None) -> None:
        wait_until(lambda: came_to_something(self))
        waits(self, count, timeout=timeout)

    async def awaited(self: aio.Dealer, count: int = 1, *, timeout: float | None = None) -> None:
        await until(lambda: came_to_something(self))
        await awaits(self, count, timeout=timeout)

    monkeypatch.setattr(mm.Dealer, "wait_for_peers", patient)
    monkeypatch.setattr(aio.Dealer, "wait_for_peers", awaited)
