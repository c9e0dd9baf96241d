"""Messages of more frames than a write takes, in writes of any size: they arrive as they were sent.

Not here: how long it takes.
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults, SimWorld
from tests.support.stalled import PATIENCE_S

FRAMES_MAX = 3_000
SIZES = [0, 0, 1, 0, 200, 255, 256, 0, 3]


@pytest.mark.parametrize("short", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("overflow", ["block", "drop_oldest"])
def test_many_frames_arrive_whole_in_writes_of_any_size(short: float, overflow: str) -> None:
    """Writes end within heads, bodies and between them; the next goes on just there."""
    for seed in range(5):
        faults = SimFaults(short_write=short, split=short, eagain=0.1)
        with SimWorld(seed, faults=faults) as world:
            options = {"frames_max": FRAMES_MAX, "engine": world.engine()}
            pull = mm.Pull(bind="tcp://127.0.0.1:0", **options)
            push = mm.Push(connect=pull.endpoint, overflow=overflow, **options)
            push.wait_for_peers(timeout=PATIENCE_S)
            sent = [
                [bytes([i % 251]) * SIZES[(seed + i) % len(SIZES)] for i in range(count)]
                for count in (1, 2, 127, 128, 129, 700, FRAMES_MAX, 3)
            ]
            for frames in sent:
                push.send_frames(frames, timeout=PATIENCE_S)
            assert [list(pull.recv(timeout=PATIENCE_S).frames) for _ in sent] == sent
            push.close()
            pull.close()
