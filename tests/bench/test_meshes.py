"""The command mesh: members that join and are killed, and what members say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands import meshes
from meshmsg.bench.commands.meshes import Member
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.peers.seam import DOWN, UP, Peer
from meshmsg.bench.rivals import nats_cluster, serf_agents
from meshmsg.bench.rivals.nats_cluster import NatsCluster
from meshmsg.bench.rivals.serf_agents import Serf
from tests.support.benched import bench, measured

SHORT = ("--members", "3", "--rounds", "1", "--idle", "0.1")
AGENT = """
==> Starting Serf agent...
==> Serf agent running!
         Node name: 'm0'
         Bind addr: '127.0.0.1:7946'
          RPC addr: '127.0.0.1:0'
         Encrypted: false
==> Log data will now stream in as it occurs:
    2026/11/29 12:00:00 [INFO] agent: Serf agent starting
    2026/11/29 12:00:00 [INFO] serf: EventMemberJoin: m0 127.0.0.1
    2026/11/29 12:00:01 [INFO] serf: EventMemberJoin: late1 127.0.0.1
    2026/11/29 12:00:02 [INFO] agent: Received event: member-join
    2026/11/29 12:00:05 [INFO] memberlist: Suspect late1 has failed, no acks received
    2026/11/29 12:00:09 [INFO] memberlist: Marking late1 as failed, suspect timeout reached
    2026/11/29 12:00:09 [INFO] serf: EventMemberFailed: late1 127.0.0.1
"""
"""What an agent says whom one joins, and who dies."""


def there(name: str) -> Peer:
    """A peer; the test is left out where it is not installed."""
    peer = PEERS[name]
    if reason := peer.missing():
        pytest.skip(reason)
    return peer


@pytest.mark.parametrize("name", ["meshmsg", "zenoh", "nats-cluster", "serf", "serf-local"])
def test_all_members_see_one_join_and_die(name: str) -> None:
    """Each of its figures is there, and no time is before its cause."""
    there(name)
    (row,) = measured("mesh", *SHORT, "--peer", name)
    figures = {name: one["median"] for name, one in row["figures"].items()}
    assert 0 < figures["sees_ms"]
    assert 0 < figures["join_ms"]
    assert 0 < figures["crash_first_ms"] <= figures["crash_ms"]
    assert figures["idle_percent"] >= 0
    assert ("servers_percent" in figures) == (name == "nats-cluster")


def test_one_that_is_frozen_is_missed_too() -> None:
    """Its connections stay, so it takes longer than the loss of one would."""
    (row,) = measured("mesh", *SHORT, "--peer", "meshmsg", "--silent")
    assert row["load"] == "3 members, silent"
    assert row["figures"]["crash_first_ms"]["median"] > 200  # a probe waits so long for an answer


def test_who_is_not_installed_is_refused_in_words(tmp_path: Path, monkeypatch: Any) -> None:
    """A row says what is missing; nothing else was asked for, so it is an error."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(NatsCluster, "found", lambda _: None)
    assert PEERS["serf"].why_not("mesh", "tcp") == "serf is not installed"
    assert PEERS["serf-local"].why_not("mesh", "tcp") == "serf is not installed"
    assert PEERS["nats-cluster"].why_not("mesh", "tcp") == "nats-server is not installed"
    done = bench("mesh", *SHORT, "--peer", "serf")
    assert "serf: not measured: serf is not installed" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["serf", "serf-local", "nats-cluster"])
def test_a_mesh_is_all_that_they_are_measured_at(name: str) -> None:
    """They send no messages here."""
    assert PEERS[name].why_not("thr", "tcp") == "has no thr"


class Says(Serf):
    """An agent that only says something, and ends."""

    def __init__(self, text: str) -> None:
        self.text = text

    def member_command(self, name: str, seed: str | None) -> list[str]:
        """What it says."""
        return [sys.executable, "-c", f"print({self.text!r})"]


def test_what_an_agent_of_serf_says_is_when_it_joins_and_whom_it_sees() -> None:
    """In that order, and nothing else of its log."""
    lines = list(filter(None, map(Serf().member_said, AGENT.splitlines())))
    times = [line.pop("t") for line in lines]
    assert times == sorted(times)
    assert lines == [
        {"joins": ""},
        {"at": "127.0.0.1:7946"},
        {UP: "m0"},
        {UP: "late1"},
        {DOWN: "late1"},
    ]


def test_an_agent_of_serf_is_on_loopback_with_its_profile() -> None:
    """The first has nobody to join."""
    first = PEERS["serf"].member_command("m0", None)
    assert first[:4] == ["serf", "agent", "-node=m0", "-profile=lan"]
    assert first[4].startswith("-bind=127.0.0.1:")
    assert first[5:] == ["-rpc-addr=127.0.0.1:0"]
    late = PEERS["serf-local"].member_command("late1", "127.0.0.1:7946")
    assert late[3] == "-profile=local"
    assert late[-1] == "-join=127.0.0.1:7946"


def test_a_port_is_free_for_both_or_that_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a wait for ever."""
    assert 0 < serf_agents.free_for_both() < 65536
    monkeypatch.setattr(serf_agents, "TRIES", 0)
    with pytest.raises(OSError, match="no port is free"):
        serf_agents.free_for_both()


def test_each_server_of_nats_is_told_of_the_others() -> None:
    """And of itself its own ports only."""
    told = nats_cluster.config(1, [1, 2, 3], [11, 12, 13], 22)
    assert "port: 2\n" in told
    assert "port: 12\n" in told
    assert 'http: "127.0.0.1:22"' in told
    assert 'routes: ["nats-route://127.0.0.1:11", "nats-route://127.0.0.1:13"]' in told


def test_ports_are_different_ones() -> None:
    """Though all are free."""
    assert len(set(nats_cluster.free_ports(50))) == 50


def test_a_server_that_has_no_route_is_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor one that does not answer yet."""
    assert nats_cluster.routed(nats_cluster.free_ports(1)[0]) == 0
    told = tmp_path / "routez"
    monkeypatch.setattr(nats_cluster, "urlopen", lambda url, timeout: told.open("rb"))
    told.write_text(json.dumps({"routes": None}))
    assert nats_cluster.routed(1) == 0
    told.write_text(
        json.dumps({"routes": [{"remote_id": "A"}, {"remote_id": "B"}, {"remote_id": "A"}]})
    )
    assert nats_cluster.routed(1) == 2


def test_servers_that_find_nobody_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """And are stopped."""
    peer = there("nats-cluster")
    monkeypatch.setattr(nats_cluster, "START_SECONDS", 0.0)
    monkeypatch.setattr(nats_cluster, "routed", lambda http: 0)
    with pytest.raises(BenchError, match="did not find each other"), peer.meeting():
        pass
    assert peer.broker_use() == {}


def test_a_member_that_says_nothing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the patience of the bench."""
    monkeypatch.setattr(meshes, "PATIENCE", 0.01)
    one = Member(PEERS["meshmsg"], "alone", None)
    try:
        with pytest.raises(BenchError, match="alone did not say up other within"):
            one.until("up", "other")
    finally:
        one.stop()
    assert one.process.returncode is not None


def test_a_member_that_ends_is_a_sentence() -> None:
    """At once, behind what it has said."""
    one = Member(Says(AGENT), "m0", None)
    try:
        assert one.until(DOWN)[DOWN] == "late1"
        with pytest.raises(BenchError, match="m0 did not say at: it ended, with 0"):
            one.until("at")
    finally:
        one.stop()
