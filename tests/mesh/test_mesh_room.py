"""How much a node can offer: its record has a limit, and so have names; docs/mesh.md says them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._mesh import limits
from meshmsg._mesh.octets import MalformedError, record_octets
from meshmsg._mesh.told import NODE_KEY, Service
from tests.support.mesh_nodes import record
from tests.support.meshes import eventually, node

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mesh.md").read_text(encoding="utf-8")
MUCH = {"v": "x" * 200}


def typical(number: int) -> Service:
    """A socket of tcp on one IP, under a name of six octets."""
    return Service(f"svc-{number:02}", "pull", "zmtp", (f"tcp://10.0.0.5:{40000 + number}",))


def long(number: int) -> Service:
    """One of TLS, under a name of fifteen."""
    where = f"tls+tcp://10.120.130.140:{40000 + number}"
    return Service(f"service-name-{number:02}", "respondent", "zmtp", (where,), key=NODE_KEY)


def most(kind: Callable[[int], Service] = typical, **changes: Any) -> int:
    """How many of them one node can offer."""
    count = 0
    while True:
        services = tuple(map(kind, range(count + 1)))
        try:
            record_octets(record(1, services=services, **changes))
        except MalformedError:
            return count
        count += 1


def test_the_page_says_how_many_services_a_node_can_offer() -> None:
    """Of a node with a host's name and a zone."""
    said = re.search(r"is some (\d+) services with\s+names of six[^.]*, or (\d+) with", PAGE)
    assert said is not None
    where = {"host": "worker-7f9c8d-abcde#12345678", "zone": "eu-1a"}
    assert most(**where) == int(said[1])
    assert most(long, name="n" * 30, **where) == int(said[2])


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("of a record", limits.RECORD_MAX),
        ("services of a node", limits.SERVICES_MAX),
        ("name of a node, and `zone`", limits.NAME_MAX),
        ("name of a cluster", limits.CLUSTER_MAX),
        ("name of a service", limits.SERVICE_NAME_MAX),
        ("`meta` of a service", limits.META_MAX),
        ("`weight`", limits.WEIGHT_MAX),
        ("endpoints of a service", limits.ENDPOINTS_MAX),
    ],
)
def test_the_page_says_each_limit(words: str, limit: int) -> None:
    """A row of its table."""
    assert re.search(rf"^\| {re.escape(words)}[^|]*\| {limit:,}\b", PAGE, re.MULTILINE)


@pytest.fixture
def unseen() -> Iterator[Any]:
    """A node on all addresses, which nobody has seen: no endpoint of its sockets is known."""
    with node("b", bind="tcp://*:0", insecure=True) as mesh:
        yield mesh


def test_too_much_is_refused_before_anybody_has_seen_the_node(unseen: Any) -> None:
    """Though its sockets have no address that others can be told yet."""
    with ExitStack() as stack:
        announced = 0
        with pytest.raises(mm.UsageError, match="at most 1200 are allowed"):
            for number in range(limits.SERVICES_MAX):
                pull = stack.enter_context(mm.Pull(bind="tcp://*:0", insecure=True))
                unseen.announce(f"n{number}", pull, meta=MUCH)
                announced += 1
        assert announced > 1
        with node("a", unseen.endpoint) as other:
            eventually(lambda: len(other.services()) == announced)


def test_metadata_is_refused_before_anybody_has_seen_the_node(unseen: Any) -> None:
    """What no record can have is not found out later, by the thread of the mesh."""
    with mm.Pull(bind="tcp://*:0", insecure=True) as pull:
        with pytest.raises(mm.UsageError, match="announcing 's': a name of metadata has a char"):
            unseen.announce("s", pull, meta={"a\n": "b"})


def test_what_has_no_room_any_more_is_left_out_and_told(
    unseen: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its address is a longer one by now: the others stay, and the newest goes."""
    monkeypatch.setattr(type(unseen._driver.place), "endpoint", "tcp://1.1.1.1:1")
    with ExitStack() as stack:
        with pytest.raises(mm.UsageError, match="at most 1200 are allowed"):
            for number in range(limits.SERVICES_MAX):
                pull = stack.enter_context(mm.Pull(bind="tcp://*:0", insecure=True))
                unseen.announce(f"n{number}", pull)
        monkeypatch.undo()
        last = f"n{number - 1}"
        address = f"tcp://[fd00:1111:2222:3333:4444:5555:6666:7777]:{'7' * 5}"
        driver = unseen._driver

        def moved() -> None:
            driver.place.addresses = (address,)
            driver._move(driver.clock())
            driver.changed()

        driver.do(moved)
        assert unseen.members()[0].record.addresses == (address,)
        offered = sorted(unseen.services())
        assert last not in offered
        assert "n0" in offered
        eventually(lambda: any("has no room to offer" in m.getMessage() for m in caplog.records))
        unseen.withdraw("n0")
        assert len(unseen.services()) >= len(offered) - 1
