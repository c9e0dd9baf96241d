"""The command rest: one member beside others that are played."""

from __future__ import annotations

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands.beside import Process
from tests.support.benched import record

pytest.importorskip("cryptography")
SHORT = ("--settle", "0.01", "--idle", "2")


@pytest.mark.parametrize("secret", [(), ("--secret",)])
def test_what_an_idle_member_of_many_uses_is_measured(secret: tuple[str, ...]) -> None:
    """It knows all, and is asked and asks, each on a connection of its own."""
    (row,) = record("rest", "--members", "20", "--rounds", "1", *SHORT, *secret)["rows"]
    assert row["missing"] is None
    assert row["load"] == ("20 members, secret" if secret else "20 members")
    (figures,) = row["each_round"]
    assert figures["idle_percent"] > 0
    assert figures["messages_per_s"] > 0
    assert set(figures) == {"idle_percent", "messages_per_s", "connections_per_s", "suspects"}


def test_the_member_and_the_others_ask_each_other() -> None:
    """Of few others each makes a connection to the member, and the member one to each."""
    played, one = Process("others", "3", end="resting"), Process("member", end="resting")
    try:
        seed = played.do("at")["at"]
        known = one.do("join", seed=seed, count=4)
        assert known == {"members": 4, "keys": 4, "services": 3, "suspects": 0}
        counts = played.do("counts")
        while min(counts["dials"], counts["dialed"]) < 3:
            counts = played.do("counts")
        assert (counts["dials"], counts["dialed"]) == (3, 3)
        assert one.do("knows") == known
    finally:
        played.stop()
        one.stop()


def test_who_cannot_join_is_a_sentence() -> None:
    """Not figures of a mesh that is not there."""
    one = Process("member", end="resting")
    try:
        with pytest.raises(BenchError, match="a process ended"):
            one.do("join", seed="no address", count=4)
    finally:
        one.stop()
