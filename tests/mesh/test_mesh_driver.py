"""What the driver tells a core, and does for it: with a core that follows a script."""

from __future__ import annotations

import logging
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

import meshmsg as mm
from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.told import (
    Answer,
    Arrival,
    Event,
    Member,
    Record,
    Send,
    Service,
    State,
    Stranger,
)
from meshmsg._socket.peers import PEERS_FIRST, address_of, addresses_of
from meshmsg.mesh import _driver, _link
from meshmsg.mesh._driver import Driver
from meshmsg.mesh._link import Link
from meshmsg.mesh._place import Place
from tests.support.meshes import WAIT_S, eventually

NODE = b"n" * 16
FAR_S = 1e6


class Script:
    """A core that notes what it is told, and says what a test gives it."""

    def __init__(self) -> None:
        self.noted: list[tuple[object, ...]] = []
        self.out: list[Send | Answer] = []
        self.record = Record(b"m" * 16, "me", "c", 1, 1, 1, b"k" * 32, ())
        self.reply: Callable[[Arrival], list[Send | Answer]] = lambda arrival: []
        self.others: list[Member] = []
        self.doubted: list[bytes] = []
        self.ticks = 0
        self.next = time.monotonic() + FAR_S

    def tick(self, now: float) -> None:
        """Note."""
        self.ticks += 1
        self.noted.append(("tick",))
        self.next = now + FAR_S

    def due(self) -> float:
        """When a test wants it."""
        return self.next

    def arrived(self, now: float, arrival: Arrival) -> None:
        """Note, and answer by the script."""
        self.noted.append(("arrived", arrival))
        self.out += self.reply(arrival)

    def saw(self, now: float, node: bytes, evidence: Evidence, address: str = "") -> None:
        """Note."""
        self.noted.append(("saw", node, evidence, address))

    def missed(self, now: float, address: str) -> None:
        """Note."""
        self.noted.append(("missed", address))

    def suspects(self) -> list[bytes]:
        """Whom a test has so."""
        return self.doubted

    def seeds(self, now: float, addresses: Iterable[str]) -> None:
        """Note."""
        self.noted.append(("seeds", *addresses))

    def offer(self, now: float, services: Sequence[Service]) -> None:
        """Nothing is offered here."""

    def moved(self, now: float, addresses: Sequence[str]) -> None:
        """Note."""
        self.noted.append(("moved", *addresses))

    def leave(self, now: float) -> None:
        """Note."""
        self.noted.append(("leave",))
        self.next = float("inf")

    def take(self) -> list[Send | Answer]:
        """Give what the script has."""
        out, self.out = self.out, []
        return out

    def events(self) -> list[Event]:
        """None."""
        return []

    def unasked(self, now: float) -> float | None:
        """It is reached."""
        return None

    def strangers(self) -> list[Stranger]:
        """None."""
        return []

    def members(self) -> list[Member]:
        """Itself, and others."""
        return [member_of(self.record), *self.others]

    def me(self) -> Record:
        """Itself."""
        return self.record


def member_of(record: Record, state: State = State.ALIVE) -> Member:
    """As a core tells of it."""
    return Member(record, state, 0.0, None, None, record.node_id)


class Node:
    """A script and what drives it."""

    def __init__(self, bind: str = "tcp://127.0.0.1:0") -> None:
        ring: list[Callable[[], None]] = [threading.Event().set]
        insecure = not bind.startswith("tcp://127")
        self.link = Link(bind, None, insecure, b"salt", lambda: ring[0]())
        self.core = Script()
        self.driver = Driver(self.core, Place(self.link.address, "auto"), time.monotonic)
        ring[0] = self.driver.ring
        self.driver.begin(self.link, [], Random(1))

    def say(self, *out: Send | Answer) -> None:
        """Have the core say something."""
        with self.driver.lock:
            self.core.out += out
        self.driver.ring()

    def noted(self, kind: str) -> list[tuple[object, ...]]:
        """What the core was told of a kind."""
        with self.driver.lock:
            return [one for one in self.core.noted if one[0] == kind]


@pytest.fixture
def nodes() -> Iterator[list[Node]]:
    """Two of them."""
    made = [Node(), Node()]
    yield made
    for one in made:
        one.driver.close()


