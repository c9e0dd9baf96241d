"""What a socket tells about itself has every field of the core, under the same names, and is
frozen."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest

import meshmsg as mm
from tests.support.mm import ffi
from tests.support.pairs import WAIT_S, joined, of_its_own, told_all, wait_until


def c_fields(struct: str) -> set[str]:
    """Return the names of a struct's fields."""
    return {name for name, _ in ffi.typeof(struct).fields}


def py_fields(kind: Any) -> set[str]:
    """Return the names of a dataclass's fields."""
    return {field.name for field in dataclasses.fields(kind)}


def test_stats_peers_and_events_have_every_field_of_the_core() -> None:
    """Times in seconds lose their unit from the name; nothing else is left out."""
    assert py_fields(mm.Stats) == c_fields("mm_stats") | {"group_lag"}
    renamed = {"since_ns": "since", "rtt_ns": "rtt", "time_ns": "time", "retry_ns": "retry_in"}
    renamed |= {"stop": "stopping"}
    renamed |= {"metadata_size": "metadata", "certificate_size": "certificate"}
    for kind, struct in ((mm.PeerInfo, "mm_peer"), (mm.Event, "mm_event")):
        assert py_fields(kind) == {renamed.get(name, name) for name in c_fields(struct)} - {
            "identity_size",
        }
    assert (
        len(py_fields(mm.DrainReport) - {"socket"}) == len(c_fields("mm_drain_info")) - 1
    )  # not the bytes queued


def test_what_is_told_cannot_be_changed() -> None:
    """Snapshots are frozen."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        for told in (push.stats(), push.peers()[0], push.events()[0], push.drain(timeout=WAIT_S)):
            name = dataclasses.fields(told)[0].name
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(told, name, 1)
        assert pull.peers()[0].role == "PUSH"


def test_dropped_is_the_sum_of_all_drops() -> None:
    """None of them is forgotten in the sum."""
    with mm.Push() as push:
        stats = push.stats()
    drops = sorted(name for name in py_fields(mm.Stats) if name.startswith("dropped_"))
    assert len(drops) == 11
    counted = dataclasses.replace(stats, **{name: 10**i for i, name in enumerate(drops)})
    assert counted.dropped == 11_111_111_111


def report(**counts: int) -> mm.DrainReport:
    """Return a report with these counts."""
    fields = dataclasses.fields(mm.DrainReport)
    none: dict[str, Any] = {field.name: 0 for field in fields if field.name != "socket"}
    return mm.DrainReport(**{**none, **counts})


@pytest.mark.parametrize("field", ["unconfirmed", "queued", "in_doubt", "dropped"])
def test_any_loss_is_raised_with_its_count(field: str) -> None:
    """Each kind says how much."""
    with pytest.raises(mm.MeshError, match="not everything was delivered: 17 "):
        report(delivered=5, **{field: 17}).raise_for_loss()


def test_delivered_and_unconfirmable_are_no_loss() -> None:
    """Peers of ZMTP 3.0 cannot confirm; that is no reason to fail."""
    report(delivered=3, unconfirmable=4).raise_for_loss()


def test_events_are_given_once_numbered_and_timed() -> None:
    """A second look finds nothing; seq goes on where it was."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        first = push.events()
        assert [event.seq for event in first] == list(range(1, len(first) + 1))
        assert [event.kind for event in first] == [mm.EventKind.LISTENING, mm.EventKind.PEER_UP]
        assert push.events() == []
        pull.close()
        seen: list[mm.Event] = []
        while not seen:
            seen = push.events()
        assert seen[0].seq == first[-1].seq + 1
        assert seen[0].kind is mm.EventKind.PEER_DOWN
        assert seen[0].reason is mm.Reason.EOF
        assert seen[0].time >= first[-1].time
        assert first[-1].peer == seen[0].peer != 0


def test_more_peers_than_fit_at_once_are_all_listed() -> None:
    """The first look has room for 16."""
    with mm.Pull(bind="inproc://many") as pull:
        pushes = [mm.Push(connect="inproc://many") for _ in range(40)]
        pull.wait_for_peers(40, timeout=WAIT_S)
        assert len({peer.id for peer in pull.peers()}) == 40
        for push in pushes:
            push.close()


def test_connection_trouble_is_logged_and_expected_ends_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """WARNING for what a user should look at; DEBUG for the rest."""
    with mm.Push(bind=of_its_own()) as push:
        gone = push.endpoint
    with caplog.at_level(logging.DEBUG, logger="meshmsg"), mm.Pull(connect=gone) as pull:
        while not any(event.kind is mm.EventKind.CONNECT_FAILED for event in pull.events()):
            pass
        with pytest.raises(mm.TimedOutError, match=rf"last: {gone} .*refused"):
            pull.recv(timeout=0.001)
        wait_until(lambda: f"Pull {gone} CONNECT_FAILED" in caplog.text)
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert any(text.startswith(f"Pull {gone} CONNECT_FAILED") for text in warned)
    told_all()
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="meshmsg"), joined(mm.Push, mm.Pull):
        wait_until(lambda: "PEER_UP" in caplog.text)
    told_all()
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
