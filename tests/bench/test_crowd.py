"""The crowd that begins handshakes and goes no further: others are served beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.bench.base.task import Task
from meshmsg.bench.peers import mesh_crowd
from meshmsg.bench.peers.mesh_crowd import CrowdedCurve, CrowdedTls
from tests.support.pairs import WAIT_S, wait_until

FEW = 5


@pytest.mark.parametrize(("make", "needs"), [(CrowdedCurve, "curve"), (CrowdedTls, "tls")])
def test_a_crowd_has_begun_its_handshakes_and_others_are_served(
    make: Callable[[], Any], needs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is at the server, and none has failed."""
    if not mm.has(needs):
        pytest.skip(f"this machine has no {needs}")
    monkeypatch.setattr(mesh_crowd, "CROWD", FEW)
    peer = make()
    task = Task("lat", peer.name, True, "tcp://127.0.0.1:0", size=64, count=1)
    crowded = peer.answerer(task)
    try:
        rep = crowded._socket
        wait_until(lambda: rep.stats().half_open == FEW)
        asker = peer.asker(Task("lat", peer.name, False, crowded.endpoint))
        rep.wait_for_peers(timeout=WAIT_S)
        asker.close()
        assert rep.stats().handshakes_failed == 0
    finally:
        crowded.close()