def test_losses_of_users_are_evidence_at_once(nodes: list[Node]) -> None:
    """The core is told of each node, at whatever address; nothing is closed."""
    nodes[0].driver.lost([NODE, b"o" * 16])
    told = [("saw", NODE, Evidence.LOST, ""), ("saw", b"o" * 16, Evidence.LOST, "")]
    assert nodes[0].noted("saw") == told


def test_what_is_said_arrives_and_its_answer_comes_back(nodes: list[Node]) -> None:
    """On the same connection: the other one makes none."""
    a, b = nodes
    b.core.reply = lambda arrival: [Answer(arrival.reply, b"answer to " + arrival.data)]
    a.say(Send(b.link.address, b"question", NODE))
    [(_, answer)] = eventually(lambda: a.noted("arrived"))
    assert isinstance(answer, Arrival)
    assert answer.data == b"answer to question"
    [(_, question)] = b.noted("arrived")
    assert isinstance(question, Arrival)
    assert question.source.startswith("tcp://127.0.0.1:")
    assert not b.link.busy


def test_what_came_is_taken_before_what_is_due_is_done(nodes: list[Node]) -> None:
    """So an answer that waited for this process is in time, however late it looks."""
    a, b = nodes
    a.say(Send(b.link.address, b"first", NODE))
    eventually(lambda: b.noted("arrived"))
    with b.driver.lock:
        b.core.noted.clear()
        a.say(Send(b.link.address, b"second", NODE))
        assert select.select([b.link.router.fileno()], [], [], WAIT_S)[0]
        b.core.next = 0.0
    b.driver.ring()
    eventually(lambda: b.noted("tick"))
    with b.driver.lock:
        assert [one[0] for one in b.core.noted] == ["arrived", "tick"]


def test_a_port_that_nobody_listens_at_is_evidence(nodes: list[Node]) -> None:
    """REFUSED; and the next message tries again."""
    a, b = nodes
    b.driver.close()
    for count in (1, 2):
        a.say(Send(b.link.address, b"x", NODE))
        eventually(lambda count=count: len(a.noted("saw")) == count)
    assert a.noted("saw") == [("saw", NODE, Evidence.REFUSED, b.link.address)] * 2
    assert a.noted("missed") == [("missed", b.link.address)] * 2
    assert "refused" in a.link.errors[b.link.address]


def test_a_connection_that_ends_is_evidence(nodes: list[Node]) -> None:
    """LOST, of the node that it was thought to be."""
    a, b = nodes
    a.say(Send(b.link.address, b"x", NODE))
    eventually(lambda: b.noted("arrived"))
    b.driver.close()
    assert eventually(lambda: a.noted("saw")) == [("saw", NODE, Evidence.LOST, b.link.address)]
    assert a.noted("missed") == []


@pytest.mark.parametrize(
    ("kind", "reason", "stays"),
    [
        (mm.EventKind.PEER_DOWN, mm.Reason.HEARTBEAT, False),
        (mm.EventKind.PEER_STALLED, mm.Reason.NONE, True),
    ],
)
def test_silence_of_a_connection_is_evidence(
    nodes: list[Node], kind: mm.EventKind, reason: mm.Reason, stays: bool
) -> None:
    """A heartbeat that is missing ends it; a process that was stopped is asked, and may go on."""
    a, b = nodes
    a.say(Send(b.link.address, b"x", NODE))
    eventually(lambda: b.noted("arrived"))
    event = mm.Event(
        seq=1,
        time=0.0,
        kind=kind,
        reason=reason,
        peer=1,
        count=0,
        endpoint=b.link.address,
        address="",
        detail="silent",
        retry_in=None,
    )
    a.link.note(event)
    assert eventually(lambda: a.noted("saw")) == [("saw", NODE, Evidence.LOST, b.link.address)]
    assert eventually(lambda: a.link.busy == stays)


