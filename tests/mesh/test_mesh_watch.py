"""What one who watches a service is told, of nodes that are in the mesh all the time.

Not here: watching with real nodes (test_mesh_api.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from meshmsg._mesh.told import Event, EventKind, Member, Record, Service, State
from meshmsg.mesh._watch import EventQueue

UP, CHANGED, LEFT = EventKind.UP, EventKind.CHANGED, EventKind.LEFT
UNREACHABLE, FORGOTTEN = EventKind.UNREACHABLE, EventKind.FORGOTTEN


def member(*services: str, node: str = "a", state: State = State.ALIVE) -> Member:
    """A node that offers them."""
    offered = tuple(Service(one, "pull", "zmtp", ("tcp://10.0.0.1:1",)) for one in services)
    key = node.encode().ljust(16, b"\0")
    record = Record(key, node, "c", 1, 1, 1, b"k" * 32, (), "h", "", offered)
    return Member(record, state, 0.0, None, None, b"")


def told(queue: EventQueue, *events: Event) -> list[EventKind]:
    """What becomes of them."""
    queue.told(events)
    found: list[EventKind] = []
    while (event := queue.take()) is not None:
        found.append(event.kind)
    return found


def queue(first: Sequence[Member] = ()) -> EventQueue:
    """One who watches "s"."""
    made = EventQueue("s", lambda: None)
    made.first(first)
    return made


def test_a_node_is_up_once_however_it_is_told() -> None:
    """As who is there at first, by an event that was on its way, and as it comes back."""
    one = queue([member("s"), member(node="b")])
    assert told(one) == [UP]
    offers = Event(CHANGED, member("s"), member().record)
    assert told(one, offers) == [CHANGED]
    gone = member("s", state=State.UNREACHABLE)
    assert told(one, Event(UNREACHABLE, gone), Event(FORGOTTEN, gone)) == [UNREACHABLE, FORGOTTEN]
    assert told(one, Event(UP, member("s")), offers) == [UP, CHANGED]


def test_who_was_never_up_does_not_leave() -> None:
    """Nor who is another one; who withdraws leaves once."""
    one = queue()
    withdrawn = Event(CHANGED, member(), member("s").record)
    assert told(one, withdrawn, Event(UP, member(node="b"))) == []
    assert told(one, Event(UP, member("s")), withdrawn, withdrawn) == [UP, LEFT]
    assert told(one, Event(CHANGED, member("t"), member().record)) == []
    gone = member("s", state=State.UNREACHABLE)
    assert told(one, Event(UNREACHABLE, gone), Event(FORGOTTEN, gone), Event(LEFT, gone)) == []


def test_a_conflict_of_who_offers_it_is_told() -> None:
    """As of any node."""
    conflict = Event(EventKind.CONFLICT, member("s"))
    assert told(queue([member("s")]), conflict) == [UP, EventKind.CONFLICT]
    assert told(queue(), conflict, Event(UP, member("s"))) == [EventKind.CONFLICT, UP]
    assert told(queue(), Event(EventKind.CONFLICT, member("t"))) == []
