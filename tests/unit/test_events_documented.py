"""docs/events.md, help() and the C header say the same of events, reasons, counters and peers."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.mm import ffi
from tests.support.pairs import WAIT_S, joined

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
TABLES = {
    mm.EventKind: "## Kinds of events",
    mm.Reason: "## Reasons",
    mm.Stats: "## Counters",
    mm.PeerInfo: "## Peers",
}


def names_of(kind: Any) -> list[str]:
    """The members of an enum, the fields of a dataclass."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return [member.name for member in kind]


def told_by_help(kind: Any) -> dict[str, str]:
    """Name and explanation, of the class's docstring."""
    text = kind.__doc__.partition("Attributes:\n")[2]
    found = re.findall(r"^        (\w+): (.*(?:\n {12}.*)*)", text, re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in found}


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_the_page_and_help_explain_every_name_alike(kind: Any) -> None:
    """None is missing, none is left over, and the words are the same, in the same order."""
    table = PAGE.partition(TABLES[kind])[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    assert rows == told_by_help(kind)
    assert list(rows) == names_of(kind)
    assert len(set(rows.values())) >= len(rows) - 4  # "Bytes of those." is said four times more


MADE = {"groups", "group_lag_max"}
"""Of `Stats.as_dict`, in place of `group_lag`."""
FIXED = {"takes_bytes"}
"""Numbers that a peer says once."""
LOWERED = {"in_doubt_messages", "redelivered_messages"}
"""Counters that something late may lower."""


def listed(kind: Any) -> tuple[set[str], set[str]]:
    """The counters and the gauges of the page."""
    row = f"| `{'stats' if kind is mm.Stats else 'peers'}()` | "
    [line] = [line for line in PAGE.splitlines() if line.startswith(row)]
    counters, gauges = (re.findall(r"`(\w+)`", cell) for cell in line[len(row) :].split(" | "))
    return set(counters), set(gauges)


def so_now() -> set[str]:
    """The fields of mm_stats of which the header of the core says that they are so now."""
    header = (ROOT / "csrc/include/meshmsg.h").read_text(encoding="utf-8")
    body = header.partition("typedef struct mm_stats {")[2].partition("} mm_stats;")[0]
    found = set()
    for names, words in re.findall(
        r"^    uint\d+_t ([^;]*);.*?/\* (.*?) *\*/$", body, re.MULTILINE
    ):
        fields = names.split(", ")
        said = [words] * len(fields) if words.startswith("now") else words.split("; ")
        found |= {name for name, one in zip(fields, said, strict=False) if one.startswith("now")}
    return found


@pytest.mark.parametrize("kind", [mm.Stats, mm.PeerInfo])
def test_the_page_says_what_is_a_counter_and_what_a_gauge(kind: Any) -> None:
    """By names that are fields; none is both, and none that goes down is a counter."""
    counters, gauges = listed(kind)
    assert {*counters, *gauges} <= {*names_of(kind), *MADE}
    assert not counters & gauges
    if kind is mm.Stats:
        assert {"unacked_messages", "delayed_bytes", "topics"} <= so_now()
        assert gauges == {*so_now(), *MADE, *LOWERED, "group_lag"}
    else:
        assert listed(mm.Stats)[1] & set(names_of(kind)) <= gauges
        numbers = {name for name in names_of(kind) if name.endswith(("_messages", "_bytes"))}
        assert numbers <= counters | gauges | FIXED
        assert not FIXED & (counters | gauges)


def test_the_example_for_metrics_has_all_gauges_as_such() -> None:
    """Those of the page, by the names of `as_dict`."""
    found: set[str] = set()
    for names in re.findall(r"^GAUGES \|?= (\{.*?\})", PAGE, re.MULTILINE):
        found |= set(re.findall(r'"(\w+)"', names))
    assert found == listed(mm.Stats)[1] - {"group_lag"}


@pytest.mark.parametrize(
    ("kind", "enum", "prefix"),
    [(mm.EventKind, "mm_event_kind", "MM_EVENT_"), (mm.Reason, "mm_reason", "MM_REASON_")],
)
def test_the_enums_are_those_of_the_core(kind: Any, enum: str, prefix: str) -> None:
    """Names and values; and each member has its explanation."""
    elements: dict[int, str] = ffi.typeof(enum).elements
    there = {name.removeprefix(prefix): value for value, name in elements.items()}
    there.pop("COUNT", None)
    assert {member.name: member.value for member in kind} == there
    assert {member.name: member.__doc__ for member in kind} == told_by_help(kind)


def test_snapshots_are_dicts_that_json_takes() -> None:
    """Names are those of the fields; reasons are flattened, kinds and reasons are names."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        push.send(b"x")
        assert pull.recv(timeout=WAIT_S) == b"x"
        stats = push.stats()
        plain = stats.as_dict()
        reasons = {f"closed_{reason.name.lower()}" for reason in mm.Reason if reason}
        made = {"dropped", "groups", "group_lag_max", *reasons}
        assert set(plain) == {*names_of(mm.Stats), *made} - {"closed", "group_lag"}
        assert (plain["sent_messages"], plain["peers"], plain["closed_eof"]) == (1, 1, 0)
        peer = push.peers()[0]
        octets = {"identity": b"", "certificate": b""}
        assert peer.as_dict() | octets == dataclasses.asdict(peer)
        event = push.events()[1]
        names = {"kind": "PEER_UP", "reason": "NONE"}
        assert event.as_dict() == dataclasses.asdict(event) | names
        for snapshot in (plain, peer.as_dict(), event.as_dict()):
            assert json.loads(json.dumps(snapshot)) == snapshot
        closed = dataclasses.replace(stats, closed={mm.Reason.EOF: 3}, dropped_late=2)
        assert closed.as_dict()["closed_eof"] == 3
        assert closed.as_dict()["dropped"] == 2


def test_an_identity_that_is_no_text_is_text_in_a_dict() -> None:
    """Escaped where it is no UTF-8."""
    with mm.Router(bind="tcp://127.0.0.1:0") as router:
        with mm.Dealer(connect=router.endpoint, identity=b"worker-\xff") as dealer:
            router.wait_for_peers(timeout=WAIT_S)
            assert router.peers()[0].as_dict()["identity"] == "worker-\\xff"
            assert dealer.peers()[0].as_dict()["identity"] == ""