def test_what_users_heard_is_evidence(nodes: list[Node]) -> None:
    """And who listens is told of whom that is wanted."""
    a, _ = nodes
    heard: list[bytes] = []

    class Listener:
        """Tells that it heard whoever is suspect."""

        def told(self, events: Sequence[Event]) -> bool:
            """Tell."""
            heard.extend(a.driver.suspects)
            a.driver.heard(tuple(a.driver.suspects))
            return True

        def closed(self) -> None:
            """There is nothing to end."""

    with a.driver.lock:
        a.core.doubted = [NODE]
    a.driver.listen(Listener())
    assert eventually(lambda: a.noted("saw"))[0] == ("saw", NODE, Evidence.HEARD, "")
    assert heard[0] == NODE


def test_gossip_that_a_peer_did_not_take_is_no_warning(nodes: list[Node]) -> None:
    """Its loss is the mesh's own matter: it is counted, and said again to others."""
    log = nodes[0].link.router._outlet._log
    dropped = mm.Event(
        seq=1,
        time=0.0,
        kind=mm.EventKind.DROPPED,
        reason=mm.Reason.NONE,
        peer=1,
        count=1,
        endpoint="",
        address="",
        detail="the peer is gone",
        retry_in=None,
    )
    assert log.judge(dropped)[0] == logging.DEBUG
    paused = replace(dropped, kind=mm.EventKind.ACCEPT_PAUSED)
    assert log.judge(paused)[0] == logging.WARNING


def test_a_node_on_all_addresses_is_told_where_it_is_seen() -> None:
    """As it connects to another one."""
    a, b = Node("tcp://0.0.0.0:0"), Node()
    a.say(Send(b.link.address, b"x", NODE))
    port = a.link.address.rpartition(":")[2]
    assert eventually(lambda: a.noted("moved")) == [("moved", f"tcp://127.0.0.1:{port}")]
    a.driver.close()
    b.driver.close()


def test_the_thread_sleeps_until_something_is_due(nodes: list[Node]) -> None:
    """And ticks then."""
    a, _ = nodes
    with a.driver.lock:
        before, a.core.next = a.core.ticks, 0.0
    a.driver.ring()
    assert eventually(lambda: a.core.ticks) == before + 1


