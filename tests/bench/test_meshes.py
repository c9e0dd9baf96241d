"""The command mesh: members that join and are killed, and what members say."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands import meshes
from meshmsg.bench.commands.meshes import Member
from tests.support.benched import measured

KINDS = [
    "meshmsg",
    pytest.param(
        "zenoh", marks=pytest.mark.skipif(find_spec("zenoh") is None, reason="no eclipse-zenoh")
    ),
]


@pytest.mark.parametrize("kind", KINDS)
def test_all_members_see_one_join_and_die(kind: str) -> None:
    """Each of its figures is there, and no time is before its cause."""
    told = ("--members", "3", "--rounds", "1", "--idle", "0.1", "--peer", kind)
    (row,) = measured("mesh", *told)
    figures = {name: one["median"] for name, one in row["figures"].items()}
    assert 0 < figures["sees_ms"]
    assert 0 < figures["join_ms"]
    assert 0 < figures["crash_first_ms"] <= figures["crash_ms"]
    assert figures["idle_percent"] >= 0


def test_a_member_that_says_nothing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the patience of the bench."""
    monkeypatch.setattr(meshes, "PATIENCE", 0.01)
    one = Member("meshmsg", "alone", None)
    try:
        with pytest.raises(BenchError, match="alone did not say up other within"):
            one.until("up", "other")
    finally:
        one.stop()
    assert one.process.returncode is not None