def test_messages_are_looked_for_only_when_some_came(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most turns of a node at rest are for what is due."""
    a, b = nodes
    looks: list[float] = []
    came = a.link.came
    monkeypatch.setattr(a.link, "came", lambda: [looks.append(time.monotonic()), *came()][1:])
    with a.driver.lock:
        before, a.core.next = a.core.ticks, 0.0
    a.driver.ring()
    eventually(lambda: a.core.ticks > before)
    assert looks == []
    b.say(Send(a.link.address, b"x", NODE))
    eventually(lambda: a.noted("arrived"))
    assert looks


def test_connections_are_few_and_the_oldest_is_closed_first(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no evidence of anything."""
    monkeypatch.setattr(_link, "CONNECTIONS_MAX", 2)
    others = [mm.Router(bind="tcp://127.0.0.1:0") for _ in range(3)]
    a = nodes[0]
    for other in others:
        a.say(Send(other.endpoint, b"x", NODE))
        while other.recv_frames(timeout=WAIT_S)[1:] != [b"x"]:
            pass
    assert list(a.link._open) == [one.endpoint for one in others[1:]]
    assert a.noted("saw") == []
    for other in others:
        other.close()


def test_connections_that_nothing_is_said_over_are_closed(nodes: list[Node]) -> None:
    """After a minute."""
    a, b = nodes
    a.say(Send(b.link.address, b"x", NODE))
    eventually(lambda: b.noted("arrived"))
    with a.driver.lock:
        a.link.close_idle(time.monotonic() + _link.IDLE_S / 2)
        assert a.link.busy
        a.link.close_idle(time.monotonic() + 2 * _link.IDLE_S)
        assert not a.link.busy


def test_where_peers_are_is_what_peers_of_the_socket_say() -> None:
    """However many; what is known is taken as it is, and who left is not in it."""
    with mm.Router(bind="tcp://127.0.0.1:0") as router:
        others = [mm.Dealer(connect=router.endpoint) for _ in range(PEERS_FIRST + 4)]
        router.wait_for_peers(len(others), timeout=WAIT_S)
        found = addresses_of(router._handle, {})
        assert found == {one.identity: one.address for one in router.peers()}
        assert len(found) == len(others)
        first, second = list(found)[:2]
        again = addresses_of(router._handle, {first: "as it was", b"who left": "there"})
        assert again == {**found, first: "as it was"}
        assert again[second].startswith("tcp://127.0.0.1:")
        assert {one: address_of(router._handle, one) for one in found} == found
        assert address_of(router._handle, b"who left") == ""
        for other in others:
            other.close()
    assert addresses_of(router._handle, found) == {}
    assert address_of(router._handle, first) == ""


def test_what_waits_for_a_connection_has_a_limit(nodes: list[Node]) -> None:
    """The rest is dropped, and counted."""
    a = nodes[0]
    a.driver.close()
    link = Link("tcp://127.0.0.1:0", None, False, b"salt", lambda: None)
    for _ in range(_link.WAITING_MAX + 3):
        link.send(0.0, "tcp://127.0.0.1:1", b"x", NODE)
    assert link.dropped == 3
    link.answer(12345, [b"x"])
    assert link.dropped == 4
    link.router.close()


def test_an_address_that_is_malformed_is_noted(nodes: list[Node]) -> None:
    """As a hostile record may have it; nothing else comes of it."""
    a, b = nodes
    a.say(Send("tcp://", b"x", NODE), Send("junk", b"x", NODE), Send(b.link.address, b"x", NODE))
    eventually(lambda: b.noted("arrived"))
    assert {"tcp://", "junk"} <= set(a.link.errors)


def test_a_node_that_leaves_says_what_its_core_has_to_say(nodes: list[Node]) -> None:
    """Then it is closed."""
    a, b = nodes
    a.core.others = [member_of(b.core.record)]

    def leave(now: float) -> None:
        a.core.out.append(Send(b.link.address, b"farewell", b.core.record.node_id))
        a.core.next = float("inf")

    a.core.leave = leave  # type: ignore[method-assign]
    a.driver.leave(WAIT_S)
    [(_, arrival)] = eventually(lambda: b.noted("arrived"))
    assert isinstance(arrival, Arrival)
    assert arrival.data == b"farewell"
    assert a.driver.over


@pytest.mark.parametrize("state", [State.UNREACHABLE, State.LEFT, State.FORGOTTEN])
def test_a_node_that_can_tell_nobody_leaves_at_once(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    """Whatever its core would still say, and though a connection to one of them is being made."""
    monkeypatch.setattr(_driver, "LEAVE_S", FAR_S)
    a, b = nodes
    a.core.others = [member_of(b.core.record, state)]
    with socket.create_server(("127.0.0.1", 0), backlog=1) as silent:
        a.say(Send(f"tcp://127.0.0.1:{silent.getsockname()[1]}", b"x", NODE))
        eventually(lambda: a.link.waits)
        a.core.leave = lambda now: None  # type: ignore[method-assign]
        a.driver.leave(WAIT_S)
        assert a.link.waits  # it did not wait until that connection failed


def test_an_error_of_the_core_is_told_and_the_thread_goes_on(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not take the node with it."""
    a, b = nodes
    fails = [True]
    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: told.append(given.err_msg))

    def reply(arrival: Arrival) -> list[Send | Answer]:
        if fails.pop() if fails else False:
            raise MemoryError("once")
        return [Answer(arrival.reply, b"well")]

    b.core.reply = reply
    a.say(Send(b.link.address, b"x", NODE))
    eventually(lambda: not fails)
    a.say(Send(b.link.address, b"x", NODE))
    eventually(lambda: a.noted("arrived"))
    assert told == ["the mesh failed, and goes on"]


def test_who_answers_for_another_cluster_is_told_until_that_ends(nodes: list[Node]) -> None:
    """A connection that is made anew is no news of it; a member at its place is, or its end."""
    a, b = nodes
    url = b.link.address
    for ends in (lambda: a.say(Send(url, b"y", NODE)), b.driver.close):
        a.say(Send(url, b"x", None))
        eventually(lambda: a.link.dialed(url))
        a.link.is_elsewhere(url, "answers for the cluster 'b', not 'a'")
        a.link._up(url, a.link._open[url])
        assert a.link.why(url) == "it answers for the cluster 'b', not 'a'"
        assert a.link.dialed(url) == (0, a.link.why(url), "answers for the cluster 'b', not 'a'")
        ends()
        eventually(lambda: not a.link.elsewhere)
